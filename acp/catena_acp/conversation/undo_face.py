"""The part of a live conversation's face by which acts are taken back, and a conversation is put away."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, TypeVar

from catena_acp.conversation import moves
from catena_acp.conversation.core import Core
from catena_acp.conversation.news import Doing, LeafMoved, Renamed
from catena_acp.conversation.prepare import StillAtWork
from catena_store.conversations import conversations
from catena_store.database.database import Writer
from catena_store.windows.journal import Act

if TYPE_CHECKING:
    from catena_acp.conversation.seat import Seat

T = TypeVar("T")


class UndoFace:
    """What undoing needs of a conversation."""

    _core: Core
    _seats: dict[str, Seat]

    def _seat(self, window_id: str) -> Seat:
        """The window's place in the conversation."""
        raise NotImplementedError

    @property
    def windows(self) -> frozenset[str]:
        """Those that are open in this client."""
        return self._core.windows

    def in_turn(self, window_id: str) -> bool:
        """True while the window's turn is under way, or somebody logs in there."""
        seat = self._seats.get(window_id)
        return (seat is not None and seat.busy) or self._core.doing(window_id) is Doing.LOGGING_IN

    def writing(self) -> AbstractAsyncContextManager[Writer]:
        """A transaction of whoever holds the conversation. Raises ReadOnly, StoreReadOnly."""
        return self._core.writable().write()

    async def undisturbed(self, window_id: str, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Do something between two turns of a window, to its end; a prompt waits for it. Raises StillAtWork."""
        if self.in_turn(window_id):
            raise StillAtWork
        return await self._seat(window_id).apart(work)

    async def read_anew(self) -> None:
        """Title and agent were changed in the store: take them from there, and tell."""
        core = self._core
        async with core.services.db.read() as reader:
            record = await conversations.get(reader, core.record.id)
        if record is None:
            return
        before, core.record = core.record, record
        for window_id in core.windows:
            if before.title != record.title:
                core.tell(Renamed(window_id, record.title))
            if (before.agent, before.profile) != (record.agent, record.profile):
                core.carried_by_none(window_id)

    def moved(self, window_id: str, leaf_id: str | None) -> None:
        """The window was moved in the store: tell where it stands now."""
        self._core.tell(LeafMoved(window_id, leaf_id))
        if window_id in self._core.windows:
            self._core.carried_by_none(window_id)

    async def put_away(
        self, act: Act, *, window_id: str | None, workspace_id: str | None, closing: Sequence[str]
    ) -> None:
        """Delete or archive it, by a line of the journal; ``closing`` are the windows that go with it.

        Raises StillAtWork while a turn runs, ReadOnly.
        """
        self._refuse_in_turn(closing)
        async with self.writing() as tx:
            # A prompt that was said while this waited for the store has its turn here.
            self._refuse_in_turn(closing)
            await moves.put_away(
                tx,
                conversation_id=self._core.record.id,
                act=act,
                window_id=window_id,
                workspace_id=workspace_id,
                closing=closing,
            )

    def _refuse_in_turn(self, closing: Sequence[str]) -> None:
        if any(self.in_turn(window) for window in {*self._core.windows, *closing}):
            raise StillAtWork

    async def take_out(self, *, workspace_id: str | None) -> None:
        """Take it out of the archive. Raises ReadOnly."""
        async with self.writing() as tx:
            await moves.take_out(tx, conversation_id=self._core.record.id, workspace_id=workspace_id)
