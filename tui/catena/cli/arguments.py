"""Commands of the command line, and the arguments of the screen.

The arguments of the other commands stand in their rooms, and are imported when a command of that room is named.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from catena.cli.parser import Command, Parser, add_agent, add_directories
from catena.errors import CommandRefused, ExitStatus

_USAGE = (
    "catena [DIR] [--agent NAME | --agent-command CMD] [--continue | --resume [ID]] [--add-dir DIR] "
    "[--linear[=LEVEL]] [--demo]"
)
_COMMANDS = """\
commands:
  run "PROMPT"         send one prompt, print the answer
  list                 list conversations, newest first
  search WORDS         find conversations by what was said in them
  show ID              print a conversation
  changes ID           print what agents changed in files
  files ID             print what each turn did to files, or bring them back
  blame FILE[:LINE]    print which prompt wrote each line of a file
  prune                remove old conversations for good; lists them first
  export ID            write a conversation as Markdown, JSON or HTML
  replay ID            play a conversation, or write it as an asciicast
  import FILE          read conversations from files
  agents [AGENT]       list agents; install, remove, update
  config [KEY]         print the settings and where they come from; edit, check
  keys                 list every action of a key, with your keys
  login [AGENT]        log in to an agent
  logout [AGENT]       log out of an agent
  permissions          list, test, add or remove permission rules
  doctor               print diagnostics; repair a terminal or database
  mcp                  tools for agents over MCP (started by agents)

Run catena COMMAND --help for more. For a directory named like a command, write ./run.
"""


def run_command(arguments: Sequence[str]) -> int:
    """Run the command that the arguments name; returns the exit status."""
    command = _command(arguments[0])
    return _screen(arguments) if command is None else command(arguments[1:])


def _command(name: str) -> Command | None:
    """The command of a name, if it is one."""
    match name:
        case "run":
            from catena.cli.run.arguments import COMMANDS
        case "list" | "search" | "show" | "prune" | "export" | "replay" | "import":
            from catena.cli.conversations.arguments import COMMANDS
        case "changes" | "files" | "blame":
            from catena.cli.files.arguments import COMMANDS
        case "agents" | "login" | "logout":
            from catena.cli.agents.arguments import COMMANDS
        case "config" | "keys" | "permissions":
            from catena.cli.settings.arguments import COMMANDS
        case "doctor":
            from catena.cli.doctor.arguments import COMMANDS
        case "mcp":
            return _mcp
        case _:
            return None
    return COMMANDS[name]


def _screen(arguments: Sequence[str]) -> int:
    parser = Parser(
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
    add_agent(parser)
    add_directories(parser)
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
    parser.add_argument(
        "--linear",
        nargs="?",
        metavar="LEVEL",
        help="lines instead of a screen, for screen readers, dumb terminals and logs: --linear, --linear=quiet, "
        "--linear=verbose; --linear=off for the screen",
    )
    parser.add_argument(
        "--demo",
        action="store_true",
        help="for screencasts: show keys, hide home and user, a clock that stands still, a store of its own",
    )
    parser.add_argument("--version", action="store_true", help="show the version")
    # Without a value it is followed by a directory, not by one.
    chosen = parser.parse_args(["--linear=normal" if each == "--linear" else each for each in arguments])
    if chosen.version:
        from catena import __version__

        print(f"catena {__version__}")
        return ExitStatus.ANSWERED
    if chosen.directory and not Path(chosen.directory).expanduser().exists():
        raise CommandRefused(f"{chosen.directory}: not a directory or command. See catena --help")
    from catena.cli.start import open_client

    return open_client(
        chosen.directory,
        agent=chosen.agent,
        agent_command=chosen.agent_command,
        go_on=chosen.go_on,
        resume=chosen.resume,
        add_dirs=chosen.add_dirs,
        linear=chosen.linear,
        demo=chosen.demo,
    )


def _mcp(arguments: Sequence[str]) -> int:
    parser = Parser(
        prog="catena mcp",
        description="Tools for an agent, over MCP on standard input and output: checkpoints, earlier conversations. "
        "Agents start it themselves if `tools = true` is set under [checkpoints] or [memory] in the settings.",
        allow_abbrev=False,
    )
    parser.add_argument("--conversation", required=True, metavar="ID", help="full id of the conversation")
    parser.add_argument("--window", required=True, metavar="ID", help="id of the window the agent works for")
    chosen = parser.parse_args(arguments)

    from catena.app.mcp_server import serve_tools

    return serve_tools(chosen.conversation, chosen.window)
