"""Changes between snapshots of the files: what shell commands did is in them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from catena_acp.changes.changed_file import (
    MOST_CHARACTERS,
    ChangedFile,
    ChangeSource,
    ChangeSpan,
    FileContents,
    FileState,
    OnDisk,
    TextChange,
)
from catena_acp.changes.on_disk import FilesOnDisk
from catena_acp.changes.reported import ReportedChanges
from catena_acp.snapshots.restoring import RestorePlan
from catena_store.database.database import Reader
from catena_store.snapshots import turns
from catena_store.snapshots.repository import SnapshotRepository
from catena_store.snapshots.restoring import Course, TurnSnapshots
from catena_store.snapshots.trees import LeftOutFile, TreeChange, is_among
from catena_store.snapshots.turns import TurnFiles


async def source_of(reader: Reader, span: ChangeSpan, repository: SnapshotRepository | None) -> ChangeSource:
    """What knows best what was changed in a part of a branch: snapshots where all of its turns have them."""
    if repository is not None:
        kept = await turns.of_span(reader, span.leaf_id, span.after, span.until)
        if kept and kept[0].root == str(repository.root):
            return KeptChanges(repository, kept)
    return ReportedChanges()


class KeptChanges:
    """The differences between snapshots, which lie at the start and the end of each turn."""

    def __init__(self, repository: SnapshotRepository, kept: Sequence[TurnFiles]) -> None:
        self._repository = repository
        self._kept = kept

    @property
    def kept(self) -> bool:
        return True

    @property
    def caveat(self) -> str:
        """The files that no snapshot has, and whether somebody else's changes may be among them."""
        left_out = dict.fromkeys(each for turn in self._kept for each in turn.left_out)
        later = any(turn.certain is not None for turn in self._kept)
        return " ".join(
            words
            for words, holds in (
                ("A turn's end was kept later: may hold changes of yours.", later),
                (f"Not included: {_listed(list(left_out))}.", left_out),
            )
            if holds
        )

    async def changed_files(
        self, reader: Reader, span: ChangeSpan, directories: Sequence[str]
    ) -> Sequence[KeptFile]:
        """The files that were changed, by their paths. Raises SnapshotFailed."""
        return await asyncio.to_thread(self._files, FilesOnDisk((str(self._repository.root), *directories)))

    def _files(self, disk: FilesOnDisk) -> list[KeptFile]:
        return [KeptFile(self._repository, change, disk) for change in self._changes()]

    def _changes(self) -> Sequence[TreeChange]:
        pairs = [TurnSnapshots(each.before, each.after) for each in self._kept if each.after is not None]
        # What a snapshot lacks may have been there.
        lacking = {each.path for turn in self._kept for each in turn.left_out}
        if all(earlier.after == later.before for earlier, later in pairwise(pairs)):
            changes = self._repository.changes(pairs[0].before, pairs[-1].after, renames=True)
        else:
            changes = list(Course(self._repository, pairs).changes)
        return [each for each in changes if not is_among(each.path, lacking)]


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file that differs between two snapshots."""

    repository: SnapshotRepository
    change: TreeChange
    disk: FilesOnDisk | None  # None: what is there now is not asked

    @property
    def path(self) -> str:
        """Its absolute path; hostile text."""
        return str(self.repository.root / self.change.path)

    @property
    def state(self) -> FileState:
        """What became of it."""
        if self.change.old_path is not None:
            return FileState.RENAMED
        if self.change.old is None:
            return FileState.NEW
        return FileState.DELETED if self.change.new is None else FileState.CHANGED

    def read(self) -> ChangedFile | None:
        """The file with its texts. Blocks. Raises SnapshotFailed."""
        old, new = self._texts()
        renamed_from = str(self.repository.root / self.change.old_path) if self.change.old_path else ""
        problem = next((each for each in (old, new) if isinstance(each, FileContents)), None)
        if problem is not None or isinstance(old, FileContents) or isinstance(new, FileContents):
            contents = problem or FileContents.BINARY
            return ChangedFile(self.path, self.state, contents=contents, renamed_from=renamed_from)
        changes = (TextChange(old, new, whole=True),) if old != new else ()
        return ChangedFile(
            self.path, self.state, changes, renamed_from=renamed_from, on_disk=self._on_disk(new)
        )

    def _texts(self) -> tuple[str | FileContents | None, str | FileContents | None]:
        with self.repository.contents() as contents:
            old, new = (
                None if entry is None else _text(contents.read(entry.blob))
                for entry in (self.change.old, self.change.new)
            )
        return old, new

    def _on_disk(self, new: str | None) -> OnDisk:
        if self.disk is None:
            return OnDisk.SAME
        found, text = self.disk.text(self.path)
        if new is None:
            return OnDisk.SAME if found is OnDisk.GONE else OnDisk.CHANGED
        if found is not OnDisk.SAME:
            return found
        return OnDisk.SAME if text == new else OnDisk.CHANGED


def planned_files(plan: RestorePlan) -> list[KeptFile]:
    """The files that a restore would write, as they are and as they would be."""
    return [
        KeptFile(plan.repository, TreeChange(step.path, step.now, step.wanted), None) for step in plan.steps
    ]


def _text(content: bytes) -> str | FileContents:
    if len(content) > MOST_CHARACTERS:
        return FileContents.TOO_LARGE
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return FileContents.BINARY
    return FileContents.BINARY if "\0" in text else text


def _listed(left_out: Sequence[LeftOutFile]) -> str:
    most = 3
    named = ", ".join(f"{each.path} ({each.reason})" for each in left_out[:most])
    return named if len(left_out) <= most else f"{named} and {len(left_out) - most} more"
