"""Modes, config options, commands and login of a rehearsal agent, and the command-line options of its process.

Its annotations are no texts: ``NamedTuple`` compiles each that is one, which was a sixth of the agent's start.
"""

import argparse
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from catena_acp.rehearsal.faults import Cues
from catena_acp.rehearsal.rpc import INVALID_PARAMS, LOGIN_REQUIRED, Refusal

_MODES = (
    ("ask", "Ask", "Asks before pretending to change anything"),
    ("code", "Code", "Pretends to write code"),
    ("plan", "Plan", "Only makes plans"),
)
_UNASKED = ("auto", "Auto", "Asks for nothing")
_MODELS = (
    ("understudy", "Understudy", "The default"),
    ("lead", "Lead", "The same answers"),
    ("chorus", "Chorus", "The same answers"),
)
_THOUGHT = (("off", "Off", ""), ("brief", "Brief", ""), ("long", "Long", ""))
_SELECTS = {
    "mode": ("Mode", "mode", _MODES),
    "model": ("Model", "model", _MODELS),
    "thought": ("Thinking", "thought_level", _THOUGHT),
}


class RehearsalSettings:
    """Current values of an open session; they are not stored, and a reopened session has the defaults."""

    def __init__(self, unasked: str | None = None) -> None:
        """``unasked``: it begins in a mode in which it asks for nothing, beside the others or as the ``only`` one."""
        modes = {None: _MODES, "only": (_UNASKED,)}.get(unasked, (_UNASKED, *_MODES))
        self._selects = {**_SELECTS, "mode": ("Mode", "mode", modes)}
        self.values: dict[str, str | bool] = {
            "mode": modes[0][0],
            "model": "understudy",
            "thought": "brief",
            "fast": False,
        }

    def set_mode(self, mode: object) -> None:
        """Set the mode. Raises Refusal if there is no such mode."""
        self.set("mode", mode)

    def set(self, option: object, value: object) -> None:
        """Set an option. Raises Refusal if there is no such option or value."""
        match option:
            case "fast" if isinstance(value, bool):
                self.values["fast"] = value
            case "mode" | "model" | "thought" if isinstance(value, str):
                if value not in [choice[0] for choice in self._selects[option][2]]:
                    raise Refusal(INVALID_PARAMS, f"There is no {option} {value!r}")
                self.values[option] = value
            case _:
                raise Refusal(INVALID_PARAMS, f"There is no option {option!r} that takes {value!r}")

    @property
    def asks(self) -> bool:
        """False in a mode in which it asks for nothing."""
        return self.values["mode"] != _UNASKED[0]

    def modes(self) -> dict[str, Any]:
        """The modes for a ``session/new`` answer."""
        modes = self._selects["mode"][2]
        available = [{"id": id, "name": name, "description": about} for id, name, about in modes]
        return {"currentModeId": self.values["mode"], "availableModes": available}

    def options(self, *, booleans: bool) -> list[dict[str, Any]]:
        """The config options; the boolean one only for a client that supports booleans."""
        shown: list[dict[str, Any]] = []
        for id, (name, category, choices) in self._selects.items():
            values = [
                {"value": value, "name": label, "description": about or None}
                for value, label, about in choices
            ]
            common = {"id": id, "name": name, "category": category}
            shown.append({**common, "type": "select", "currentValue": self.values[id], "options": values})
        if booleans:
            fast = {"id": "fast", "name": "Fast", "category": "model_config", "type": "boolean"}
            shown.append({**fast, "currentValue": self.values["fast"]})
        return shown


def commands(*, extra: bool = False) -> list[dict[str, Any]]:
    """The slash commands; with ``extra`` one more, as of an agent whose commands change."""
    known: list[dict[str, Any]] = [
        {"name": "help", "description": "List all commands"},
        {"name": "markdown", "description": "Every Markdown element"},
        {"name": "plan", "description": "A plan that progresses"},
        {"name": "code", "description": "A block of code", "input": {"hint": "language"}},
        {"name": "echo", "description": "What this session has received"},
        {"name": "settings", "description": "Current mode, model and options"},
    ]
    if extra:
        known.append({"name": "encore", "description": "Once more", "input": {"hint": "what"}})
    return known


KEPT_CONTEXT = ("user", "partial", "nothing")


class Options(NamedTuple):
    """Options of the process; by default an agent with every capability but steering and fork at a message."""

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
    mcp_http: bool = True  # MCP servers over HTTP and SSE
    steering: bool = False  # accepts prompts into a running turn
    modes: bool = True
    unasked: str | None = None  # more, only: begins in a mode in which it asks for nothing
    options: bool = True
    commands: bool = True
    message_ids: bool = True
    titles: bool = True
    usage: bool = True
    replay: str = "faithful"  # faithful, none
    # Air: an agent message, by _meta.jetbrains.air.fork; user: a prompt, by _meta.messageId.
    fork_at: str | None = None
    cold_fork: bool = True  # forks sessions that this process has not opened
    auth: str = "offered"  # none, offered, required, terminal
    cancel_keeps: str = "partial"  # what of a cancelled turn stays in the context; see KEPT_CONTEXT
    error_keeps: str = "user"
    permission_outlives_cancel: bool = False  # a cancelled turn still waits for its permission request
    resume_replays: bool = False
    fork_replays: int | None = None  # turns replayed on fork; 0 is all
    echo_user: bool = False
    banner: bool = False
    child: bool = False
    stubborn: bool = False
    start_delay: float = 0.0
    log: Path | None = None
    faults: Path | None = None
    login: bool = False  # run the terminal login instead of the agent

    @property
    def cues(self) -> Cues:
        """The cues in the process's home."""
        return Cues(self.home / "cues")


def read_options(argv: Sequence[str], environ: Mapping[str, str]) -> Options:
    """Parse the options of a command line, after the flags in ``CATENA_REHEARSAL_FLAGS``."""
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
        description="An ACP agent on standard input and output. It has no model: its answers are scripted.",
    )
    for ability in (
        *("load", "resume", "fork", "list", "close", "delete", "modes", "options", "commands"),
        *("message-ids", "titles", "usage", "cold-fork", "directories", "mcp-http"),
    ):
        parser.add_argument(f"--no-{ability}", dest=ability.replace("-", "_"), action="store_false")
    parser.add_argument("--name", default="catena-rehearsal", help="name to report")
    parser.add_argument("--version", default="1.0.0", help="version to report")
    parser.add_argument(
        "--replay", choices=("faithful", "none"), default="faithful", help="what load replays"
    )
    parser.add_argument(
        "--fork-at",
        nargs="?",
        choices=("air", "user"),
        const="air",
        help="honour a fork point; without it, ignore it",
    )
    parser.add_argument(
        "--unasked",
        nargs="?",
        choices=("more", "only"),
        const="more",
        help="begin in a mode in which it asks for nothing; only: offer no other",
    )
    parser.add_argument("--steering", action="store_true", help="accept messages into a running turn")
    parser.add_argument("--auth", choices=("none", "offered", "required", "terminal"), default="offered")
    parser.add_argument("--cancel-keeps", choices=KEPT_CONTEXT, default="partial")
    parser.add_argument("--error-keeps", choices=KEPT_CONTEXT, default="user")
    parser.add_argument("--permission-outlives-cancel", action="store_true")
    parser.add_argument("--resume-replays", action="store_true", help="replay the history on resume, too")
    parser.add_argument(
        "--fork-replays", nargs="?", type=int, const=0, help="replay the history on fork, too; its last turns"
    )
    parser.add_argument("--echo-user", action="store_true", help="send each prompt back as a user message")
    parser.add_argument("--banner", action="store_true", help="greet in plain text on standard output")
    parser.add_argument("--child", action="store_true", help="start a process that outlives this one")
    parser.add_argument("--stubborn", action="store_true", help="ignore end of input, SIGTERM and SIGHUP")
    parser.add_argument("--login", action="store_true", help="log in in this terminal, then exit")
    return parser


def _state_directory(environ: Mapping[str, str]) -> Path:
    root = environ.get("XDG_STATE_HOME")
    return (Path(root) if root else Path.home() / ".local" / "state") / "catena" / "rehearsal"


METHOD: Final = "rehearsal-login"


class Login:
    """State of the login; the file overrides ``--auth``."""

    def __init__(self, options: Options) -> None:
        self._file = options.home / "login"
        self._auth = options.auth

    @property
    def required(self) -> bool:
        """True if requests for sessions are refused."""
        if self._auth == "none":
            return False
        try:
            return self._file.read_text() == "wanted"
        except FileNotFoundError:
            return self._auth in ("required", "terminal")

    def require(self) -> None:
        """Require a login from now on."""
        self._write("wanted")

    def complete(self) -> None:
        """Record a login."""
        self._write("done")

    def refusal(self) -> Refusal:
        """The error for a request that requires a login."""
        return Refusal(LOGIN_REQUIRED, "Authentication required", {"authMethods": self.methods()})

    def methods(self) -> list[dict[str, Any]]:
        """The login methods for ``initialize``."""
        match self._auth:
            case "none":
                return []
            case "terminal":
                about = {"name": "Log in, in the terminal", "description": "Runs this agent with --login"}
                line = {"command": sys.executable, "args": ["-m", "catena_acp.rehearsal", "--login"]}
                meta = {"terminal-auth": {**line, "label": "Rehearsal login"}}
                return [{"id": METHOD, **about, "type": "terminal", "args": ["--login"], "_meta": meta}]
            case _:
                return [{"id": METHOD, "name": "Pretend to log in", "description": "Needs no input"}]

    def _write(self, state: str) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._file.write_text(state)
