"""Where a window stood before."""

from __future__ import annotations

import json

from catena_store.database import Reader
from catena_store.siblings import on_branch

_LOOKED_BACK = 40  # acts


async def last_stood(r: Reader, window_id: str, conversation_id: str, message_id: str) -> str | None:
    """The leaf where the window stood last, of those that lie at or below a message; None where it never did."""
    found = await r.all(
        "SELECT before, after FROM journal WHERE window_id = ? ORDER BY id DESC LIMIT ?",
        (window_id, _LOOKED_BACK),
    )
    looked_at: set[str] = set()
    for entry in found:
        for place in map(json.loads, entry):
            leaf = place.get("leaf_id")
            if leaf is None or leaf in looked_at or place.get("conversation_id") != conversation_id:
                continue
            looked_at.add(leaf)
            if await on_branch(r, leaf, message_id):
                return str(leaf)
    return None
