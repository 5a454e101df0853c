"""Keeping house: renaming, pinning, archiving and deleting conversations, each act on any number of them at once.

An act is one transaction with one line of the journal, so that one undo takes it back for all. What another client
holds is not changed, and then nothing is; only a pin, which the holder need not know of, is set anywhere.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from catena_acp.conversation import journal
from catena_acp.conversation.conversations.conversations import Conversations
from catena_acp.conversation.conversations.undo import Scope
from catena_acp.conversation.conversations.upstream import UpstreamDeletion
from catena_acp.errors import StillAtWork
from catena_store.database.database import Database
from catena_store.windows.journal import Act

_NO_WINDOWS: Mapping[str, Sequence[str]] = {}


@dataclass(frozen=True, slots=True)
class Kept:
    """What an act changed."""

    act: Act
    conversations: tuple[str, ...]  # that are not as before
    closed: tuple[str, ...] = field(default=())  # windows
    upstream: UpstreamDeletion | None = None  # where that was asked for


class Keeping:
    """Acts on conversations of a list, whether or not they are open here; the caller applies them to its tabs.

    Each raises NotFound, ReadOnly with the name of who holds one of them, StillAtWork while a turn runs in one that
    would leave the screen, StoreError. ``scope`` is where the act can be undone.
    """

    def __init__(self, db: Database, live: Conversations) -> None:
        self._db = db
        self._live = live

    async def rename(self, conversation_id: str, title: str | None, *, scope: Scope) -> Kept:
        """Name a conversation, or take its name away."""
        return await self._change([conversation_id], Act.RENAME, {"title": title}, scope)

    async def pin(self, ids: Sequence[str], *, scope: Scope, pinned: bool = True) -> Kept:
        """Pin conversations, so that lists show them first and `catena prune` spares them, or unpin them."""
        return await self._change(ids, Act.PIN, {"pinned": pinned}, scope)

    async def archive(
        self,
        ids: Sequence[str],
        *,
        scope: Scope,
        archived: bool = True,
        closing: Mapping[str, Sequence[str]] = _NO_WINDOWS,
    ) -> Kept:
        """Archive conversations, or restore them; ``closing`` are windows that go with each."""
        return await self._change(ids, Act.ARCHIVE, {"archived": archived}, scope, closing)

    async def delete(
        self, ids: Sequence[str], *, scope: Scope, closing: Mapping[str, Sequence[str]] = _NO_WINDOWS
    ) -> Kept:
        """Delete conversations: lists hide them, and the file keeps them until they are pruned."""
        return await self._change(ids, Act.DELETE, {"deleted": True}, scope, closing)

    async def delete_upstream(self, kept: Kept) -> Kept:
        """Delete the sessions of conversations that were just deleted at their agents, too; nobody can undo that."""
        return replace(kept, upstream=await self._live.delete_upstream(kept.conversations))

    async def _change(
        self,
        ids: Sequence[str],
        act: Act,
        values: Mapping[str, Any],
        scope: Scope,
        closing: Mapping[str, Sequence[str]] = _NO_WINDOWS,
    ) -> Kept:
        wanted = list(dict.fromkeys(ids))
        leaving = act is Act.DELETE or values.get("archived") is True
        if leaving:
            self._refuse_in_turn(wanted, closing)
        async with self._db.write() as tx:
            if leaving:  # a prompt that was said while this waited for the store has its turn here
                self._refuse_in_turn(wanted, closing)
            if act is not Act.PIN:
                await self._live.refuse_held(tx, wanted)
            changed = await journal.keep(
                tx,
                conversation_ids=wanted,
                act=act,
                values=values,
                closing=[window for id in wanted for window in closing.get(id, ())],
                window_id=scope.window_id,
                workspace_id=scope.workspace_id,
            )
        await self._live.reload(changed)
        return Kept(act, changed, tuple(window for id in changed for window in closing.get(id, ())))

    def _refuse_in_turn(self, ids: Collection[str], closing: Mapping[str, Sequence[str]]) -> None:
        for live in self._live.live:
            if live.id in ids and any(
                live.in_turn(window) for window in {*live.windows, *closing.get(live.id, ())}
            ):
                raise StillAtWork
