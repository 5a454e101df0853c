"""The tree of a family of conversations: source and forks, prompts as nodes, and some of its branches compared."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from catena_store import ancestry
from catena_store.conversations.messages import depth, page
from catena_store.database import rows
from catena_store.database.database import Reader
from catena_store.ids import from_milliseconds
from catena_store.records import ContextSource, Message, MessageState, StopReason

_TITLE = 200  # characters of a first prompt that stand for a title
_KIN = (
    "c.id, c.title, coalesce((SELECT substr(text, 1, ?2) FROM message WHERE conversation_id = c.id"
    " AND kind = 'user' ORDER BY id LIMIT 1), ''), c.agent, c.created_at, p.uid"
)
_EXISTS = (
    "c.deleted_at IS NULL AND (EXISTS (SELECT 1 FROM message WHERE conversation_id = c.id)"
    " OR EXISTS (SELECT 1 FROM window w WHERE w.conversation_id = c.id AND w.closed_at IS NULL))"
)


@dataclass(frozen=True, slots=True)
class Kin:
    """The source or a fork of a conversation, as a list shows it."""

    id: str
    title: str | None
    preview: str  # the beginning of its own first prompt
    agent: str
    created_at: datetime
    fork_point_id: str | None  # the row of its source that it begins below; None at the root


@dataclass(frozen=True, slots=True)
class Lineage:
    """The source and the forks of a conversation."""

    source: Kin | None  # the conversation that its fork point was born in; None where it is no fork
    fork_point_id: str | None
    forks: tuple[Kin, ...]  # oldest first


async def lineage(r: Reader, id: str) -> Lineage:
    """The lineage of a conversation."""
    own = await r.one(
        "SELECT c.family, p.uid, p.conversation_id FROM conversation c"
        " LEFT JOIN message p ON p.id = c.fork_point_id WHERE c.id = ?",
        (id,),
    )
    if own is None:
        return Lineage(None, None, ())
    family, point, born_in = own
    source_id = born_in or (family if family != id else None)
    found = await r.all(
        f"SELECT {_KIN} FROM conversation c LEFT JOIN message p ON p.id = c.fork_point_id"
        f" WHERE c.family = ?3 AND c.id <> ?1 AND c.family <> c.id AND coalesce(p.conversation_id, c.family) = ?1"
        f" AND {_EXISTS} ORDER BY c.created_at, c.id",
        (id, _TITLE, family),
    )
    return Lineage(await _kin(r, source_id) if source_id else None, point, tuple(map(_kin_of_row, found)))


async def _kin(r: Reader, id: str) -> Kin | None:
    row = await r.one(
        f"SELECT {_KIN} FROM conversation c LEFT JOIN message p ON p.id = c.fork_point_id WHERE c.id = ?1",
        (id, _TITLE),
    )
    return None if row is None else _kin_of_row(row)


def _kin_of_row(row: rows.Row) -> Kin:
    id, title, preview, agent, created_at, point = row
    return Kin(id, title, preview, agent, from_milliseconds(created_at), point)


_PREVIEW = 160  # characters of a prompt

# One pass over the rows, oldest first; of rows that are no prompt nothing is read from an overflow page, but of the
# last row of a turn with an error.
_ROWS = f"""
    SELECT m.id, m.parent_id, m.uid, m.conversation_id, m.kind, m.state, {rows.IS_PROMPT} AS prompt,
           CASE m.kind WHEN 'user' THEN substr(m.text, 1, {_PREVIEW}) END,
           p.uid, l.agent, l.profile, t.how, t.stop_reason,
           CASE WHEN t.error IS NOT NULL
                THEN (SELECT e.data ->> '$.trouble' FROM message e WHERE e.id = t.last_id) END,
           m.created_at
      FROM conversation c CROSS JOIN message m ON m.conversation_id = c.id
      LEFT JOIN message p ON p.id = m.parent_id AND m.kind = 'user'
      LEFT JOIN turn t ON t.id = m.turn_id AND m.kind = 'user'
      LEFT JOIN link l ON l.id = m.link_id AND m.kind = 'user'
     WHERE c.family = ?
     ORDER BY m.id
"""


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A prompt of the tree, with its last attempt and the rows that followed."""

    id: str
    parent_id: str | None  # the prompt above it
    hangs_from: str | None  # the row above it, prompt or not
    conversation_id: str  # where it was born
    preview: str  # the beginning of its text
    state: MessageState
    agent: str | None  # that it went to, None where it went to none
    profile: str | None
    how: ContextSource | None  # of its last attempt
    stop_reason: StopReason | None  # of its last attempt, None while that runs
    trouble: str | None  # that its last attempt ended with, as the row of it has it
    rows: int  # below it, down to the next prompts
    end_id: str  # the newest of those rows; the prompt itself where there are none
    leaf_id: str  # the newest row at or below it in its own conversation
    created_at: datetime


async def nodes(r: Reader, family: str) -> list[TreeNode]:
    """Every prompt of the conversations of a family, oldest first."""
    # All rows of a family may be many; the loop goes on meanwhile.
    return await asyncio.to_thread(_nodes, await r.all(_ROWS, (family,)))


def _nodes(found: list[tuple[Any, ...]]) -> list[TreeNode]:
    prompt_of: dict[int, int] = {}  # row: the prompt that it is, or is below
    between: dict[int, int] = {}
    ends: dict[int, int] = {}
    for id, parent_id, _, _, _, _, is_prompt, *_ in found:
        if is_prompt:
            prompt_of[id] = id
            between[id] = 0
        elif parent_id in prompt_of:
            prompt_of[id] = prompt_of[parent_id]
            between[prompt_of[id]] += 1
            ends[prompt_of[id]] = id
    uids = {id: uid for id, _, uid, *_ in found}
    leaves = _leaves(found)
    return [
        _node(
            row,
            uids.get(prompt_of.get(row[1], -1)),
            between[row[0]],
            end_id=uids[ends.get(row[0], row[0])],
            leaf_id=uids[leaves[row[0]]],
        )
        for row in found
        if row[6]
    ]


async def nodes_of_conversation(
    r: Reader, conversation_id: str, forks: Collection[str] = ()
) -> list[TreeNode]:
    """The prompts of a conversation, those that it inherits, and the first ones of the given forks of it."""
    origin = await _family_and_fork_point(r, conversation_id)
    if origin is None:
        return []
    family, fork_point = origin
    every = {node.id: node for node in await nodes(r, family)}
    inherited = _ancestors(every, await prompt_at(r, fork_point))

    def is_head(node: TreeNode) -> bool:
        return node.conversation_id in forks and (
            node.parent_id is None or every[node.parent_id].conversation_id != node.conversation_id
        )

    return [
        node
        for id, node in every.items()
        if node.conversation_id == conversation_id or id in inherited or is_head(node)
    ]


async def prompt_at(r: Reader, leaf: str | None) -> str | None:
    """The prompt that a row is or belongs to; a text steered into a running turn is none."""
    row = await r.one(
        f"""
        WITH RECURSIVE branch (parent_id, uid, found) AS (
            SELECT m.parent_id, m.uid, {rows.IS_PROMPT} FROM message m WHERE m.uid = ?
            UNION ALL
            SELECT m.parent_id, m.uid, {rows.IS_PROMPT}
              FROM branch b CROSS JOIN message m ON m.id = b.parent_id
             WHERE NOT b.found
        )
        SELECT uid FROM branch WHERE found
        """,
        (leaf,),
    )
    return None if row is None else str(row[0])


async def prompts_of_branch(r: Reader, leaf: str | None) -> list[tuple[str, int]]:
    """The ids and depths of the prompts on a branch, oldest first."""
    found = await r.all(
        f"""
        WITH RECURSIVE branch (parent_id, uid, depth, found) AS (
            SELECT m.parent_id, m.uid, m.depth, {rows.IS_PROMPT} FROM message m WHERE m.uid = ?
            UNION ALL
            SELECT m.parent_id, m.uid, m.depth, {rows.IS_PROMPT}
              FROM branch b CROSS JOIN message m ON m.id = b.parent_id
        )
        SELECT uid, depth FROM branch WHERE found ORDER BY depth
        """,
        (leaf,),
    )
    return [(str(uid), int(depth)) for uid, depth in found]


def _leaves(found: list[tuple[Any, ...]]) -> dict[int, int]:
    """For every row the newest one at or below it that was born in the same conversation."""
    newest: dict[int, int] = {}
    born_in = {row[0]: row[3] for row in found}
    for id, parent_id, _, conversation_id, _, state, *_ in reversed(found):
        leaf = newest.setdefault(id, id)
        if state != MessageState.REFUSED and born_in.get(parent_id) == conversation_id:
            newest[parent_id] = max(newest.get(parent_id, parent_id), leaf)
    return newest


def _node(row: tuple[Any, ...], parent_id: str | None, rows: int, *, end_id: str, leaf_id: str) -> TreeNode:
    _, _, uid, conversation_id, _, state, _, preview, hangs_from, *of_turn = row
    agent, profile, how, stop, trouble, created_at = of_turn
    return TreeNode(
        id=uid,
        parent_id=parent_id,
        hangs_from=hangs_from,
        conversation_id=conversation_id,
        preview=preview,
        state=MessageState(state),
        agent=agent,
        profile=profile,
        how=ContextSource(how) if how else None,
        stop_reason=StopReason(stop) if stop else None,
        trouble=str(trouble) if trouble else None,
        rows=rows,
        end_id=end_id,
        leaf_id=leaf_id,
        created_at=from_milliseconds(created_at),
    )


@dataclass(frozen=True, slots=True)
class FamilyTree:
    """The prompts of a family of conversations, as seen from one of them and one leaf."""

    nodes: Sequence[TreeNode] = ()  # oldest first, parents before their children
    own: frozenset[str] = frozenset()  # prompts of the conversation, inherited ones too
    here: str | None = None  # the prompt that the leaf is or belongs to
    names: Mapping[str, str | None] = field(default_factory=dict)  # titles, by conversation
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)  # of checkpoints, by prompt


@dataclass(frozen=True, slots=True)
class BranchRows:
    """The rows of a branch below the last row that it shares with others."""

    newest: Sequence[Message]  # oldest first; all of them, if the limit allows
    count: int


@dataclass(frozen=True, slots=True)
class BranchComparison:
    """Branches below the last row that all of them share."""

    shared: str | None  # the last row in all; None where they share nothing
    shared_prompts: int
    branches: Sequence[BranchRows]


async def family_tree(r: Reader, conversation_id: str, leaf_id: str | None) -> FamilyTree:
    """The tree around a conversation; a deleted one is left out unless a remaining one hangs from it."""
    origin = await _family_and_fork_point(r, conversation_id)
    if origin is None:
        return FamilyTree()
    family, fork_point = origin
    kept = await r.all(
        "SELECT id, title FROM conversation WHERE family = ?1 AND (deleted_at IS NULL OR id = ?2)",
        (family, conversation_id),
    )
    names: dict[str, str | None] = dict(kept)
    found = await nodes(r, family)
    needed, own = await asyncio.to_thread(
        _needed_and_own, found, conversation_id, names, await prompt_at(r, fork_point)
    )
    return FamilyTree(
        nodes=needed,
        own=own,
        here=await prompt_at(r, leaf_id),
        names=names,
        labels=await _labels(r, list(names)),
    )


def _needed_and_own(
    found: Sequence[TreeNode], conversation_id: str, names: Collection[str], fork_point: str | None
) -> tuple[list[TreeNode], frozenset[str]]:
    """The prompts of the named conversations and those above them, and the ids of one conversation's."""
    every = {node.id: node for node in found}
    inherited = _ancestors(every, fork_point)
    needed: set[str] = set(inherited)
    for node in found:
        if node.conversation_id in names and node.id not in needed:
            needed |= _ancestors(every, node.id, needed)
    own = frozenset(
        node.id for node in found if node.id in inherited or node.conversation_id == conversation_id
    )
    return [node for node in found if node.id in needed], own


async def _family_and_fork_point(r: Reader, conversation_id: str) -> tuple[str, str | None] | None:
    row = await r.one(
        "SELECT c.family, p.uid FROM conversation c LEFT JOIN message p ON p.id = c.fork_point_id WHERE c.id = ?",
        (conversation_id,),
    )
    return None if row is None else (row[0], row[1])


def _ancestors(every: Mapping[str, TreeNode], id: str | None, known: Set[str] = frozenset()) -> set[str]:
    """A prompt and those above it, up to one of ``known``."""
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


async def compare(r: Reader, *leaves: str, limit: int) -> BranchComparison:
    """The last row that all branches share, and at most ``limit`` of the newest rows of each below it."""
    shared: str | None = leaves[0]
    for leaf in leaves[1:]:
        shared = None if shared is None else await ancestry.meeting(r, shared, leaf)
    above = 0 if shared is None else await depth(r, shared) + 1
    branches = []
    for leaf in leaves:
        count = await depth(r, leaf) + 1 - above
        branches.append(BranchRows(await _newest(r, leaf, count, limit), count))
    return BranchComparison(shared, await _prompts_down_to(r, shared), branches)


async def rows_of_prompt(r: Reader, node: TreeNode) -> Sequence[Message]:
    """The prompt and every row that followed it, oldest first."""
    return await _newest(r, node.end_id, node.rows + 1, node.rows + 1)


async def _prompts_down_to(r: Reader, leaf: str | None) -> int:
    """The number of user rows on a branch."""
    row = await r.one(
        """
        WITH RECURSIVE branch (parent_id, kind) AS (
            SELECT parent_id, kind FROM message WHERE uid = ?
            UNION ALL
            SELECT m.parent_id, m.kind FROM branch b CROSS JOIN message m ON m.id = b.parent_id
        )
        SELECT count(*) FROM branch WHERE kind = 'user'
        """,
        (leaf,),
    )
    return int(row[0]) if row else 0


async def _newest(r: Reader, leaf: str, count: int, limit: int) -> Sequence[Message]:
    return await page(r, leaf, min(count, limit)) if count > 0 else ()
