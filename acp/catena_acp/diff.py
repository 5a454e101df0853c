"""The changed lines between two versions of a text. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import NamedTuple

_HEAD = re.compile(r"=+|@@ -\d+(,\d+)? \+\d+(,\d+)? @@")  # lines of a patch that say nothing
_CONTEXT = 3  # unchanged lines around a change
# Changed lines of either side beyond which everything between first and last counts as changed.
_COMPARED = 1500


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a diff: ``sign`` is `+`, `-` or a space, ``number`` counts in the version that has the line."""

    sign: str
    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Hunk:
    """Changes with the lines around them."""

    before: int  # lines of the old version above the hunk
    after: int  # lines of the new version above it
    lines: tuple[DiffLine, ...]

    @property
    def head(self) -> str:
        """The line above a hunk in the unified format."""
        added = sum(line.sign == "+" for line in self.lines)
        removed = sum(line.sign == "-" for line in self.lines)
        before, after = len(self.lines) - added, len(self.lines) - removed
        return f"@@ -{_range(self.before, before)} +{_range(self.after, after)} @@"


class _Replacement(NamedTuple):
    """Lines of the old version that were replaced by lines of the new one; either may be none."""

    old: int
    old_end: int
    new: int
    new_end: int


@dataclass(frozen=True, slots=True)
class LineDiff:
    """Two versions of a text, and the blocks of lines in which they differ."""

    before: Sequence[str]
    after: Sequence[str]
    blocks: Sequence[_Replacement]

    @property
    def added(self) -> int:
        """How many lines only the new version has."""
        return sum(block.new_end - block.new for block in self.blocks)

    @property
    def removed(self) -> int:
        """How many lines only the old version has."""
        return sum(block.old_end - block.old for block in self.blocks)

    @property
    def hunks(self) -> tuple[Hunk, ...]:
        """The blocks with the lines around them; blocks that are close to each other share a hunk."""
        return tuple(self._hunks())

    def unified(self, path: str | None = None) -> Iterator[str]:
        """The hunks in the unified format, below the names of the file where ``path`` is given."""
        if path is not None and self.blocks:
            yield f"--- {path}"
            yield f"+++ {path}"
        for hunk in self._hunks():
            yield hunk.head
            yield from (line.sign + line.text for line in hunk.lines)

    def _hunks(self) -> Iterator[Hunk]:
        before, after = self.before, self.after
        lines: list[DiffLine] = []
        start = (0, 0)
        shown = 0  # lines of `after` that are in a hunk already, or above it
        for index, block in enumerate(self.blocks):
            begin = max(shown, block.new - _CONTEXT)
            if lines and begin > shown:
                yield Hunk(*start, tuple(lines))
                lines = []
            if not lines:
                start = block.old - (block.new - begin), begin
            lines += [DiffLine(" ", n + 1, after[n]) for n in range(begin, block.new)]
            lines += [DiffLine("-", n + 1, before[n]) for n in range(block.old, block.old_end)]
            lines += [DiffLine("+", n + 1, after[n]) for n in range(block.new, block.new_end)]
            following = self.blocks[index + 1].new if index + 1 < len(self.blocks) else len(after)
            shown = min(block.new_end + _CONTEXT, following)
            lines += [DiffLine(" ", n + 1, after[n]) for n in range(block.new_end, shown)]
        if lines:
            yield Hunk(*start, tuple(lines))


def line_diff(old: str | None, new: str) -> LineDiff:
    """Compare two versions of a text; ``old`` is None for a new one."""
    return diff_of_lines((old or "").splitlines(), new.splitlines())


def diff_of_lines(before: Sequence[str], after: Sequence[str]) -> LineDiff:
    """Compare two versions of a text that are split into lines already."""
    return LineDiff(before, after, tuple(_blocks(before, after)))


def shows_text(text: str, old: str | None, new: str) -> bool:
    """True if the hunks between two versions show a text, line for line, as it was or will be."""
    return any(
        text.rstrip("\n") in "\n".join(line.text for line in hunk.lines if line.sign in (" ", sign))
        for hunk in line_diff(old, new).hunks
        for sign in "-+"
    )


def says_patch(patch: str, path: str, old: str | None, new: str) -> bool:
    """True if a patch in the unified format says nothing but how a file becomes the new version of it."""
    heads = {f"Index: {path}", f"--- {path}", f"+++ {path}", "\\ No newline at end of file"}
    lines = [line for line in patch.splitlines() if line not in heads and not _HEAD.fullmatch(line)]
    changed = [f"{line.sign}{line.text}" for hunk in line_diff(old, new).hunks for line in hunk.lines]
    around = {f" {line}" for line in (old or "").splitlines()}
    told = [[line for line in each if line[:1] == sign] for each in (lines, changed) for sign in "+-"]
    return told[:2] == told[2:] and all(line[:1] in "+-" or line in around for line in lines if line)


def _blocks(before: Sequence[str], after: Sequence[str]) -> Iterator[_Replacement]:
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    if not old and not new:
        return
    if len(old) > _COMPARED or len(new) > _COMPARED:
        yield _Replacement(head, len(before) - tail, head, len(after) - tail)
        return
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield _Replacement(head + i1, head + i2, head + j1, head + j2)


def _range(above: int, count: int) -> str:
    """Where a hunk lies in a version; an empty one is named by the line above it."""
    if count == 1:
        return f"{above + 1}"
    return f"{above + 1 if count else above},{count}"
