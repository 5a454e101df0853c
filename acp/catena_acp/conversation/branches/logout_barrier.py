"""The barrier of a logout: in open windows at once, in a conversation that was closed when it is opened or taken over.

Earlier messages are sent to a later login only if the person returns to that branch, and a notice says so.

The barrier is at the end of the branch: a row above it, or a prompt edited there, is on a branch without the barrier.
"""

from __future__ import annotations

import contextlib

from catena_acp.continuity.conversation_events import Remarked
from catena_acp.continuity.services import Tenure
from catena_acp.conversation.live import LiveConversation
from catena_store import ancestry, places
from catena_store.conversations import logouts, messages
from catena_store.database.database import Reader
from catena_store.errors import StoreError
from catena_store.records import ConversationRecord, Kind, Message, NewMessage
from catena_store.windows import windows

LOGGED_OUT = "logged out"
SAID_BEFORE = "including messages from before you logged out"
_REMARK = "From before you logged out of {title}: your next prompt includes it. /clear starts afresh."


async def begin_anew_after_logout(tenure: Tenure, record: ConversationRecord) -> dict[str, Message]:
    """Add the barrier of a logout that came while we did not have the conversation, wherever it would be gone on with.

    Returns the barriers by the windows that now stand on them.
    """
    agent, profile = record.agent, record.profile
    moved: dict[str, Message] = {}
    async with tenure.write() as tx:
        if not await logouts.untouched_since_logout(tx, record.id, agent=agent, profile=profile):
            return moved
        shown = [window.leaf_id for window in await windows.open_in(tx, record.id)]
        every = await windows.of_conversation(tx, record.id)
        for leaf_id in dict.fromkeys([*shown, await places.of(tx, record.id)]):
            leaf = await messages.get(tx, leaf_id) if leaf_id else None
            if leaf is None or leaf.barrier:
                continue
            barrier = await messages.insert(
                tx,
                NewMessage(
                    id=tenure.services.new_id(),
                    conversation_id=record.id,
                    parent_id=leaf.id,
                    kind=Kind.SEAM,
                    text=LOGGED_OUT,
                    data={"cleared": True, **logouts.logout_data(agent, profile)},
                    barrier=True,
                ),
            )
            await places.grow(tx, record.id, leaf.id, barrier.id)
            for window in every:
                if window.leaf_id == leaf.id:
                    await windows.advance(tx, window.id, barrier.id)
                    moved[window.id] = barrier
    return moved


async def said_before_logout(
    reader: Reader, leaf_id: str | None, record: ConversationRecord, agent: str, profile: str
) -> bool:
    """True if anything on the path to a leaf, from after its last barrier, is older than a logout of this account."""
    oldest = await ancestry.oldest_content(reader, leaf_id)
    if oldest is None:
        return False
    return await logouts.logged_out_since(reader, record.family, oldest, agent=agent, profile=profile)


async def remark_on_logout(conversation: LiveConversation, window_id: str, leaf_id: str | None) -> None:
    """Publish a remark in the moved window if its branch now has messages from before a logout."""
    record, before = conversation.record, False
    # Where this cannot be read the window is moved all the same, and no prompt can go out.
    with contextlib.suppress(StoreError):
        async with conversation.services.db.read() as reader:
            before = await said_before_logout(reader, leaf_id, record, record.agent, record.profile)
    if before:
        conversation.publish(Remarked(window_id, _REMARK.format(title=conversation.agent_title)))
