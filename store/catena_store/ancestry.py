"""Ancestry: what a branch contains, and where branches part, found without walking them row by row.

A climb goes from a row towards the root by parents and jumps, and takes a number of steps that grows with the logarithm
of the distance. It finds its way by row numbers alone: an ancestor has a smaller one than its descendants.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from catena_store.database import rows
from catena_store.database.database import Reader
from catena_store.errors import NotFound
from catena_store.records import Path, Place

# From each of the pairs' leaves, as far up as the row that is looked for: it is on the branch if the climb ends there.
CLIMB = """
    climb (leaf, target, id, parent_id, jump_id) AS (
        SELECT p.leaf, p.target, a.id, a.parent_id, a.jump_id
          FROM pair p CROSS JOIN ancestry a ON a.id = p.leaf
        UNION ALL
        SELECT climb.leaf, climb.target, a.id, a.parent_id, a.jump_id
          FROM climb CROSS JOIN ancestry a
            ON a.id = CASE WHEN climb.jump_id >= climb.target THEN climb.jump_id ELSE climb.parent_id END
         WHERE climb.id > climb.target
    )
"""

# From both rows of each pair, to where their branches meet: first to the same depth, then side by side.
MEETING = """
    met (tag, a, b) AS (
        SELECT tag, a, b FROM pair
        UNION ALL
        SELECT met.tag,
               CASE WHEN x.depth < y.depth THEN x.id
                    WHEN x.depth > y.depth THEN CASE WHEN i.depth >= y.depth THEN x.jump_id ELSE x.parent_id END
                    WHEN x.jump_id IS NOT y.jump_id THEN x.jump_id ELSE x.parent_id END,
               CASE WHEN y.depth < x.depth THEN y.id
                    WHEN y.depth > x.depth THEN CASE WHEN j.depth >= x.depth THEN y.jump_id ELSE y.parent_id END
                    WHEN x.jump_id IS NOT y.jump_id THEN y.jump_id ELSE y.parent_id END
          FROM met CROSS JOIN ancestry x ON x.id = met.a CROSS JOIN ancestry y ON y.id = met.b
          LEFT JOIN ancestry i ON i.id = x.jump_id LEFT JOIN ancestry j ON j.id = y.jump_id
         WHERE met.a <> met.b
    )
"""


# Of the row `a`, counted from below the barrier `b`.
_PLACE = "a.depth - coalesce(b.depth, -1), a.spoken - coalesce(b.spoken, 0), a.tools - coalesce(b.tools, 0)"


async def contains(r: Reader, leaf: str | None, id: str) -> bool:
    """True where the row lies between the root and the leaf, barriers crossed."""
    return bool(await among(r, leaf, [id]))


async def among(r: Reader, leaf: str | None, ids: Collection[str]) -> set[str]:
    """Those of the rows that lie between the root and the leaf, barriers crossed."""
    found = await r.all(
        f"""
        WITH RECURSIVE pair (leaf, target) AS (
            SELECT l.id, m.id FROM message l CROSS JOIN json_each(?2) CROSS JOIN message m ON m.uid = value
             WHERE l.uid = ?1
        ), {CLIMB}
        SELECT m.uid FROM climb CROSS JOIN message m ON m.id = climb.id WHERE climb.id = climb.target
        """,
        (leaf, rows.as_list(ids)),
    )
    return {uid for (uid,) in found}


async def at_or_below(r: Reader, id: str, leaves: Collection[str]) -> set[str]:
    """Those of the leaves whose branch contains the row."""
    found = await r.all(
        f"""
        WITH RECURSIVE pair (leaf, target) AS (
            SELECT l.id, m.id FROM message m CROSS JOIN json_each(?2) CROSS JOIN message l ON l.uid = value
             WHERE m.uid = ?1
        ), {CLIMB}
        SELECT l.uid FROM climb CROSS JOIN message l ON l.id = climb.leaf WHERE climb.id = climb.target
        """,
        (id, rows.as_list(leaves)),
    )
    return {uid for (uid,) in found}


async def path(r: Reader, above: str | None, asked: Collection[str], *, prompt_id: str = "") -> Path:
    """The path to a prompt below a row, with the places of those of the asked rows that lie on it.

    ``prompt_id`` is empty for a prompt that is in no row yet.
    """
    found = await r.all(
        f"""
        WITH RECURSIVE pair (leaf, target) AS (
            SELECT l.id, m.id FROM message l CROSS JOIN json_each(?2) CROSS JOIN message m ON m.uid = value
             WHERE l.uid = ?1
        ), {CLIMB}
        SELECT m.uid, {_PLACE}
          FROM climb CROSS JOIN ancestry a ON a.id = climb.id CROSS JOIN ancestry l ON l.id = climb.leaf
          LEFT JOIN ancestry b ON b.id = l.barrier_id CROSS JOIN message m ON m.id = climb.id
         WHERE climb.id = climb.target AND climb.id > l.barrier_id
        """,
        (above, rows.as_list({*asked})),
    )
    places: Mapping[str, Place] = {uid: Place(*counts) for uid, *counts in found}
    return Path(prompt_id, await place(r, above), places)


async def place(r: Reader, leaf: str | None) -> Place:
    """The place of a row on its own branch; that before the first row for a barrier and for the root."""
    found = await r.one(
        f"""
        SELECT {_PLACE} FROM message m CROSS JOIN ancestry a ON a.id = m.id
          LEFT JOIN ancestry b ON b.id = a.barrier_id WHERE m.uid = ?
        """,
        (leaf,),
    )
    return Place() if found is None else Place(*found)


async def at_depth(r: Reader, leaf: str, depth: int) -> str:
    """The row of a branch that has so many rows above it. Raises NotFound where the branch is not as long."""
    row = await r.one(
        """
        WITH RECURSIVE climb (id, parent_id, jump_id, depth) AS (
            SELECT a.id, a.parent_id, a.jump_id, a.depth
              FROM message m CROSS JOIN ancestry a ON a.id = m.id WHERE m.uid = ?1
            UNION ALL
            SELECT a.id, a.parent_id, a.jump_id, a.depth
              FROM climb LEFT JOIN ancestry j ON j.id = climb.jump_id
             CROSS JOIN ancestry a ON a.id = CASE WHEN j.depth >= ?2 THEN j.id ELSE climb.parent_id END
             WHERE climb.depth > ?2
        )
        SELECT m.uid FROM climb CROSS JOIN message m ON m.id = climb.id WHERE climb.depth = ?2
        """,
        (leaf, depth),
    )
    if row is None:
        raise NotFound("message", f"{leaf} at depth {depth}")
    return str(row[0])


async def oldest_content(r: Reader, leaf: str | None) -> str | None:
    """The first content row on the branch below its last barrier."""
    row = await r.one(
        """
        WITH RECURSIVE above (id, parent_id, jump_id, base) AS (
            SELECT a.id, a.parent_id, a.jump_id, coalesce(b.spoken + b.tools, 0) FROM message m
             CROSS JOIN ancestry a ON a.id = m.id LEFT JOIN ancestry b ON b.id = a.barrier_id
             WHERE m.uid = ? AND a.spoken + a.tools > coalesce(b.spoken + b.tools, 0)
            UNION ALL
            SELECT a.id, a.parent_id, a.jump_id, above.base
              FROM above LEFT JOIN ancestry j ON j.id = above.jump_id
             CROSS JOIN ancestry a
                ON a.id = CASE WHEN j.spoken + j.tools > above.base THEN j.id ELSE above.parent_id END
             WHERE a.spoken + a.tools > above.base
        )
        SELECT m.uid FROM message m WHERE m.id = (SELECT min(id) FROM above)
        """,
        (leaf,),
    )
    return None if row is None else str(row[0])


async def answered(r: Reader, leaf: str | None, prompts: Collection[str]) -> set[str]:
    """Those of the prompts, all on the leaf's branch, behind which something of their own turns comes on it first."""
    found = await r.all(
        """
        WITH RECURSIVE behind (prompt, id, parent_id, jump_id, base) AS (
            SELECT p.uid, a.id, a.parent_id, a.jump_id, b.spoken + b.tools
              FROM message l CROSS JOIN ancestry a ON a.id = l.id CROSS JOIN json_each(?2)
             CROSS JOIN message p ON p.uid = value CROSS JOIN ancestry b ON b.id = p.id
             WHERE l.uid = ?1 AND p.kind = 'user' AND a.spoken + a.tools > b.spoken + b.tools
            UNION ALL
            SELECT behind.prompt, a.id, a.parent_id, a.jump_id, behind.base
              FROM behind LEFT JOIN ancestry j ON j.id = behind.jump_id
             CROSS JOIN ancestry a
                ON a.id = CASE WHEN j.spoken + j.tools > behind.base THEN j.id ELSE behind.parent_id END
             WHERE a.spoken + a.tools > behind.base
        )
        SELECT first.prompt FROM (SELECT prompt, min(id) AS id FROM behind GROUP BY prompt) AS first
         CROSS JOIN message m ON m.id = first.id
         WHERE m.kind <> 'user' OR json_extract(m.data, '$.steered')
        """,
        (leaf, rows.as_list({*prompts})),
    )
    return {uid for (uid,) in found}


async def newest_below(r: Reader, id: str, conversation_id: str) -> str:
    """The newest row that the conversation has at or below a message, refused prompts left out."""
    # A refused prompt ends no branch: what it hangs from does.
    ends = await r.all(
        """
        SELECT m.uid FROM message m WHERE m.state <> 'refused' AND m.id IN (
            SELECT message_id FROM branch_end WHERE conversation_id = ?1
             UNION SELECT parent_id FROM message WHERE conversation_id = ?1 AND state = 'refused'
             UNION SELECT fork_point_id FROM conversation WHERE id = ?1
        ) ORDER BY m.id DESC
        """,
        (conversation_id,),
    )
    refused = await r.all(
        "SELECT m.uid FROM message m WHERE m.conversation_id = ?1 AND m.state = 'refused'"
        " AND m.id > (SELECT id FROM message WHERE uid = ?2)",
        (conversation_id, id),
    )
    below = await at_or_below(r, id, [uid for (uid,) in ends])
    for (end,) in ends:
        if end in below and not await among(r, end, [uid for (uid,) in refused]):
            return str(end)
    return id


async def meeting(r: Reader, left: str, right: str) -> str | None:
    """The last row that two branches share; None where they share nothing."""
    row = await r.one(
        f"""
        WITH RECURSIVE pair (tag, a, b) AS (
            SELECT 0, l.id, o.id FROM message l CROSS JOIN message o WHERE l.uid = ?1 AND o.uid = ?2
        ), {MEETING}
        SELECT m.uid FROM met CROSS JOIN message m ON m.id = met.a WHERE met.a = met.b
        """,
        (left, right),
    )
    return None if row is None else str(row[0])


async def partings(r: Reader, leaf: str | None, conversation_id: str) -> list[str]:
    """The prompts of a branch that have another row beside them with something of the conversation at or below it."""
    found = await r.all(
        f"""
        WITH RECURSIVE pair (tag, a, b) AS (
            SELECT e.message_id, l.id, e.message_id FROM message l CROSS JOIN branch_end e
             WHERE l.uid = ?1 AND e.conversation_id = ?2
            UNION
            SELECT 0, l.id, c.fork_point_id FROM message l CROSS JOIN conversation c
             WHERE l.uid = ?1 AND c.id = ?2 AND c.fork_point_id IS NOT NULL
        ), {MEETING}
        SELECT DISTINCT m.uid FROM met
         CROSS JOIN ancestry x ON x.id = met.a CROSS JOIN ancestry y ON y.id = met.b
         CROSS JOIN message m ON m.id = met.a
         WHERE met.a <> met.b AND x.depth = y.depth AND x.parent_id IS y.parent_id AND m.kind = 'user'
        """,
        (leaf, conversation_id),
    )
    return [uid for (uid,) in found]
