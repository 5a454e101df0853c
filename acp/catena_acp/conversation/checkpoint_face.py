"""The part of a live conversation's face that has to do with its checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from catena_acp.conversation.branching import Branching
from catena_acp.conversation.checkpoint_list import Listed, listed
from catena_acp.conversation.core import Core
from catena_store.conversations.checkpoints import Checkpoint, Frequency

if TYPE_CHECKING:
    from catena_acp.conversation.checkpoints import Checkpoints
    from catena_acp.conversation.seat import Seat


class CheckpointFace:
    """Making checkpoints, naming them, and going back to one."""

    _core: Core
    _checkpoints: Checkpoints

    def _seat(self, window_id: str) -> Seat:
        """The window's place in the conversation."""
        raise NotImplementedError

    async def checkpoint(
        self, window_id: str, label: str | None = None, *, note: str | None = None
    ) -> Checkpoint:
        """Make one of where the window stands.

        Raises NoCheckpoint where they are off here, LabelTaken, ReadOnly, StoreError.
        """
        return await self._checkpoints.make(window_id, label, note)

    async def checkpoints(self) -> Sequence[Checkpoint]:
        """Every one of the conversation, newest first."""
        return await self._checkpoints.all()

    async def list_checkpoints(self) -> Sequence[Listed]:
        """The same, each with what a person reads of it."""
        return await listed(self._core, await self._checkpoints.all())

    async def checkpoint_named(self, key: str | None = None) -> Checkpoint:
        """The one of this label, id or beginning of an id; the newest for None. Raises NoCheckpoint."""
        return await self._checkpoints.find(key)

    async def label_checkpoint(self, label: str | None, key: str | None = None) -> Checkpoint:
        """Name one, the newest for None, or take its label away. Raises NoCheckpoint, LabelTaken, ReadOnly."""
        return await self._checkpoints.name(key, label)

    async def remove_checkpoint(self, key: str) -> Checkpoint:
        """Remove one; what it points to stays. Raises NoCheckpoint, ReadOnly."""
        return await self._checkpoints.remove(key)

    async def rewind_to_checkpoint(self, window_id: str, key: str | None = None) -> Checkpoint:
        """Stand at a checkpoint again; a running turn is stopped first. Files are not touched.

        What came later can still be reached. Raises NoCheckpoint, AgentError, StoreError.
        """
        checkpoint = await self._checkpoints.find(key)
        await Branching(self._core, window_id, self._seat(window_id)).rewind(checkpoint.message_id)
        return checkpoint

    async def checkpoint_frequency(self) -> Frequency:
        """When checkpoints are made in this conversation."""
        return await self._checkpoints.frequency()

    async def set_checkpoint_frequency(self, frequency: Frequency) -> None:
        """Set it for this conversation. Raises ReadOnly, StoreError."""
        await self._checkpoints.set_frequency(frequency)
