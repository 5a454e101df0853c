"""Lines of a hunk as they are drawn and quoted: safe, without their line ends. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from catena.text.safe_text import safe
from catena_acp.changes.hunks import FileHunk
from catena_acp.diff import DiffLine

_TAB = 4  # cells
_LINE_ENDS = {0x0D: "␍", 0x85: "␤", 0x2028: "␤", 0x2029: "␤"}  # that git takes for a part of the line


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
