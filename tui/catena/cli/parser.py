"""The parser of every command's arguments, the shape of its help, and options that several commands take.

From these parsers come ``--help``, completion in shells, and the manual page.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, NoReturn

from catena.acts.table import commands_of
from catena.errors import CommandRefused

Example = tuple[str, str]  # a command line, and what it does


class Values(Enum):
    """What an argument takes, where a shell can complete it; files and directories the shell completes itself."""

    AGENT = "an agent"
    AGENTS = "agents, with commas between them"
    COMMAND = "a command"
    CONVERSATION = "a conversation: id or title"
    DIRECTORY = "a directory"
    FILE = "a file"
    MESSAGE = "a message of the conversation; labelled checkpoints first"
    KIND = "a kind of tool"
    OF_SETTING = "a value of the setting before it"
    SETTING = "a setting"


class Parser(argparse.ArgumentParser):
    """An argument parser that raises its errors as CommandRefused, one line each.

    ``values`` says what arguments take, by their name in the parsed arguments. ``settings`` are those of
    ArgumentParser, which newer Pythons add to and pass on to the parsers of subcommands.
    """

    def __init__(
        self,
        *,
        details: str = "",
        examples: Sequence[Example] = (),
        statuses: Mapping[int, str] | None = None,
        values: Mapping[str, Values] | None = None,
        **settings: Any,
    ) -> None:
        self.details = details
        self.examples = tuple(examples)
        self.statuses = dict(statuses or {})
        self.values = dict(values or {})
        self._written: Sequence[str] = ()
        name = str(settings.get("prog") or "").removeprefix("catena ")
        epilog = _epilog(_verbs(name), details, self.examples, self.statuses)
        ours = {"epilog": epilog, "formatter_class": _HelpText, "allow_abbrev": False}
        super().__init__(**ours | settings)
        self.color = False  # from Python 3.14 on it would be True, in the manual page as well

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self._written = args or ()
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        word = next((word for word in self._written if not word.startswith("-")), "")
        raise CommandRefused(f"{message}. {did_you_mean(word, self.prog)}")


class Unfitting(Exception):
    """Arguments that do not fit together."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the command line: the parser of its arguments, and what it does with them."""

    parser: Callable[[], Parser]
    do: Callable[[argparse.Namespace], int]  # returns the exit status; raises Unfitting
    mixed: bool = False  # options may stand among arguments of any number

    def run(self, arguments: Sequence[str]) -> int:
        """Parse the arguments, and do it; returns the exit status. Raises CommandRefused, and whatever it raises."""
        parser = self.parser()
        parse = parser.parse_intermixed_args if self.mixed else parser.parse_args
        try:
            return self.do(parse(arguments))
        except Unfitting as error:
            parser.error(str(error))


@dataclass(frozen=True, slots=True)
class CommandTable:
    """Every command by name, as completion and the manual page read them."""

    summaries: Mapping[str, str]  # of those that the help lists, in its order
    names: Sequence[str]  # also those of two words
    parser: Callable[[str], Parser]  # of a name; the empty one is the screen


def behind_equals(action: argparse.Action) -> bool:
    """True for an option whose value stands behind `=` alone, since a directory may follow it."""
    return action.dest == "linear"


class _HelpText(argparse.HelpFormatter):
    """Paragraphs are filled; lines that begin with a space stay as they are."""

    def _format_action_invocation(self, action: argparse.Action) -> str:
        text = super()._format_action_invocation(action)
        return text.replace(" [LEVEL]", "[=LEVEL]") if behind_equals(action) else text

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(
            line if line[:1] in ("", " ") else textwrap.fill(line, width, break_on_hyphens=False)
            for line in text.splitlines()
        )


def did_you_mean(word: str, prog: str) -> str:
    """Advice on a word that is refused: the command behind ``prog`` that it nearly names, or where the help is."""
    from catena.acts.unknown import meant_command

    behind = [
        replace(each, name=name, words=name)
        for each in commands_of("shell")
        if each.summary and " " not in (name := f"catena {each.name}".removeprefix(f"{prog} "))
    ]
    near = meant_command(word, behind)
    return f"Did you mean {prog} {near}?" if near else f"See {prog} --help"


def _verbs(name: str) -> str:
    """The commands of two words that begin with a name, in columns."""
    rows = {each.usage: each.summary for each in commands_of("shell") if each.name.startswith(f"{name} ")}
    return "\n".join(
        ["commands:", *columns({f"catena {usage}": text for usage, text in rows.items()})] if rows else []
    )


def columns(rows: Mapping[str, str]) -> list[str]:
    """The rows of a help, one below the other."""
    width = max(map(len, rows)) + 2
    return [f"  {name:<{width}}{text}".rstrip() for name, text in rows.items()]


def _epilog(verbs: str, details: str, examples: Sequence[Example], statuses: Mapping[int, str]) -> str | None:
    parts = [part for part in (verbs, details) if part]
    if examples:
        parts.append("\n".join(["examples:", *(f"  {line}\n      {does}" for line, does in examples)]))
    if statuses:
        parts.append(
            "\n".join(["exit status:", *(f"  {status:<5}{text}" for status, text in statuses.items())])
        )
    return "\n\n".join(parts) or None


def add_agent(parser: argparse._ActionsContainer) -> argparse._MutuallyExclusiveGroup:
    """Add the ways to name an agent, of which one can be used; a command may add its own."""
    agent = parser.add_mutually_exclusive_group()
    agent.add_argument(
        "--agent", metavar="NAME", help="agent to use: a name from `catena agents` or the settings"
    )
    agent.add_argument(
        "--agent-command", metavar="CMD", help="any command that speaks ACP over standard input and output"
    )
    return agent


def add_conversation(parser: Parser) -> None:
    parser.add_argument("id", metavar="ID", help="id, start of an id, or title")
    parser.values["id"] = Values.CONVERSATION


def add_directory_filter(parser: Parser) -> None:
    parser.add_argument(
        "--cwd",
        nargs="?",
        const=".",
        metavar="DIR",
        help="only those of DIR (default: the current directory)",
    )
    parser.values["cwd"] = Values.DIRECTORY


def add_directories(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--add-dir",
        action="append",
        default=[],
        dest="add_dirs",
        metavar="DIR",
        help="another directory the agent may work in (repeatable; remembered)",
    )


def count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} is not a number")
    return int(text)
