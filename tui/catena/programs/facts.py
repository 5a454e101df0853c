"""What is known of a conversation and the session behind it, for programs of the person's own."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from catena_acp.continuity.conversation_events import SessionState
from catena_acp.conversation.conversation import Conversation
from catena_store.chains import links
from catena_store.database.database import Database
from catena_store.errors import StoreError
from catena_store.records import ConversationRecord, Link


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a conversation and the session behind it."""

    record: ConversationRecord
    session: SessionState
    session_id: str | None = None
    transcript_path: str | None = None


async def facts_of(
    db: Database, conversation: Conversation, window_id: str, link: Link | None = None
) -> Facts:
    """What is known of a window's conversation and the session of a link, else of the one that carries the window."""
    session = conversation.session(window_id)
    path = None
    with contextlib.suppress(StoreError):
        if link is None and session.link_id:
            async with db.read() as reader:
                link = await links.get(reader, session.link_id)
        path = await conversation.transcript_of(link) if link else None
    return Facts(conversation.record, session, link.session_id if link else None, path)
