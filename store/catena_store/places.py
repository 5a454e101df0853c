"""The place of a conversation: the leaf where it goes on, whichever window or process moved it last.

A prompt that becomes a turn moves it, and so does a person who moves a window; rows that are added below it take it
along. Opening, closing, quitting, killing and scrolling leave it where it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from catena_store import ancestry
from catena_store.conversations import messages, tree
from catena_store.database import rows
from catena_store.database.database import Reader, Writer
from catena_store.errors import NotFound
from catena_store.windows import attachments, windows

_NEWEST = (
    "SELECT uid FROM message WHERE id = coalesce("
    " (SELECT max(m.id) FROM (SELECT message_id AS id FROM branch_end WHERE conversation_id = ?1"
    "    UNION SELECT parent_id FROM message WHERE conversation_id = ?1 AND state = 'refused') AS e"
    "  CROSS JOIN message m ON m.id = e.id WHERE m.conversation_id = ?1 AND m.state <> 'refused'),"
    " (SELECT fork_point_id FROM conversation WHERE id = ?1))"
)
_BEGINNING = 0  # as a row number


async def of(r: Reader, conversation_id: str) -> str | None:
    """The place of a conversation; None for its beginning.

    Where nobody moved it yet it is the newest row that is no refused prompt, in a fork without messages the fork point.
    """
    row = await r.one(
        "SELECT c.place_id, m.uid FROM conversation c LEFT JOIN message m ON m.id = c.place_id WHERE c.id = ?",
        (conversation_id,),
    )
    if row is None or row[0] == _BEGINNING:
        return None
    if row[1] is not None:
        return str(row[1])
    newest = await r.one(_NEWEST, (conversation_id,))
    return None if newest is None else str(newest[0])


async def to_show(r: Reader, conversation_id: str) -> str | None:
    """The place; of a conversation whose prompts were all refused, the newest of those."""
    place = await of(r, conversation_id)
    if place is not None or await _has_accepted(r, conversation_id):
        return place
    return await messages.newest(r, conversation_id)


async def move(tx: Writer, conversation_id: str, leaf_id: str | None) -> None:
    """Set the place: a prompt was said there, or a person moved a window there. Raises NotFound."""
    leaf = (await rows.rowids(tx, [leaf_id]))[leaf_id]
    place = _BEGINNING if leaf is None else leaf
    if not await tx.run("UPDATE conversation SET place_id = ? WHERE id = ?", (place, conversation_id)):
        raise NotFound("conversation", conversation_id)


async def grow(tx: Writer, conversation_id: str, above: str | None, last: str) -> None:
    """Rows were added below a row, down to ``last``: the place goes along, if it was that row."""
    await tx.run(
        "UPDATE conversation SET place_id = (SELECT id FROM message WHERE uid = ?3) WHERE id = ?1"
        " AND place_id = coalesce((SELECT id FROM message WHERE uid = ?2), 0)",
        (conversation_id, above, last),
    )


async def give_back(tx: Writer, conversation_id: str, prompt_id: str, leaf_id: str | None) -> None:
    """A prompt is taken back that no agent accepted: the place goes to a leaf, if it was at the prompt or below it."""
    place = await of(tx, conversation_id)
    if place is not None and await ancestry.contains(tx, place, prompt_id):
        await move(tx, conversation_id, leaf_id)


@dataclass(frozen=True, slots=True)
class LaterTurns:
    """The turns of a conversation's place that the branch of a leaf does not have."""

    place: str | None
    turns: int
    below: bool  # they go on from the leaf


async def later_than(r: Reader, conversation_id: str, leaf_id: str | None) -> LaterTurns:
    """The turns that were added elsewhere, as seen from a leaf of the conversation."""
    place = await of(r, conversation_id)
    if place is None or place == leaf_id:
        return LaterTurns(place, 0, below=False)
    met = None if leaf_id is None else await ancestry.meeting(r, leaf_id, place)
    depth = -1 if met is None else await messages.depth(r, met)
    turns = sum(at > depth for _, at in await tree.prompts_of_branch(r, place))
    return LaterTurns(place, turns, below=met == leaf_id)


async def follow(tx: Writer, window_id: str) -> LaterTurns | None:
    """Let a window that was away go to the place of its conversation, if that went on from where the window stands.

    The draft goes along, with its files, and the scroll position. A window in which a prompt waits stays; what it lacks
    is returned either way. None for a window that is gone.
    """
    stood = await windows.get(tx, window_id)
    if stood is None:
        return None
    later = await later_than(tx, stood.conversation_id, stood.leaf_id)
    if not later.below or await _waits(tx, window_id):
        return later
    files = await attachments.of_draft(tx, window_id)
    await windows.set_draft(tx, window_id, "")
    await attachments.set_draft(tx, window_id, ())
    await windows.set_leaf(tx, window_id, later.place)
    there = await windows.get(tx, window_id)
    drafts = [draft for draft in (stood.draft, there.draft if there else "") if draft.strip()]
    await windows.set_draft(tx, window_id, "\n".join(dict.fromkeys(drafts)))
    kept = await attachments.of_draft(tx, window_id)
    await attachments.set_draft(tx, window_id, list(dict.fromkeys([*files, *kept])))
    await windows.set_scroll(tx, window_id, stood.scroll)
    return later


async def _waits(r: Reader, window_id: str) -> bool:
    return await r.one("SELECT 1 FROM queue_item WHERE window_id = ? LIMIT 1", (window_id,)) is not None


async def _has_accepted(r: Reader, conversation_id: str) -> bool:
    row = await r.one(
        "SELECT 1 FROM message WHERE conversation_id = ? AND kind = 'user' AND state <> 'refused' LIMIT 1",
        (conversation_id,),
    )
    return row is not None
