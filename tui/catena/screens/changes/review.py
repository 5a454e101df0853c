"""The changes of one scope, or of a plan, while they are looked at, what of them was seen, and lines to be drawn."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from catena.text.changes_text import shown_path
from catena.text.safe_text import safe
from catena_acp.changes.changed_file import ChangedFile, FileDiff, FileHunk, Patch, UnreadFile, diff_of_file
from catena_acp.changes.reading import Changes, ChangeScope, planned_changes
from catena_acp.continuity.wording.counts import counted
from catena_acp.diff import DiffLine
from catena_acp.snapshots.restoring import RestorePlan

_BATCH = 8  # files that are compared before someone else may have the processor


class Hit(NamedTuple):
    """A line in which a text was found; hunk and line are counted from 0."""

    path: str
    hunk: int
    line: int


class Review:
    """Changed files in the order in which they are listed; what turns out to be no change is dropped."""

    def __init__(self, changes: Changes) -> None:
        self.changes = changes
        self.files: list[UnreadFile] = list(changes.files)
        self.seen: set[str] = set(changes.seen)
        self._diffs: dict[str, FileDiff] = {}

    @property
    def paths(self) -> list[str]:
        """The paths of all files."""
        return [file.path for file in self.files]

    def diff(self, path: str | None) -> FileDiff | None:
        """The compared file of a path; None if it is not compared yet."""
        return None if path is None else self._diffs.get(path)

    def listed(self, text: str) -> list[UnreadFile]:
        """The files whose paths have every word of a text."""
        words = text.casefold().split()
        directory = self.changes.directory
        return [
            file
            for file in self.files
            if all(word in shown_path(file.path, directory).casefold() for word in words)
        ]

    def compared(self, files: Iterable[UnreadFile]) -> list[FileDiff]:
        """Those of the files that are compared."""
        return [diff for file in files if (diff := self._diffs.get(file.path)) is not None]

    def has_compared(self, files: Iterable[UnreadFile]) -> bool:
        """True if all of the files are compared: only then sums, hits and what was seen are whole."""
        return all(file.path in self._diffs for file in files)

    async def compare(self, files: Sequence[UnreadFile]) -> None:
        """Read and compare files in a thread."""
        for start in range(0, len(files), _BATCH):
            batch = [file for file in files[start : start + _BATCH] if file.path not in self._diffs]
            if batch:
                self._take(await asyncio.to_thread(_compared, batch))

    def compare_now(self, path: str) -> FileDiff | None:
        """Read and compare one file, which the next key is about."""
        file = next((file for file in self.files if file.path == path), None)
        if file is not None and path not in self._diffs:
            self._take(_compared([file]))
        return self._diffs.get(path)

    def _take(self, found: Sequence[tuple[UnreadFile, FileDiff | None]]) -> None:
        self._diffs |= {file.path: diff for file, diff in found if diff is not None}
        gone = {file.path for file, diff in found if diff is None}
        if gone:
            self.files = [file for file in self.files if file.path not in gone]

    # Seen

    def is_seen(self, path: str) -> bool:
        """True where everything of a file was seen."""
        diff = self._diffs.get(path)
        return diff is not None and self.seen.issuperset(diff.digests)

    def mark(self, digests: Sequence[str]) -> bool:
        """Mark as seen, or as not seen if all of them were; returns which."""
        seen = not self.seen.issuperset(digests)
        self.seen = self.seen | {*digests} if seen else self.seen - {*digests}
        return seen

    def put_seen_last(self) -> bool:
        """List what was not seen before what was; returns whether anything moved."""
        ordered = sorted(self.files, key=lambda file: self.is_seen(file.path))
        moved = ordered != self.files
        self.files = ordered
        return moved

    # All of it

    def hits(self, text: str, files: Iterable[UnreadFile]) -> list[Hit]:
        """The lines of compared files in which a text is found, whatever its case."""
        wanted = text.casefold()
        return [
            Hit(diff.file.path, at, line)
            for diff in self.compared(files)
            for at, hunk in enumerate(diff.hunks)
            for line, row in enumerate(hunk.hunk.lines)
            if wanted in row.text.casefold()
        ]

    async def patch(self, files: Sequence[UnreadFile]) -> Patch:
        """One patch that takes back the changes of files. Raises SnapshotFailed."""
        paths = {file.path for file in files}
        return await asyncio.to_thread(self.changes.source.patch, paths)


def _compared(files: Sequence[UnreadFile]) -> list[tuple[UnreadFile, FileDiff | None]]:
    read = ((file, file.read()) for file in files)
    return [(file, None if changed is None else diff_of_file(changed)) for file, changed in read]


class PlannedChanges:
    """The changes of a plan; what of them was seen is known for as long as it is looked at."""

    def __init__(self, plan: RestorePlan, directory: str) -> None:
        self._changes = planned_changes(plan, directory)

    async def read(self, leaf_id: str | None, scope: ChangeScope) -> Changes:
        """The changes."""
        return self._changes

    async def mark_seen(self, digests: Sequence[str], *, seen: bool) -> None:
        """Mark hunks as seen, or as not seen."""
        now = self._changes.seen | set(digests) if seen else self._changes.seen - set(digests)
        self._changes = replace(self._changes, seen=frozenset(now))


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
