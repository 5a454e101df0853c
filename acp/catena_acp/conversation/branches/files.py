"""The files of a conversation's directory, where they follow its windows from branch to branch."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from catena_acp.continuity.conversation_events import LeafMoved, Remarked
from catena_acp.continuity.wording.counts import counted
from catena_acp.conversation.journal import files_followed, files_moved, files_restored, move_window
from catena_acp.conversation.live import LiveConversation
from catena_acp.errors import FilesHalfMoved, FilesNotKept
from catena_acp.process_group import is_running
from catena_acp.snapshots.restoring import (
    FileChoice,
    FilesMoved,
    RestoreNote,
    RestorePlan,
    bring,
    finish,
    plan_restore,
    plan_return,
    take_back,
    undo,
    whose_change,
)
from catena_acp.tasks import raise_if_cancelled, shielded
from catena_store.database.database import Writer
from catena_store.snapshots import files_place, turns, unfinished
from catena_store.snapshots.files_place import FilesPlace
from catena_store.snapshots.repository import SnapshotRepository, work_tree
from catena_store.snapshots.restoring import RestoreStep, count_done
from catena_store.snapshots.unfinished import UnfinishedRestore, WindowMove
from catena_store.windows import journal, windows
from catena_store.windows.journal import Act, JournalEntry

_NAMED = 3  # files that are named in a sentence


@dataclass(frozen=True, slots=True)
class CutRestore:
    """A change of files that a killed process left half done."""

    begun: UnfinishedRestore
    done: int  # of its steps


class BranchFiles:
    """What going from one place of a conversation to another does to its files, and the doing of it."""

    def __init__(self, conversation: LiveConversation) -> None:
        self._conversation = conversation
        self._planning = asyncio.Lock()

    # --- what would be

    async def plan(self, window_id: str, target: str | None, *, needed: bool = False) -> RestorePlan | None:
        """What bringing a window's files along to a row would change; None is the beginning.

        None where no files are kept, unless one is ``needed``, and where nothing lies between. One is made at a time.
        Raises FilesNotKept, StoreError.
        """
        snapshots = self._conversation.services.snapshots
        if snapshots is None or (repository := await self._repository()) is None:
            if needed:
                raise FilesNotKept("no snapshots of this conversation's directory")
            return None
        async with self._planning:
            while True:
                await snapshots.settled()
                async with self._conversation.services.db.read() as reader:
                    origin = await files_place.of_window(reader, window_id)
                    row = await turns.row_of_files(reader, target)
                if origin == (() if row is None else (row,)):
                    return None
                try:
                    # Who gives it up does not let the next one begin beside it.
                    return await shielded(
                        plan_restore(
                            self._conversation.services.db,
                            repository,
                            origin,
                            target,
                            day=snapshots.today(),
                            now=self._conversation.services.clock(),
                            running=True,
                        )
                    )
                except FilesNotKept:
                    if not snapshots.is_keeping:  # else a turn has just ended, and its files are being kept
                        raise
                finally:
                    raise_if_cancelled()

    async def plan_of_act(self, entry: JournalEntry, window_id: str, *, undone: bool) -> RestorePlan | None:
        """What undoing an act with files would change, or doing it again; None where it had none. Raises StoreError."""
        wanted, present = (entry.before, entry.after) if undone else (entry.after, entry.before)
        snapshots = self._conversation.services.snapshots
        if "files" not in wanted or "files" not in present or snapshots is None:
            return None
        repository = await self._repository()
        if repository is None or str(repository.root) != present["files"]["root"]:
            return None
        await snapshots.settled()
        async with self._conversation.services.db.read() as reader:
            stand = await files_place.of_window(reader, window_id)
        return await plan_return(
            self._conversation.services.db,
            repository,
            wanted["files"]["tree"],
            present["files"]["tree"],
            stood_then=_stood(wanted),
            stood_since=_stood(present),
            stand=stand,
            only=wanted["files"].get("only", ()),
            day=snapshots.today(),
            now=self._conversation.services.clock(),
        )

    # --- doing it

    @asynccontextmanager
    async def along(
        self, window_id: str, target: str | None, act: Act, choice: FileChoice | None
    ) -> AsyncIterator[FilesMoved | None]:
        """The files are at a row within the block, which moves the window there; None without a choice.

        Whoever moves it ends the note of it in that transaction. Where the block fails they are taken back. Raises
        FilesNotKept, SnapshotFailed and StoreError, with nothing changed.
        """
        plan = None
        if choice is not None:
            with contextlib.suppress(*((FilesNotKept,) if choice.where_kept else ())):
                plan = await self.plan(window_id, target)
        if plan is None or choice is None:
            yield None
            return
        await self.refuse_cut()
        move = WindowMove(window_id, self._conversation.id, target, act)
        async with self._brought(plan, plan.chosen(choice), window_id, move) as moved:
            yield moved

    @asynccontextmanager
    async def returned(
        self, entry: JournalEntry, window_id: str, *, undone: bool
    ) -> AsyncIterator[FilesMoved | None]:
        """The files are as before an act within the block, or as after it; None where it took none along."""
        plan = await self.plan_of_act(entry, window_id, undone=undone)
        if plan is None:
            yield None
            return
        await self.refuse_cut()
        async with self._brought(plan, plan.free, window_id, None) as moved:
            yield moved

    async def follow(self, window_id: str, choice: FileChoice) -> FilesMoved | None:
        """Bring the files to the row of the window, which went there without them.

        Undoing the act that took the window there then takes the files back with it. None if there is nothing to bring.
        Raises FilesNotKept, StoreError.
        """
        async with self._conversation.services.db.read() as reader:
            window = await windows.get(reader, window_id)
        leaf = window.leaf_id if window else None
        async with self.along(window_id, leaf, Act.FILES, choice) as moved:
            if moved is not None:
                async with self._conversation.write() as tx:
                    await self._note_behind(tx, window_id, leaf, moved)
        return moved

    async def restore(self, window_id: str, plan: RestorePlan) -> FilesMoved:
        """Restore the files of a plan that is about them alone, as an act of its own.

        Raises FilesHalfMoved, StoreError.
        """
        await self.refuse_cut()
        async with self._brought(plan, plan.free, window_id, None) as moved, self._conversation.write() as tx:
            await files_restored(tx, window_id=window_id, files=moved)
        return moved

    async def _note_behind(self, tx: Writer, window_id: str, leaf_id: str | None, moved: FilesMoved) -> None:
        """Write files that came along later into the act that took the window here, or as an act of their own."""
        stood = await files_place.of_window(tx, window_id)
        done, again = await journal.newest(tx, window_id), await journal.newest_undone(tx, window_id)
        if done is not None and _leads(done.after, leaf_id) and "files" not in done.after:
            await journal.add_files(tx, done, *await files_moved(tx, moved, window_id, stood))
        elif again is not None and _leads(again.before, leaf_id) and "files" not in again.after:
            before, after = await files_moved(tx, moved, window_id, stood)
            await journal.add_files(tx, again, after, before)
        else:
            await files_followed(tx, window_id=window_id, files=moved)

    @asynccontextmanager
    async def _brought(
        self, plan: RestorePlan, steps: tuple[RestoreStep, ...], window_id: str, move: WindowMove | None
    ) -> AsyncIterator[FilesMoved]:
        services, snapshots = self._conversation.services, self._conversation.services.snapshots
        assert snapshots is not None  # there is a plan
        stands = None if plan.only else FilesPlace(self._conversation.id, window_id, plan.stands)
        note = RestoreNote(
            services.new_id(), self._conversation.id, services.owner, move, stands, snapshots.today()
        )
        with snapshots.restoring(note.id):
            moved = await bring(services.db, plan, steps, note)

            async def undo() -> None:
                await shielded(take_back(services.db, plan.repository, note.id, moved.done))

            async with contextlib.AsyncExitStack() as undoing:
                undoing.push_async_callback(undo)
                yield moved
                undoing.pop_all()

    def tell_left(self, window_id: str, moved: FilesMoved | None) -> None:
        """Tell which files did not go along with a prompt: nobody is handed what came of them, who would say it."""
        if moved is not None and moved.left:
            self._conversation.publish(Remarked(window_id, left_words(moved.left)))

    # --- what was cut off

    async def cut(self) -> CutRestore | None:
        """The oldest change of files of this conversation, or of its directory, that nobody is at any more."""
        services = self._conversation.services
        async with services.db.read() as reader:
            begun = await unfinished.every(reader)
        if not begun:
            return None
        root = await asyncio.to_thread(self._root)
        for each in begun:
            ours = each.conversation_id == self._conversation.id or str(each.root) == root
            if ours and not self._is_worked_on(each):
                repository = self._repository_at(each)
                done = await asyncio.to_thread(count_done, repository, each.steps) if repository else 0
                return CutRestore(each, done)
        return None

    async def refuse_cut(self) -> None:
        """Raises FilesHalfMoved where a change of files was cut off: nothing is sent to an agent in between."""
        if (cut := await self.cut()) is not None:
            named = cut.begun.conversation_id or self._conversation.id
            raise FilesHalfMoved(named, len(cut.begun.steps), cut.done)

    async def end_cut(self, cut: CutRestore, *, finished: bool) -> list[RestoreStep] | None:
        """Finish a change of files that was cut off, with the move that it was done for, or take it back.

        Returns the steps that somebody is in the way of; None where another process ended it. Raises StoreError.
        """
        begun, services = cut.begun, self._conversation.services
        repository, snapshots = self._repository_at(begun), services.snapshots
        if repository is None or snapshots is None:
            raise FilesNotKept("snapshots are off")
        with snapshots.restoring(begun.id):
            async with services.db.write() as tx:
                if not await unfinished.take_over(tx, begun, services.owner):
                    return None
            left = await (finish if finished else undo)(repository, begun)
            async with services.db.write() as tx:
                await unfinished.end(tx, begun.id)
                move = await move_behind_files(tx, begun) if finished else None
        if move is not None:
            self._conversation.publish(LeafMoved(move.window_id, move.leaf_id))
            self._conversation.clear_carrier(move.window_id)
        return left

    # --- the snapshots

    async def _repository(self) -> SnapshotRepository | None:
        snapshots = self._conversation.services.snapshots
        return (
            await asyncio.to_thread(snapshots.repository, self._conversation.record.cwd)
            if snapshots
            else None
        )

    def _repository_at(self, begun: UnfinishedRestore) -> SnapshotRepository | None:
        snapshots = self._conversation.services.snapshots
        return snapshots.repository_at(begun.root) if snapshots else None

    def _root(self) -> str:
        return str(work_tree(Path(self._conversation.record.cwd)))

    def _is_worked_on(self, begun: UnfinishedRestore) -> bool:
        services = self._conversation.services
        if begun.owner is None:
            return False
        if begun.owner.id == services.owner.id:
            return services.snapshots is not None and services.snapshots.is_restoring(begun.id)
        return is_running(begun.owner, begun.begun_at, services.clock())


def moved_words(moved: FilesMoved | None) -> str:
    """What became of files that were restored, in sentences; "" if none did."""
    if moved is None:
        return ""
    done = f"{_restored_words(moved.done)}." if moved.done else ""
    return f"{done} {left_words(moved.left)}".strip() if moved.left else done


def _restored_words(steps: Sequence[RestoreStep]) -> str:
    if any(step.wanted is not None for step in steps):
        were = "was" if len(steps) == 1 else "were"
        return f"{counted(len(steps), 'file')} {were} restored{deleted_words(steps)}"
    return (
        f"{steps[0].path} was deleted" if len(steps) == 1 else f"{counted(len(steps), 'file')} were deleted"
    )


def deleted_words(steps: Sequence[RestoreStep]) -> str:
    """How many of several files are deleted, behind their count; "" if none is."""
    gone = sum(step.wanted is None for step in steps)
    return f" ({gone:,} deleted)" if gone else ""


def left_words(left: Sequence[RestoreStep]) -> str:
    """Which files were not restored, and why, as a sentence; their paths as they are."""
    return f"{whose_change(left).capitalize()}, so left: {named_files(left)}."


def named_files(steps: Sequence[RestoreStep]) -> str:
    """The paths of some steps, and how many more there are."""
    named = ", ".join(step.path for step in steps[:_NAMED])
    return f"{named} and {len(steps) - _NAMED:,} more" if len(steps) > _NAMED else named


async def move_behind_files(
    tx: Writer, begun: UnfinishedRestore, *, window: bool = True
) -> WindowMove | None:
    """Note where the files of a cut change stand that was finished; the ``window`` that they led follows them there.

    Returns its move; None where it had none, or shows another conversation by now.
    """
    move, stands = begun.move, begun.stands
    if window and move is not None and begun.before:
        shown = await windows.get(tx, move.window_id)
        if shown is not None and shown.conversation_id == move.conversation_id:
            leaves = stands.leaves if stands else () if move.leaf_id is None else (move.leaf_id,)
            await move_window(
                tx,
                window_id=move.window_id,
                conversation_id=move.conversation_id,
                leaf_id=move.leaf_id,
                act=Act(move.act),
                files=FilesMoved(
                    begun.id,
                    str(begun.root),
                    begun.before,
                    begun.after or "",
                    begun.steps,
                    (),
                    leaves,
                    begun.begun_at,
                ),
            )
            return move
    if begun.conversation_id is not None and begun.before and begun.after:
        await journal.note_files(
            tx, begun.conversation_id, str(begun.root), begun.before, begun.after, begun.begun_at
        )
    if stands is not None:
        await files_place.move(tx, stands)
        if stands.window_id is None:
            await files_place.leave_open(tx, stands.conversation_id)
    return None


def _stood(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Where the files of a side of an act stood; acts of before that was noted led them along with the window."""
    leaf_id = values.get("leaf_id")
    return tuple(values["files"].get("stood", () if leaf_id is None else (leaf_id,)))


def _leads(values: Mapping[str, Any], leaf_id: str | None) -> bool:
    return "leaf_id" in values and values["leaf_id"] == leaf_id
