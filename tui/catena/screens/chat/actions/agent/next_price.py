"""The price of the next prompt, read when nothing else is to be drawn."""

from __future__ import annotations

import asyncio

from catena.screens.chat.context import ChatContext
from catena.workspace.next_price import is_priced, read_next_price
from catena.workspace.tab import Tab

_AFTER = 0.1  # seconds: what was opened is on the screen by then, and what comes at once is read together


class NextPriceActions:
    """Reads the price of the next prompt of the tab on the screen."""

    def __init__(self, context: ChatContext) -> None:
        self._context = context
        self._reading = False

    def renew(self) -> None:
        """Read the price anew if anything that it depends on has changed."""
        tab = self._context.seen
        if tab is not None and not self._reading and not is_priced(tab):
            self._reading = True
            self._context.run(self._read(tab))

    async def _read(self, tab: Tab) -> None:
        try:
            await asyncio.sleep(_AFTER)
            await read_next_price(tab)
        finally:
            self._reading = False
        self._context.presenter.refresh()
