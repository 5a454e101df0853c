"""The parser of every command's arguments, the shape of its help, and options that several commands take.

From these parsers come ``--help``, completion in shells, and the manual page.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NoReturn

from catena.errors import CommandRefused

Example = tuple[str, str]  # a command line, and what it does


class Values(Enum):
    """What an argument takes, where a shell can complete it; files and directories the shell completes itself."""

    AGENT = "an agent"
    AGENTS = "agents, with commas between them"
    CONVERSATION = "a conversation: id or title"
    DIRECTORY = "a directory"
    FILE = "a file"
    MESSAGE = "a message of the conversation; labelled checkpoints first"
    SETTING = "a setting, and then its value"


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
        epilog = _epilog(details, self.examples, self.statuses)
        ours = {"epilog": epilog, "formatter_class": _HelpText, "allow_abbrev": False}
        super().__init__(**ours | settings)
        self.color = False  # from Python 3.14 on it would be True, in the manual page as well

    def error(self, message: str) -> NoReturn:
        raise CommandRefused(f"{message}. See {self.prog} --help")


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the command line: the parser of its arguments, and what it does with them."""

    parser: Callable[[], Parser]
    run: Callable[[Sequence[str]], int]  # parses the arguments, does it, returns the exit status


@dataclass(frozen=True, slots=True)
class CommandTable:
    """Every command by name, as completion and the manual page read them."""

    summaries: Mapping[str, str]  # of those that the help lists, in its order
    names: Sequence[str]  # also those of two words
    parser: Callable[[str], Parser]  # of a name; the empty one is the screen


class _HelpText(argparse.HelpFormatter):
    """Paragraphs are filled; lines that begin with a space stay as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(
            line if line[:1] in ("", " ") else textwrap.fill(line, width, break_on_hyphens=False)
            for line in text.splitlines()
        )


def _epilog(details: str, examples: Sequence[Example], statuses: Mapping[int, str]) -> str | None:
    parts = [details] if details else []
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
