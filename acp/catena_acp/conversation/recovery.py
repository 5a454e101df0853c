"""Taking up a conversation that another client left: end what it left running, close what it left open, then serve."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from catena_acp.conversation.cut_off import cut_off
from catena_acp.conversation.kept_problem import kept
from catena_acp.conversation.services import Tenure
from catena_acp.conversation.steered_rows import take_up
from catena_acp.conversation.tool_data import is_over
from catena_acp.conversation.unsent_rows import put_back_unsent
from catena_store.chains import links, turns
from catena_store.clients import leases
from catena_store.conversations import messages
from catena_store.database.database import Writer
from catena_store.records import (
    AgentGroup,
    Kind,
    Lease,
    LinkState,
    MessageState,
    NewMessage,
    StopReason,
    Turn,
)
from catena_store.windows import queue, windows

EndGroup = Callable[[AgentGroup], Awaitable[bool]]  # True where the group is proved gone


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
        await queue.hold_of_conversation(tx, tenure.conversation_id)
        for turn in left_open:
            await _close(tx, turn, tenure, proved=proved, agent_title=agent_title)
        if left_by is not None:
            await put_back_unsent(tx, tenure.conversation_id)
        await leases.set_agents(tx, tenure.conversation_id, tenure.services.owner.id, own_groups())
        for row in await messages.open_rows(tx, tenure.conversation_id):
            await messages.update(tx, row.id, state=MessageState.INTERRUPTED)
    return len(left_open)


async def _close(tx: Writer, turn: Turn, tenure: Tenure, *, proved: bool, agent_title: str) -> None:
    under_way = []
    for row in await messages.close_open(tx, turn.id, MessageState.INTERRUPTED):
        if row.kind is Kind.TOOL and not is_over(row.data):
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
    await turns.end(tx, turn.id, stop_reason=StopReason.INTERRUPTED)
    for window in await windows.open_on(tx, turn.conversation_id):
        if window.leaf_id == turn.last_id:
            await windows.advance(tx, window.id, notice.id)
    link = await links.get(tx, turn.link_id)
    suspect = link is not None and link.state is LinkState.OPEN and not proved
    why = "its last turn was left in the middle"
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
