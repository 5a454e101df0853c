"""Arguments of ``catena run``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from catena.cli.parser import Command, Parser, Unfitting, Values, add_agent, add_directories
from catena.errors import CommandRefused
from catena.settings.tables import Permissions
from catena.workspace.directories import existing_directory

if TYPE_CHECKING:
    from catena.cli.run.branch import BranchRequest

_OPEN_TIMEOUT = 600.0  # seconds
_LONGEST_TIMEOUT = 1_000_000.0


def _run_parser() -> Parser:
    parser = Parser(
        prog="catena run",
        description="Send one prompt and print only the answer to standard output.",
        examples=(
            ('catena run "What does this project do?"', "print the answer, and nothing else"),
            ('git diff | catena run "Review this"', "send the piped text after the prompt"),
            ("cat prompt.md | catena run -", "read the prompt itself from standard input"),
            ('catena run --continue --json "And now?"', "print events, one JSON object per line"),
            (
                'catena run --resume ID --fork "Another way?"',
                "ask in a new conversation with the same history",
            ),
            ('catena run --agents claude,codex "Why does it fail?"', "ask several agents at once"),
        ),
        statuses={
            0: "answered",
            1: "other error",
            2: "usage",
            3: "agent missing or crashed",
            4: "permission denied",
            5: "conversation open in another client",
            6: "login needed",
            130: "stopped",
        },
        values={
            "agent": Values.AGENT,
            "agents": Values.AGENTS,
            "resume": Values.CONVERSATION,
            "at": Values.MESSAGE,
            "edit": Values.MESSAGE,
            "cwd": Values.DIRECTORY,
            "add_dirs": Values.DIRECTORY,
            "attach": Values.FILE,
        },
    )
    parser.add_argument(
        "prompt",
        nargs="?",
        metavar="PROMPT",
        help="the prompt; piped text is sent after it; read from standard input if omitted or -",
    )
    output = parser.add_argument_group("answer and permissions")
    output.add_argument("--json", action="store_true", help="print events as JSON, one object per line")
    output.add_argument(
        "--permissions",
        choices=[each.value for each in Permissions],
        help="how to answer permission requests (default: from the settings, else ask; without a terminal, ask "
        "means deny)",
    )
    output.add_argument(
        "--open-timeout",
        type=_seconds,
        default=_OPEN_TIMEOUT,
        metavar="SECONDS",
        help="how long the agent may take to open an earlier session, before the prompt goes to a new one "
        "(default: 600)",
    )
    conversation = parser.add_argument_group("conversation (default: a new one)")
    which = conversation.add_mutually_exclusive_group()
    which.add_argument(
        "--continue",
        action="store_true",
        dest="go_on",
        help="continue the newest conversation in the directory",
    )
    which.add_argument("--resume", metavar="ID", help="continue a conversation: id, start of an id, or title")
    conversation.add_argument(
        "--fork",
        action="store_true",
        help="send it in a fork: a new conversation with the same history",
    )
    where = conversation.add_mutually_exclusive_group()
    where.add_argument(
        "--at", metavar="MESSAGE", help="continue after this message: its id or the start of it"
    )
    where.add_argument(
        "--edit", metavar="MESSAGE", help="replace this prompt (creates a new branch; the old one stays)"
    )
    conversation.add_argument(
        "--files",
        action=argparse.BooleanOptionalAction,
        help="with --at or --edit: restore files as they were there (default: files_follow of the settings)",
    )
    add_agent(parser.add_argument_group("agent")).add_argument(
        "--agents",
        type=_agent_names,
        default=(),
        metavar="NAME,NAME",
        help="ask several agents at once; each answer is a version of the prompt",
    )
    places = parser.add_argument_group("directories and files")
    add_directories(places)
    places.add_argument(
        "--cwd",
        metavar="DIR",
        help="working directory (default: the current one); of a continued conversation only if its own is gone",
    )
    places.add_argument(
        "--attach",
        action="append",
        default=[],
        metavar="PATH",
        help="attach a file or image (repeatable)",
    )
    return parser


def _agent_names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if len(names) < 2 or not all(names):
        raise argparse.ArgumentTypeError("name at least two agents, with commas between them")
    return names


def _run(chosen: argparse.Namespace) -> int:

    branch = _branch(chosen)
    prompt, directory = _prompt(chosen.prompt), existing_directory(chosen.cwd)
    clears = prompt.strip() in ("/clear", "/new", "/reset")

    if chosen.agents and clears:
        raise Unfitting("--agents cannot be combined with /clear, which is not sent")

    from catena.cli.run.prompt_text import piped_text
    from catena.cli.run.run import Request, run

    return run(
        Request(
            prompt=prompt,
            piped=""
            if clears or chosen.prompt in (None, "-")
            else piped_text(sys.stdin, tell=not chosen.json),
            directory=directory,
            moves=chosen.cwd is not None,
            go_on=chosen.go_on,
            resume=chosen.resume,
            agent=chosen.agent,
            agent_command=chosen.agent_command,
            agents=chosen.agents,
            further_directories=tuple(existing_directory(named) for named in chosen.add_dirs),
            attach=tuple(chosen.attach),
            branch=branch,
            files=chosen.files,
            permissions=Permissions(chosen.permissions) if chosen.permissions else None,
            json=chosen.json,
            open_timeout=chosen.open_timeout,
        )
    )


def _seconds(text: str) -> float:
    """A number of seconds from 1 on. Raises ValueError."""
    seconds = float(text)
    if not 1 <= seconds <= _LONGEST_TIMEOUT:
        raise ValueError(text)
    return seconds


def _branch(chosen: argparse.Namespace) -> BranchRequest:
    """The branch of the prompt, from `--fork`, `--at` and `--edit`. Raises Unfitting."""
    from catena.cli.run.branch import BranchRequest

    branch = BranchRequest(fork=chosen.fork, at=chosen.at, edit=chosen.edit)
    if branch.requested and not chosen.go_on and chosen.resume is None:
        raise Unfitting("--fork, --at and --edit need --resume or --continue")
    if chosen.files and (branch.fork or (branch.at is None and branch.edit is None)):
        raise Unfitting("--files needs --at or --edit, and cannot be combined with --fork")
    if branch.fork and branch.edit is not None:
        raise Unfitting("--edit and --fork cannot be combined")
    return branch


def _prompt(argument: str | None) -> str:
    piped = sys.stdin is not None and not sys.stdin.isatty()
    if argument is None and not piped:
        raise CommandRefused("no prompt: pass one, or pipe it to standard input. See catena run --help")
    if argument is None or argument == "-":
        text = sys.stdin.buffer.read().decode("utf-8", "replace").rstrip("\n")
    else:
        text = argument.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if not text.strip():
        raise CommandRefused("the prompt is empty")
    return text


COMMANDS: Mapping[str, Command] = {
    "run": Command(_run_parser, _run),
}
