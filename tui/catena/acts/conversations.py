"""Acts on a whole conversation: its title, its place in the history, who holds it, a file of it."""

from __future__ import annotations

from catena.acts.surface import Done, Here, Refused
from catena.text.safe_text import safe_line
from catena_store.database.database import Reader


async def rename(on: Here, title: str) -> Done:
    """Give the conversation a title."""
    if not title:
        raise Refused("/rename TITLE gives the conversation a title.")
    await on.tab.conversation.rename(title, by=on.tab.window_id)
    return Done(f"Renamed to “{safe_line(title)}”.")


async def pin(on: Here) -> Done:
    """Pin the conversation, so that it stands first in the history and is never pruned, or unpin it."""
    pinned = await on.tabs.keeping.toggle_pin(on.tab.conversation.id, by=on.tab)
    return Done("Pinned: first in the history, never pruned." if pinned else "Unpinned.")


async def take_over(on: Here) -> Done:
    """Take over a conversation whose Catena is gone; one that lives is named."""
    window = on.tab.window
    if not on.tab.conversation.read_only:
        raise Refused("This conversation is already yours.")
    await window.take_over()
    on.surface.say("Taken over. Unfinished turns of the other Catena were closed.")
    await window.prepare()
    return Done()


async def export(on: Here, wish: str) -> Done:
    """Write the branch, or all of them, into a file, and say where and what was masked."""
    from catena.export.branch_export import (  # most conversations are not exported
        export_branch,
        wanted_export,
    )

    tab, wanted = on.tab, wanted_export(wish)

    async def write(reader: Reader, leaf: str | None) -> str:
        return await export_branch(
            reader,
            wanted,
            conversation_id=tab.conversation.id,
            leaf_id=leaf,
            directory=tab.conversation.record.cwd,
            name=tab.name(),
            agent_title=tab.agent_title,
            rules=on.settings.export.mask,
        )

    return Done(await on.tabs.branches.of_branch_at_length(tab, write))
