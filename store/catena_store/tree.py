"""The tree of a family of conversations, prompt by prompt: what a person sees of every branch at once."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from catena_store import rows
from catena_store.database import Reader
from catena_store.ids import from_milliseconds
from catena_store.records import How, MessageState, StopReason
from catena_store.siblings import way_up

_PREVIEW = 160  # characters of a prompt

# One pass over the rows, oldest first; of all but prompts nothing is read that lies in an overflow page.
_ROWS = f"""
    SELECT m.id, m.parent_id, m.uid, m.conversation_id, m.kind, m.state,
           m.kind = 'user' AND NOT coalesce(json_extract(m.data, '$.steered'), 0) AS prompt,
           CASE m.kind WHEN 'user' THEN substr(m.text, 1, {_PREVIEW}) END,
           p.uid, l.agent, l.profile, t.how, t.stop_reason, m.created_at
      FROM conversation c CROSS JOIN message m ON m.conversation_id = c.id
      LEFT JOIN message p ON p.id = m.parent_id AND m.kind = 'user'
      LEFT JOIN turn t ON t.id = m.turn_id AND m.kind = 'user'
      LEFT JOIN link l ON l.id = m.link_id AND m.kind = 'user'
     WHERE c.family = ?
     ORDER BY m.id
"""


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A prompt, and what became of it."""

    id: str
    parent_id: str | None  # the prompt above it
    hangs_from: str | None  # the row above it
    conversation_id: str  # where it was said
    preview: str  # its beginning
    state: MessageState
    agent: str | None  # whom it went to, where it went to anybody
    profile: str | None
    how: How | None  # of its last attempt
    stop_reason: StopReason | None  # None while it runs, too
    rows: int  # between it and the prompts after it
    end_id: str  # the newest of these rows; the prompt itself where there are none
    leaf_id: str  # the row that was written last, of those at or below it in its own conversation
    created_at: datetime


async def nodes(r: Reader, family: str) -> list[TreeNode]:
    """Every prompt of the conversations of a family, oldest first."""
    found = await r.all(_ROWS, (family,))
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


async def seen_from(r: Reader, conversation_id: str, forks: Collection[str] = ()) -> list[TreeNode]:
    """The prompts of one conversation, those that it has of its source, and the first ones of these forks of it."""
    family = await r.one(
        "SELECT c.family, p.uid FROM conversation c LEFT JOIN message p ON p.id = c.fork_point_id WHERE c.id = ?",
        (conversation_id,),
    )
    if family is None:
        return []
    every = {node.id: node for node in await nodes(r, family[0])}
    at = await prompt_at(r, family[1])
    inherited: set[str] = set()
    while at is not None and at in every:
        inherited.add(at)
        at = every[at].parent_id
    mine = {id for id, node in every.items() if node.conversation_id == conversation_id or id in inherited}
    heads = {
        id
        for id, node in every.items()
        if node.conversation_id in forks
        and (node.parent_id is None or every[node.parent_id].conversation_id != node.conversation_id)
    }
    return [node for id, node in every.items() if id in mine | heads]


async def newest_leaf_below(r: Reader, message_id: str, conversation_id: str) -> str:
    """The row that was written last, of those that the conversation has at or below a message.

    What no agent accepted is not gone on from.
    """
    row = await r.one(
        """
        WITH RECURSIVE below (id, uid) AS (
            SELECT id, uid FROM message WHERE uid IN (SELECT value FROM json_each(?1))
            UNION
            SELECT m.id, m.uid FROM below b CROSS JOIN message m ON m.parent_id = b.id
             WHERE m.conversation_id = ?2 AND m.state <> 'refused'
        )
        SELECT uid FROM below ORDER BY id DESC LIMIT 1
        """,
        (rows.as_list(await _from_source(r, message_id, conversation_id) or [message_id]), conversation_id),
    )
    return message_id if row is None else str(row[0])


async def _from_source(r: Reader, message_id: str, conversation_id: str) -> set[str]:
    """The rows from a message to the conversation's fork point; none where it is not on the way there."""
    row = await r.one(
        "SELECT p.uid, m.depth FROM conversation c JOIN message p ON p.id = c.fork_point_id"
        " JOIN message m ON m.uid = ? WHERE c.id = ?",
        (message_id, conversation_id),
    )
    way = await way_up(r, row[0], row[1]) if row else set()
    return way if message_id in way else set()


async def prompt_at(r: Reader, leaf: str | None) -> str | None:
    """The prompt that a row is, or is below; not what was said into a turn later."""
    row = await r.one(
        """
        WITH RECURSIVE branch (parent_id, uid, found) AS (
            SELECT parent_id, uid, kind = 'user' AND NOT coalesce(json_extract(data, '$.steered'), 0)
              FROM message WHERE uid = ?
            UNION ALL
            SELECT m.parent_id, m.uid, m.kind = 'user' AND NOT coalesce(json_extract(m.data, '$.steered'), 0)
              FROM branch b CROSS JOIN message m ON m.id = b.parent_id
             WHERE NOT b.found
        )
        SELECT uid FROM branch WHERE found
        """,
        (leaf,),
    )
    return None if row is None else str(row[0])


def _leaves(found: list[tuple[Any, ...]]) -> dict[int, int]:
    """For every row the newest one at or below it that was said in the same conversation."""
    newest: dict[int, int] = {}
    born_in = {row[0]: row[3] for row in found}
    for id, parent_id, _, conversation_id, _, state, *_ in reversed(found):
        leaf = newest.setdefault(id, id)
        if state != MessageState.REFUSED and born_in.get(parent_id) == conversation_id:
            newest[parent_id] = max(newest.get(parent_id, parent_id), leaf)
    return newest


def _node(row: tuple[Any, ...], parent_id: str | None, rows: int, *, end_id: str, leaf_id: str) -> TreeNode:
    _, _, uid, conversation_id, _, state, _, preview, hangs_from, agent, profile, how, stop, created_at = row
    return TreeNode(
        id=uid,
        parent_id=parent_id,
        hangs_from=hangs_from,
        conversation_id=conversation_id,
        preview=preview,
        state=MessageState(state),
        agent=agent,
        profile=profile,
        how=How(how) if how else None,
        stop_reason=StopReason(stop) if stop else None,
        rows=rows,
        end_id=end_id,
        leaf_id=leaf_id,
        created_at=from_milliseconds(created_at),
    )
