"""Commands of the command line, and the arguments of the screen.

The arguments of the other commands stand in their rooms, and are imported when a command of that room is named.
"""

from __future__ import annotations

import itertools
from argparse import SUPPRESS, Namespace
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from catena.acts.table import commands_of
from catena.cli.parser import (
    Command,
    CommandTable,
    Parser,
    Values,
    add_agent,
    add_directories,
    columns,
    did_you_mean,
)
from catena.errors import CommandRefused, ExitStatus

_USAGE = (
    "catena [DIR] [--agent NAME | --agent-command CMD] [--continue | --resume [ID]] [--add-dir DIR] "
    "[--linear[=LEVEL]] [--demo]"
)
_GROUPS: Mapping[str, str] = {  # of the help
    "prompts without a screen": "run",
    "conversations": "list search show rename pin archive delete export replay import prune",
    "files": "changes files blame",
    "agents": "agents login logout",
    "settings": "config keys permissions",
    "this program": "doctor completion mcp help version",
}
_EXAMPLES = (
    ("catena", "open this directory: its tabs, or a list of agents to begin with"),
    ("catena --agent rehearsal", "talk to the built-in demo, which needs no account and no network"),
    ("catena --resume", "choose an earlier conversation"),
    ('catena run "What does this project do?"', "print an answer without a screen"),
)
_STATUSES = {
    0: "done; of run: answered",
    1: "other error; of search: nothing found",
    2: "usage: arguments, settings, an unknown id, an unusable database",
    3: "agent missing or crashed",
    4: "permission denied",
    5: "conversation open in another Catena",
    6: "login needed",
    129: "ended by SIGHUP",
    130: "stopped by Ctrl+C",
    143: "ended by SIGTERM",
}
FILES = {
    "~/.config/catena/config.toml": "the settings; on macOS below ~/Library/Application Support/catena",
    "~/.local/share/catena/catena.db": "conversations; on macOS below ~/Library/Application Support/catena",
    "~/.local/share/catena/catena.log": "details of internal errors",
}
VARIABLES = {
    "CATENA_CONFIG_DIR": "directory of the settings",
    "CATENA_DATA_DIR": "directory of the database",
    "CATENA_DEMO": "1 is as --demo",
    "CATENA_LINEAR": "as --linear: quiet, normal, whole, verbose, screen-reader, auto, off",
    "ACCESSIBLE": "1: as --screen-reader",
    "CATENA_PAINTER": "as the setting painter: off leaves drawing to Textual",
    "CATENA_WIRE": "directory for records of what goes over the wire to and from agents",
    "NO_COLOR": "no colours",
    "VISUAL, EDITOR": "your editor",
}
_COMPLETE = "__complete"  # what fits at the cursor of a shell
_COMMANDS = {each.name: each for each in commands_of("shell")}
_LISTED = tuple(name for names in _GROUPS.values() for name in names.split())
# As LinearSetting, which no start has to import.
_LINEAR_LEVELS = (
    "quiet",
    "normal",
    "whole",
    "verbose",
    "screen-reader",
    "auto",
    "off",
)


def run_command(arguments: Sequence[str]) -> int:
    """Run the command that the arguments name; returns the exit status."""
    if arguments[0] == _COMPLETE:
        from catena.cli.completion.candidates import print_answer

        return print_answer(command_table(), arguments[1:])
    arguments = _with_verb(arguments)
    for length in (2, 1):  # `agents install` before `agents`
        command = _command(" ".join(arguments[:length])) if len(arguments) >= length else None
        if command is not None:
            return command.run(arguments[length:])
    return _screen(arguments)


def _with_verb(arguments: Sequence[str]) -> Sequence[str]:
    """The arguments with a command for the flag that it was before: until the end of 2027, scripts of before run."""
    options = [word.partition("=") for word in itertools.takewhile(lambda word: word != "--", arguments)]
    for command in _COMMANDS.values():
        for name, flag in (alias.split() for alias in command.aliases if " --" in alias):
            for at, (option, equals, value) in enumerate(options):
                if arguments[0] == name and option == flag:
                    given = [value] if equals else []
                    return [*command.name.split(), *arguments[1:at], *given, *arguments[at + 1 :]]
    return arguments


def command_table() -> CommandTable:
    """Every command with its parser; the screen is the command without a name."""
    names = [name for name in _COMMANDS if name not in _LISTED]
    return CommandTable({name: _COMMANDS[name].summary for name in _LISTED}, (*_LISTED, *names), _parser)


def _parser(name: str) -> Parser:
    command = _command(name)
    return _screen_parser() if command is None else command.parser()


def _command(name: str) -> Command | None:
    """The command of a name, if it is one; its room is imported only then."""
    if name not in _COMMANDS:
        return None
    command: Command = import_module(_COMMANDS[name].does).COMMANDS[name]
    return command


def _screen_parser() -> Parser:
    parser = Parser(
        prog="catena",
        usage=f"{_USAGE}\n       catena COMMAND ...",
        description="Terminal chat for ACP agents. Your conversations survive crashes, limits and restarts.",
        details=_details(),
        examples=_EXAMPLES,
        statuses=_STATUSES,
        values={
            "directory": Values.DIRECTORY,
            "agent": Values.AGENT,
            "add_dirs": Values.DIRECTORY,
            "resume": Values.CONVERSATION,
        },
    )
    parser.add_argument(
        "directory", nargs="?", metavar="DIR", help="working directory (default: the current one)"
    )
    parser.add_argument("--version", action="store_true", help=SUPPRESS)
    add_agent(parser.add_argument_group("agent"))
    conversation = parser.add_argument_group("conversation (default: the tabs of the directory)")
    add_directories(conversation)
    which = conversation.add_mutually_exclusive_group()
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
    output = parser.add_argument_group("output")
    output.add_argument(
        "--linear",
        nargs="?",
        choices=_LINEAR_LEVELS,
        metavar="LEVEL",
        help="lines instead of a screen, for screen readers, dumb terminals and logs: --linear, --linear=quiet, "
        "--linear=verbose; --linear=off for the screen",
    )
    output.add_argument(
        "--screen-reader",
        action="store_const",
        const="screen-reader",
        dest="linear",
        help="--linear for a screen reader, which follows the terminal's own line as it is typed",
    )
    parser.add_argument(
        "--demo",
        action="store_true",
        help="for screencasts: show keys, hide home and user, a clock that stands still, a database of its own",
    )
    return parser


def _details() -> str:
    """The commands by subject, files and environment variables, in columns."""
    groups = {title: [_COMMANDS[name] for name in names.split()] for title, names in _GROUPS.items()}
    rows = columns({each.usage: each.summary for group in groups.values() for each in group})
    parts = ["\n".join([f"{title}:", *(rows.pop(0) for _ in group)]) for title, group in groups.items()]
    parts.append("Run catena help COMMAND for more. For a directory named like a command, write ./run.")
    parts.append("\n".join(["files:", *(f"  {path}\n      {what}" for path, what in FILES.items())]))
    parts.append("\n".join(["environment:", *columns(VARIABLES)]))
    return "\n\n".join(parts)


def _screen(arguments: Sequence[str]) -> int:
    if arguments and not arguments[0].startswith("-"):  # a mistyped command, whatever stands behind it
        _check_directory(arguments[0])
    # Without a value it is followed by a directory, not by one.
    written = ["--linear=normal" if each == "--linear" else each for each in arguments]
    chosen = _screen_parser().parse_args(written)
    if chosen.version:
        return _version(chosen)
    if chosen.directory:
        _check_directory(chosen.directory)
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


def _check_directory(name: str) -> None:
    """Raise CommandRefused, with the nearest command, if nothing of that name exists."""
    with suppress(OSError, RuntimeError):  # a prompt is too long for a name, `~nobody` has no home
        if Path(name).expanduser().exists():
            return
    if name in _LINEAR_LEVELS:
        raise CommandRefused(f"{name}: not a directory or command. Did you mean --linear={name}?")
    raise CommandRefused(f"{name}: not a directory or command. {did_you_mean(name, 'catena')}")


def _help_parser() -> Parser:
    parser = Parser(
        prog="catena help",
        description="Explain a command, as its --help does, or list the commands.",
        examples=(("catena help run", "options, examples and exit statuses"),),
        statuses={0: "done", 2: "usage, an unknown command"},
        values={"words": Values.COMMAND},
    )
    parser.add_argument("words", nargs="*", metavar="COMMAND", help="its name, such as: agents install")
    return parser


def _help(chosen: Namespace) -> int:
    words = chosen.words
    name = " ".join(words)
    if name and name not in _COMMANDS:
        before = " ".join(("catena", *words[:-1]))
        raise CommandRefused(f"{name}: not a command. {did_you_mean(words[-1], before)}")
    _parser(name).print_help()
    return ExitStatus.ANSWERED


def _version_parser() -> Parser:
    return Parser(
        prog="catena version",
        description="Print the version.",
        examples=(("catena version", "`catena doctor` has those of what it uses, too"),),
        statuses={0: "done", 2: "usage"},
    )


def _version(chosen: Namespace) -> int:
    from catena import __version__

    print(f"catena {__version__}")
    return ExitStatus.ANSWERED


def _mcp_parser() -> Parser:
    parser = Parser(
        prog="catena mcp",
        description="Tools for an agent, over MCP on standard input and output: checkpoints, earlier conversations. "
        "Agents start it themselves if `tools = true` is set under [checkpoints] or [memory] in the settings.",
        examples=(("catena mcp --conversation ID --window ID", "as an agent starts it"),),
        statuses={0: "done", 1: "other error", 2: "usage"},
    )
    parser.add_argument("--conversation", required=True, metavar="ID", help="full id of the conversation")
    parser.add_argument("--window", required=True, metavar="ID", help="id of the window the agent works for")
    return parser


def _mcp(chosen: Namespace) -> int:
    from catena.app.mcp_server import serve_tools

    return serve_tools(chosen.conversation, chosen.window)


def _completion_parser() -> Parser:
    parser = Parser(
        prog="catena completion",
        description="Print a script that completes commands, options, conversations, messages, agents and settings.",
        examples=(
            ('eval "$(catena completion bash)"', "in ~/.bashrc"),
            ('eval "$(catena completion zsh)"', "in ~/.zshrc, after compinit"),
            ("catena completion fish > ~/.config/fish/completions/catena.fish", "once"),
        ),
        statuses={0: "done", 2: "usage"},
    )
    parser.add_argument("shell", choices=["bash", "zsh", "fish"], help="the shell")
    return parser


def _completion(chosen: Namespace) -> int:
    from catena.cli.completion.scripts import script

    print(script(chosen.shell), end="")
    return ExitStatus.ANSWERED


COMMANDS: Mapping[str, Command] = {  # those without a room of their own
    "mcp": Command(_mcp_parser, _mcp),
    "help": Command(_help_parser, _help),
    "version": Command(_version_parser, _version),
    "completion": Command(_completion_parser, _completion),
}
