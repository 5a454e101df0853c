"""Which snapshots belong to which turn."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from catena_store.database.database import Reader, Writer
from catena_store.database.rows import Row
from catena_store.snapshots.trees import LeftOutFile, LeftOutReason


@dataclass(frozen=True, slots=True)
class TurnFiles:
    """The trees of a root at a turn's start and end; without an end while it runs, and where that was not kept."""

    turn_id: str
    root: str
    before: str
    after: str | None
    left_out: tuple[LeftOutFile, ...] = ()


async def begin(tx: Writer, turn_id: str, root: str, tree: str) -> None:
    """Note the tree of a turn's start; the first one counts."""
    await tx.run(
        "INSERT INTO turn_files (turn_id, root, before) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        (turn_id, root, tree),
    )


async def end(tx: Writer, turn_id: str, tree: str, left_out: Sequence[LeftOutFile]) -> None:
    """Note the tree of a turn's end, and what it lacks; nothing where the start was not kept."""
    lacking = json.dumps([[each.path, each.reason] for each in left_out])
    await tx.run("UPDATE turn_files SET after = ?, left_out = ? WHERE turn_id = ?", (tree, lacking, turn_id))


async def of_turns(r: Reader, turn_ids: Iterable[str]) -> dict[str, TurnFiles]:
    """The trees of turns, by turn; of those that have any."""
    found = await r.all(
        "SELECT turn_id, root, before, after, left_out FROM turn_files"
        " WHERE turn_id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(turn_ids)),),
    )
    return {row[0]: _turn_files(row) for row in found}


async def of_span(r: Reader, leaf: str | None, after: int, until: int | None) -> list[TurnFiles] | None:
    """The trees of the turns with rows below a depth of a branch, down to another, oldest first.

    None where one of them, or its end, was not kept, or they worked in several roots.
    """
    found = await r.all(
        """
        WITH RECURSIVE branch (parent_id, turn_id, depth) AS (
            SELECT m.parent_id, m.turn_id, m.depth FROM message m WHERE m.uid = ?1
            UNION ALL
            SELECT m.parent_id, m.turn_id, m.depth FROM branch b CROSS JOIN message m ON m.id = b.parent_id
             WHERE b.depth > ?2 + 1
        ), of_turn (turn_id, depth) AS (
            SELECT turn_id, min(depth) FROM branch
             WHERE depth > ?2 AND depth <= coalesce(?3, depth) AND turn_id IS NOT NULL GROUP BY turn_id
        )
        SELECT t.id, f.root, f.before, f.after, f.left_out
          FROM of_turn o CROSS JOIN turn t ON t.id = o.turn_id LEFT JOIN turn_files f ON f.turn_id = t.id
         ORDER BY o.depth, t.started_at
        """,
        (leaf, after, until),
    )
    if any(row[3] is None for row in found) or len({row[1] for row in found}) > 1:
        return None
    return [_turn_files(row) for row in found]


async def trees(r: Reader) -> set[str]:
    """Every tree that a turn refers to."""
    found = await r.all("SELECT before, after FROM turn_files")
    return {tree for row in found for tree in row if tree is not None}


def _turn_files(row: Row) -> TurnFiles:
    id, root, before, after, left_out = row
    return TurnFiles(
        id,
        root,
        before,
        after,
        tuple(LeftOutFile(path, LeftOutReason(why)) for path, why in json.loads(left_out)),
    )
