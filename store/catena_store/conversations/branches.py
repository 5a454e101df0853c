"""Branches: their rows, siblings and last leaf.

A walk along a branch goes from its leaf to its root and crosses barriers.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from catena_store import ancestry
from catena_store.database import rows
from catena_store.database.database import Reader
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


async def newest_rows(r: Reader, leaf: str | None, kind: Kind, *, limit: int, within: int) -> list[Message]:
    """The newest rows of a kind among the ``within`` newest rows of the branch, oldest first."""
    found = await r.all(
        f"{_WALK} SELECT {rows.MESSAGE} FROM branch b CROSS JOIN message m ON m.id = b.id WHERE b.kind = ?4",
        (leaf, within, limit, kind),
    )
    return [rows.message(row) for row in reversed(found)]


async def newest_answers(r: Reader, leaf: str | None, *, limit: int, within: int) -> list[Message]:
    """The newest answers on the branch that are not open, oldest first."""
    answers = await newest_rows(r, leaf, Kind.AGENT, limit=limit, within=within)
    return [answer for answer in answers if answer.state is not MessageState.OPEN]


# Every sibling of the prompts ?1, and those prompts themselves. By itself SQLite would look through every prompt for
# those that are first rows.
_SIBLINGS = """
    SELECT m.uid AS of, s.uid AS uid, s.id AS id, s.conversation_id AS born_in, s.state = 'refused' AS refused
      FROM json_each(?1) CROSS JOIN message m ON m.uid = value
     CROSS JOIN message s ON s.parent_id = m.parent_id
     WHERE s.kind = 'user'
     UNION ALL
    SELECT m.uid, s.uid, s.id, s.conversation_id, s.state = 'refused'
      FROM json_each(?1) CROSS JOIN message m ON m.uid = value AND m.parent_id IS NULL
     CROSS JOIN conversation c ON c.family = (SELECT family FROM conversation WHERE id = m.conversation_id)
     CROSS JOIN message s INDEXED BY message_first ON s.parent_id IS NULL AND s.conversation_id = c.id
     WHERE s.kind = 'user'
     ORDER BY 3
"""


@dataclass(frozen=True, slots=True)
class Sibling:
    """A prompt among those that hang from one row."""

    id: str
    own: bool  # of the conversation that it is seen from: said there, or inherited
    refused: bool = False  # no agent accepted it

    @property
    def counts(self) -> bool:
        """True for a version in the eyes of all others; each prompt is one in its own."""
        return self.own and not self.refused


def numbered(siblings: Sequence[Sibling]) -> dict[str, tuple[int, int]]:
    """Which version each prompt is, from 1, and of how many; without those that have no others."""
    of, before = sum(each.counts for each in siblings), 0
    found = {}
    for each in siblings:
        found[each.id] = before + 1, of + (not each.counts)
        before += each.counts
    return {id: (at, many) for id, (at, many) in found.items() if many > 1}


async def siblings(r: Reader, id: str, conversation_id: str | None = None) -> list[str]:
    """The siblings of a prompt, itself included, oldest first, as seen from a conversation.

    That is the one that the prompt was born in where none is given.
    """
    found = await _siblings_of(r, [id], conversation_id)
    return [each.id for each in found.get(id, []) if each.counts or each.id == id]


async def sibling_positions(
    r: Reader, ids: Sequence[str], conversation_id: str | None = None
) -> dict[str, tuple[int, int]]:
    """The position, from 1, and the number of siblings of each of the prompts that has any."""
    found = await _siblings_of(r, ids, conversation_id)
    return {id: places[id] for id, beside in found.items() if id in (places := numbered(beside))}


async def agents_told_apart(
    r: Reader, ids: Sequence[str], conversation_id: str | None = None
) -> dict[str, tuple[str, str]]:
    """The agent and its profile that each of the prompts went to, of those whose siblings went to another one, too."""
    found = {
        of: [each.id for each in beside if each.counts or each.id == of]
        for of, beside in (await _siblings_of(r, ids, conversation_id)).items()
    }
    asked = await r.all(
        "SELECT m.uid, l.agent, l.profile FROM json_each(?) CROSS JOIN message m ON m.uid = value"
        " CROSS JOIN link l ON l.id = m.link_id",
        (rows.as_list({id for beside in found.values() for id in beside}),),
    )
    went_to = {uid: (agent, profile) for uid, agent, profile in asked}
    return {
        id: went_to[id]
        for id, beside in found.items()
        if id in went_to and len({went_to[each] for each in beside if each in went_to}) > 1
    }


async def _siblings_of(
    r: Reader, ids: Sequence[str], conversation_id: str | None
) -> dict[str, list[Sibling]]:
    found = await r.all(_SIBLINGS, (rows.as_list(ids),))
    born_in = {uid: born for _, uid, _, born, _ in found}
    seen_from = {of: conversation_id or born_in.get(of, "") for of, *_ in found}
    inherited: dict[str, set[str]] = {}
    for viewer in set(seen_from.values()):
        foreign = [
            uid for of, uid, _, born, _ in found if seen_from[of] == viewer and born != viewer and uid != of
        ]
        if foreign:
            inherited[viewer] = await _inherited_from_source(r, viewer, foreign)
    beside: dict[str, list[Sibling]] = {}
    for of, uid, _, born, refused in found:
        viewer = seen_from[of]
        own = born == viewer or uid in inherited.get(viewer, ())
        beside.setdefault(of, []).append(Sibling(uid, own, bool(refused)))
    return beside


async def _inherited_from_source(r: Reader, conversation_id: str, foreign: Sequence[str]) -> set[str]:
    """Those of the rows that the conversation inherits from its source."""
    point = await r.one(
        "SELECT m.uid FROM conversation c JOIN message m ON m.id = c.fork_point_id WHERE c.id = ?",
        (conversation_id,),
    )
    return await ancestry.among(r, point[0], foreign) if point else set()


_MOST_ENTRIES = 40  # of the journal


async def last_leaf(r: Reader, window_id: str, conversation_id: str, message_id: str) -> str | None:
    """The leaf at or below a message where the window stood last, by its journal; None if there is none."""
    found = await r.all(
        "SELECT before, after FROM journal WHERE window_id = ? ORDER BY id DESC LIMIT ?",
        (window_id, _MOST_ENTRIES),
    )
    places = [json.loads(place) for entry in found for place in entry]
    stood = [place.get("leaf_id") for place in places if place.get("conversation_id") == conversation_id]
    leaves = list(dict.fromkeys(str(leaf) for leaf in stood if leaf is not None))
    below = await ancestry.at_or_below(r, message_id, leaves)
    return next((leaf for leaf in leaves if leaf in below), None)
