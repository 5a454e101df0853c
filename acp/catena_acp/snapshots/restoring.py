"""Files of a conversation's directory, brought back to what they were at an earlier message.

A restore is noted with its steps before the first of them, and the note goes after the last: one that a killed process
left is finished, or undone, by the same steps.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from catena_acp.errors import FilesNotKept
from catena_store import ancestry
from catena_store.conversations import messages
from catena_store.database.database import Database
from catena_store.snapshots import turns, unfinished
from catena_store.snapshots.repository import SnapshotRepository
from catena_store.snapshots.restoring import RestoreStep, TurnSnapshots, plan, restore
from catena_store.snapshots.trees import LineCounts
from catena_store.snapshots.unfinished import UnfinishedRestore


@dataclass(frozen=True, slots=True)
class RestorePlan:
    """What would become of files, by path."""

    repository: SnapshotRepository
    steps: tuple[RestoreStep, ...]
    now: str  # the tree of this moment
    wanted: str  # and of afterwards
    kept_later: bool = False  # the end of a turn: its changes may be the person's

    @property
    def free(self) -> tuple[RestoreStep, ...]:
        """The steps that nobody else's change is in the way of."""
        return tuple(step for step in self.steps if step.conflict is None)

    def choose(self, paths: Collection[str]) -> tuple[RestoreStep, ...]:
        """The steps of these paths, and of all below them, also where somebody else changed them."""
        wanted = [path.rstrip("/") for path in paths]
        return tuple(
            step
            for step in self.steps
            if any(step.path == path or step.path.startswith(f"{path}/") for path in wanted)
        )

    def line_counts(self) -> list[LineCounts]:
        """The lines that would be added and removed. Blocks."""
        return self.repository.line_counts(self.now, self.wanted)


async def plan_restore(
    db: Database, repository: SnapshotRepository, leaf_id: str, message_id: str, *, day: int
) -> RestorePlan:
    """What bringing the files back to a message would change; the branches of both may part above it.

    A snapshot of now is taken for it. Raises FilesNotKept where a turn that is left or entered has no snapshots, and
    StoreError.
    """
    async with db.read() as reader:
        shared = await ancestry.meeting(reader, leaf_id, message_id)
        depth = -1 if shared is None else await messages.depth(reader, shared)
        left = await turns.of_span(reader, leaf_id, depth, None)
        entered = await turns.of_span(reader, message_id, depth, None)
    if (
        left is None
        or entered is None
        or any(each.root != str(repository.root) for each in (*left, *entered))
    ):
        raise FilesNotKept("the files were not kept around every turn between the two messages")

    def planned() -> RestorePlan:
        taken = repository.capture(day=day)
        now, turns_between = taken.tree, (*left, *entered)
        lacking = {
            each.path
            for each in (*taken.left_out, *(each for turn in turns_between for each in turn.left_out))
        }
        steps = plan(repository, _pairs(left), now, _pairs(entered), unkept=lacking)
        wanted = repository.tree_with(now, {step.path: step.wanted for step in steps})
        kept_later = any(turn.certain is not None for turn in turns_between)
        return RestorePlan(repository, tuple(steps), now, wanted, kept_later)

    return await asyncio.to_thread(planned)


async def carry_out(
    db: Database,
    repository: SnapshotRepository,
    steps: Sequence[RestoreStep],
    conversation_id: str | None,
    new_id: Callable[[], str],
) -> list[RestoreStep]:
    """Take the steps; return those that were left since somebody changed their file meanwhile. Raises StoreError."""
    id = new_id()
    async with db.write() as tx:
        await unfinished.begin(tx, id, repository.root, conversation_id, steps)
    return await _take(db, repository, id, [replace(step, conflict=None) for step in steps])


async def finish(db: Database, repository: SnapshotRepository, begun: UnfinishedRestore) -> list[RestoreStep]:
    """Take the rest of a restore that was broken off; return the steps that somebody is in the way of."""
    return await _take(db, repository, begun.id, begun.steps)


async def undo(db: Database, repository: SnapshotRepository, begun: UnfinishedRestore) -> list[RestoreStep]:
    """Take back what of a restore was done before it was broken off."""
    return await _take(db, repository, begun.id, [step.reversed for step in begun.steps])


async def _take(
    db: Database, repository: SnapshotRepository, id: str, steps: Iterable[RestoreStep]
) -> list[RestoreStep]:
    refused = await asyncio.to_thread(restore, repository, list(steps))
    async with db.write() as tx:
        await unfinished.end(tx, id)
    return refused


def _pairs(kept: Iterable[turns.TurnFiles]) -> list[TurnSnapshots]:
    return [TurnSnapshots(each.before, each.after, each.certain) for each in kept if each.after is not None]
