"""The parser of every command's arguments, and options that several commands take."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import NoReturn

from catena.errors import CommandRefused

Command = Callable[[Sequence[str]], int]  # parses its arguments, does it, returns the exit status


class Parser(argparse.ArgumentParser):
    """An argument parser that raises its errors as CommandRefused, one line each."""

    def error(self, message: str) -> NoReturn:
        raise CommandRefused(f"{message}. See {self.prog} --help")


def add_agent(parser: argparse.ArgumentParser) -> None:
    agent = parser.add_mutually_exclusive_group()
    agent.add_argument(
        "--agent", metavar="NAME", help="agent to use: a name from `catena agents` or the settings"
    )
    agent.add_argument(
        "--agent-command", metavar="CMD", help="any command that speaks ACP over standard input and output"
    )


def add_directories(parser: argparse.ArgumentParser) -> None:
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
