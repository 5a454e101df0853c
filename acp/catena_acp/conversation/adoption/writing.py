"""Writing what was adopted: rows and turns, and the pointers of the link that they travelled on."""

from __future__ import annotations

from catena_acp.conversation.adoption.rows import AdoptedRows
from catena_store import places
from catena_store.chains import links, turns
from catena_store.conversations import messages
from catena_store.database.database import Writer

_PIECE = 500  # rows: the thread of the store goes back to its loop between them


async def add_rows(tx: Writer, adopted: AdoptedRows, link_id: str) -> None:
    """Add rows and turns, and move the pointers of their link with them."""
    for start in range(0, len(adopted.rows), _PIECE):
        await messages.insert_many(tx, adopted.rows[start : start + _PIECE])
    for turn in adopted.turns:
        await turns.insert(tx, turn)
    if adopted.rows:
        first, last = adopted.rows[0], adopted.rows[-1]
        await places.grow(tx, first.conversation_id, first.parent_id, last.id)
    since = adopted.unabridged_from
    await links.move(
        tx,
        link_id,
        knows=adopted.knows or links.UNSET,
        reach=adopted.reach or links.UNSET,
        unabridged_from=since or links.UNSET,
    )
