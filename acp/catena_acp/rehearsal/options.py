"""How the process was started: which abilities it offers, and how it behaves at the edges."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from catena_acp.rehearsal.cues import Cues

KEEPS = ("user", "partial", "nothing")


@dataclass(frozen=True, slots=True)
class Options:
    """What this process offers. The defaults are an agent that can do all but fork at a message and be steered."""

    home: Path
    name: str = "catena-rehearsal"
    version: str = "1.0.0"
    load: bool = True
    resume: bool = True
    fork: bool = True
    list: bool = True
    close: bool = True
    delete: bool = True
    directories: bool = True  # beside the working directory
    steering: bool = False  # takes what is said into a running turn
    modes: bool = True
    options: bool = True
    commands: bool = True
    message_ids: bool = True
    titles: bool = True
    usage: bool = True
    replay: str = "faithful"  # faithful, none
    fork_at: str | None = (
        None  # air: an agent message, by _meta.jetbrains.air.fork; user: a prompt, by _meta.messageId
    )
    cold_fork: bool = True  # forks a session that this process has not opened
    auth: str = "offered"  # none, offered, required, terminal
    cancel_keeps: str = "partial"  # what of a stopped turn stays in the context; see KEEPS
    error_keeps: str = "user"
    permission_outlives_cancel: bool = False  # a stopped turn still waits for its open permission
    resume_replays: bool = False
    fork_replays: int | None = None  # so many turns are told on fork; 0: all
    echo_user: bool = False
    banner: bool = False
    child: bool = False
    stubborn: bool = False
    start_delay: float = 0.0
    log: Path | None = None
    faults: Path | None = None
    login: bool = False  # not an agent at all: the login that runs in a terminal

    @property
    def cues(self) -> Cues:
        """Where cues are given."""
        return Cues(self.home / "cues")


def read_options(argv: Sequence[str], environ: Mapping[str, str]) -> Options:
    """The options of a command line; ``CATENA_REHEARSAL_FLAGS`` holds more flags, which come first."""
    flags = [*shlex.split(environ.get("CATENA_REHEARSAL_FLAGS", "")), *argv]
    said = _parser().parse_args(flags)
    home = environ.get("CATENA_REHEARSAL_HOME")
    log = environ.get("CATENA_REHEARSAL_LOG")
    faults = environ.get("CATENA_REHEARSAL_FAULTS")
    return Options(
        home=Path(home) if home else _state_directory(environ),
        log=Path(log) if log else None,
        faults=Path(faults) if faults else None,
        start_delay=float(environ.get("CATENA_REHEARSAL_START_DELAY") or 0),
        **vars(said),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m catena_acp.rehearsal",
        description="An ACP agent on standard input and output. It has no model: what it says is scripted.",
    )
    for ability in (
        *("load", "resume", "fork", "list", "close", "delete", "modes", "options", "commands"),
        *("message-ids", "titles", "usage", "cold-fork", "directories"),
    ):
        parser.add_argument(f"--no-{ability}", dest=ability.replace("-", "_"), action="store_false")
    parser.add_argument("--name", default="catena-rehearsal", help="what it calls itself")
    parser.add_argument("--version", default="1.0.0", help="which version it says it is")
    parser.add_argument("--replay", choices=("faithful", "none"), default="faithful", help="what load tells")
    parser.add_argument(
        "--fork-at",
        nargs="?",
        choices=("air", "user"),
        const="air",
        help="honour a fork point; without it, ignore it",
    )
    parser.add_argument("--steering", action="store_true", help="take what is said into a running turn")
    parser.add_argument("--auth", choices=("none", "offered", "required", "terminal"), default="offered")
    parser.add_argument("--cancel-keeps", choices=KEEPS, default="partial")
    parser.add_argument("--error-keeps", choices=KEEPS, default="user")
    parser.add_argument("--permission-outlives-cancel", action="store_true")
    parser.add_argument("--resume-replays", action="store_true", help="tell the history on resume, too")
    parser.add_argument(
        "--fork-replays", nargs="?", type=int, const=0, help="tell the history on fork, too; its last turns"
    )
    parser.add_argument("--echo-user", action="store_true", help="tell each prompt back as a user message")
    parser.add_argument("--banner", action="store_true", help="greet in plain text on standard output")
    parser.add_argument("--child", action="store_true", help="start a process that outlives this one")
    parser.add_argument("--stubborn", action="store_true", help="ignore end of input, SIGTERM and SIGHUP")
    parser.add_argument("--login", action="store_true", help="log in, in this terminal, and leave")
    return parser


def _state_directory(environ: Mapping[str, str]) -> Path:
    root = environ.get("XDG_STATE_HOME")
    return (Path(root) if root else Path.home() / ".local" / "state") / "catena" / "rehearsal"
