"""Where the files of a window's directory stand in its tree: a window may have gone elsewhere without them."""

from __future__ import annotations

from catena_store.database.database import Reader

# An act with files put them where it led to, or undone, where it came from.
_BY_ACT = """
    SELECT CASE WHEN undone THEN json_extract(before, '$.leaf_id') ELSE json_extract(after, '$.leaf_id') END,
           max(coalesce(json_extract(before, '$.files.moved_at'), 0),
               coalesce(json_extract(after, '$.files.moved_at'), 0)) AS moved_at
      FROM journal WHERE window_id = ?1 AND json_extract(after, '$.files.tree') IS NOT NULL
     ORDER BY moved_at DESC, id DESC LIMIT 1
"""
_BY_TURN = """
    SELECT CASE WHEN t.ended_at IS NULL THEN NULL ELSE m.uid END, t.started_at
      FROM turn t JOIN message m ON m.id = t.last_id
     WHERE t.window_id = ?1 AND t.conversation_id IN (
               SELECT k.id FROM conversation c JOIN conversation k ON k.family = c.family WHERE c.id = ?2)
     ORDER BY t.rowid DESC LIMIT 1  -- not by the time: a clock may have been set back
"""
_FIRST = """
    SELECT json_extract(before, '$.leaf_id') FROM journal
     WHERE window_id = ?1 AND json_type(before, '$.leaf_id') IS NOT NULL ORDER BY id LIMIT 1
"""


async def leaf_of_files(r: Reader, window_id: str, conversation_id: str, leaf_id: str | None) -> str | None:
    """The leaf whose files are in the directory of a window that stands on a leaf.

    That is where its last turn ended, or where an act took the files; without either, where the window began.
    """
    act = await r.one(_BY_ACT, (window_id,))
    turn = await r.one(_BY_TURN, (window_id, conversation_id))
    if turn is not None and (act is None or turn[1] >= act[1]):
        return leaf_id if turn[0] is None else str(turn[0])
    if act is None:
        act = await r.one(_FIRST, (window_id,))
    return leaf_id if act is None else act[0]
