"""What is told of a tree while somebody looks at it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from catena_acp.continuity.events import (
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


class TreeNews:
    """Listens to the open conversations of a family. However much was told, the tree is read once for it."""

    def __init__(self, conversations: Sequence[Conversation]) -> None:
        self._conversations = conversations
        self._changed = asyncio.Event()
        self._ends: list[Callable[[], None]] = []

    def listen(self) -> None:
        """From now on."""
        self._ends = [each.subscribe(self._hear) for each in self._conversations]

    def end(self) -> None:
        """Listen no longer."""
        for end in self._ends:
            end()
        self._ends = []

    async def changed(self) -> None:
        """Wait until the tree in the store is another than the last time that this was waited for."""
        await self._changed.wait()
        self._changed.clear()

    def _hear(self, news: ConversationEvent) -> None:
        if _changes_a_tree(news):
            self._changed.set()


def _changes_a_tree(news: ConversationEvent) -> bool:
    """What an agent says and does in a turn is counted when that ends, not piece by piece."""
    match news:
        case MessageAdded(message=message) | MessageChanged(message=message):
            return message.kind is Kind.USER
        case TurnStarted() | TurnEnded() | LeafMoved() | Renamed():
            return True
        case _:
            return False
