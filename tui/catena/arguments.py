"""What the words of the command line mean."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from catena.config import Permissions
from catena.directories import existing_directory
from catena.exit_status import ExitStatus, Refused

_USAGE = "catena [DIR] [--agent NAME | --agent-command CMD] [--continue | --resume [ID]]"
_COMMANDS = """\
commands:
  run "PROMPT"         one prompt without a screen; the answer goes to standard output
  list                 the conversations, newest first
  show ID              one conversation: its newest branch, or with --json everything
  agents               which agents are here, and how to get the others
  doctor               what Catena finds here; --reset restores a terminal

`catena COMMAND --help` says more. A directory that is named like a command is written ./run.
"""


def carry_out(arguments: Sequence[str]) -> int:
    """Carry out the command that the arguments name; returns the exit status."""
    match arguments[0]:
        case "run":
            return _run(arguments[1:])
        case "list":
            return _list(arguments[1:])
        case "show":
            return _show(arguments[1:])
        case "agents":
            return _agents(arguments[1:])
        case "doctor":
            return _doctor(arguments[1:])
        case _:
            return _screen(arguments)


class _Parser(argparse.ArgumentParser):
    """A parser whose complaint is one line."""

    def error(self, message: str) -> NoReturn:
        raise Refused(f"{message} ({self.prog} --help says how)")


def _screen(arguments: Sequence[str]) -> int:
    parser = _Parser(
        prog="catena",
        usage=f"{_USAGE}\n       catena COMMAND ...",
        description="A terminal chat client for ACP agents, in which the conversation is yours and not the session's.",
        epilog=_COMMANDS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "directory", nargs="?", metavar="DIR", help="where to work; the current directory if left out"
    )
    _add_agent(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--continue", action="store_true", dest="go_on", help="the newest conversation of this directory"
    )
    which.add_argument(
        "--resume",
        nargs="?",
        const="",
        metavar="ID",
        help="a conversation by id, beginning of an id, or title; or pick one",
    )
    parser.add_argument("--version", action="store_true", help="say which version this is")
    chosen = parser.parse_args(arguments)
    if chosen.version:
        from catena import __version__

        print(f"catena {__version__}")
        return ExitStatus.ANSWERED
    if chosen.directory and not Path(chosen.directory).expanduser().exists():
        raise Refused(f"{chosen.directory}: no such directory, and no such command (catena --help says how)")
    from catena.screen_start import open_screen

    return open_screen(
        chosen.directory,
        agent=chosen.agent,
        agent_command=chosen.agent_command,
        go_on=chosen.go_on,
        resume=chosen.resume,
    )


def _run(arguments: Sequence[str]) -> int:
    parser = _Parser(
        prog="catena run",
        description="Send one prompt and write the answer's text, and nothing else, to standard output.",
        epilog="exit status: 0 answered, 1 another error, 2 usage, 3 agent missing or gone, 4 permission refused, "
        "5 another client has the conversation, 6 login needed, 130 stopped",
        allow_abbrev=False,
    )
    parser.add_argument(
        "prompt", nargs="?", metavar="PROMPT", help="what to say; read from standard input if left out or -"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line for each event")
    parser.add_argument(
        "--permissions",
        choices=[each.value for each in Permissions],
        help="what the agent is answered when it asks; `ask` without a terminal is `deny` (default: as set, else ask)",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--continue",
        action="store_true",
        dest="go_on",
        help="go on with the newest conversation of the directory",
    )
    which.add_argument(
        "--resume", metavar="ID", help="go on with a conversation: id, beginning of an id, or title"
    )
    _add_agent(parser)
    parser.add_argument("--cwd", metavar="DIR", help="the directory; the current one if left out")
    chosen = parser.parse_args(arguments)

    prompt, directory = _prompt(chosen.prompt), existing_directory(chosen.cwd)

    from catena.headless import Request, run

    return run(
        Request(
            prompt=prompt,
            directory=directory,
            go_on=chosen.go_on,
            resume=chosen.resume,
            agent=chosen.agent,
            agent_command=chosen.agent_command,
            permissions=Permissions(chosen.permissions) if chosen.permissions else None,
            json=chosen.json,
        )
    )


def _list(arguments: Sequence[str]) -> int:
    parser = _Parser(prog="catena list", description="The conversations, newest first.", allow_abbrev=False)
    parser.add_argument("--json", action="store_true", help="a JSON list of objects")
    parser.add_argument(
        "--cwd", nargs="?", const=".", metavar="DIR", help="only those of this directory, or of DIR"
    )
    parser.add_argument(
        "--limit", type=_count, default=50, metavar="N", help="at most N (default 50); 0 for all"
    )
    chosen = parser.parse_args(arguments)

    from catena.reading import print_list

    return print_list(
        cwd=None if chosen.cwd is None else existing_directory(chosen.cwd),
        limit=chosen.limit or None,
        json=chosen.json,
    )


def _show(arguments: Sequence[str]) -> int:
    parser = _Parser(
        prog="catena show",
        description="One conversation: its newest branch, or with --json everything.",
        allow_abbrev=False,
    )
    parser.add_argument("id", metavar="ID", help="id, beginning of an id, or title")
    parser.add_argument(
        "--json", action="store_true", help="one JSON object with messages, turns, links and windows"
    )
    chosen = parser.parse_args(arguments)

    from catena.reading import print_conversation

    return print_conversation(chosen.id, json=chosen.json)


def _agents(arguments: Sequence[str]) -> int:
    parser = _Parser(
        prog="catena agents",
        description="Which agents are here, and how to get the others.",
        allow_abbrev=False,
    )
    parser.add_argument("--json", action="store_true", help="a JSON list of objects")
    chosen = parser.parse_args(arguments)

    from catena.agent_list import print_agents

    return print_agents(json=chosen.json)


def _doctor(arguments: Sequence[str]) -> int:
    parser = _Parser(
        prog="catena doctor", description="What Catena finds here, fit to be pasted.", allow_abbrev=False
    )
    parser.add_argument(
        "--reset", action="store_true", help="restore a terminal that a killed program left behind"
    )
    chosen = parser.parse_args(arguments)
    if chosen.reset:
        from catena.terminal_reset import reset_terminal

        return reset_terminal()
    from catena.doctor import print_findings

    return print_findings()


def _add_agent(parser: argparse.ArgumentParser) -> None:
    agent = parser.add_mutually_exclusive_group()
    agent.add_argument("--agent", metavar="NAME", help="an agent of `catena agents` or of the settings")
    agent.add_argument(
        "--agent-command", metavar="CMD", help="any command that speaks ACP on its standard input and output"
    )


def _prompt(argument: str | None) -> str:
    piped = sys.stdin is not None and not sys.stdin.isatty()
    if argument is None and not piped:
        raise Refused("no prompt: name one, or send it on standard input (catena run --help says how)")
    if argument is None or argument == "-":
        text = sys.stdin.buffer.read().decode("utf-8", "replace").rstrip("\n")
    else:
        text = argument.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if not text.strip():
        raise Refused("the prompt is empty")
    return text


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} is not a number of conversations")
    return int(text)
