"""Where the files of a conversation's directory stand in its tree: a fact of its own, like the conversation's place.

They stand at ends of branches, and all turns above these are in the files: at one end after files came along, and at
more once a turn ran elsewhere, whose changes are beside the others then. What moves files sets it, and a turn that ends
adds itself. A window has one of its own where that differs from the conversation's: it showed another one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from catena_store import ancestry
from catena_store.database import rows
from catena_store.database.database import Reader, Writer
from catena_store.errors import NotFound

_MOST_LEAVES = 16  # the oldest of more are no longer known
_WAS_LEFT = "EXISTS (SELECT 1 FROM turn_files WHERE turn_id = t.id AND left_open)"
# Turns that are under way, newest first.
_OPEN_TURNS = (
    "SELECT m.uid FROM turn t INDEXED BY turn_open JOIN message m ON m.id = t.last_id"
    f" WHERE t.conversation_id = ?1 AND t.stop_reason IS NULL AND NOT {_WAS_LEFT}"
)


@dataclass(frozen=True, slots=True)
class FilesPlace:
    """The rows at which files stand, the newest first; none is the beginning. As a conversation or its window knows."""

    conversation_id: str
    window_id: str | None
    leaves: tuple[str, ...]


async def of_window(r: Reader, window_id: str) -> tuple[str, ...]:
    """The rows at which a window's files stand; as long as nothing told that, its leaf."""
    row = await r.one(
        "SELECT c.id, coalesce(w.files_at, c.files_at), m.uid"
        "  FROM window w JOIN conversation c ON c.id = w.conversation_id LEFT JOIN message m ON m.id = w.leaf_id"
        " WHERE w.id = ?",
        (window_id,),
    )
    if row is None:
        return ()
    running = await r.all(f"{_OPEN_TURNS} AND t.window_id = ?2 ORDER BY t.rowid", (row[0], window_id))
    return await _with(r, await _leaves(r, row[1], row[2]), [uid for (uid,) in running])


async def of_conversation(r: Reader, conversation_id: str, place: str | None) -> tuple[str, ...]:
    """The rows at which a conversation's files stand; as long as nothing told that, its place."""
    row = await r.one("SELECT files_at FROM conversation WHERE id = ?", (conversation_id,))
    running = await r.all(f"{_OPEN_TURNS} ORDER BY t.rowid", (conversation_id,))
    leaves = await _leaves(r, row[0] if row else None, place)
    return await _with(r, leaves, [uid for (uid,) in running])


async def move(tx: Writer, place: FilesPlace) -> None:
    """Set it: files were moved. Windows go along whose files stood with these; rows that are gone do not count.

    Raises NotFound.
    """
    stood = await tx.one(
        "SELECT c.files_at, coalesce(w.files_at, c.files_at) FROM conversation c"
        " LEFT JOIN window w ON w.id = ?2 AND w.conversation_id = c.id WHERE c.id = ?1",
        (place.conversation_id, place.window_id),
    )
    if stood is None:
        raise NotFound("conversation", place.conversation_id)
    # As the conversation, or as the conversation was.
    await tx.run(
        "UPDATE window SET files_at ="
        " CASE WHEN id = ?2 OR coalesce(files_at, ?3) IS ?4 THEN NULL ELSE coalesce(files_at, ?3) END"
        " WHERE conversation_id = ?1 AND (files_at IS NOT NULL OR ?3 IS NOT ?4)",
        (place.conversation_id, place.window_id, *stood),
    )
    await tx.run(
        "UPDATE conversation SET files_at = (SELECT json_group_array(id) FROM (SELECT m.id FROM json_each(?2) AS each"
        " JOIN message m ON m.uid = each.value ORDER BY each.key LIMIT ?3)) WHERE id = ?1",
        (place.conversation_id, rows.as_list(place.leaves), _MOST_LEAVES),
    )


async def leave_open(tx: Writer, conversation_id: str) -> None:
    """Note that files were taken away from turns that were cut off and are not ended yet: their end adds nothing."""
    await tx.run(
        "UPDATE turn_files SET left_open = 1 WHERE turn_id IN"
        " (SELECT id FROM turn INDEXED BY turn_open WHERE conversation_id = ? AND stop_reason IS NULL)",
        (conversation_id,),
    )


async def end_turn(
    tx: Writer, turn_id: str, conversation_id: str, window_id: str | None, last_id: str
) -> None:
    """Let files stand where a turn ended, too, unless they were taken elsewhere after it was cut off."""
    if await tx.one(f"SELECT 1 FROM turn t WHERE t.id = ? AND {_WAS_LEFT}", (turn_id,)) is not None:
        return
    row = await tx.one(
        "SELECT coalesce(w.files_at, c.files_at) FROM conversation c"
        " LEFT JOIN window w ON w.id = ?2 AND w.conversation_id = c.id WHERE c.id = ?1",
        (conversation_id, window_id),
    )
    stood = await _leaves(tx, row[0] if row else None, None)
    await move(tx, FilesPlace(conversation_id, window_id, await _with(tx, stood, [last_id])))


async def stay(tx: Writer, window_id: str) -> None:
    """Note that files stay where a window's leaf is, which goes elsewhere, as long as nothing told where they stand."""
    await tx.run(
        "UPDATE conversation SET files_at = (SELECT json_group_array(leaf_id) FILTER (WHERE leaf_id IS NOT NULL)"
        "  FROM window WHERE id = ?1)"
        " WHERE files_at IS NULL AND id = (SELECT conversation_id FROM window WHERE id = ?1)",
        (window_id,),
    )


async def _leaves(r: Reader, files_at: str | None, otherwise: str | None) -> tuple[str, ...]:
    if files_at is None:
        return () if otherwise is None else (otherwise,)
    found = await r.all(
        "SELECT m.uid FROM json_each(?) AS each JOIN message m ON m.id = each.value ORDER BY each.key",
        (files_at,),
    )
    return tuple(uid for (uid,) in found)


async def _with(r: Reader, leaves: Sequence[str], ends: Sequence[str]) -> tuple[str, ...]:
    """The leaves, and the ends of turns, the oldest of which comes first; what lies above one of these is in it."""
    for end in ends:
        above = await ancestry.among(r, end, leaves)
        leaves = [end, *(leaf for leaf in leaves if leaf not in above)]
    return tuple(leaves)
