"""Files as they would be without some turns: each is taken out of what is there now, the newest first. It blocks.

A turn is taken out of a file by a three-way merge: from what the turn left to what it found, and from what it left to
what is there now. So whatever anybody else did to the file since stays. Where both touched the same lines, nothing is
taken out of the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from catena_store.snapshots.repository import SnapshotRepository
from catena_store.snapshots.restoring import Course, TurnSnapshots, Why
from catena_store.snapshots.trees import ContentReader, TreeChange, TreeEntry, above, is_among

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class WithoutTurns:
    """The paths that would be different without some turns, and the paths for which that cannot be decided."""

    entries: Mapping[str, TreeEntry | None]  # None: no file
    left: Mapping[str, Why]
    renamed: Sequence[tuple[str, str]] = ()  # names of one file before and after a turn, newest turn first


def without_turns(
    repository: SnapshotRepository, turns: Sequence[TurnSnapshots], now: str, *, unkept: Iterable[str] = ()
) -> WithoutTurns:
    """What a tree would be without turns; ``unkept`` are paths that a snapshot lacks. Raises SnapshotFailed."""
    course = Course(repository, turns)
    doubts = {path: why for path, why in course.doubts.items() if path in course.first}
    lacking = set(unkept)
    doubts |= {path: Why.NOT_KEPT for path in course.first if is_among(path, lacking)}
    with repository.contents() as contents:
        taking = _Taking(repository, contents, repository.entries(now), doubts)
        for turn in reversed(turns):
            for change in repository.changes(turn.before, turn.certain or turn.after, renames=True):
                taking.take_out(change)
        taking.leave_what_has_no_place()
    return WithoutTurns(taking.entries, taking.left, taking.renamed)


class _Taking:
    """The entries of a tree while turns are taken out of it."""

    def __init__(
        self,
        repository: SnapshotRepository,
        contents: ContentReader,
        now: Mapping[str, TreeEntry],
        doubts: Mapping[str, Why],
    ) -> None:
        self._repository = repository
        self._contents = contents
        self._now = now
        self._changed: dict[str, TreeEntry | None] = {}
        self.renamed: list[tuple[str, str]] = []  # what is left of the one is left of the other
        self.left = dict(doubts)

    @property
    def entries(self) -> dict[str, TreeEntry | None]:
        """What is different from now, but for what is left."""
        return {
            path: entry
            for path, entry in self._changed.items()
            if path not in self.left and entry != self._now.get(path)
        }

    def take_out(self, change: TreeChange) -> None:
        """Take out what a turn did to a path, or leave the path."""
        source = change.old_path or change.path
        if source != change.path:
            self.renamed.append((source, change.path))
        there, there_too = self._at(change.path), self._at(source) if source != change.path else None
        if there_too is not None:  # something has the old name again
            if not (there is None and there_too == change.old):
                self._leave(change.path, source)
        elif there == change.new:
            self._put(change.path, source, change.old)
        elif there != change.old or source != change.path:
            merged = self._merged(there, change.new, change.old)
            if merged is None:
                self._leave(change.path, source)
            else:
                self._put(change.path, source, merged)

    def leave_what_has_no_place(self) -> None:
        """Leave what would need a directory where a file stays, or a file where a directory does."""
        self._leave_renamed()
        while blocked := self._blocked():
            self._leave(*blocked)
            self._leave_renamed()

    def _at(self, path: str) -> TreeEntry | None:
        return self._changed[path] if path in self._changed else self._now.get(path)

    def _put(self, path: str, source: str, entry: TreeEntry | None) -> None:
        self._changed[path] = None
        self._changed[source] = entry

    def _leave(self, *paths: str) -> None:
        for path in paths:
            self.left.setdefault(path, Why.SAME_LINES)

    def _leave_renamed(self) -> None:
        """Leave both names of a file where one is left: its lines would be lost."""
        while lone := [pair for pair in self.renamed if len(self.left.keys() & {*pair}) == 1]:
            for one, other in lone:
                why = self.left.get(one) or self.left[other]
                self.left.setdefault(one, why)
                self.left.setdefault(other, why)

    def _blocked(self) -> list[str]:
        entries = self.entries
        there = {path for path in self._now if entries.get(path, self._now[path]) is not None}
        there |= {path for path, entry in entries.items() if entry is not None}
        directories = {each for path in there for each in above(path)}
        return [
            path
            for path, entry in entries.items()
            if entry is not None and (path in directories or any(each in there for each in above(path)))
        ]

    def _merged(
        self, there: TreeEntry | None, left: TreeEntry | None, found: TreeEntry | None
    ) -> TreeEntry | None:
        """A file that somebody changed since, without the turn that left it so; None where that cannot be told."""
        if there is None or left is None or found is None:
            return None
        mode = _one_of(there.mode, left.mode, found.mode)
        if mode is None or len({each.is_link for each in (there, left, found)}) > 1:
            return None
        blob = _one_of(there.blob, left.blob, found.blob)
        if blob is None and not there.is_link:
            texts = [self._contents.read(each.blob) for each in (there, left, found)]
            merged = self._repository.merged(*texts)
            blob = None if merged is None else self._repository.put(merged)
        return None if blob is None else TreeEntry(mode, blob)


def _one_of(there: _Value, left: _Value, found: _Value) -> _Value | None:
    """The outcome where only one side changed a value, or both to the same; None where they differ."""
    if there in (left, found):
        return found
    return there if left == found else None
