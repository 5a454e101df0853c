"""Reading of what was changed in a turn, on a branch, or since some moment: as reported, and between snapshots.

What shell commands did is in the snapshots alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from itertools import pairwise
from typing import NamedTuple

from catena_acp.changes.changed_file import (
    MOST_CHARACTERS,
    By,
    ChangedFile,
    ChangeSource,
    ChangeSpan,
    FileContents,
    FileState,
    NotInPatch,
    OnDisk,
    Patch,
    PatchSource,
    TextChange,
    UnreadFile,
)
from catena_acp.changes.reported import AS_REPORTED, FilesOnDisk, ReportedChanges
from catena_acp.errors import FilesNotKept
from catena_acp.snapshots.restoring import (
    Alongside,
    RestorePlan,
    alongside,
    counted_plan,
    paired,
    whose_change,
)
from catena_store import ancestry
from catena_store.conversations import messages
from catena_store.conversations.seen_changes import last_look, seen_hunks
from catena_store.conversations.tree import prompts_of_branch
from catena_store.database.database import Reader, Reading
from catena_store.snapshots import turns
from catena_store.snapshots.merging import WithoutTurns, without_turns
from catena_store.snapshots.repository import SnapshotRepository
from catena_store.snapshots.restoring import RestoreStep
from catena_store.snapshots.trees import LeftOutFile, TreeChange, TreeEntry, is_among
from catena_store.snapshots.turns import TurnFiles

_DAY = 86_400  # seconds


class Since(Enum):
    """The moment from which on changes are asked for."""

    BRANCH = "branch"  # its beginning
    TURN = "turn"  # the beginning of a turn, until its end
    LOOK = "look"  # the last look at the changes of the conversation
    CHECKPOINT = "checkpoint"
    PLANNED = "planned"  # nothing yet: what files would become that go along with a branch


@dataclass(frozen=True, slots=True)
class ChangeScope:
    """Which changes of a branch are asked for."""

    since: Since = Since.BRANCH
    message_id: str | None = None  # of the turn (None: the newest), or of the checkpoint (None: the root)
    name: str = ""  # of the checkpoint


@dataclass(frozen=True, slots=True)
class Changes:
    """The changed files of a scope, and what a person has seen of them."""

    scope: ChangeScope
    leaf_id: str | None
    directory: str  # of the conversation
    files: tuple[UnreadFile, ...] = ()
    seen: frozenset[str] = frozenset()  # digests of hunks
    caveat: str = ""
    kept: bool = False  # the files' own differences; else what the agents reported
    source: PatchSource = field(default_factory=ReportedChanges)

    def plan_without(self, path: str) -> RestorePlan:
        """The plan that takes these changes out of a file; it has no steps if nothing would be different.

        Changes by others in other lines stay. Blocks. Raises FilesNotKept with the reason why it cannot be done.
        """
        if not isinstance(self.source, _KeptChanges):
            raise FilesNotKept("no snapshots were kept of these changes")
        return self.source.plan_without(path)


async def read_changes(
    reading: Reading,
    conversation_id: str,
    leaf_id: str | None,
    scope: ChangeScope,
    directories: Sequence[str],
    repository: SnapshotRepository | None = None,
    *,
    now: datetime,
) -> Changes:
    """The changes of a branch in a scope; ``directories`` are the conversation's, its own first.

    ``repository`` has the snapshots of the first of them, if there are any. Raises StoreError.
    """
    async with reading() as reader:
        if scope.since is Since.LOOK:
            scope = replace(scope, message_id=await last_look(reader, conversation_id))
        span = await span_of(reader, leaf_id, scope)
        seen = await seen_hunks(reader, conversation_id)
    source = await _source_of(reading, span, repository, now)
    files = await source.changed_files(reading, span, directories)
    return Changes(scope, leaf_id, directories[0], tuple(files), seen, source.caveat, source.kept, source)


def planned_changes(plan: RestorePlan, directory: str) -> Changes:
    """What files would become by a restore, in a conversation of this directory."""
    caveat = " ".join(
        f"{whose_change(steps).capitalize()}: {', '.join(step.path for step in steps)}."
        for steps in (plan.conflicts, plan.stuck)
        if steps
    )
    return Changes(
        ChangeScope(Since.PLANNED),
        None,
        directory,
        tuple(_planned_files(plan)),
        frozenset(),
        caveat,
        kept=True,
        source=_PlannedPatch(plan),
    )


async def span_of(reader: Reader, leaf_id: str | None, scope: ChangeScope) -> ChangeSpan:
    """The part of a branch that a scope means. Raises StoreError."""
    if leaf_id is None:
        return ChangeSpan(None)
    match scope.since:
        case Since.BRANCH | Since.PLANNED:
            return ChangeSpan(leaf_id)
        case Since.TURN:
            return await _turn(reader, leaf_id, scope.message_id)
        case Since.LOOK | Since.CHECKPOINT:
            shared = None
            if scope.message_id is not None and await messages.get(reader, scope.message_id) is not None:
                shared = await ancestry.meeting(reader, leaf_id, scope.message_id)
            return ChangeSpan(leaf_id, -1 if shared is None else await messages.depth(reader, shared))


async def _turn(reader: Reader, leaf_id: str, message_id: str | None) -> ChangeSpan:
    """The turn of a message; that of the leaf where none is given."""
    at = await messages.depth(reader, message_id or leaf_id)
    after, until = -1, None
    for _, depth in await prompts_of_branch(reader, leaf_id):
        if depth > at:
            until = depth - 1
            break
        after = depth
    return ChangeSpan(leaf_id, after, until)


async def _source_of(
    reading: Reading, span: ChangeSpan, repository: SnapshotRepository | None, now: datetime
) -> ChangeSource:
    """What knows best what was changed in a part of a branch: snapshots, for those of its turns that have them."""
    if repository is None:
        return ReportedChanges()
    async with reading() as reader:
        found = await turns.of_each(reader, span.leaf_id, span.after, span.until)
    late = sum(each.files is not None and each.files.late for each in found)
    kept = [
        files
        for each in found
        if (files := each.files) is not None
        and files.after
        and not files.late
        and files.root == str(repository.root)
    ]
    if not kept:
        return ReportedChanges(late=late)
    beside = await alongside(reading, repository, (kept,), now)
    rest = {each.id for each in found} - {each.turn_id for each in kept}
    reported = ReportedChanges(rest) if rest else None
    return _KeptChanges(repository, kept, beside, reported, now, unkept=len(rest) - late, late=late)


class _KeptChanges:
    """The differences between snapshots, which lie at the start and the end of each turn.

    Turns without snapshots are told of by ``reported``.
    """

    def __init__(
        self,
        repository: SnapshotRepository,
        kept: Sequence[TurnFiles],
        beside: Alongside,
        reported: ReportedChanges | None,
        now: datetime,
        *,
        unkept: int = 0,
        late: int = 0,
    ) -> None:
        self._repository = repository
        self._kept = kept
        self._beside = beside
        self._reported = reported
        self._unkept = unkept
        self._late = late
        self._day = int(now.timestamp()) // _DAY
        self._reported_paths: set[str] = set()

    @property
    def kept(self) -> bool:
        return True

    @property
    def caveat(self) -> str:
        """The files that no snapshot has, and whether someone else's changes may be among them."""
        left_out = dict.fromkeys(each for turn in self._kept for each in turn.left_out)
        later = any(turn.certain is not None for turn in self._kept)
        words = []
        if self._unkept:
            one = self._unkept == 1
            whose = (
                "1 turn has no snapshots: its" if one else f"{self._unkept} turns have no snapshots: their"
            )
            words.append(f"{whose} {AS_REPORTED}")
        if self._late:
            one = self._late == 1
            whose = "The beginning of 1 turn" if one else f"The beginning of {self._late} turns"
            words.append(f"{whose} was missed: {'its' if one else 'their'} {AS_REPORTED}")
        if later:
            words.append("A turn's end was saved late: it may include your changes.")
        if left_out:
            words.append(f"Not included: {_listed(list(left_out))}.")
        return " ".join(words)

    async def changed_files(
        self, reading: Reading, span: ChangeSpan, directories: Sequence[str]
    ) -> Sequence[UnreadFile]:
        """The files that were changed, by their paths. Raises StoreError."""
        files: Sequence[UnreadFile] = await asyncio.to_thread(self._files, directories)
        if self._reported is None:
            return files
        known = {file.path for file in files}
        reported = await self._reported.changed_files(reading, span, directories)
        self._reported_paths = {file.path for file in reported}
        return sorted(
            [*files, *(file for file in reported if file.path not in known)], key=lambda file: file.path
        )

    def patch(self, paths: Collection[str] | None = None) -> Patch:
        """What is there now against what would be there without these turns. Blocks. Raises SnapshotFailed."""
        repository, prefix = self._repository, self._prefix
        now, found = self._without(paths)
        content = repository.patch(repository.tree_with(now, found.entries), now, renames=True)
        left = [NotInPatch(prefix + path, str(why)) for path, why in sorted(found.left.items())]
        if self._reported is not None:
            alone = (
                self._reported_paths
                - {each.path for each in left}
                - {prefix + path for path in found.entries}
            )
            reported = self._reported.patch(alone if paths is None else alone & {*paths})
            content, left = content + reported.content, [*left, *reported.left_out]
        return Patch(content, str(repository.root), tuple(left))

    def plan_without(self, path: str) -> RestorePlan:
        """What taking these turns out of a file would write. Blocks. Raises FilesNotKept, SnapshotFailed."""
        if path in self._reported_paths or not path.startswith(self._prefix):
            raise FilesNotKept("it is in no snapshot of every turn")
        now, found = self._without({path})
        if found.left:
            raise FilesNotKept(next(iter(found.left.values())).value)
        there = self._repository.entries(now)
        steps = [RestoreStep(each, there.get(each), wanted) for each, wanted in sorted(found.entries.items())]
        only = tuple(step.path for step in steps)
        return counted_plan(self._repository, steps, now, (), only=only)

    @property
    def _prefix(self) -> str:
        return f"{self._repository.root}/".replace("//", "/")

    def _without(self, paths: Collection[str] | None) -> tuple[str, WithoutTurns]:
        """The tree of now, and what would be different in these paths without the turns; with their older names."""
        repository, prefix = self._repository, self._prefix
        taken = repository.capture(day=self._day)
        pairs = paired(repository, self._kept, taken.tree, self._beside)
        lacking = {
            each.path for each in (*taken.left_out, *(each for turn in self._kept for each in turn.left_out))
        }
        lacking |= {path.removeprefix(prefix) for path in self._reported_paths if path.startswith(prefix)}
        found = without_turns(repository, pairs, taken.tree, unkept=lacking)
        wanted = {path for path in (*found.entries, *found.left) if paths is None or prefix + path in paths}
        for source, target in found.renamed:
            wanted |= {source} if target in wanted else set()
        entries = {path: entry for path, entry in found.entries.items() if path in wanted}
        return taken.tree, WithoutTurns(
            entries, {path: why for path, why in found.left.items() if path in wanted}
        )

    def _files(self, directories: Sequence[str]) -> list[_KeptFile]:
        disk = FilesOnDisk((str(self._repository.root), *directories))
        # What a snapshot lacks may have been there.
        lacking = {each.path for turn in self._kept for each in turn.left_out}
        return [
            _KeptFile(self._repository, change, disk, steps)
            for change, steps in self._changes()
            if not is_among(change.path, lacking)
        ]

    def _changes(self) -> Iterator[tuple[TreeChange, Sequence[_Step]]]:
        """What is different by these turns, with the steps to it where others took some of them."""
        pairs = [(each.before, each.after) for each in self._kept if each.after is not None]
        if all(earlier[1] == later[0] for earlier, later in pairwise(pairs)):
            for change in self._repository.changes(pairs[0][0], pairs[-1][1], renames=True):
                yield change, ()
            return
        steps: dict[str, list[_Step]] = {}
        last: str | None = None
        for before, after in pairs:
            for change in self._repository.changes(last, before) if last is not None else ():
                if change.path in steps:
                    steps[change.path].append(_Step(By.OTHERS, change.old, change.new))
            for change in self._repository.changes(before, after):
                steps.setdefault(change.path, []).append(_Step(By.AGENT, change.old, change.new))
            last = after
        for path, taken in sorted(steps.items()):
            while taken[-1].by is By.OTHERS:  # behind the last turn that changed it
                del taken[-1]
            others = any(step.by is By.OTHERS for step in taken)
            if others or taken[0].old != taken[-1].new:
                yield TreeChange(path, taken[0].old, taken[-1].new), taken if others else ()


class _Step(NamedTuple):
    """One change of a file, and whose it is."""

    by: By
    old: TreeEntry | None
    new: TreeEntry | None


@dataclass(frozen=True, slots=True)
class _KeptFile:
    """A file that differs between two snapshots; where others changed it between turns, ``steps`` lead through it."""

    repository: SnapshotRepository
    change: TreeChange
    disk: FilesOnDisk | None  # None: what is there now is not asked
    steps: Sequence[_Step] = ()

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
        """The file with its texts; None where the turns left nothing in it. Blocks. Raises SnapshotFailed."""
        taken = self.steps or (_Step(By.AGENT, self.change.old, self.change.new),)
        renamed_from = str(self.repository.root / self.change.old_path) if self.change.old_path else ""
        texts = [_TextStep(step.by, *self._texts(step)) for step in taken]
        for each in texts:
            if problem := next((text for text in each[1:] if isinstance(text, FileContents)), None):
                return ChangedFile(self.path, self.state, contents=problem, renamed_from=renamed_from)
        steps = [TextChange(each.old, each.new, whole=True, by=each.by) for each in texts]
        new = steps[-1].new
        on_disk, there = self._on_disk(new)
        file = ChangedFile(self.path, self.state, renamed_from=renamed_from, on_disk=on_disk)
        if on_disk in (OnDisk.CHANGED, OnDisk.GONE) and self._without(steps, there) is _CONFLICT:
            steps_until_now = (*steps, TextChange(new, there, whole=True, by=By.OTHERS))
            return replace(file, changes=steps_until_now, successive=True)
        old = self._without(steps, new)
        if isinstance(old, _Conflict):
            return replace(file, changes=tuple(steps), successive=True)
        if old == new:
            return file if not self.steps else None
        state = FileState.NEW if old is None else file.state
        return replace(file, changes=(TextChange(old, new, whole=True),), state=state)

    def _without(self, steps: Sequence[TextChange], text: str | None) -> str | _Conflict | None:
        """A later text without the agent's steps."""
        for step in reversed(steps):
            if step.by is By.OTHERS or text == step.old:
                continue
            if text == step.new:
                text = step.old
            elif text is None or step.new is None or step.old is None:
                return _CONFLICT
            else:
                versions = (each.encode("utf-8", "surrogatepass") for each in (text, step.new, step.old))
                merged = self.repository.merged(*versions)
                if merged is None:
                    return _CONFLICT
                text = merged.decode("utf-8", "surrogatepass")
        return text

    def _texts(self, step: _Step) -> tuple[str | FileContents | None, str | FileContents | None]:
        with self.repository.contents() as contents:
            old, new = (
                None if entry is None else _text(contents.read(entry.blob)) for entry in (step.old, step.new)
            )
        return old, new

    def _on_disk(self, new: str | None) -> tuple[OnDisk, str | None]:
        """What is in the place of what was left there, and its text, where there is one."""
        if self.disk is None:
            return OnDisk.SAME, new
        found, text = self.disk.text(self.path)
        if found is OnDisk.GONE:
            return (OnDisk.SAME if new is None else OnDisk.GONE), None
        if new is None:
            return OnDisk.CHANGED, text
        if found is not OnDisk.SAME:
            return found, None
        return (OnDisk.SAME if text == new else OnDisk.CHANGED), text


class _TextStep(NamedTuple):
    by: By
    old: str | FileContents | None
    new: str | FileContents | None


class _Conflict(Enum):
    """Two changed the same lines."""

    CONFLICT = "conflict"


_CONFLICT = _Conflict.CONFLICT


def _planned_files(plan: RestorePlan) -> list[_KeptFile]:
    """The files that a restore would write, as they are and as they would be."""
    return [
        _KeptFile(plan.repository, TreeChange(step.path, step.now, step.wanted), None)
        for step in plan.steps
        if step.possible
    ]


@dataclass(frozen=True, slots=True)
class _PlannedPatch:
    """The patch of what a restore would write."""

    plan: RestorePlan

    def patch(self, paths: Collection[str] | None = None) -> Patch:
        """What would be written of all files, or only of these. Blocks. Raises SnapshotFailed."""
        repository = self.plan.repository
        chosen = {
            step.path: step.wanted
            for step in self.plan.steps
            if step.possible and (paths is None or str(repository.root / step.path) in paths)
        }
        wanted = repository.tree_with(self.plan.now, chosen)
        return Patch(repository.patch(self.plan.now, wanted), str(repository.root))


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
