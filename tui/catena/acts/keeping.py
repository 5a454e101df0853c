"""Acts on the place of a conversation in the history."""

from __future__ import annotations

from catena.acts.surface import Done, Here


async def pin(on: Here) -> Done:
    """Pin the conversation, so that it stands first in the history and is never pruned, or unpin it."""
    pinned = await on.tabs.keeping.toggle_pin(on.tab.conversation.id, by=on.tab)
    return Done("Pinned: first in the history, never pruned." if pinned else "Unpinned.")
