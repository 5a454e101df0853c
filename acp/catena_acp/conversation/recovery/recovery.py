"""Taking up a conversation that another client left: end what it left running, close what it left open, then serve."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from catena_acp.continuity.conversation_events import LeafMoved, PromptReturned
from catena_acp.continuity.routing.slash_commands import draft_of
from catena_acp.continuity.services import Tenure
from catena_acp.continuity.wording.problems import cut_off, kept
from catena_acp.conversation.live import LiveConversation
from catena_acp.spoken.call import Call
from catena_store import places
from catena_store.chains import links, turns
from catena_store.clients import leases
from catena_store.conversations import messages
from catena_store.database.database import Reader, Writer
from catena_store.errors import StoreError
from catena_store.records import (
    AgentGroup,
    Kind,
    Lease,
    LinkState,
    Message,
    MessageState,
    NewMessage,
    QueueItem,
    StopReason,
    Turn,
)
from catena_store.snapshots import turns as turn_files
from catena_store.windows import attachments, queue, windows


async def restore_unsent(tx: Writer, conversation_id: str) -> None:
    """Restore each prompt to the draft, with its files, that a window stands on and that was never claimed."""
    refused: set[str] = set()  # another window may stand on it, too
    for window in await windows.open_in(tx, conversation_id):
        row = await messages.get(tx, window.leaf_id) if window.leaf_id else None
        if row is None or row.conversation_id != conversation_id:
            continue
        if row.id not in refused and not await _is_unsent(tx, row):
            continue
        await messages.update(tx, row.id, state=MessageState.REFUSED)
        refused.add(row.id)
        await places.give_back(tx, conversation_id, row.id, row.parent_id)
        files = await attachments.of_message(tx, row.id)
        await windows.set_leaf(tx, window.id, row.parent_id)
        stands = await windows.get(tx, window.id)
        drafts = (window.draft, stands.draft if stands else "")
        await windows.set_draft(tx, window.id, windows.restored_draft(draft_of(row), *drafts))
        if files:
            kept = await attachments.of_draft(tx, window.id)
            await attachments.set_draft(tx, window.id, list(dict.fromkeys([*files, *kept])))


async def restore_edits(tx: Writer, conversation_id: str) -> None:
    """Restore each edited prompt to the draft, with its files, that waited for a turn to stop."""
    for item in await queue.edits(tx, conversation_id):
        window = await windows.get(tx, item.window_id)
        draft = windows.restored_draft(item.text, window.draft if window else "")
        files = await attachments.of_queue_item(tx, item.id)
        kept = await attachments.of_draft(tx, item.window_id)
        await windows.set_draft(tx, item.window_id, draft)
        await attachments.set_draft(tx, item.window_id, list(dict.fromkeys([*files, *kept])))
        await queue.remove(tx, item.id)


async def _is_unsent(reader: Reader, row: Message) -> bool:
    if row.kind is not Kind.USER or row.state is not MessageState.FINAL:
        return False
    if row.turn_id is None:
        return row.link_id is None  # else a session told of it between turns: another client said it there
    turn = await turns.get(reader, row.turn_id)
    return turn is not None and turn.stop_reason is StopReason.NOT_SENT


async def where_ours_stand(conversation: LiveConversation) -> dict[str, str]:
    """The row that each of our windows stands on, before a conversation is taken over. Raises StoreError."""
    async with conversation.services.db.read() as reader:
        found = [await windows.get(reader, window_id) for window_id in conversation.windows]
    return {window.id: window.leaf_id for window in found if window and window.leaf_id}


async def tell_restored(conversation: LiveConversation, stood: Mapping[str, str]) -> None:
    """Tell each of our windows that stood on a prompt that was restored to the draft; they showed it as said."""
    # What cannot be read now is read with the branch, the next time that it is shown.
    with contextlib.suppress(StoreError):
        for window_id, row_id in stood.items():
            async with conversation.services.db.read() as reader:
                row, window = await messages.get(reader, row_id), await windows.get(reader, window_id)
                files = await attachments.of_message(reader, row_id)
            if row and window and row.state is MessageState.REFUSED and window.leaf_id != row_id:
                conversation.publish(LeafMoved(window_id, window.leaf_id))
                conversation.publish(PromptReturned(window_id, row.text, tuple(files)))


def row_data(item: QueueItem, *, doubtful: bool) -> dict[str, Any]:
    """The data of the row; ``doubtful`` if it is not known whether the agent received it."""
    data: dict[str, Any] = {"steered": True}
    if doubtful:
        data["doubtful"] = True
    if entries := item.data.get("attachments"):
        data["attachments"] = entries
    return data


async def settle(tx: Writer, item: QueueItem, row_id: str) -> None:
    """The row is there: the prompt leaves the queue, and its files go along. Raises NotFound."""
    if not await attachments.of_message(tx, row_id):
        await attachments.add_to_message(tx, row_id, await attachments.of_queue_item(tx, item.id))
    await queue.remove(tx, item.id)


async def take_up(tx: Writer, conversation_id: str, left_open: Sequence[Turn]) -> list[Turn]:
    """Settle what a client that is gone was saying into its turns; those turns, with their last rows.

    What may have been heard is a row of its turn, and is not said again.
    """
    turns_left = {turn.id: turn for turn in left_open}
    for item in await queue.steering_items(tx, conversation_id):
        mark = item.steering or {}
        row_id, turn = mark["row"], turns_left.get(mark["turn"])
        if await messages.get(tx, row_id) is not None:
            await settle(tx, item, row_id)
        elif turn is not None:
            turns_left[turn.id] = await _add_row(tx, item, turn, row_id)
        else:
            data = {name: value for name, value in item.data.items() if name != "steering"}
            await queue.set_data(tx, item.id, data)
    return [turns_left[turn.id] for turn in left_open]


async def _add_row(tx: Writer, item: QueueItem, turn: Turn, row_id: str) -> Turn:
    await messages.insert(
        tx,
        NewMessage(
            id=row_id,
            conversation_id=turn.conversation_id,
            parent_id=turn.last_id,
            kind=Kind.USER,
            text=item.text,
            turn_id=turn.id,
            link_id=turn.link_id,
            data=row_data(item, doubtful=True),
        ),
    )
    await settle(tx, item, row_id)
    await turns.set_last(tx, turn.id, row_id)
    await places.grow(tx, turn.conversation_id, turn.last_id, row_id)
    for window in await windows.open_in(tx, turn.conversation_id):
        if window.leaf_id == turn.last_id:
            await windows.advance(tx, window.id, row_id)
    return replace(turn, last_id=row_id)


EndGroup = Callable[[AgentGroup], Awaitable[bool]]  # True if the group is proved gone


async def recover(
    tenure: Tenure,
    left_by: Lease | None,
    end_group: EndGroup,
    agent_title: str,
    own_groups: Callable[[], Sequence[AgentGroup]],
) -> int:
    """Close every turn that was left open, and put our own agents into the lease; the number of those turns.

    ``own_groups`` is asked when they are written down: one may be started meanwhile. A link with an open turn becomes
    suspect, unless the agent's process is proved dead: a running one may still write.
    """
    proved = left_by is not None and left_by.owner.host == tenure.services.owner.host
    for group in left_by.agents if left_by else ():
        proved = await end_group(group) and proved
    async with tenure.write() as tx:
        left_open = await turns.open_in(tx, tenure.conversation_id)
        left_open = await take_up(tx, tenure.conversation_id, left_open)
        await queue.hold_conversation(tx, tenure.conversation_id)
        for turn in left_open:
            if left_by is not None:
                await turn_files.note_alive(tx, turn.id, left_by.heartbeat_at)
            await _close(tx, turn, tenure, proved=proved, agent_title=agent_title)
        if left_by is not None:
            await restore_unsent(tx, tenure.conversation_id)
        await restore_edits(tx, tenure.conversation_id)
        await leases.set_agents(tx, tenure.conversation_id, tenure.services.owner.id, own_groups())
        for row in await messages.open_rows(tx, tenure.conversation_id):
            await messages.update(tx, row.id, state=MessageState.INTERRUPTED)
    return len(left_open)


async def _close(tx: Writer, turn: Turn, tenure: Tenure, *, proved: bool, agent_title: str) -> None:
    under_way = []
    for row in await messages.close_open(tx, turn.id, MessageState.INTERRUPTED):
        if row.kind is Kind.TOOL and not Call(row.data).over:
            under_way.append(row.data)
            await messages.update(tx, row.id, data={**row.data, "status": "unknown"})
    problem = cut_off(agent_title, under_way)
    notice = await messages.insert(
        tx,
        NewMessage(
            id=tenure.services.new_id(),
            conversation_id=turn.conversation_id,
            parent_id=turn.last_id,
            kind=Kind.NOTICE,
            text=problem.text,
            turn_id=turn.id,
            link_id=turn.link_id,
            data=kept(problem),
        ),
    )
    await turns.set_last(tx, turn.id, notice.id)
    await places.grow(tx, turn.conversation_id, turn.last_id, notice.id)
    await turns.end(tx, turn.id, stop_reason=StopReason.INTERRUPTED)
    for window in await windows.open_in(tx, turn.conversation_id):
        if window.leaf_id == turn.last_id:
            await windows.advance(tx, window.id, notice.id)
    link = await links.get(tx, turn.link_id)
    suspect = link is not None and link.state is LinkState.OPEN and not proved
    why = "its last turn was interrupted"
    if suspect:
        await links.move(
            tx,
            turn.link_id,
            reach=notice.id,
            state=LinkState.SUSPECT,
            ended=why,
            event="suspect",
            detail=why,
        )
    else:
        await links.move(tx, turn.link_id, reach=notice.id, event="interrupted", detail=why)
