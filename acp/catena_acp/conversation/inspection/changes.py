"""Changes in files, as a person looks at them: of a turn, of a branch, since a checkpoint or the last look."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from catena_acp.changes.reading import Changes, ChangeScope, read_changes
from catena_acp.conversation.inspection.file_changes import FileTouched, files_touched, with_unreported
from catena_acp.conversation.live import LiveConversation
from catena_store.conversations import messages, seen_changes

_TOOL_CALLS = 2_000  # the newest of a branch that are looked through


class ConversationChanges:
    """The changes that were made in a conversation, and what of them was seen."""

    def __init__(self, conversation: LiveConversation) -> None:
        self._conversation = conversation

    async def read(self, leaf_id: str | None, scope: ChangeScope) -> Changes:
        """The changes of a branch, once the files are kept that a turn has just left. Raises StoreError."""
        conversation = self._conversation
        directories = (conversation.record.cwd, *conversation.environment.directories)
        snapshots = conversation.services.snapshots
        repository = None
        if snapshots is not None:
            await snapshots.caught_up()
            repository = await asyncio.to_thread(snapshots.repository, conversation.record.cwd)
        return await read_changes(
            conversation.services.db.read_concurrently,
            conversation.id,
            leaf_id,
            scope,
            directories,
            repository,
            now=conversation.services.clock(),
        )

    async def files(self, leaf_id: str | None) -> tuple[FileTouched, ...]:
        """The files of a branch: those that calls tell of, latest first, then the others. Raises StoreError."""
        async with self._conversation.services.db.read_concurrently() as reader:
            rows = await messages.newest_tools(reader, leaf_id, _TOOL_CALLS)
        changes = await self.read(leaf_id, ChangeScope())
        reported = await asyncio.to_thread(files_touched, rows)
        return with_unreported(reported, changes.files, changes.directory)

    async def mark_seen(self, digests: Iterable[str], *, seen: bool) -> None:
        """Mark hunks as seen, or as not seen. Raises StoreError."""
        async with self._conversation.services.db.write() as tx:
            await seen_changes.mark_seen(tx, self._conversation.id, tuple(digests), seen=seen)

    async def note_look(self, leaf_id: str) -> None:
        """Store that the changes were looked at as far as a leaf. Raises StoreError."""
        async with self._conversation.services.db.write() as tx:
            await seen_changes.note_look(tx, self._conversation.id, leaf_id)
