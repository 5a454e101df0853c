"""The acts of a person that can be undone: each moves a pointer, and writes its line of the journal with it.

Nothing in the tree is changed or removed by any of them. Each belongs into the transaction of whoever calls it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from catena_acp.snapshots.restoring import FilesMoved
from catena_store import places
from catena_store.conversations import conversations
from catena_store.database.database import Reader, Writer
from catena_store.errors import NotFound
from catena_store.ids import to_milliseconds
from catena_store.records import ConversationRecord, WindowRecord
from catena_store.snapshots import files_place, unfinished
from catena_store.snapshots.files_place import FilesPlace
from catena_store.windows import journal, queue, windows
from catena_store.windows.journal import Act, WindowPlace


async def move_window(
    tx: Writer,
    *,
    window_id: str,
    conversation_id: str,
    leaf_id: str | None,
    act: Act,
    journal: bool = True,
    agent: tuple[str, str] | None = None,
    files: FilesMoved | None = None,
) -> None:
    """Let a window stand on another leaf, of this or another conversation; with ``agent`` (and profile) from there on.

    The conversation goes on there, too: it is its place. ``files`` came along. No act of a person moves a window
    otherwise, but for what undoes this. Raises NotFound.
    """
    window = await _window(tx, window_id)
    before: dict[str, Any] = WindowPlace(window.conversation_id, window.leaf_id).as_mapping()
    after: dict[str, Any] = WindowPlace(conversation_id, leaf_id).as_mapping()
    await files_place.stay(tx, window_id)
    stood = await files_place.of_window(tx, window_id)
    await windows.show(tx, window_id, conversation_id, leaf_id)
    if (window.conversation_id, window.leaf_id) != (conversation_id, leaf_id):
        await places.move(tx, conversation_id, leaf_id)
    if agent is not None:
        record = await _conversation(tx, conversation_id)
        before |= {"agent": record.agent, "profile": record.profile}
        after |= {"agent": agent[0], "profile": agent[1]}
        await conversations.set_agent(tx, conversation_id, *agent)
    if files is not None:
        before["files"], after["files"] = await files_moved(tx, files, window_id, stood)
    if journal:
        await _record(tx, window, act, before, after)


async def files_followed(tx: Writer, *, window_id: str, files: FilesMoved) -> None:
    """Files came to where their window stands already. Raises NotFound."""
    window = await _window(tx, window_id)
    place = WindowPlace(window.conversation_id, window.leaf_id).as_mapping()
    stood = await files_place.of_window(tx, window_id)
    before, after = await files_moved(tx, files, window_id, stood)
    await _record(tx, window, Act.FILES, {**place, "files": before}, {**place, "files": after})


async def files_restored(tx: Writer, *, window_id: str, files: FilesMoved) -> None:
    """Some files were restored, and nothing went anywhere. Raises NotFound."""
    stood = await files_place.of_window(tx, window_id)
    before, after = await files_moved(tx, files, window_id, stood)
    if files.done:
        await _record(tx, await _window(tx, window_id), Act.FILES, {"files": before}, {"files": after})


async def files_moved(
    tx: Writer, files: FilesMoved, window_id: str, stood: tuple[str, ...]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Let files stand where they came, and end the note of it; how they were and are as acts have it.

    ``stood``: where they stood before, for that window; there they stand still if only some were restored. Raises
    NotFound.
    """
    window = await _window(tx, window_id)
    await unfinished.end(tx, files.note_id)
    before: dict[str, Any] = {
        "root": files.root,
        "tree": files.before,
        "began_at": to_milliseconds(files.began_at),
        "moved_at": tx.now(),
        "stood": stood,
    }
    if files.only:
        before["only"] = files.only
        return before, {**before, "tree": files.after}
    await files_place.move(tx, FilesPlace(window.conversation_id, window_id, files.stands))
    return before, {**before, "tree": files.after, "stood": files.stands}


async def cleared(tx: Writer, *, window_id: str, leaf_id: str | None) -> None:
    """A window that stood on ``leaf_id`` stands on a barrier below it. Raises NotFound."""
    window = await _window(tx, window_id)
    before = WindowPlace(window.conversation_id, leaf_id).as_mapping()
    after = WindowPlace(window.conversation_id, window.leaf_id).as_mapping()
    await _record(tx, window, Act.CLEAR, before, after)


async def opened_window(tx: Writer, *, window_id: str, act: Act = Act.FORK) -> None:
    """A window was opened by an act, a fork side by side: undone, it is closed. Raises NotFound."""
    window = await _window(tx, window_id)
    await _record(tx, window, act, {"windows": []}, {"windows": [window_id]})


async def close_windows(tx: Writer, *, window_ids: Sequence[str]) -> None:
    """Close windows as one act; undone, they are open again with their drafts and places. Raises NotFound."""
    for window_id in window_ids:
        await windows.close(tx, window_id)
    # That which undoing opens last is looked at, and finds the act to redo it.
    window = await _window(tx, window_ids[-1])
    await _record(tx, window, Act.CLOSE, {"windows": list(window_ids)}, {"windows": []})


async def change_agent(tx: Writer, *, window_id: str, conversation_id: str, agent: str, profile: str) -> None:
    """Go on with another agent. Raises NotFound."""
    record = await _conversation(tx, conversation_id)
    before = {"agent": record.agent, "profile": record.profile}
    await conversations.set_agent(tx, conversation_id, agent, profile)
    await _record(tx, await _window(tx, window_id), Act.AGENT, before, {"agent": agent, "profile": profile})


async def change_directory(tx: Writer, *, window_id: str | None, conversation_id: str, cwd: str) -> None:
    """Work in another directory; prompts that wait go along. Raises NotFound."""
    before = await _conversation(tx, conversation_id)
    await set_marks(tx, conversation_id, {"cwd": cwd})
    await queue.move_directory(tx, conversation_id, before.cwd, cwd)
    window = await windows.get(tx, window_id) if window_id else None
    act, after = Act.DIRECTORY, {"cwd": cwd}
    await _of_conversation(tx, window, conversation_id, None, act, {"cwd": before.cwd}, after)


async def rename(tx: Writer, *, window_id: str | None, conversation_id: str, title: str | None) -> None:
    """Name a conversation, or take its name away; in no window where that was done in the history. Raises NotFound."""
    before = {"title": (await _conversation(tx, conversation_id)).title}
    await conversations.set_title(tx, conversation_id, title)
    window = await windows.get(tx, window_id) if window_id else None
    await _of_conversation(tx, window, conversation_id, None, Act.RENAME, before, {"title": title})


async def keep(
    tx: Writer,
    *,
    conversation_ids: Sequence[str],
    act: Act,
    values: Mapping[str, Any],
    closing: Sequence[str] = (),
    window_id: str | None = None,
    workspace_id: str | None = None,
) -> tuple[str, ...]:
    """Give conversations a title or a mark, as one act, and close windows with it; those that were not so before.

    ``values`` are as in the journal. Nothing is removed from the store. Raises NotFound.
    """
    before: dict[str, Mapping[str, Any]] = {}
    for conversation_id in conversation_ids:
        present = await marks_of(tx, conversation_id, values.keys())
        if present != values:
            before[conversation_id] = present
            await set_marks(tx, conversation_id, values)
    for closed in closing:
        await windows.close(tx, closed)
    window = await windows.get(tx, window_id) if window_id else None
    shut = {"windows": list(closing)} if closing else {}
    await _of_conversation(
        tx,
        window,
        next(iter(before), conversation_ids[0]),
        workspace_id,
        act,
        {"conversations": before, **shut},
        {"conversations": {id: dict(values) for id in before}, **({"windows": []} if closing else {})},
    )
    return tuple(before)


async def marks_of(tx: Reader, conversation_id: str, names: Collection[str]) -> dict[str, Any]:
    """The agent, directory, title and marks of a conversation, by these names. Raises NotFound."""
    record, marks = await _conversation(tx, conversation_id), await conversations.marks(tx, conversation_id)
    now = {
        "agent": record.agent,
        "profile": record.profile,
        "cwd": record.cwd,
        "title": record.title,
        "archived": marks.archived,
        "deleted": marks.deleted,
        "pinned": marks.pinned,
    }
    return {name: now[name] for name in names if name in now}


async def set_marks(tx: Writer, conversation_id: str, values: Mapping[str, Any]) -> None:
    """Set what ``values`` has of an agent with its profile, a directory, a title and marks. Raises NotFound."""
    if "agent" in values:
        await conversations.set_agent(tx, conversation_id, values["agent"], values["profile"])
    if "cwd" in values:
        await conversations.set_directory(tx, conversation_id, values["cwd"])
    if "title" in values:
        await conversations.set_title(tx, conversation_id, values["title"])
    if "archived" in values:
        await conversations.set_archived(tx, conversation_id, values["archived"])
    if "deleted" in values:
        await conversations.set_deleted(tx, conversation_id, values["deleted"])
    if "pinned" in values:
        await conversations.set_pinned(tx, conversation_id, values["pinned"])


async def _of_conversation(
    tx: Writer,
    window: WindowRecord | None,
    conversation_id: str,
    workspace_id: str | None,
    act: Act,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
) -> None:
    await journal.record(
        tx,
        workspace_id=window.workspace_id if window else workspace_id,
        window_id=window.id if window else None,
        conversation_id=conversation_id,
        act=act,
        before=before,
        after=after,
    )


async def _record(
    tx: Writer, window: WindowRecord, act: Act, before: Mapping[str, Any], after: Mapping[str, Any]
) -> None:
    await journal.record(
        tx,
        workspace_id=window.workspace_id,
        window_id=window.id,
        conversation_id=window.conversation_id,
        act=act,
        before=before,
        after=after,
    )


async def _window(tx: Writer, window_id: str) -> WindowRecord:
    window = await windows.get(tx, window_id)
    if window is None:
        raise NotFound("window", window_id)
    return window


async def _conversation(tx: Reader, conversation_id: str) -> ConversationRecord:
    record = await conversations.get(tx, conversation_id)
    if record is None:
        raise NotFound("conversation", conversation_id)
    return record
