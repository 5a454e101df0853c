"""Changes in files, as a person looks at them: of a turn, of a branch, since a checkpoint or the last look."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from catena_acp.changes.reading import Changes, ChangeScope, read_changes
from catena_acp.conversation.runtime import ConversationRuntime
from catena_store.conversations import seen_changes


class ConversationChanges:
    """The changes that were made in a conversation, and what of them was seen."""

    def __init__(self, runtime: ConversationRuntime) -> None:
        self._runtime = runtime

    async def read(self, leaf_id: str | None, scope: ChangeScope) -> Changes:
        """The changes of a branch, once the files are kept that a turn has just left. Raises StoreError."""
        runtime = self._runtime
        directories = (runtime.record.cwd, *runtime.environment.directories)
        snapshots = runtime.services.snapshots
        repository = None
        if snapshots is not None:
            await snapshots.caught_up()
            repository = await asyncio.to_thread(snapshots.repository, runtime.record.cwd)
        async with runtime.services.db.read_concurrently() as reader:
            return await read_changes(
                reader,
                runtime.record.id,
                leaf_id,
                scope,
                directories,
                repository,
                now=runtime.services.clock(),
            )

    async def mark_seen(self, digests: Iterable[str], *, seen: bool) -> None:
        """Mark hunks as seen, or as not seen. Raises StoreError."""
        async with self._runtime.services.db.write() as tx:
            await seen_changes.mark_seen(tx, self._runtime.record.id, tuple(digests), seen=seen)

    async def note_look(self, leaf_id: str) -> None:
        """Store that the changes were looked at as far as a leaf. Raises StoreError."""
        async with self._runtime.services.db.write() as tx:
            await seen_changes.note_look(tx, self._runtime.record.id, leaf_id)
