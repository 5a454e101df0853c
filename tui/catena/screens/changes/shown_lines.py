"""Lines of a hunk as they are drawn and quoted: safe, without their line ends. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from catena.text.changes_text import shown_path
from catena.text.safe_text import safe
from catena_acp.changes.changed_file import ChangedFile
from catena_acp.changes.hunks import FileHunk
from catena_acp.continuity.wording.counts import counted
from catena_acp.diff import DiffLine

_TAB = 4  # cells
_LINE_ENDS = {0x0D: "␍", 0x85: "␤", 0x2028: "␤", 0x2029: "␤"}  # that git takes for a part of the line

_MOST_LINES = 200
_TICKS = re.compile("`{3,}")
_UNDO = "Undo this change:"


def shown_lines(lines: Iterable[DiffLine], *, carriages: bool) -> list[DiffLine]:
    """The lines as they are drawn."""
    return [DiffLine(line.sign, line.number, shown_text(line.text, carriages)) for line in lines]


def shown_text(text: str, carriages: bool) -> str:
    """A line as it is drawn; ``carriages``: with a sign for a carriage return at its end."""
    text = text.removesuffix("\n")
    if text.isascii() and text.isprintable():
        return text
    if not carriages:
        text = text.removesuffix("\r")
    return safe(text.translate(_LINE_ENDS)).expandtabs(_TAB)


def shows_carriages(lines: Sequence[DiffLine]) -> bool:
    """True where carriage returns are worth a sign: some lines of a hunk have one, and others have none."""
    ends = {line.text.endswith("\r\n") for line in lines}
    return len(ends) > 1


def place_words(hunk: FileHunk) -> str:
    """Which lines of a file a hunk changes, in words."""
    first, last = hunk.first_line, hunk.last_line
    return f"line {first:,}" if first == last else f"lines {first:,}–{last:,}"


def quote_of(file: ChangedFile, hunk: FileHunk, directory: str, *, undo: bool = False) -> str:
    """A hunk below its file and lines; ``undo``: as something to be taken back."""
    path = shown_path(file.path, directory)
    every = hunk.hunk.lines
    shown = shown_lines(every[:_MOST_LINES], carriages=shows_carriages(every))
    lines = [f"{line.sign}{line.text}" for line in shown]
    if (more := len(every) - len(lines)) > 0:
        lines.append(f"… {counted(more, 'more line')}")
    quote = fenced(f"{path}, {place_words(hunk)}:", "\n".join(lines), "diff")
    return "\n".join([*([_UNDO, ""] if undo else []), quote])


def fenced(head: str, body: str, language: str = "") -> str:
    """Lines as a block of code below a head; no line of them ends the block."""
    fence = "`" * max(3, 1 + max((len(ticks) for ticks in _TICKS.findall(body)), default=0))
    return "\n".join([head, f"{fence}{language}", body, fence])


def quote_of_file(file: ChangedFile, words: str, directory: str, *, undo: bool = False) -> str:
    """A file without hunks, named with what became of it."""
    head = f"{shown_path(file.path, directory)} ({words or 'changed'})"
    return "\n".join([*([_UNDO, ""] if undo else []), head])
