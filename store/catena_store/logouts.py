"""Where a person logged out of an agent: the barriers that say so, each with the account that was left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from catena_store.database import Reader

_KEY = "logged_out"


def account_data(agent: str, profile: str) -> Mapping[str, Any]:
    """What the barrier of a logout keeps: the account that it was of."""
    return {_KEY: {"agent": agent, "profile": profile}}


async def since(r: Reader, family: str, row_id: str, *, agent: str, profile: str) -> bool:
    """True where somebody logged out of the account, in a conversation of the family, after the row was said."""
    row = await r.one(
        f"""
        SELECT EXISTS (
            SELECT 1 FROM conversation c
              CROSS JOIN message m ON m.conversation_id = c.id AND m.kind = 'seam'
             WHERE c.family = ?1 AND m.barrier AND m.id > (SELECT id FROM message WHERE uid = ?2)
               AND json_valid(m.data)
               AND json_extract(m.data, '$.{_KEY}.agent') = ?3
               AND json_extract(m.data, '$.{_KEY}.profile') = ?4
        )
        """,
        (family, row_id, agent, profile),
    )
    return row is not None and bool(row[0])
