"""The part of a live conversation's face that looks back at its chain and ahead at a price."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from catena_acp.conversation.chain import SHOWN, Chain, Probe
from catena_acp.conversation.context import TurnContext
from catena_acp.conversation.core import Core
from catena_acp.conversation.looking import (
    NotToBePicked,
    chain_of,
    context_of,
    pick_link,
    price_of_link,
    probe_link,
)
from catena_acp.conversation.prepare import StillAtWork
from catena_acp.conversation.price import Price, prices
from catena_acp.port import AgentSpec
from catena_store.chains.links import UNSET, Unset

T = TypeVar("T")


class ChainFace:
    """What can be asked of a conversation's sessions, and going on from an older one."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def _apart(self, window_id: str, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Do something that no prompt of the window comes in between of. Raises StillAtWork while a turn runs."""
        raise NotImplementedError

    async def price(
        self,
        window_id: str,
        *,
        spec: AgentSpec | None = None,
        leaf_id: str | Unset | None = UNSET,
        apart: bool = False,
    ) -> Price:
        """What the window's next prompt would need; with another agent, from another row on, or in a fork.

        Starts nothing and writes nothing. Raises ReadOnly, AgentMissing.
        """
        spec = spec or self._core.spec_of(self._core.record.agent, self._core.record.profile)
        return (await prices(self._core, window_id, [spec], leaf_id=leaf_id, apart=apart))[0]

    async def prices(self, window_id: str, specs: Sequence[AgentSpec]) -> list[Price]:
        """The price with each of the agents; the branch is read once."""
        return await prices(self._core, window_id, specs, leaf_id=UNSET)

    async def context(
        self, window_id: str, message_id: str | None = None, *, turn_id: str | None = None
    ) -> TurnContext | None:
        """What the session of a turn knew and was told: of this turn, of the message's, or the newest."""
        return await context_of(self._core, window_id, message_id, turn_id)

    async def chain(self, window_id: str, *, cap: int | None = SHOWN) -> Chain:
        """The chain, newest link last; ``cap`` None for all of it."""
        return await chain_of(self._core, window_id, cap)

    async def probe_link(self, window_id: str, link_id: str) -> Probe:
        """Look whether a link's session still loads; nothing is prompted. Proof of loss loses the link."""
        return await probe_link(self._core, link_id)

    async def price_of_link(self, window_id: str, link_id: str) -> Price:
        """What the next prompt would need from an older link on. Raises NotToBePicked."""
        return await price_of_link(self._core, window_id, link_id)

    async def pick_link(self, window_id: str, link_id: str) -> Price:
        """Go on from where an older link's session stands, with its agent; nothing is deleted. Raises NotToBePicked."""
        try:
            return await self._apart(window_id, lambda: pick_link(self._core, window_id, link_id))
        except StillAtWork as error:
            raise NotToBePicked("A turn is under way here; stop it first.") from error
