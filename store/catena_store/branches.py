"""What a branch holds, by one walk from its leaf to its root, barriers crossed."""

from __future__ import annotations

from catena_store import rows
from catena_store.database import Reader
from catena_store.records import Kind, Message, MessageState

# ?1 is the leaf, ?2 how many rows are walked over at most, ?3 how many of the kind are wanted.
_WALK = """
    WITH RECURSIVE branch (id, parent_id, kind, walked, counted) AS (
        SELECT id, parent_id, kind, 1, kind = ?4 FROM message WHERE uid = ?1
        UNION ALL
        SELECT m.id, m.parent_id, m.kind, b.walked + 1, b.counted + (m.kind = ?4)
          FROM branch b CROSS JOIN message m ON m.id = b.parent_id
         WHERE b.walked < ?2 AND b.counted < ?3
    )
"""
_FAR = 1_000_000_000


async def newest_of(
    r: Reader, leaf: str | None, kind: Kind, *, limit: int, within: int = _FAR
) -> list[Message]:
    """The newest rows of a kind on the branch, oldest first, looked for among its ``within`` newest rows."""
    found = await r.all(
        f"{_WALK} SELECT {rows.MESSAGE} FROM branch b CROSS JOIN message m ON m.id = b.id WHERE b.kind = ?4",
        (leaf, within, limit, kind),
    )
    return [rows.message(row) for row in reversed(found)]


async def newest_answers(r: Reader, leaf: str | None, *, limit: int, within: int = _FAR) -> list[Message]:
    """The newest answers on the branch that are whole or interrupted, oldest first."""
    answers = await newest_of(r, leaf, Kind.AGENT, limit=limit, within=within)
    return [answer for answer in answers if answer.state is not MessageState.OPEN]


async def newest_turn_of_agent(r: Reader, leaf: str | None, agent: str) -> str | None:
    """The id of the newest turn on the branch that this agent took, whichever profile it had."""
    row = await r.one(
        """
        WITH RECURSIVE branch (parent_id, turn_id, taken) AS (
            SELECT m.parent_id, m.turn_id,
                   EXISTS (SELECT 1 FROM turn t CROSS JOIN link l ON l.id = t.link_id
                            WHERE t.id = m.turn_id AND l.agent = ?2 AND t.stop_reason IS NOT 'not_sent')
              FROM message m WHERE m.uid = ?1
            UNION ALL
            SELECT m.parent_id, m.turn_id,
                   EXISTS (SELECT 1 FROM turn t CROSS JOIN link l ON l.id = t.link_id
                            WHERE t.id = m.turn_id AND l.agent = ?2 AND t.stop_reason IS NOT 'not_sent')
              FROM branch b CROSS JOIN message m ON m.id = b.parent_id
             WHERE NOT b.taken
        )
        SELECT turn_id FROM branch WHERE taken LIMIT 1
        """,
        (leaf, agent),
    )
    return None if row is None else str(row[0])
