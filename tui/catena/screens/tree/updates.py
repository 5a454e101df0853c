"""Changes of a tree that is shown on the screen."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from catena_acp.continuity.conversation_events import (
    ConversationEvent,
    LeafMoved,
    MessageAdded,
    MessageChanged,
    Renamed,
    TurnEnded,
    TurnStarted,
)
from catena_acp.conversation.conversation import Conversation
from catena_store.records import Kind


class TreeUpdates:
    """Changes of a tree by the open conversations of its family; those that come together count once."""

    def __init__(self, conversations: Sequence[Conversation]) -> None:
        self._conversations = conversations
        self._changed = asyncio.Event()
        self._subscriptions: list[Callable[[], None]] = []

    def subscribe(self) -> None:
        """Subscribe to the conversations."""
        self._subscriptions = [each.subscribe(self._handle) for each in self._conversations]

    def unsubscribe(self) -> None:
        """End the subscriptions."""
        for end in self._subscriptions:
            end()
        self._subscriptions = []

    async def changed(self) -> None:
        """Wait for a change since the last call."""
        await self._changed.wait()
        self._changed.clear()

    def _handle(self, event: ConversationEvent) -> None:
        if _changes_tree(event):
            self._changed.set()


def _changes_tree(event: ConversationEvent) -> bool:
    match event:
        case MessageAdded(message=message) | MessageChanged(message=message):
            return message.kind is Kind.USER  # the rest of a turn counts when the turn ends
        case TurnStarted() | TurnEnded() | LeafMoved() | Renamed():
            return True
        case _:
            return False
