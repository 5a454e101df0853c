"""Commands and options of the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from catena.errors import CommandRefused, ExitStatus
from catena.settings.settings import Permissions
from catena.workspace.directories import existing_directory

if TYPE_CHECKING:
    from catena.cli.run.branch import BranchRequest


_USAGE = "catena [DIR] [--agent NAME | --agent-command CMD] [--continue | --resume [ID]] [--add-dir DIR]"
_COMMANDS = """\
commands:
  run "PROMPT"         one prompt without a screen; the answer goes to standard output
  list                 the conversations, newest first
  show ID              one conversation: its newest branch, or with --json everything
  agents               which agents are here, and how to get the others
  login [AGENT]        log in to an agent, in this terminal or in the browser
  logout [AGENT]       log out of an agent
  doctor               what Catena finds here; --reset restores a terminal
  mcp                  checkpoint tools for an agent, which starts it by itself

`catena COMMAND --help` says more. A directory that is named like a command is written ./run.
"""


def run_command(arguments: Sequence[str]) -> int:
    """Run the command that the arguments name; returns the exit status."""
    match arguments[0]:
        case "run":
            return _run(arguments[1:])
        case "list":
            return _list(arguments[1:])
        case "show":
            return _show(arguments[1:])
        case "agents":
            return _agents(arguments[1:])
        case "login":
            return _login(arguments[1:])
        case "logout":
            return _logout(arguments[1:])
        case "doctor":
            return _doctor(arguments[1:])
        case "mcp":
            return _mcp(arguments[1:])
        case _:
            return _screen(arguments)


class _Parser(argparse.ArgumentParser):
    """An argument parser that raises its errors as CommandRefused, one line each."""

    def error(self, message: str) -> NoReturn:
        raise CommandRefused(f"{message} ({self.prog} --help says how)")


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
    _add_directories(parser)
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
        raise CommandRefused(
            f"{chosen.directory}: no such directory, and no such command (catena --help says how)"
        )
    from catena.app.startup import open_screen

    return open_screen(
        chosen.directory,
        agent=chosen.agent,
        agent_command=chosen.agent_command,
        go_on=chosen.go_on,
        resume=chosen.resume,
        add_dirs=chosen.add_dirs,
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
    parser.add_argument(
        "--fork",
        action="store_true",
        help="say it in a fork: a conversation of its own with the same beginning",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--at", metavar="MESSAGE", help="go on after this message of it, by id or the beginning of one"
    )
    where.add_argument(
        "--edit", metavar="MESSAGE", help="say it instead of this prompt of it: what came after stays, beside"
    )
    _add_agent(parser)
    _add_directories(parser)
    parser.add_argument("--cwd", metavar="DIR", help="the directory; the current one if left out")
    parser.add_argument(
        "--attach",
        action="append",
        default=[],
        metavar="PATH",
        help="a file or image that goes with the prompt; may be said several times",
    )
    chosen = parser.parse_args(arguments)

    branch = _branch(parser, chosen)
    prompt, directory = _prompt(chosen.prompt), existing_directory(chosen.cwd)

    from catena.cli.run.run import Request, run

    return run(
        Request(
            prompt=prompt,
            directory=directory,
            go_on=chosen.go_on,
            resume=chosen.resume,
            agent=chosen.agent,
            agent_command=chosen.agent_command,
            further_directories=tuple(existing_directory(named) for named in chosen.add_dirs),
            attach=tuple(chosen.attach),
            branch=branch,
            permissions=Permissions(chosen.permissions) if chosen.permissions else None,
            json=chosen.json,
        )
    )


def _branch(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> BranchRequest:
    """The branch of the prompt, from `--fork`, `--at` and `--edit`. Raises CommandRefused."""
    from catena.cli.run.branch import BranchRequest

    branch = BranchRequest(fork=chosen.fork, at=chosen.at, edit=chosen.edit)
    if branch.requested and not chosen.go_on and chosen.resume is None:
        parser.error("--fork, --at and --edit go with --resume or --continue")
    if branch.fork and branch.edit is not None:
        parser.error("--edit makes a branch of the same conversation, and --fork another one")
    return branch


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

    from catena.cli.list import print_list

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
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--json", action="store_true", help="one JSON object with messages, turns, links and windows"
    )
    form.add_argument("--chain", action="store_true", help="every session that carried it, instead")
    parser.add_argument(
        "--tree", action="store_true", help="every branch of it, prompt by prompt, instead; also with --json"
    )
    chosen = parser.parse_args(arguments)
    if chosen.tree and chosen.chain:
        parser.error("--tree and --chain are two things")

    if chosen.tree:
        from catena.cli.show import print_tree

        return print_tree(chosen.id, json=chosen.json)
    if chosen.chain:
        from catena.cli.show import print_chain

        return print_chain(chosen.id)
    from catena.cli.show import print_conversation

    return print_conversation(chosen.id, json=chosen.json)


def _agents(arguments: Sequence[str]) -> int:
    parser = _Parser(
        prog="catena agents",
        description="Which agents are here, and how to get the others.",
        allow_abbrev=False,
    )
    parser.add_argument("--json", action="store_true", help="a JSON list of objects")
    chosen = parser.parse_args(arguments)

    from catena.settings.installed_agents import print_agents

    return print_agents(json=chosen.json)


def _login(arguments: Sequence[str]) -> int:
    parser = _account_parser("login", "Log in to an agent; conversations keep their sessions.")
    parser.add_argument("--method", metavar="ID", help="the way to log in, where there are several")
    parser.add_argument("--list", action="store_true", help="only list the ways that there are")
    parser.add_argument("--json", action="store_true", help="with --list: a JSON list of objects")
    chosen = parser.parse_args(arguments)
    if chosen.json and not chosen.list:
        parser.error("--json goes with --list")

    from catena.cli.accounts import Account, log_in, print_methods

    account = Account(chosen.agent, chosen.agent_command)
    return print_methods(account, json=chosen.json) if chosen.list else log_in(account, chosen.method)


def _logout(arguments: Sequence[str]) -> int:
    chosen = _account_parser("logout", "Log out of an agent; conversations stay as they are.").parse_args(
        arguments
    )

    from catena.cli.accounts import Account, log_out

    return log_out(Account(chosen.agent, chosen.agent_command))


def _account_parser(name: str, description: str) -> argparse.ArgumentParser:
    parser = _Parser(
        prog=f"catena {name}",
        description=description,
        epilog="exit status: 0 done, 1 it did not work, 2 usage, 3 agent missing or gone, 6 a login is still needed, "
        "130 stopped",
        allow_abbrev=False,
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "agent", nargs="?", metavar="AGENT", help="of `catena agents` or the settings; else the last used"
    )
    which.add_argument("--agent-command", metavar="CMD", help="any command that speaks ACP")
    return parser


def _doctor(arguments: Sequence[str]) -> int:
    parser = _Parser(
        prog="catena doctor", description="What Catena finds here, fit to be pasted.", allow_abbrev=False
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--reset", action="store_true", help="restore a terminal that a killed program left behind"
    )
    what.add_argument(
        "--salvage",
        action="store_true",
        help="save what can be read of a damaged store into a new one; the damaged one is kept",
    )
    what.add_argument("--backup", metavar="FILE", help="write a copy of the store, also while Catena runs")
    chosen = parser.parse_args(arguments)
    if chosen.reset:
        from catena.cli.doctor import reset_terminal

        return reset_terminal()
    if chosen.salvage:
        from catena.cli.doctor import salvage_store

        return salvage_store()
    if chosen.backup is not None:
        from catena.cli.doctor import back_up_store

        return back_up_store(chosen.backup)
    from catena.cli.doctor import print_findings

    return print_findings()


def _mcp(arguments: Sequence[str]) -> int:
    parser = _Parser(
        prog="catena mcp",
        description="Checkpoint tools for an agent, over MCP on standard input and output. Agents start it themselves "
        "where `tools = true` stands below [checkpoints] in the settings.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--conversation", required=True, metavar="ID", help="the conversation, by its whole id"
    )
    parser.add_argument("--window", required=True, metavar="ID", help="the window that the agent works for")
    chosen = parser.parse_args(arguments)

    from catena.app.mcp_server import serve_tools

    return serve_tools(chosen.conversation, chosen.window)


def _add_agent(parser: argparse.ArgumentParser) -> None:
    agent = parser.add_mutually_exclusive_group()
    agent.add_argument("--agent", metavar="NAME", help="an agent of `catena agents` or of the settings")
    agent.add_argument(
        "--agent-command", metavar="CMD", help="any command that speaks ACP on its standard input and output"
    )


def _add_directories(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--add-dir",
        action="append",
        default=[],
        dest="add_dirs",
        metavar="DIR",
        help="a further directory that the agent may work in; may be given several times, and is kept",
    )


def _prompt(argument: str | None) -> str:
    piped = sys.stdin is not None and not sys.stdin.isatty()
    if argument is None and not piped:
        raise CommandRefused("no prompt: name one, or send it on standard input (catena run --help says how)")
    if argument is None or argument == "-":
        text = sys.stdin.buffer.read().decode("utf-8", "replace").rstrip("\n")
    else:
        text = argument.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if not text.strip():
        raise CommandRefused("the prompt is empty")
    return text


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} is not a number of conversations")
    return int(text)
