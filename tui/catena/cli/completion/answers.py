"""Answers to the scripts: a line on paths and option, then a candidate and what it is on each line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from catena.cli.completion.bash_line import BashLine, read_line
from catena.cli.completion.candidates import Candidate, complete
from catena.cli.parser import CommandTable
from catena.errors import ExitStatus

_LISTING = frozenset({"33", "63", "64"})  # COMP_TYPE: all that fits is shown, and nothing inserted
_ABOUT = 60  # characters


def print_answer(table: CommandTable, arguments: Sequence[str]) -> int:
    """Print what fits: for bash behind its line, type and word breaks, else behind the words as they are."""
    match arguments:
        case ["bash", text, kind, breaks]:
            line = read_line(text, breaks)
            found = complete(table, line.words, line.current)
            print(found.paths, found.option)
            for each in _bash(line, found.option, _once(found.candidates), listing=kind in _LISTING):
                print(each)
        case [_, *before, current]:
            found = complete(table, before, current)
            print(found.paths, found.option)
            for candidate in _once(found.candidates):
                print(candidate.text, candidate.about[:_ABOUT], sep="\t")
        case _:
            pass
    return ExitStatus.ANSWERED


def _bash(line: BashLine, option: str, found: Sequence[Candidate], *, listing: bool) -> Iterable[str]:
    for each in found:
        text = line.insert(option + each.text)
        yield f"{text}  ({each.about[:_ABOUT]})" if listing and each.about and len(found) > 1 else text


def _once(found: Iterable[Candidate]) -> Sequence[Candidate]:
    return list({each.text: each for each in reversed(list(found))}.values())[::-1]
