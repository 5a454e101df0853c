"""The tree of a conversation as a person goes about it: with labels, where they stand, and what is theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from catena_store import rows
from catena_store.database import Reader
from catena_store.messages import page
from catena_store.records import Message
from catena_store.tree import TreeNode, nodes, prompt_at


@dataclass(frozen=True, slots=True)
class TreePlaces:
    """Every prompt of a family, as seen from one of its conversations and one leaf."""

    nodes: Sequence[TreeNode] = ()  # oldest first, parents before what comes after them
    own: frozenset[str] = frozenset()  # prompts of the conversation, and those that it has of its source
    here: str | None = None  # the prompt that the leaf is, or is below
    names: Mapping[str, str | None] = field(
        default_factory=dict
    )  # titles of the conversations that are shown
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)  # of checkpoints, by prompt


@dataclass(frozen=True, slots=True)
class Parting:
    """Two branches from where they part."""

    shared: str | None  # the last row that they share; None where they share nothing
    shared_prompts: int
    left: Sequence[Message]  # oldest first; the newest ones where there are too many
    right: Sequence[Message]
    left_rows: int  # of the left branch below the shared row
    right_rows: int


async def tree_places(r: Reader, conversation_id: str, leaf_id: str | None) -> TreePlaces:
    """The tree around a conversation; what was deleted is left out, unless something that is left hangs from it."""
    row = await r.one(
        "SELECT c.family, p.uid FROM conversation c LEFT JOIN message p ON p.id = c.fork_point_id WHERE c.id = ?",
        (conversation_id,),
    )
    if row is None:
        return TreePlaces()
    family, fork_point = row
    kept = await r.all(
        "SELECT id, title FROM conversation WHERE family = ?1 AND (deleted_at IS NULL OR id = ?2)",
        (family, conversation_id),
    )
    names: dict[str, str | None] = dict(kept)
    every = {node.id: node for node in await nodes(r, family)}
    inherited = _up_from(every, await prompt_at(r, fork_point))
    needed: set[str] = set(inherited)
    for node in every.values():
        if node.conversation_id in names and node.id not in needed:
            needed |= _up_from(every, node.id, needed)
    return TreePlaces(
        nodes=[node for id, node in every.items() if id in needed],
        own=frozenset(
            id for id, node in every.items() if id in inherited or node.conversation_id == conversation_id
        ),
        here=await prompt_at(r, leaf_id),
        names=names,
        labels=await _labels(r, list(names)),
    )


def _up_from(every: Mapping[str, TreeNode], id: str | None, known: Set[str] = frozenset()) -> set[str]:
    """A prompt and those above it, up to one that is known."""
    above: set[str] = set()
    while id is not None and id in every and id not in known:
        above.add(id)
        id = every[id].parent_id
    return above


async def _labels(r: Reader, conversation_ids: Sequence[str]) -> dict[str, list[str]]:
    found = await r.all(
        "SELECT k.label, m.uid FROM json_each(?) CROSS JOIN checkpoint k ON k.conversation_id = value"
        " JOIN message m ON m.id = k.message_id WHERE k.label IS NOT NULL ORDER BY k.created_at",
        (rows.as_list(conversation_ids),),
    )
    labels: dict[str, list[str]] = {}
    for label, message_id in found:
        prompt = await prompt_at(r, message_id)
        if prompt is not None:
            labels.setdefault(prompt, []).append(label)
    return labels


async def parting(r: Reader, left: str, right: str, *, limit: int) -> Parting:
    """Where two branches part, and at most ``limit`` of the newest rows of each from there, barriers crossed."""
    on_left, on_right = await _way_up(r, left), await _way_up(r, right)
    theirs = {id for id, _ in on_right}
    at = next((place for place, (id, _) in enumerate(on_left) if id in theirs), len(on_left))
    shared = on_left[at][0] if at < len(on_left) else None
    shared_rows = len(on_left) - at
    return Parting(
        shared=shared,
        shared_prompts=sum(prompt for _, prompt in on_left[at:]),
        left=await _newest(r, left, at, limit),
        right=await _newest(r, right, len(on_right) - shared_rows, limit),
        left_rows=at,
        right_rows=len(on_right) - shared_rows,
    )


async def turn_of_prompt(r: Reader, node: TreeNode) -> Sequence[Message]:
    """The prompt and every row up to the end of what it brought, oldest first."""
    return await _newest(r, node.end_id, node.rows + 1, node.rows + 1)


async def _way_up(r: Reader, leaf: str) -> list[tuple[str, bool]]:
    """Every row of a branch, leaf first, and whether it is a prompt."""
    return [
        (uid, bool(prompt))
        for uid, prompt in await r.all(
            """
            WITH RECURSIVE branch (parent_id, uid, kind) AS (
                SELECT parent_id, uid, kind FROM message WHERE uid = ?
                UNION ALL
                SELECT m.parent_id, m.uid, m.kind FROM branch b CROSS JOIN message m ON m.id = b.parent_id
            )
            SELECT uid, kind = 'user' FROM branch
            """,
            (leaf,),
        )
    ]


async def _newest(r: Reader, leaf: str, count: int, limit: int) -> Sequence[Message]:
    return await page(r, leaf, min(count, limit)) if count > 0 else ()
