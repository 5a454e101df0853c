"""Siblings: prompts that hang where another one hangs, as they are seen from one conversation.

A fork's prompts are no siblings of its source's. But what a fork has of its source can be edited in the fork, and the
new prompt is then a sibling of the source's there, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence

from catena_store import rows
from catena_store.database import Reader

# Every prompt beside those of ?1, that an agent accepted or that is one of them.
_BESIDE = """
    SELECT m.uid AS of, s.uid AS uid, s.id AS id, s.conversation_id AS born_in, s.depth AS depth
      FROM json_each(?1) CROSS JOIN message m ON m.uid = value
     CROSS JOIN message s ON s.parent_id = m.parent_id
     WHERE s.kind = 'user' AND (s.state <> 'refused' OR s.id = m.id)
     UNION ALL
    SELECT m.uid, s.uid, s.id, s.conversation_id, s.depth
      FROM json_each(?1) CROSS JOIN message m ON m.uid = value AND m.parent_id IS NULL
     CROSS JOIN conversation c ON c.family = (SELECT family FROM conversation WHERE id = m.conversation_id)
     CROSS JOIN message s ON s.parent_id IS NULL AND s.conversation_id = c.id
     WHERE s.kind = 'user' AND (s.state <> 'refused' OR s.id = m.id)
     ORDER BY 3
"""


async def siblings(r: Reader, id: str, conversation_id: str | None = None) -> list[str]:
    """The prompts beside this one, oldest first, itself included, as seen from the conversation.

    From the one that it was born in where none is named.
    """
    return (await _beside(r, [id], conversation_id)).get(id, [])


async def sibling_counts(
    r: Reader, ids: Sequence[str], conversation_id: str | None = None
) -> dict[str, tuple[int, int]]:
    """The position, from 1, and the number of siblings of those prompts among these that have any."""
    found = await _beside(r, ids, conversation_id)
    return {id: (beside.index(id) + 1, len(beside)) for id, beside in found.items() if len(beside) > 1}


async def on_branch(r: Reader, leaf: str | None, id: str) -> bool:
    """True where the row lies on the way from the root to the leaf, barriers crossed."""
    row = await r.one("SELECT depth FROM message WHERE uid = ?", (id,))
    return row is not None and id in await way_up(r, leaf, int(row[0]))


async def _beside(r: Reader, ids: Sequence[str], conversation_id: str | None) -> dict[str, list[str]]:
    found = await r.all(_BESIDE, (rows.as_list(ids),))
    born_in = {uid: born for _, uid, _, born, _ in found}
    seen_from = {of: conversation_id or born_in.get(of, "") for of, *_ in found}
    inherited: dict[str, set[str]] = {}
    for viewer in set(seen_from.values()):
        foreign = [
            (uid, depth)
            for of, uid, _, born, depth in found
            if seen_from[of] == viewer and born != viewer and uid != of
        ]
        if foreign:
            inherited[viewer] = await _inherited(r, viewer, foreign)
    beside: dict[str, list[str]] = {}
    for of, uid, _, born, _ in found:
        viewer = seen_from[of]
        if born == viewer or uid == of or uid in inherited.get(viewer, ()):
            beside.setdefault(of, []).append(uid)
    return beside


async def _inherited(r: Reader, conversation_id: str, foreign: Sequence[tuple[str, int]]) -> set[str]:
    """Those of the rows, each with its depth, that the conversation has of the one it was forked from."""
    point = await r.one(
        "SELECT m.uid, m.depth FROM conversation c JOIN message m ON m.id = c.fork_point_id WHERE c.id = ?",
        (conversation_id,),
    )
    if point is None:
        return set()
    leaf, deepest = point
    above = [(uid, depth) for uid, depth in foreign if depth <= deepest]
    if not above:
        return set()
    return {uid for uid, _ in above} & await way_up(r, leaf, min(depth for _, depth in above))


async def way_up(r: Reader, leaf: str | None, floor: int) -> set[str]:
    """The rows from the leaf up to a depth."""
    found = await r.all(
        """
        WITH RECURSIVE branch (parent_id, uid, depth) AS (
            SELECT parent_id, uid, depth FROM message WHERE uid = ?1 AND depth >= ?2
            UNION ALL
            SELECT m.parent_id, m.uid, m.depth
              FROM branch b CROSS JOIN message m ON m.id = b.parent_id
             WHERE b.depth > ?2
        )
        SELECT uid FROM branch
        """,
        (leaf, floor),
    )
    return {uid for (uid,) in found}
