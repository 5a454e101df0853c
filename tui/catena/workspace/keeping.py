"""Keeping house from a list or a tab: acts on any number of conversations, each with one undo, and their tabs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from catena.text.safe_text import safe_line
from catena_store.conversations.conversations import marks
from catena_store.database.database import Database
from catena_store.keeping.sizes import Size, sizes
from catena_store.windows import windows

if TYPE_CHECKING:
    from catena.workspace.tab import Tab
    from catena.workspace.undo import MovableTabs
    from catena_acp.conversation.conversations.conversations import Conversations
    from catena_acp.conversation.conversations.keeping import Keeping, Kept
    from catena_acp.conversation.conversations.undo import Scope
    from catena_acp.conversation.conversations.upstream import UpstreamDeletion

_MEASURE_SECONDS = 2.0  # after which the size of snapshots is not told


class TabKeeping:
    """Renames, pins, archives and deletes conversations, open here or not.

    Each act raises NotFound, StillAtWork, ReadOnly in words on who holds one of them, StoreError: then nothing is
    changed. ``by`` is the tab that it can be undone in; without one, `/undo` of any tab takes it back.
    """

    def __init__(self, tabs: MovableTabs, db: Database, conversations: Conversations) -> None:
        self._tabs = tabs
        self._db = db
        self._conversations = conversations

    async def rename(self, conversation_id: str, title: str | None, *, by: Tab | None = None) -> Kept:
        """Name a conversation, or take its name away."""
        return await self._keeping.rename(conversation_id, title, scope=self._scope(by))

    async def pin(self, ids: Sequence[str], *, pinned: bool = True, by: Tab | None = None) -> Kept:
        """Pin conversations, or unpin them."""
        return await self._keeping.pin(ids, pinned=pinned, scope=self._scope(by))

    async def toggle_pin(self, conversation_id: str, *, by: Tab | None = None) -> bool:
        """Pin a conversation, or unpin a pinned one; True if it is pinned now."""
        async with self._db.read() as reader:
            pinned = not (await marks(reader, conversation_id)).pinned
        await self.pin([conversation_id], pinned=pinned, by=by)
        return pinned

    async def archive(self, ids: Sequence[str], *, archived: bool = True, by: Tab | None = None) -> Kept:
        """Archive conversations, whose tabs are closed, or restore them."""
        closing = await self._closing(ids) if archived else {}
        kept = await self._keeping.archive(ids, archived=archived, scope=self._scope(by), closing=closing)
        await self._detach(kept)
        return kept

    async def delete(self, ids: Sequence[str], *, upstream: bool = False, by: Tab | None = None) -> Kept:
        """Delete conversations, whose tabs are closed; the file keeps them until they are pruned.

        ``upstream``: their sessions at the agents, too, where these offer that. No undo brings those back.
        """
        closing = await self._closing(ids)
        kept = await self._keeping.delete(ids, scope=self._scope(by), closing=closing)
        await self._detach(kept)
        return await self._keeping.delete_upstream(kept) if upstream else kept

    async def is_deleted(self, id: str) -> bool:
        """True of a conversation that was deleted and not pruned yet. Raises NotFound."""
        async with self._db.read() as reader:
            return (await marks(reader, id)).deleted

    async def sizes(self, ids: Sequence[str]) -> dict[str, Size]:
        """What conversations take; every row of them is read, so ask for those that are on the screen."""
        async with self._db.read_concurrently() as reader:
            return await sizes(reader, ids)

    async def snapshot_bytes(self, ids: Sequence[str]) -> int:
        """The bytes of file snapshots that only these conversations need; pruning them frees that room."""
        from catena_store.snapshots import turns  # neither is needed for the first frame
        from catena_store.snapshots.tidying import measure_roots

        async with self._db.read_concurrently() as reader:
            roots, kept = await turns.roots_of(reader, ids), await turns.trees(reader, without=ids)
        return await asyncio.to_thread(measure_roots, self._db.path, roots, kept, seconds=_MEASURE_SECONDS)

    async def _closing(self, ids: Sequence[str]) -> dict[str, list[str]]:
        closing: dict[str, list[str]] = {}
        for tab in list(self._tabs.tabs):
            if tab.conversation.id in ids:
                await self._tabs.keep(tab)
                closing.setdefault(tab.conversation.id, []).append(tab.window_id)
        if not self._tabs.tabs and self._tabs.workspace_id:  # those that the next start would restore
            async with self._db.read() as reader:
                for window in await windows.of_workspace(reader, self._tabs.workspace_id):
                    if window.conversation_id in ids:
                        closing.setdefault(window.conversation_id, []).append(window.id)
        return closing

    async def _detach(self, kept: Kept) -> None:
        for tab in [tab for tab in self._tabs.tabs if tab.window_id in kept.closed]:
            await self._tabs.detach(tab)

    @property
    def _keeping(self) -> Keeping:
        from catena_acp.conversation.conversations.keeping import Keeping

        return Keeping(self._db, self._conversations)

    def _scope(self, tab: Tab | None) -> Scope:
        from catena_acp.conversation.conversations.undo import Scope

        return Scope(tab.window_id if tab else None, self._tabs.workspace_id)


def upstream_words(done: UpstreamDeletion, title_of: Callable[[str], str]) -> str:
    """Text on what was deleted at the agents, and what was not; ``title_of`` gives the title of a stored agent."""
    words = []
    for agent, count in done.deleted.items():
        sessions = "1 session" if count == 1 else f"{count} sessions"
        words.append(f"{sessions} deleted at {safe_line(title_of(agent))}, which cannot be undone.")
    words += [f"Not deleted at {safe_line(title_of(agent))}: {why}" for agent, why in done.refused.items()]
    return " ".join(words) or "No agent has a session of it."
