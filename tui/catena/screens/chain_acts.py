"""Looking at the chain, at what an agent knows, and at what another would have to be told."""

from __future__ import annotations

from collections.abc import Sequence

from catena.screens.desk import Desk
from catena_acp.port import AgentSpec
from catena_store.ids import utc_now

_NOTHING_YET = "Nothing was sent here yet: there is nothing that an agent could know."


class ChainActs:
    """Acts on the chain of the tab that is looked at; each takes the text behind its command."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def chain(self, argument: str = "") -> None:
        """Look at the chain, and go on from another link where the person wants that."""
        from catena.screens.chain import ChainScreen

        desk = self._desk
        if (tab := desk.tab) is None:
            return
        screen = ChainScreen(tab.conversation, tab.window_id, clock=utc_now)
        chosen = await desk.app.push_screen_wait(screen)
        if chosen is not None:
            price = await tab.conversation.pick_link(tab.window_id, chosen)
            desk.say(f"You are back where that session stands. Your next prompt: {price.words}.")
            await tab.conversation.prepare(tab.window_id)

    async def context(self, argument: str = "") -> None:
        """What the agent knew and was told: for the message that is browsed, else for the newest turn."""
        from catena.screens.context import ContextScreen

        desk = self._desk
        if (tab := desk.tab) is None:
            return
        area = desk.screen.conversation
        current = area.transcript.current if area.browsing and area.transcript else None
        context = await tab.conversation.context(tab.window_id, current)
        if context is None:
            desk.say(_NOTHING_YET)
        else:
            await desk.app.push_screen_wait(ContextScreen(tab.conversation, tab.window_id, context))

    async def prices(self, specs: Sequence[AgentSpec]) -> list[str]:
        """What the next prompt would need with each of the agents, in words; nothing where there is no telling."""
        tab = self._desk.tab
        if tab is None or tab.untouched or tab.conversation.read_only:
            return [""] * len(specs)
        return [price.words for price in await tab.conversation.prices(tab.window_id, specs)]
