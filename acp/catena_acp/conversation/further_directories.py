"""Giving a conversation directories beside the one it works in, and taking them away."""

from __future__ import annotations

from catena_acp.conversation.core import Core
from catena_store.conversations import directories


async def change_directories(core: Core, *, add: str | None = None, remove: str | None = None) -> bool:
    """Add or remove a directory, in the store and for the sessions that are open; False where nothing changed.

    Raises ReadOnly, StoreError.
    """
    changed = False
    async with core.writable().write() as tx:
        if add is not None:
            changed = await directories.add(tx, core.record.id, add)
        if remove is not None:
            changed = await directories.remove(tx, core.record.id, remove) or changed
        now = await directories.of_conversation(tx, core.record.id)
    core.around.directories = now
    for live in core.own_sessions:
        if live.agent.alive:
            live.agent.let_into(live.session_id, core.around.existing_directories)
    return changed
