"""Prompts that a client which is gone had begun to send: where no agent can have heard one, it is a draft again."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from catena_acp.conversation.core import Core
from catena_acp.conversation.news import LeafMoved, PromptReturned
from catena_store.chains import turns
from catena_store.conversations import messages
from catena_store.database.database import Reader, Writer
from catena_store.errors import StoreError
from catena_store.records import Kind, Message, MessageState, StopReason
from catena_store.windows import attachments, windows


async def put_back_unsent(tx: Writer, conversation_id: str) -> None:
    """Take back each prompt that a window stands on and that was never claimed; its text and files are the draft."""
    taken_back: set[str] = set()  # another window may stand on it, too
    for window in await windows.open_on(tx, conversation_id):
        row = await messages.get(tx, window.leaf_id) if window.leaf_id else None
        if row is None or row.conversation_id != conversation_id:
            continue
        if row.id not in taken_back and not await _is_unsent(tx, row):
            continue
        await messages.update(tx, row.id, state=MessageState.REFUSED)
        taken_back.add(row.id)
        files = await attachments.of_message(tx, row.id)
        await windows.set_leaf(tx, window.id, row.parent_id)
        stands = await windows.get(tx, window.id)
        drafts = (window.draft, stands.draft if stands else "")
        behind = [draft for draft in dict.fromkeys(drafts) if draft.strip()]
        await windows.set_draft(tx, window.id, "\n".join([row.text, *behind]))
        if files:
            kept = await attachments.of_draft(tx, window.id)
            await attachments.set_of_draft(tx, window.id, [*files, *kept])


async def _is_unsent(reader: Reader, row: Message) -> bool:
    if row.kind is not Kind.USER or row.state is not MessageState.FINAL:
        return False
    if row.turn_id is None:
        return row.link_id is None  # else a session told of it between turns: another client said it there
    turn = await turns.get(reader, row.turn_id)
    return turn is not None and turn.stop_reason is StopReason.NOT_SENT


async def where_ours_stand(core: Core) -> dict[str, str]:
    """The row that each of our windows stands on, before a conversation is taken over. Raises StoreError."""
    async with core.services.db.read() as reader:
        found = [await windows.get(reader, window_id) for window_id in core.windows]
    return {window.id: window.leaf_id for window in found if window and window.leaf_id}


async def tell_put_back(core: Core, stood: Mapping[str, str]) -> None:
    """Tell each of our windows that stood on a prompt that was taken back; they showed it as said."""
    # What cannot be read now is read with the branch, the next time that it is shown.
    with contextlib.suppress(StoreError):
        for window_id, row_id in stood.items():
            async with core.services.db.read() as reader:
                row, window = await messages.get(reader, row_id), await windows.get(reader, window_id)
                files = await attachments.of_message(reader, row_id)
            if row and window and row.state is MessageState.REFUSED and window.leaf_id != row_id:
                core.tell(LeafMoved(window_id, window.leaf_id))
                core.tell(PromptReturned(window_id, row.text, tuple(files)))
