"""What a client looks at again and again that may only read: where a conversation stands, and how its branch grew.

Every answer comes from an index, and costs the same in a conversation of ten messages and of ten thousand.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from catena_store.clients import leases
from catena_store.conversations import conversations, messages
from catena_store.database import rows
from catena_store.database.database import Reader
from catena_store.records import ConversationRecord, Kind, Lease, Message, MessageState, QueueItem
from catena_store.windows import queue

_BY_TURNS = 8  # a window without one of so many newest turns is no longer talked in


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a conversation stands that another client has, or had."""

    record: ConversationRecord
    lease: Lease | None
    window_id: str | None  # where it is talked; None where that is in no window but ours
    leaf_id: str | None  # of that window
    running: frozenset[str]  # its turns that have not ended
    busy: bool  # one of them is that window's
    queue: tuple[QueueItem, ...]  # what waits in that window
    since: int  # turns above this number are the holder's; those below may be of whoever had it before


async def of_conversation(
    r: Reader, conversation_id: str, ours: Collection[str], before: Progress | None = None
) -> Progress | None:
    """How things stand; ``ours`` are the windows of the client that asks, ``before`` is what it was told last.

    None where the conversation is gone.
    """
    record = await conversations.get(r, conversation_id)
    if record is None:
        return None
    lease = await leases.get(r, conversation_id)
    window_id, leaf_id, since = await _talked_in(r, conversation_id, lease, ours, before)
    turns = dict(
        await r.all(
            "SELECT id, window_id FROM turn WHERE conversation_id = ? AND stop_reason IS NULL",
            (conversation_id,),
        )
    )
    waiting = await queue.items(r, window_id) if window_id else []
    return Progress(
        record=record,
        lease=lease,
        window_id=window_id,
        leaf_id=leaf_id,
        running=frozenset(turns),
        busy=window_id in turns.values(),
        queue=tuple(waiting),
        since=since,
    )


async def rows_between(r: Reader, above: str | None, leaf: str | None, limit: int) -> list[Message] | None:
    """The rows on (above, leaf], oldest first; None where the leaf does not descend from there within ``limit``."""
    if above == leaf:
        return []
    if leaf is None:
        return None
    steps = await messages.depth(r, leaf) - (await messages.depth(r, above) if above else -1)
    if not 0 < steps <= limit:
        return None
    found = await messages.page(r, leaf, steps)
    return found if found[0].parent_id == above else None


async def passes_through(r: Reader, above: str | None, leaf: str | None) -> bool:
    """True where the branch of the leaf goes through the row above, or ends there; the root is above everything."""
    if above is None or above == leaf:
        return True
    if leaf is None:
        return False
    found = await r.one(
        """
        WITH RECURSIVE branch (id, parent_id, depth) AS (
            SELECT id, parent_id, depth FROM message WHERE uid = ?1
            UNION ALL
            SELECT m.id, m.parent_id, m.depth FROM branch b CROSS JOIN message m ON m.id = b.parent_id
             WHERE b.depth > ?2
        )
        SELECT 1 FROM branch CROSS JOIN message a ON a.id = branch.id WHERE branch.depth = ?2 AND a.uid = ?3
        """,
        (leaf, await messages.depth(r, above), above),
    )
    return found is not None


async def unsettled_rows(r: Reader, conversation_id: str, leaf: str | None) -> list[Message]:
    """The rows at the end of a branch that may still change, oldest first: of turns that run, or open."""
    if leaf is None:
        return []
    found = await r.one(
        "SELECT min(depth) FROM ("
        " SELECT depth FROM message WHERE conversation_id = ?1 AND state = 'open'"
        " UNION ALL"
        " SELECT m.depth FROM turn t CROSS JOIN message m ON m.id = t.prompt_id"
        "  WHERE t.conversation_id = ?1 AND t.stop_reason IS NULL)",
        (conversation_id,),
    )
    end = await messages.depth(r, leaf)
    first = end if found is None or found[0] is None else min(end, int(found[0]))
    return await messages.page(r, leaf, end - first + 1)


async def reread(r: Reader, ids: Iterable[str]) -> list[Message]:
    """These messages as they are now, in order of birth."""
    found = await r.all(
        f"SELECT {rows.MESSAGE} FROM json_each(?) CROSS JOIN message m ON m.uid = value ORDER BY m.id",
        (rows.as_list(ids),),
    )
    return [rows.message(row) for row in found]


def may_change(message: Message, running: Collection[str]) -> bool:
    """True for a row that grows, one of a turn that runs, and a prompt that no session was claimed for yet."""
    if message.state is MessageState.OPEN or message.turn_id in running:
        return True
    return message.kind is Kind.USER and message.turn_id is None and message.state is MessageState.FINAL


async def _talked_in(
    r: Reader, conversation_id: str, lease: Lease | None, ours: Collection[str], before: Progress | None
) -> tuple[str | None, str | None, int]:
    """The window that the conversation is talked in, its leaf, and since which turn the holder has it.

    That of the newest turn, where the holder has it; else the newest of the holder's workspace; else that of the
    newest turn, whoever had it: a run without a screen has no workspace, and who is gone holds nothing. Where a
    holder talks in several by turns, the one from before, as long as it is one of them.
    """
    mine = rows.as_list(ours)
    holder = lease.owner.id if lease else None
    newest = await r.all(
        "SELECT window_id, rowid FROM turn WHERE conversation_id = ?"
        f" ORDER BY started_at DESC, rowid DESC LIMIT {_BY_TURNS}",
        (conversation_id,),
    )
    # One that is gone is followed to where it was.
    same = lease is None or (
        before is not None and before.lease is not None and before.lease.owner == lease.owner
    )
    # The window of who had it before is left as soon as the holder talks in another.
    since = before.since if before and same else newest[0][1] if before and newest else 0
    by_turns = {window_id for window_id, number in newest if number > since}
    kept = before.window_id if before and same and before.window_id in by_turns else None
    found = await r.one(
        "SELECT w.id, (SELECT uid FROM message WHERE message.id = w.leaf_id)"
        "  FROM window w LEFT JOIN workspace s ON s.id = w.workspace_id"
        " WHERE w.conversation_id = ?1 AND w.id NOT IN (SELECT value FROM json_each(?2))"
        "   AND (w.id = ?3 OR (w.closed_at IS NULL AND (w.id = ?5 OR s.owner = ?4)))"
        " ORDER BY (w.closed_at IS NULL AND coalesce(s.owner = ?4, 0)) DESC,"
        "  (w.id = ?5 AND w.closed_at IS NULL) DESC, (w.id = ?3) DESC, w.rowid DESC LIMIT 1",
        (conversation_id, mine, newest[0][0] if newest else None, holder, kept or ""),
    )
    return (found[0], found[1], since) if found else (None, None, since)
