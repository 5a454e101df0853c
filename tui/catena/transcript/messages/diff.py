"""Diff of a file: added and removed lines with context, computed and drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from rich.style import Style

from catena.text.safe_text import safe
from catena.transcript.drawing.lines import Line, LinePrefix, add_prefix, line_of
from catena.transcript.drawing.render_options import RenderOptions
from catena.transcript.drawing.wrapping import wrap_runs

CONTEXT = 3
# Changed lines of either side; beyond that, everything from the first to the last changed line counts as changed.
_MAX_COMPARED = 1500


@dataclass(frozen=True, slots=True)
class DiffRow:
    """A line of a diff; ``sign`` is `+`, `-` or a space, ``number`` its line number in the new or old file."""

    sign: str
    number: int
    text: str


@dataclass(frozen=True, slots=True)
class FileChange:
    """The hunks of a file's diff, and the numbers of added and removed lines."""

    hunks: tuple[tuple[DiffRow, ...], ...]
    added: int
    removed: int


@lru_cache(maxsize=16)
def change_of(old: str | None, new: str) -> FileChange:
    """Compare two versions of a file; ``old`` is None for a new file."""
    before, after = _lines(old or ""), _lines(new)
    blocks = list(_changed_ranges(before, after))
    added = sum(j2 - j1 for _, _, j1, j2 in blocks)
    removed = sum(i2 - i1 for i1, i2, _, _ in blocks)
    return FileChange(tuple(_hunks(before, after, blocks)), added, removed)


def _lines(text: str) -> list[str]:
    lines = safe(text).split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _changed_ranges(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """Yield the differing ranges of both."""
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    middle_before, middle_after = before[head : len(before) - tail], after[head : len(after) - tail]
    if not middle_before and not middle_after:
        return
    if len(middle_before) > _MAX_COMPARED or len(middle_after) > _MAX_COMPARED:
        yield head, len(before) - tail, head, len(after) - tail
        return
    for tag, i1, i2, j1, j2 in SequenceMatcher(
        None, middle_before, middle_after, autojunk=False
    ).get_opcodes():
        if tag != "equal":
            yield head + i1, head + i2, head + j1, head + j2


def _hunks(
    before: Sequence[str], after: Sequence[str], blocks: Sequence[tuple[int, int, int, int]]
) -> Iterator[tuple[DiffRow, ...]]:
    hunk: list[DiffRow] = []
    shown = 0  # lines of `after` that are in a hunk already, or above it
    for index, (i1, i2, j1, j2) in enumerate(blocks):
        begin = max(shown, j1 - CONTEXT)
        if hunk and begin > shown:
            yield tuple(hunk)
            hunk = []
        hunk += [DiffRow(" ", n + 1, after[n]) for n in range(begin, j1)]
        hunk += [DiffRow("-", n + 1, before[n]) for n in range(i1, i2)]
        hunk += [DiffRow("+", n + 1, after[n]) for n in range(j1, j2)]
        following = blocks[index + 1][2] if index + 1 < len(blocks) else len(after)
        shown = min(j2 + CONTEXT, following)
        hunk += [DiffRow(" ", n + 1, after[n]) for n in range(j2, shown)]
    if hunk:
        yield tuple(hunk)


def draw_rows(rows: Sequence[DiffRow], options: RenderOptions, digits: int) -> list[Line]:
    """Draw the lines of a hunk, with line numbers of ``digits`` cells."""
    palette = options.palette
    styles = {"+": palette.added, "-": palette.removed, " ": palette.muted}
    signs = {"+": "+", "-": "−", " ": " "}
    lines: list[Line] = []
    for row in rows:
        style = styles[row.sign]
        drawn = wrap_runs([(row.text.expandtabs(4), style)], options.width - digits - 3)
        drawn[0].text = row.text if len(drawn) == 1 else drawn[0].text
        sign = LinePrefix(f"{signs[row.sign]} ", "  ", style)
        number = LinePrefix(f"{row.number:>{digits}} ", " " * (digits + 1), palette.faint)
        lines += add_prefix(add_prefix(drawn, sign), number)
    return lines


def draw_gap(options: RenderOptions) -> Line:
    """Draw the separator between two hunks."""
    return line_of(("⋯", options.palette.faint), text="", lead=1)


def counts(added: int, removed: int, options: RenderOptions) -> list[tuple[str, Style]]:
    """Return `+6 −2` as styled runs; zeros are left out."""
    pieces: list[tuple[str, Style]] = []
    if added:
        pieces.append((f"+{added}", options.palette.added))
    if removed:
        pieces.append((f"{' ' if pieces else ''}−{removed}", options.palette.removed))
    return pieces
