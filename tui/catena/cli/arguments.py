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
  run "PROMPT"         send one prompt, print the answer
  list                 list conversations, newest first
  show ID              print a conversation
  agents               list agents: which are installed, how to get the others
  login [AGENT]        log in to an agent
  logout [AGENT]       log out of an agent
  doctor               print diagnostics; repair a terminal or database
  mcp                  checkpoint tools over MCP (started by agents)

Run catena COMMAND --help for more. For a directory named like a command, write ./run.
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
        raise CommandRefused(f"{message}. See {self.prog} --help")


def _screen(arguments: Sequence[str]) -> int:
    parser = _Parser(
        prog="catena",
        usage=f"{_USAGE}\n       catena COMMAND ...",
        description="Terminal chat for ACP agents. Your conversations survive crashes, limits and restarts.",
        epilog=_COMMANDS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "directory", nargs="?", metavar="DIR", help="working directory (default: the current one)"
    )
    _add_agent(parser)
    _add_directories(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--continue",
        action="store_true",
        dest="go_on",
        help="continue the newest conversation in this directory",
    )
    which.add_argument(
        "--resume",
        nargs="?",
        const="",
        metavar="ID",
        help="open a conversation by id, start of an id, or title; without ID, choose one",
    )
    parser.add_argument("--version", action="store_true", help="show the version")
    chosen = parser.parse_args(arguments)
    if chosen.version:
        from catena import __version__

        print(f"catena {__version__}")
        return ExitStatus.ANSWERED
    if chosen.directory and not Path(chosen.directory).expanduser().exists():
        raise CommandRefused(f"{chosen.directory}: not a directory or command. See catena --help")
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
        description="Send one prompt and print only the answer to standard output.",
        epilog="exit status: 0 answered, 1 other error, 2 usage, 3 agent missing or crashed, 4 permission denied, "
        "5 conversation open in another client, 6 login needed, 130 stopped",
        allow_abbrev=False,
    )
    parser.add_argument(
        "prompt", nargs="?", metavar="PROMPT", help="the prompt; read from standard input if omitted or -"
    )
    parser.add_argument("--json", action="store_true", help="print events as JSON, one object per line")
    parser.add_argument(
        "--permissions",
        choices=[each.value for each in Permissions],
        help="how to answer permission requests (default: from the settings, else ask; without a terminal, ask "
        "means deny)",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--continue",
        action="store_true",
        dest="go_on",
        help="continue the newest conversation in the directory",
    )
    which.add_argument("--resume", metavar="ID", help="continue a conversation: id, start of an id, or title")
    parser.add_argument(
        "--fork",
        action="store_true",
        help="send it in a fork: a new conversation with the same history",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--at", metavar="MESSAGE", help="continue after this message: its id or the start of it"
    )
    where.add_argument(
        "--edit", metavar="MESSAGE", help="replace this prompt (creates a new branch; the old one stays)"
    )
    _add_agent(parser)
    _add_directories(parser)
    parser.add_argument("--cwd", metavar="DIR", help="working directory (default: the current one)")
    parser.add_argument(
        "--attach",
        action="append",
        default=[],
        metavar="PATH",
        help="attach a file or image (repeatable)",
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
        parser.error("--fork, --at and --edit need --resume or --continue")
    if branch.fork and branch.edit is not None:
        parser.error("--edit and --fork cannot be combined")
    return branch


def _list(arguments: Sequence[str]) -> int:
    parser = _Parser(prog="catena list", description="List conversations, newest first.", allow_abbrev=False)
    parser.add_argument("--json", action="store_true", help="print a JSON array")
    parser.add_argument(
        "--cwd",
        nargs="?",
        const=".",
        metavar="DIR",
        help="only those of DIR (default: the current directory)",
    )
    parser.add_argument(
        "--limit", type=_count, default=50, metavar="N", help="show at most N (default: 50; 0 for all)"
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
        description="Print a conversation: its newest branch, or everything with --json.",
        allow_abbrev=False,
    )
    parser.add_argument("id", metavar="ID", help="id, start of an id, or title")
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--json",
        action="store_true",
        help="print everything as one JSON object: messages, turns, links, windows",
    )
    form.add_argument("--chain", action="store_true", help="print its sessions instead")
    parser.add_argument(
        "--tree",
        action="store_true",
        help="print all its branches instead, one line per prompt; also with --json",
    )
    chosen = parser.parse_args(arguments)
    if chosen.tree and chosen.chain:
        parser.error("--tree and --chain cannot be combined")

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
        description="List agents: which are installed, and how to get the others.",
        allow_abbrev=False,
    )
    parser.add_argument("--json", action="store_true", help="print a JSON array")
    chosen = parser.parse_args(arguments)

    from catena.settings.installed_agents import print_agents

    return print_agents(json=chosen.json)


def _login(arguments: Sequence[str]) -> int:
    parser = _account_parser("login", "Log in to an agent. Conversations keep their sessions.")
    parser.add_argument("--method", metavar="ID", help="login method, where there are several")
    parser.add_argument("--list", action="store_true", help="only list the login methods")
    parser.add_argument("--json", action="store_true", help="with --list: print a JSON array")
    chosen = parser.parse_args(arguments)
    if chosen.json and not chosen.list:
        parser.error("--json needs --list")

    from catena.cli.accounts import Account, log_in, print_methods

    account = Account(chosen.agent, chosen.agent_command)
    return print_methods(account, json=chosen.json) if chosen.list else log_in(account, chosen.method)


def _logout(arguments: Sequence[str]) -> int:
    chosen = _account_parser("logout", "Log out of an agent. Conversations stay as they are.").parse_args(
        arguments
    )

    from catena.cli.accounts import Account, log_out

    return log_out(Account(chosen.agent, chosen.agent_command))


def _account_parser(name: str, description: str) -> argparse.ArgumentParser:
    parser = _Parser(
        prog=f"catena {name}",
        description=description,
        epilog="exit status: 0 done, 1 failed, 2 usage, 3 agent missing or crashed, 6 login still needed, "
        "130 stopped",
        allow_abbrev=False,
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "agent",
        nargs="?",
        metavar="AGENT",
        help="name from `catena agents` or the settings (default: last used)",
    )
    which.add_argument(
        "--agent-command", metavar="CMD", help="any command that speaks ACP over standard input and output"
    )
    return parser


def _doctor(arguments: Sequence[str]) -> int:
    parser = _Parser(
        prog="catena doctor",
        description="Print diagnostics you can paste in a bug report.",
        allow_abbrev=False,
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--reset", action="store_true", help="reset a terminal left in a bad state by a killed program"
    )
    what.add_argument(
        "--salvage",
        action="store_true",
        help="recover what can be read from a damaged database; the original is kept",
    )
    what.add_argument(
        "--backup", metavar="FILE", help="write a copy of the database to FILE; safe while Catena runs"
    )
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
        "if `tools = true` is set under [checkpoints] in the settings.",
        allow_abbrev=False,
    )
    parser.add_argument("--conversation", required=True, metavar="ID", help="full id of the conversation")
    parser.add_argument("--window", required=True, metavar="ID", help="id of the window the agent works for")
    chosen = parser.parse_args(arguments)

    from catena.app.mcp_server import serve_tools

    return serve_tools(chosen.conversation, chosen.window)


def _add_agent(parser: argparse.ArgumentParser) -> None:
    agent = parser.add_mutually_exclusive_group()
    agent.add_argument(
        "--agent", metavar="NAME", help="agent to use: a name from `catena agents` or the settings"
    )
    agent.add_argument(
        "--agent-command", metavar="CMD", help="any command that speaks ACP over standard input and output"
    )


def _add_directories(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--add-dir",
        action="append",
        default=[],
        dest="add_dirs",
        metavar="DIR",
        help="another directory the agent may work in (repeatable; remembered)",
    )


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


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} is not a number")
    return int(text)
