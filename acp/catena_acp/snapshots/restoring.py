"""Files of a conversation's directory, brought back to what they were at an earlier message, or across to a branch.

A restore is noted with its steps before the first of them, and the note goes with what it was done for, or after the
last step: one that a killed process left is finished, or undone, by the same steps.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property

from catena_acp.errors import FilesNotKept
from catena_store import ancestry
from catena_store.conversations import messages
from catena_store.database.database import Database, Reader, Reading
from catena_store.errors import SnapshotFailed
from catena_store.ids import from_milliseconds, to_milliseconds
from catena_store.records import Owner
from catena_store.snapshots import files_place, turns, unfinished
from catena_store.snapshots.files_place import FilesPlace
from catena_store.snapshots.repository import SnapshotRepository, reaching
from catena_store.snapshots.restoring import RestoreStep, TurnSnapshots, Why, plan, restore
from catena_store.snapshots.trees import LineCounts
from catena_store.snapshots.unfinished import UnfinishedRestore, WindowMove
from catena_store.windows import journal

_SILENCE = timedelta(minutes=1)  # after which a client without a sign of life counts as killed
_NOT_KEPT = "the files were not kept around every turn between the two messages"
_WITHIN = "files are kept around turns, and that message is in the middle of one that changed some"


# By turn: trees, of which None is that of now, and whose what changed between them may be.
Alongside = Mapping[str, Sequence[tuple[str, str | None, Why]]]


@dataclass(frozen=True, slots=True)
class FileChoice:
    """The choice that files come along: those that nobody else changed since, and these paths, too."""

    also: frozenset[str] = frozenset()
    where_kept: bool = False  # made by a setting: where files were not kept they stay


@dataclass(frozen=True)
class RestorePlan:
    """The steps of a restore of files, by path."""

    repository: SnapshotRepository
    steps: tuple[RestoreStep, ...]
    now: str  # the tree of this moment
    wanted: str  # and of afterwards, with every step
    stands: tuple[str, ...]  # the rows at which they stand afterwards
    kept_later: bool = False  # the end of a turn: its changes may be the person's
    only: tuple[str, ...] = ()  # it is about these paths alone: where files stand is as before

    @property
    def free(self) -> tuple[RestoreStep, ...]:
        """The steps that nobody else's change is in the way of."""
        return tuple(step for step in self.steps if step.conflict is None)

    @property
    def conflicts(self) -> tuple[RestoreStep, ...]:
        """The steps that are not taken unless the person chooses them."""
        return tuple(step for step in self.steps if step.conflict is not None and step.possible)

    @property
    def stuck(self) -> tuple[RestoreStep, ...]:
        """The steps that cannot be taken: what is there, or what was, is in no snapshot."""
        return tuple(step for step in self.steps if not step.possible)

    def choose(self, paths: Collection[str]) -> tuple[RestoreStep, ...]:
        """The steps of these paths, and of all below them, also where someone else changed them."""
        wanted = [path.rstrip("/") for path in paths]
        return tuple(
            step
            for step in self.steps
            if step.possible and any(step.path == path or step.path.startswith(f"{path}/") for path in wanted)
        )

    def chosen(self, choice: FileChoice) -> tuple[RestoreStep, ...]:
        """The steps of a choice."""
        return tuple(
            step
            for step in self.steps
            if step.conflict is None or (step.possible and step.path in choice.also)
        )

    def line_counts(self) -> list[LineCounts]:
        """The lines that would be added and removed. Blocks the first time."""
        return self._line_counts

    @cached_property
    def _line_counts(self) -> list[LineCounts]:
        return self.repository.line_counts(self.now, self.wanted, renames=False)


@dataclass(frozen=True, slots=True)
class FilesMoved:
    """Files that came along, until it is stored what they came along with."""

    note_id: str
    root: str
    before: str  # the tree of before
    after: str  # and of afterwards
    done: tuple[RestoreStep, ...]
    left: tuple[RestoreStep, ...]  # someone else's change was in the way
    stands: tuple[str, ...]  # the rows at which they stand now
    began_at: datetime
    only: tuple[str, ...] = ()  # it was about these paths alone: where files stand is as before


def whose_change(steps: Iterable[RestoreStep]) -> str:
    """The obstacle to steps that are left, in words that follow their names."""
    reasons = {step.conflict for step in steps}
    for known, words in _IN_THE_WAY:
        if reasons <= known:
            return words
    return (
        "maybe changed by others" if reasons.isdisjoint(_UNKEPT) else "maybe changed by others, or not kept"
    )


_UNKEPT = frozenset({Why.NOT_KEPT, Why.IN_NO_SNAPSHOT})
_IN_THE_WAY = (
    (frozenset({Why.CHANGED_SINCE, Why.CHANGED_BETWEEN}), Why.CHANGED_SINCE.value),
    (frozenset({Why.AT_WORK_TOO}), "maybe changed by another agent"),
    (frozenset({Why.MOVED}), Why.MOVED.value),
    (frozenset({Why.KEPT_LATER}), "maybe changed by you after the turn was cut off"),
    (frozenset({Why.IN_NO_SNAPSHOT}), "in no snapshot"),
    (_UNKEPT, "not in every snapshot"),
)


@dataclass(frozen=True, slots=True)
class RestoreNote:
    """The note on a restore while it is under way."""

    id: str
    conversation_id: str
    owner: Owner | None = None  # the process that is at it
    move: WindowMove | None = None  # what comes once the files are there
    stands: FilesPlace | None = None  # where they stand then
    day: int = 0


async def plan_restore(
    db: Database,
    repository: SnapshotRepository,
    stand: tuple[str, ...],
    message_id: str | None,
    *,
    day: int,
    now: datetime,
    running: bool = False,
    named: bool = False,
    place: str | None = None,
) -> RestorePlan:
    """What bringing the files to a message would change, from where they ``stand``; branches may part above it.

    At a prompt files are as they were before its turn, if it has one or the person ``named`` the prompt; at any other
    message as after all turns down to it. Turns that are in the files and not above the message are left, and turns
    above it that are not in the files are entered. Of the branches at whose ends files stand, all turns of the first
    must have been kept; those of the others that were not changed files as anybody else did. What an earlier way left
    there of the turns down to ``place`` is named, too.

    A snapshot of now is taken for it; None is the beginning. With ``running`` the last turn of the branch may be under
    way. Raises FilesNotKept where a turn that is left or entered has no snapshots, or where only a part of one is, and
    StoreError.
    """
    async with db.read() as reader:
        message_id = await turns.row_of_files(reader, message_id, named=named)
        left: list[turns.TurnFiles] | None = None
        deepest, cut = -1, set[str | None]()
        for at, leaf_id in enumerate(stand or (None,)):
            shared = await _shared(reader, leaf_id, message_id)
            depth = await _depth(reader, shared)
            deepest = max(deepest, depth)
            cut |= {await turns.turn_within(reader, shared)} if shared is not None else set()
            if at == 0:
                left = await turns.of_span(reader, leaf_id, depth, None, running=running)
            elif left is not None:
                found = await turns.of_each(reader, leaf_id, depth, None)
                left += [each.files for each in found if each.files and _is_whole(repository, each.files)]
        left = None if left is None else await turns.in_order(reader, left)
        entered = await turns.of_span(reader, message_id, deepest, None)
        stayed = () if place in stand else await _stayed(reader, repository, place, message_id)
    beside = await alongside(db.read, repository, (stayed, left or (), entered or ()), now)
    if left is None or entered is None or not _all_in(repository, (*left, *entered)):
        raise FilesNotKept(_NOT_KEPT)
    if any(each.turn_id in cut and each.before != each.after for each in (*left, *entered)):
        raise FilesNotKept(_WITHIN)
    return await asyncio.to_thread(_planned, repository, left, entered, beside, day, _end(message_id), stayed)


async def _stayed(
    reader: Reader, repository: SnapshotRepository, place: str | None, message_id: str | None
) -> Sequence[turns.TurnFiles]:
    """The turns from a message down to a place, as far as they were kept."""
    shared = await _shared(reader, place, message_id)
    found = await turns.of_span(reader, place, await _depth(reader, shared), None)
    cut = await turns.turn_within(reader, shared) if shared is not None else None
    return (
        ()
        if found is None or not _all_in(repository, found)
        else [each for each in found if each.turn_id != cut]
    )


async def plan_return(
    db: Database,
    repository: SnapshotRepository,
    then: str,
    since: str,
    *,
    stood_then: Sequence[str],
    stood_since: Sequence[str],
    stand: Sequence[str],
    only: Sequence[str] = (),
    day: int,
    now: datetime,
) -> RestorePlan:
    """What taking back an act would change that made the tree ``since`` of the tree ``then``.

    It took files from where they ``stood_then`` to where they ``stood_since``. The turns that are in the files since,
    where they ``stand`` now, are left with it, unless it was about ``only`` some paths. Raises StoreError.
    """
    async with db.read() as reader:
        after: list[turns.TurnFiles] = []
        for leaf_id in stand if not only else ():
            meetings = [await _shared(reader, leaf_id, each) for each in stood_since]
            depth = max([await _depth(reader, each) for each in meetings], default=-1)
            found = await turns.of_each(reader, leaf_id, depth, None)
            # Turns that were not kept changed files as anybody else did.
            after += [each.files for each in found if each.files and _is_whole(repository, each.files)]
        after = await turns.in_order(reader, after)
    beside = await alongside(db.read, repository, (after,), now)
    act = turns.TurnFiles("", str(repository.root), then, since)
    stands = tuple(stood_then)
    return await asyncio.to_thread(
        _planned, repository, [act, *after], [], beside, day, stands, only=tuple(only)
    )


async def alongside(
    reading: Reading,
    repository: SnapshotRepository,
    kept: Iterable[Sequence[turns.TurnFiles]],
    now: datetime,
) -> Alongside:
    """The times within turns in which another agent or Catena changed files of the same root, whoever's it is.

    Of turns that are ``kept`` together, none is another's. Waits for disks, in no transaction.
    """
    asked = [[each.turn_id for each in together] for together in kept if together]
    root, alive_since = str(repository.root), to_milliseconds(now - _SILENCE)
    if not asked:
        return {}
    async with reading() as reader:
        unkept = [await turns.unkept_beside(reader, ids, root, alive_since) for ids in asked]
    # Only of these: a directory may be on a disk that does not answer.
    directories = {each for beside in unkept for _, worked_in in beside for each in worked_in}
    near = await asyncio.to_thread(reaching, directories, repository.root)
    shared: dict[str, Sequence[tuple[str, str | None, Why]]] = {}
    async with reading() as reader:
        for ids, beside in zip(asked, unkept, strict=True):
            others = [turn for turn, worked_in in beside if not worked_in.isdisjoint(near)]
            shared |= await turns.shared_times(reader, ids, root, others, alive_since)
    return shared


def paired(
    repository: SnapshotRepository, kept: Sequence[turns.TurnFiles], now: str, beside: Alongside
) -> list[TurnSnapshots]:
    """The trees of turns, where ``now`` ends those that are under way. Blocks. Raises SnapshotFailed."""
    trees = {tree for times in beside.values() for time in times for tree in time[:2] if tree is not None}
    lost = repository.lacks(trees) if trees else set[str]()
    return [_pair(each, now, beside.get(each.turn_id, ()), lost) for each in kept]


def _planned(
    repository: SnapshotRepository,
    left: Sequence[turns.TurnFiles],
    entered: Sequence[turns.TurnFiles],
    beside: Alongside,
    day: int,
    stands: tuple[str, ...],
    stayed: Sequence[turns.TurnFiles] = (),
    only: tuple[str, ...] = (),
) -> RestorePlan:
    taken, between = repository.capture(day=day), (*left, *entered)
    now = taken.tree
    lacking = {each.path for each in (*taken.left_out, *(each for turn in between for each in turn.left_out))}
    turns_left, turns_entered = (paired(repository, each, now, beside) for each in (left, entered))
    there = {each.path for each in taken.left_out}
    made = {path for turn in left for path in turn.unkept & there}
    made |= {path for turn in entered for path in turn.unkept - there}
    steps = plan(repository, turns_left, now, turns_entered, unkept=lacking, made=made)
    if stayed:
        known = {step.path for step in steps}
        there_still = plan(repository, paired(repository, stayed, now, beside), now, unkept=lacking)
        steps += [
            replace(step, conflict=step.conflict or Why.CHANGED_SINCE)
            for step in there_still
            if step.path not in known
        ]
        steps.sort(key=lambda step: step.path)
    if only:
        steps = [step for step in steps if step.path in only]
    kept_later = any(turn.certain is not None for turn in between)
    return counted_plan(repository, steps, now, stands, kept_later=kept_later, only=only)


def counted_plan(
    repository: SnapshotRepository,
    steps: Sequence[RestoreStep],
    now: str,
    stands: tuple[str, ...],
    *,
    kept_later: bool = False,
    only: tuple[str, ...] = (),
) -> RestorePlan:
    """The plan of steps, with the lines that they change counted. Blocks. Raises SnapshotFailed."""
    possible = {step.path: step.wanted for step in steps if step.possible}
    wanted = repository.tree_with(now, possible) if possible else now
    found = RestorePlan(repository, tuple(steps), now, wanted, stands, kept_later, only)
    found.line_counts()
    return found


async def bring(
    db: Database, plan: RestorePlan, steps: Sequence[RestoreStep], note: RestoreNote
) -> FilesMoved:
    """Take the steps; the note of them stays until the caller ends it with what they were taken for.

    Where one fails, those before it are taken back. Raises SnapshotFailed, StoreError.
    """
    repository, free = plan.repository, [replace(step, conflict=None) for step in steps]

    def kept(done: Iterable[RestoreStep]) -> str:
        tree = repository.tree_with(plan.now, {step.path: step.wanted for step in done})
        repository.keep(tree, day=note.day)
        return tree

    after = await asyncio.to_thread(kept, free)
    async with db.write() as tx:
        began_at = from_milliseconds(tx.now())
        await unfinished.begin(
            tx,
            note.id,
            repository.root,
            note.conversation_id,
            free,
            owner=note.owner,
            trees=(plan.now, after),
            move=note.move,
            stands=note.stands,
        )
    try:
        refused = await asyncio.to_thread(restore, repository, free)
    except SnapshotFailed:
        await take_back(db, repository, note.id, free)
        raise
    done = tuple(step for step in free if step not in refused)
    if refused:
        after = await asyncio.to_thread(kept, done)
    stayed = tuple(step for step in plan.steps if step.conflict is not None and step not in steps)
    return FilesMoved(
        note.id,
        str(repository.root),
        plan.now,
        after,
        done,
        (*refused, *stayed),
        plan.stands,
        began_at,
        plan.only,
    )


async def take_back(
    db: Database, repository: SnapshotRepository, note_id: str, steps: Iterable[RestoreStep]
) -> None:
    """Take steps back that may have been taken; where that fails, too, their note stays and is asked about."""
    with contextlib.suppress(SnapshotFailed):
        await asyncio.to_thread(restore, repository, [step.reversed for step in steps])
        async with db.write() as tx:
            await unfinished.end(tx, note_id)


async def carry_out(
    db: Database, plan: RestorePlan, steps: Sequence[RestoreStep], note: RestoreNote
) -> list[RestoreStep]:
    """Take the steps alone; return those that were left since somebody changed their file meanwhile.

    Raises SnapshotFailed, StoreError.
    """
    moved = await bring(db, plan, steps, note)
    async with db.write() as tx:
        await unfinished.end(tx, note.id)
        await journal.note_files(
            tx, note.conversation_id, moved.root, moved.before, moved.after, moved.began_at
        )
        if note.stands is not None:
            await files_place.move(tx, note.stands)
            await files_place.leave_open(tx, note.stands.conversation_id)
    return [step for step in moved.left if any(step.path == each.path for each in steps)]


async def finish(repository: SnapshotRepository, begun: UnfinishedRestore) -> list[RestoreStep]:
    """Take the rest of a restore that was broken off; return the steps that somebody is in the way of."""
    return await asyncio.to_thread(restore, repository, begun.steps)


async def undo(repository: SnapshotRepository, begun: UnfinishedRestore) -> list[RestoreStep]:
    """Take back what of a restore was done before it was broken off."""
    return await asyncio.to_thread(restore, repository, [step.reversed for step in begun.steps])


async def _shared(reader: Reader, one: str | None, other: str | None) -> str | None:
    """The last row that two branches share."""
    return await ancestry.meeting(reader, one, other) if one is not None and other is not None else None


async def _depth(reader: Reader, shared: str | None) -> int:
    """The depth of a row; -1 of what is above the first."""
    return -1 if shared is None else await messages.depth(reader, shared)


def _end(row_id: str | None) -> tuple[str, ...]:
    """Where files stand at a row, None for the beginning."""
    return () if row_id is None else (row_id,)


def _is_whole(repository: SnapshotRepository, kept: turns.TurnFiles) -> bool:
    return kept.after is not None and not kept.late and kept.root == str(repository.root)


def _all_in(repository: SnapshotRepository, kept: Iterable[turns.TurnFiles]) -> bool:
    return all(each.root == str(repository.root) for each in kept)


def _pair(
    kept: turns.TurnFiles,
    now: str,
    shared: Iterable[tuple[str, str | None, Why]] = (),
    lost: Collection[str] = (),
) -> TurnSnapshots:
    """The trees of a turn; that of one under way ends now. Where another's trees are lost, all of it is shared."""
    after = kept.after or now
    times = (
        (kept.before, after, why) if {began, ended} & {*lost} else (began, ended or now, why)
        for began, ended, why in shared
    )
    return TurnSnapshots(kept.before, after, kept.certain, tuple(times))
