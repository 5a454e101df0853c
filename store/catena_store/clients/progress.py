"""Progress of a conversation that another client holds: its state, and how its branch grew, read again and again.

Every query is served by an index and costs the same in a conversation of ten messages and of ten thousand.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from catena_store import ancestry
from catena_store.clients import leases
from catena_store.conversations import conversations, messages
from catena_store.database import rows
from catena_store.database.database import Reader
from catena_store.records import ConversationRecord, Kind, Lease, Message, MessageState, QueueItem
from catena_store.windows import queue

_NEWEST_TURNS = 8  # a window that took none of these is no longer the active one


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of a conversation that another client holds, or held."""

    record: ConversationRecord
    lease: Lease | None
    window_id: str | None  # the active window; None where that is one of ours
    leaf_id: str | None  # of that window
    running: frozenset[str]  # its turns that have not ended
    busy: bool  # one of them is that window's
    queue: tuple[QueueItem, ...]  # of that window
    since: int  # turns above this number are the holder's; earlier ones may be a previous holder's


async def of_conversation(
    r: Reader, conversation_id: str, ours: Collection[str], before: Progress | None = None
) -> Progress | None:
    """The progress of a conversation; ``ours`` are the windows of the asking client, ``before`` is its last answer.

    None where the conversation is deleted from the file.
    """
    record = await conversations.get(r, conversation_id)
    if record is None:
        return None
    lease = await leases.get(r, conversation_id)
    window_id, leaf_id, since = await _active_window(r, conversation_id, lease, ours, before)
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
    """The rows on (above, leaf], oldest first; None where the leaf is no descendant within ``limit`` rows."""
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
    """True where the branch of the leaf contains the row; every branch contains the root."""
    return above is None or await ancestry.contains(r, leaf, above)


async def unsettled_rows(r: Reader, conversation_id: str, leaf: str | None) -> list[Message]:
    """The rows at the end of a branch that may still change, oldest first: open ones, and those of running turns."""
    if leaf is None:
        return []
    found = await r.all(
        "SELECT uid, depth FROM message WHERE conversation_id = ?1 AND state = 'open'"
        " UNION"
        " SELECT m.uid, m.depth FROM turn t CROSS JOIN message m ON m.id = t.prompt_id"
        "  WHERE t.conversation_id = ?1 AND t.stop_reason IS NULL",
        (conversation_id,),
    )
    on_branch = await ancestry.among(r, leaf, [uid for uid, _ in found])
    end = await messages.depth(r, leaf)
    first = min((depth for uid, depth in found if uid in on_branch), default=end)
    return await messages.page(r, leaf, end - first + 1)


async def reread(r: Reader, ids: Iterable[str]) -> list[Message]:
    """The messages of these ids as they are now, in order of birth."""
    found = await r.all(
        f"SELECT {rows.MESSAGE} FROM json_each(?) CROSS JOIN message m ON m.uid = value ORDER BY m.id",
        (rows.as_list(ids),),
    )
    return [rows.message(row) for row in found]


def may_change(message: Message, running: Collection[str]) -> bool:
    """True for an open row, a row of a running turn, and a prompt without a turn."""
    if message.state is MessageState.OPEN or message.turn_id in running:
        return True
    return message.kind is Kind.USER and message.turn_id is None and message.state is MessageState.FINAL


async def _active_window(
    r: Reader, conversation_id: str, lease: Lease | None, ours: Collection[str], before: Progress | None
) -> tuple[str | None, str | None, int]:
    """The active window, its leaf, and the number of the turn after which the holder has the conversation.

    Active is the window of the newest turn, if it is the holder's; else the newest of the holder's workspace; else that
    of the newest turn, whoever's it is: a headless run has no workspace, and a dead client holds nothing. Of several
    that the holder uses in alternation it is the one from before, as long as it is among them.
    """
    mine = rows.as_list(ours)
    holder = lease.owner.id if lease else None
    newest = await r.all(
        "SELECT window_id, rowid FROM turn WHERE conversation_id = ?"
        f" ORDER BY started_at DESC, rowid DESC LIMIT {_NEWEST_TURNS}",
        (conversation_id,),
    )
    # A holder that is gone counts as the same: its last window stays the active one.
    same = lease is None or (
        before is not None and before.lease is not None and before.lease.owner == lease.owner
    )
    # The window of the previous holder is left as soon as the new one takes a turn in another.
    since = before.since if before and same else newest[0][1] if before and newest else 0
    recent = {window_id for window_id, number in newest if number > since}
    kept = before.window_id if before and same and before.window_id in recent else None
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
