"""The part of a live conversation's face that waits for what is done after its turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from catena_acp.conversation.seat import Seat


class IdleFace:
    """What is done with a session after a turn, while nobody waits for it."""

    def _seat(self, window_id: str) -> Seat:
        """The window's place in the conversation."""
        raise NotImplementedError

    async def settled(self, window_id: str) -> None:
        """Wait until the window is idle and what is done after its turn is done: a probe, a parked fork."""
        seat = self._seat(window_id)
        await seat.wait_idle()
        await seat.idle_work.settled()
