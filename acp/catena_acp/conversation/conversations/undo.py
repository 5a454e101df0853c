"""Undoing: the newest act of a person is taken back, or done again, by moving the same pointers the other way.

What an act leaves behind stays: the branch that an edit began can still be reached, a fork in which something was
said is in the history. What stood there when an act was taken back is where doing it again goes to.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Any

from catena_acp.conversation.conversation import Conversation
from catena_acp.conversation.conversations.conversations import Conversations
from catena_acp.conversation.journal import files_moved, marks_of, set_marks
from catena_acp.errors import NotToBeUndone
from catena_acp.snapshots.restoring import FilesMoved
from catena_store import places
from catena_store.conversations import conversations
from catena_store.database.database import Database, Reader, Writer
from catena_store.errors import NotFound
from catena_store.snapshots import files_place
from catena_store.windows import journal, windows
from catena_store.windows.journal import Act, JournalEntry

_OF_CONVERSATION = frozenset({"agent", "profile", "cwd", "title", "archived", "deleted"})
_IN_TURN = "A turn is running here: stop it, then undo."
_GONE = "What this would go back to is gone: it was empty, or was pruned."


@dataclass(frozen=True, slots=True)
class UndoStep:
    """One act that was taken back, or done again."""

    entry: JournalEntry  # as it was written down when it was done
    undone: bool  # False if it was done again
    moved: str | None  # the window that stands elsewhere now
    opened: tuple[str, ...]  # windows
    closed: tuple[str, ...]
    next: JournalEntry | None  # what one more such step would take
    files: FilesMoved | None = None  # those that came along


@dataclass(frozen=True, slots=True)
class Scope:
    """From where it is undone: a tab and its workspace, or a workspace without a tab."""

    window_id: str | None
    workspace_id: str | None


class ConversationUndo:
    """Takes acts back in the store and in the conversations that are live; the caller applies them to its tabs."""

    def __init__(self, db: Database, live: Conversations) -> None:
        self._db = db
        self._live = live

    async def undo(self, scope: Scope) -> UndoStep | None:
        """Take back the newest act; None if there is none. Raises NotToBeUndone, ReadOnly, StoreError."""
        return await self._step(scope, undone=True)

    async def redo(self, scope: Scope) -> UndoStep | None:
        """Do again what was taken back last; None if nothing was, or something else was done since."""
        return await self._step(scope, undone=False)

    async def entries(self, scope: Scope, *, limit: int = 200) -> list[JournalEntry]:
        """The acts in a scope, newest first, at most ``limit``."""
        async with self._db.read() as reader:
            return await journal.entries(reader, scope.window_id, scope.workspace_id, limit=limit)

    async def _step(self, scope: Scope, *, undone: bool) -> UndoStep | None:
        while True:
            async with self._db.read() as reader:
                entry = await _next(reader, scope, undone=undone)
            if entry is None:
                return None
            self._refuse_in_turn(entry)
            step = await self._taken(scope, entry, undone=undone)
            if step is not None:
                return step

    def _refuse_in_turn(self, entry: JournalEntry) -> None:
        if entry.act in (Act.RENAME, Act.PIN):
            return
        touched = {entry.window_id, *_windows(entry.before), *_windows(entry.after)}
        if any(each.in_turn(window_id) for each in self._live.live for window_id in touched if window_id):
            raise NotToBeUndone(_IN_TURN)

    async def _taken(self, scope: Scope, entry: JournalEntry, *, undone: bool) -> UndoStep | None:
        """Do the step; None if everything is as it would be after it, so that nobody would see it."""

        async def work() -> UndoStep | None:
            async with self._files(live, entry, undone=undone) as moved, self._db.write() as tx:
                self._refuse_in_turn(entry)  # one may have begun while this waited for the store
                if entry.act is not Act.PIN:
                    await self._live.refuse_held(tx, subjects_of(entry))
                step = await _put(tx, scope, entry, moved, undone=undone)
            await self._live.reload(subjects_of(entry))
            if step is not None and step.moved is not None:
                await self._tell_moved(step.moved)
            return step

        window_id = entry.window_id if entry.before.keys() & {"conversation_id", "files"} else None
        live = next((each for each in self._live.live if window_id in each.windows), None)
        return await live.window(window_id).run_between_turns(work) if live and window_id else await work()

    @staticmethod
    def _files(
        live: Conversation | None, entry: JournalEntry, *, undone: bool
    ) -> AbstractAsyncContextManager[FilesMoved | None]:
        """The files that went along with the act go back within the block, or along again."""
        if live is None or entry.window_id is None or "files" not in entry.before:
            return nullcontext()
        return live.files.returned(entry, entry.window_id, undone=undone)

    async def _tell_moved(self, window_id: str) -> None:
        async with self._db.read() as reader:
            window = await windows.get(reader, window_id)
        for live in self._live.live:
            if window and live.id == window.conversation_id:
                if live.tenure:
                    live.tenure.logouts.went_back(window_id)
                live.moved(window_id, window.leaf_id)


def subjects_of(entry: JournalEntry) -> tuple[str, ...]:
    """The conversations whose agent, title or marks the act changed."""
    if "conversations" in entry.before:
        return tuple(entry.before["conversations"])
    return (_subject_of(entry),) if _OF_CONVERSATION & entry.before.keys() else ()


def _subject_of(entry: JournalEntry) -> str:
    return str(entry.after.get("conversation_id", entry.conversation_id))


async def _next(r: Reader, scope: Scope, *, undone: bool) -> JournalEntry | None:
    find = journal.newest if undone else journal.newest_undone
    return await find(r, scope.window_id, scope.workspace_id)


async def _put(
    tx: Writer, scope: Scope, entry: JournalEntry, moved: FilesMoved | None, *, undone: bool
) -> UndoStep | None:
    wanted = entry.before if undone else entry.after
    present = await _present(tx, entry)
    if moved is not None and entry.window_id is not None:
        stood = await files_place.of_window(tx, entry.window_id)
        present["files"], _ = await files_moved(tx, moved, entry.window_id, stood)
    elif "files" in entry.before:
        present["files"] = (entry.after if undone else entry.before)["files"]
    if undone:
        await journal.mark_undone(tx, entry.id, after=present)
    else:
        await journal.mark_undone(tx, entry.id, False, before=present)
    # What it was all about was asked for, also where it is left or there already: else an older act would go.
    told = moved is not None and (moved.done or moved.only)
    if _without_files(present) == _without_files(wanted) and not told:
        return None
    if "conversation_id" in wanted and entry.window_id is not None:
        if await conversations.get(tx, wanted["conversation_id"]) is None:
            raise NotToBeUndone(_GONE)
        await files_place.stay(tx, entry.window_id)
        await windows.show(tx, entry.window_id, wanted["conversation_id"], wanted["leaf_id"])
        if _went(present, wanted):
            await places.move(tx, wanted["conversation_id"], wanted["leaf_id"])
    await set_marks(tx, _subject_of(entry), wanted)
    for conversation_id, values in wanted.get("conversations", {}).items():
        if conversation_id in present["conversations"]:  # else it was pruned
            await set_marks(tx, conversation_id, values)
    opened = tuple(each for each in _windows(wanted) if each not in _windows(present))
    closed = tuple(each for each in _windows(present) if each not in _windows(wanted))
    if "conversations" in wanted:  # of those that were pruned there is no window any more
        opened = tuple([each for each in opened if await windows.get(tx, each)])
    for window_id in opened:
        if await windows.get(tx, window_id) is None:
            raise NotToBeUndone(_GONE)
        await windows.reopen(tx, window_id)
    for window_id in closed:
        await windows.close(tx, window_id)
    return UndoStep(
        entry=entry,
        undone=undone,
        moved=entry.window_id if _went(present, wanted) else None,
        opened=opened,
        closed=closed,
        # One more is wanted from where this one leads to.
        next=await _next(tx, replace(scope, window_id=opened[-1]) if opened else scope, undone=undone),
        files=moved,
    )


async def _present(tx: Writer, entry: JournalEntry) -> dict[str, Any]:
    """How what the act changed is now."""
    present: dict[str, Any] = {}
    if "conversation_id" in entry.before and entry.window_id is not None:
        window = await windows.get(tx, entry.window_id)
        if window is None:
            raise NotFound("window", entry.window_id)
        present |= {"conversation_id": window.conversation_id, "leaf_id": window.leaf_id}
    if "windows" in entry.before:
        known = dict.fromkeys((*_windows(entry.before), *_windows(entry.after)))
        present["windows"] = [each for each in known if await windows.is_open(tx, each)]
    if names := _OF_CONVERSATION & entry.before.keys():
        present |= await marks_of(tx, _subject_of(entry), names)
    if "conversations" in entry.before:
        present["conversations"] = {}
        for conversation_id, values in entry.before["conversations"].items():
            with suppress(NotFound):
                present["conversations"][conversation_id] = await marks_of(tx, conversation_id, values)
    return present


def _went(present: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """True if the window stands elsewhere then."""
    return any(present.get(key) != wanted.get(key) for key in ("conversation_id", "leaf_id"))


def _without_files(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key != "files"}


def _windows(values: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(values.get("windows", ()))
