"""Workspaces and their windows, which are tabs, with the draft and scroll position of a window at each leaf."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from catena_store.database import rows
from catena_store.database.database import Reader, Writer
from catena_store.database.rows import stored_draft
from catena_store.errors import NotFound
from catena_store.ids import from_milliseconds
from catena_store.records import ChosenOption, Owner, WindowRecord, Workspace

_SELECT = (
    f"SELECT {rows.WINDOW} FROM window w"
    " LEFT JOIN window_leaf f ON f.window_id = w.id AND f.leaf_id = coalesce(w.leaf_id, 0)"
)


async def ensure_workspace(tx: Writer, directory: str, *, new_id: Callable[[], str]) -> Workspace:
    """The workspace of a directory, created if there is none."""
    await tx.run(
        "INSERT INTO workspace (id, directory) VALUES (?, ?) ON CONFLICT (directory) DO NOTHING",
        (new_id(), directory),
    )
    row = await tx.one(f"SELECT {rows.WORKSPACE} FROM workspace WHERE directory = ?", (directory,))
    assert row is not None
    return rows.workspace(row)


async def find_workspace(r: Reader, directory: str) -> Workspace | None:
    """The workspace of a directory, None if there is none."""
    row = await r.one(f"SELECT {rows.WORKSPACE} FROM workspace WHERE directory = ?", (directory,))
    return None if row is None else rows.workspace(row)


async def workspaces(r: Reader) -> list[Workspace]:
    """Every workspace."""
    return [rows.workspace(row) for row in await r.all(f"SELECT {rows.WORKSPACE} FROM workspace")]


async def take_workspace(
    tx: Writer, workspace_id: str, owner: Owner, *, is_dead: Callable[[Workspace], bool]
) -> bool:
    """Take a workspace that is free, ours or a dead owner's; False where it stays another's. Raises NotFound."""
    row = await tx.one(f"SELECT {rows.WORKSPACE} FROM workspace WHERE id = ?", (workspace_id,))
    if row is None:
        raise NotFound("workspace", workspace_id)
    held = rows.workspace(row)
    if held.owner is not None and held.owner.id != owner.id and not is_dead(held):
        return False
    await tx.run(
        "UPDATE workspace SET owner = ?, host = ?, pid = ?, started = ?, heartbeat_at = ? WHERE id = ?",
        (owner.id, owner.host, owner.pid, owner.started, tx.now(), workspace_id),
    )
    return True


async def release_workspace(tx: Writer, workspace_id: str, owner_id: str) -> None:
    """Release a workspace, if it is the owner's."""
    await tx.run(
        "UPDATE workspace SET owner = NULL, host = NULL, pid = NULL, started = NULL, heartbeat_at = NULL"
        " WHERE id = ? AND owner = ?",
        (workspace_id, owner_id),
    )


async def open(
    tx: Writer, *, id: str, conversation_id: str, leaf_id: str | None, workspace_id: str | None = None
) -> WindowRecord:
    """Open a window after the others of its workspace. Raises NotFound for the leaf."""
    leaf = (await rows.rowids(tx, [leaf_id]))[leaf_id]
    await tx.run(
        "INSERT INTO window (id, workspace_id, position, conversation_id, leaf_id) VALUES (?1, ?2,"
        " (SELECT coalesce(max(position), -1) + 1 FROM window WHERE workspace_id = ?2), ?3, ?4)",
        (id, workspace_id, conversation_id, leaf),
    )
    return await _existing(tx, id)


async def get(r: Reader, id: str) -> WindowRecord | None:
    """The window of an id, open or closed."""
    row = await r.one(f"{_SELECT} WHERE w.id = ?", (id,))
    return None if row is None else rows.window(row)


async def is_open(r: Reader, id: str) -> bool:
    """True where the window exists and is not closed."""
    return await r.one("SELECT 1 FROM window WHERE id = ? AND closed_at IS NULL", (id,)) is not None


async def of_workspace(r: Reader, workspace_id: str) -> list[WindowRecord]:
    """The open windows of a workspace, in their order."""
    found = await r.all(
        f"{_SELECT} WHERE w.workspace_id = ? AND w.closed_at IS NULL ORDER BY w.position", (workspace_id,)
    )
    return [rows.window(row) for row in found]


async def open_in(r: Reader, conversation_id: str) -> list[WindowRecord]:
    """The open windows that show a conversation, in any workspace or none."""
    found = await r.all(
        f"{_SELECT} WHERE w.conversation_id = ? AND w.closed_at IS NULL ORDER BY w.position, w.id",
        (conversation_id,),
    )
    return [rows.window(row) for row in found]


async def of_conversation(r: Reader, conversation_id: str) -> list[WindowRecord]:
    """Every window that shows a conversation, closed ones too, the most recently used first."""
    found = await r.all(
        f"{_SELECT} WHERE w.conversation_id = ?"
        " ORDER BY w.closed_at IS NOT NULL, w.closed_at DESC, w.rowid DESC",
        (conversation_id,),
    )
    return [rows.window(row) for row in found]


async def set_leaf(tx: Writer, id: str, leaf_id: str | None) -> None:
    """Set the leaf; draft and scroll position become those stored for that leaf. Raises NotFound."""
    leaf = (await rows.rowids(tx, [leaf_id]))[leaf_id]
    await _change(tx, id, "leaf_id = ?", leaf)


async def show(tx: Writer, id: str, conversation_id: str, leaf_id: str | None) -> None:
    """Set the conversation and the leaf of a window. Raises NotFound.

    Its files stay where they stand, unless the conversation is of another family or directory.
    """
    leaf = (await rows.rowids(tx, [leaf_id]))[leaf_id]
    await tx.run(
        "UPDATE window SET files_at = (SELECT coalesce(window.files_at, o.files_at)"
        "  FROM conversation o JOIN conversation n ON n.id = ?2 AND n.family = o.family AND n.cwd = o.cwd"
        " WHERE o.id = window.conversation_id AND coalesce(window.files_at, o.files_at) IS NOT n.files_at)"
        " WHERE id = ?1 AND conversation_id <> ?2",
        (id, conversation_id),
    )
    await _change(tx, id, "conversation_id = ?, leaf_id = ?", conversation_id, leaf)


async def advance(tx: Writer, id: str, leaf_id: str) -> None:
    """Set the leaf to a new one further down, with the draft and scroll position of the old one. Raises NotFound."""
    leaf = (await rows.rowids(tx, [leaf_id]))[leaf_id]
    await tx.run(
        "INSERT INTO window_leaf (window_id, leaf_id, draft, scroll)"
        " SELECT f.window_id, ?2, f.draft, f.scroll FROM window w JOIN window_leaf f"
        "     ON f.window_id = w.id AND f.leaf_id = coalesce(w.leaf_id, 0)"
        "  WHERE w.id = ?1 AND w.leaf_id IS NOT ?2"
        " ON CONFLICT (window_id, leaf_id) DO UPDATE SET draft = excluded.draft, scroll = excluded.scroll",
        (id, leaf),
    )
    await tx.run(
        "DELETE FROM window_leaf WHERE window_id = ?1"
        " AND leaf_id = (SELECT coalesce(leaf_id, 0) FROM window WHERE id = ?1 AND leaf_id IS NOT ?2)",
        (id, leaf),
    )
    await tx.run(
        "UPDATE draft_attachment SET leaf_id = ?2 WHERE window_id = ?1"
        " AND leaf_id = (SELECT coalesce(leaf_id, 0) FROM window WHERE id = ?1)",
        (id, leaf),
    )
    await _change(tx, id, "leaf_id = ?", leaf)


async def set_draft(tx: Writer, id: str, *text: str) -> None:
    """Store the draft at the window's leaf: a text, or what is no piece, a piece, what is none … Raises NotFound."""
    await _keep_at_leaf(tx, id, "draft", stored_draft(*text))


def restored_draft(text: str, *drafts: str) -> str:
    """The draft once a text is restored to it: before the drafts, unless one of them begins with it already."""
    behind = [draft for draft in dict.fromkeys(drafts) if draft.strip()]
    if any(draft == text or draft.startswith(f"{text}\n") for draft in behind):
        return "\n".join(behind)
    return "\n".join([text, *behind])


async def set_scroll(tx: Writer, id: str, scroll: int | None) -> None:
    """Store the scroll position at the window's leaf; None follows the end. Raises NotFound."""
    await _keep_at_leaf(tx, id, "scroll", scroll)


async def close(tx: Writer, id: str) -> None:
    """Close a window; its drafts and positions stay for ``reopen``. Raises NotFound."""
    await _change(tx, id, "closed_at = ?", tx.now())


async def reopen(tx: Writer, id: str) -> None:
    """Open a closed window again, at its old leaf. Raises NotFound."""
    await _change(tx, id, "closed_at = ?", None)


async def set_active(tx: Writer, workspace_id: str, window_id: str | None) -> None:
    """Set the active window of a workspace. Raises NotFound."""
    if not await tx.run("UPDATE workspace SET active_window_id = ? WHERE id = ?", (window_id, workspace_id)):
        raise NotFound("workspace", workspace_id)


async def set_panes(tx: Writer, workspace_id: str, window_ids: Sequence[str]) -> None:
    """Set the windows of a workspace that stand side by side, from the left. Raises NotFound."""
    await tx.run("UPDATE window SET pane = NULL WHERE workspace_id = ? AND pane IS NOT NULL", (workspace_id,))
    for place, id in enumerate(window_ids):
        await _change(tx, id, "pane = ?", place)


async def _keep_at_leaf(tx: Writer, id: str, column: str, value: object) -> None:
    kept = await tx.run(
        f"INSERT INTO window_leaf (window_id, leaf_id, {column})"
        " SELECT id, coalesce(leaf_id, 0), ? FROM window WHERE id = ?"
        f" ON CONFLICT (window_id, leaf_id) DO UPDATE SET {column} = excluded.{column}",
        (value, id),
    )
    if not kept:
        raise NotFound("window", id)


async def _change(tx: Writer, id: str, assignments: str, *values: object) -> None:
    if not await tx.run(f"UPDATE window SET {assignments} WHERE id = ?", (*values, id)):
        raise NotFound("window", id)


async def _existing(r: Reader, id: str) -> WindowRecord:
    window = await get(r, id)
    if window is None:
        raise NotFound("window", id)
    return window


async def choose(tx: Writer, window_id: str, agent: str, option: str, value: str | bool) -> None:
    """Store the value that the person chose for an option, replacing an earlier one."""
    await tx.run(
        "INSERT INTO window_choice (window_id, agent, option, value, chosen_at) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (window_id, agent, option)"
        " DO UPDATE SET value = excluded.value, chosen_at = excluded.chosen_at",
        (window_id, agent, option, json.dumps(value), tx.now()),
    )


async def copy_choices(tx: Writer, window_id: str, to_window_id: str) -> None:
    """Copy the choices of a window to another one that has none of its own for the same options."""
    await tx.run(
        "INSERT INTO window_choice (window_id, agent, option, value, chosen_at)"
        " SELECT ?2, agent, option, value, chosen_at FROM window_choice WHERE window_id = ?1"
        " ON CONFLICT DO NOTHING",
        (window_id, to_window_id),
    )


async def choices(r: Reader, window_id: str, agent: str) -> list[ChosenOption]:
    """The options that the person chose in a window for an agent's sessions, oldest first."""
    found = await r.all(
        "SELECT option, value, chosen_at FROM window_choice WHERE window_id = ? AND agent = ?"
        " ORDER BY chosen_at, option",
        (window_id, agent),
    )
    return [
        ChosenOption(option, value, from_milliseconds(at))
        for option, text, at in found
        if isinstance(value := rows.from_json(text), str | bool)
    ]
