"""The part of a live conversation's face by which something is asked beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catena_acp.port import AgentPort

if TYPE_CHECKING:
    from catena_acp.conversation.asides import Aside
    from catena_acp.conversation.open_asides import Asides


class AsideFace:
    """Questions that leave no trace in the conversation."""

    _asides: Asides

    async def aside(self, window_id: str) -> Aside:
        """An aside of where the window stands; while its turn runs, of the end of the one before.

        It names its price; nothing is opened before it is asked something. To be closed. Raises ReadOnly, AgentMissing,
        StoreError.
        """
        return await self._asides.begin(window_id)

    async def sweep_asides(self, agent: AgentPort) -> None:
        """End the sessions of asides that a client left in this agent which is gone."""
        await self._asides.sweep(agent)
