"""The asides that are open in this client: begun, ended with their conversation, and swept where a client was lost."""

from __future__ import annotations

import asyncio
import contextlib

from catena_acp.conversation.aside_session import sweep, where_it_stands
from catena_acp.conversation.asides import Aside
from catena_acp.conversation.core import Core
from catena_acp.conversation.hold import ReadOnly
from catena_acp.conversation.price import prices
from catena_acp.errors import AgentError
from catena_acp.port import AgentPort
from catena_store.errors import StoreError

_ENDING_SECONDS = 2.0  # that an aside may take to be over where the client ends


class Asides:
    """The asides of one conversation that are open in this client."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._open: set[Aside] = set()

    async def begin(self, window_id: str) -> Aside:
        """An aside of where a window stands; nothing is opened for it before the first question.

        Raises ReadOnly, AgentMissing, StoreError.
        """
        ground = self._core.ground()
        await self._core.settle()
        async with self._core.services.db.read() as reader:
            leaf_id = await where_it_stands(reader, window_id)
        (price,) = await prices(self._core, window_id, [ground.spec], leaf_id=leaf_id, apart=True)
        self._open = {aside for aside in self._open if not aside.over}
        aside = Aside(self._core, ground, window_id, leaf_id, price)
        self._open.add(aside)
        return aside

    async def sweep(self, agent: AgentPort) -> None:
        """The agent runs: end what asides left in it whose client is gone."""
        with contextlib.suppress(AgentError, StoreError, ReadOnly):
            await sweep(self._core.ground(), agent, lambda: {aside.link_id for aside in self._open})

    async def close(self) -> None:
        """The conversation is closed: so are its asides, as far as that is possible soon."""
        open_still = [aside for aside in self._open if not aside.over]
        try:
            async with asyncio.timeout(_ENDING_SECONDS):
                await asyncio.gather(*(aside.close() for aside in open_still))
        except TimeoutError:
            for aside in open_still:
                aside.abandon()
