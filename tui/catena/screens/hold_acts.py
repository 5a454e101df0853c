"""Going on with what another Catena had."""

from __future__ import annotations

from catena.screens.desk import Desk


class HoldActs:
    """Acts on who holds the conversation of the tab that is looked at."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def take_over(self, argument: str = "") -> None:
        """Go on here with a conversation whose Catena is gone; one that lives is named."""
        if (tab := self._desk.tab) is None:
            return
        if not tab.conversation.read_only:
            self._desk.say("This conversation is yours already.")
            return
        await tab.conversation.take_over(tab.window_id)
        self._desk.say("This conversation is yours now; what its Catena left open is closed.")
        await tab.conversation.prepare(tab.window_id)
