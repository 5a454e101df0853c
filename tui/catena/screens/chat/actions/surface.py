"""The surface of acts on the screen: hints and sheets over the chat."""

from __future__ import annotations

from catena.acts.surface import Report
from catena.screens.chat.context import ChatContext


class ScreenSurface:
    """A chat, as acts see it."""

    def __init__(self, context: ChatContext) -> None:
        self._context = context

    def say(self, words: str) -> None:
        """Show words in the hint line."""
        self._context.say(words)

    async def write(self, text: str = "") -> None:
        """Put a text behind the draft, and give the keys to the composer."""
        if text and self._context.tab is not None:
            self._context.quote_into(self._context.tab, text)
        self._context.write_here()

    async def show(self, report: Report) -> None:
        """Show a report as a sheet, until it is closed; a text from its end on."""
        from catena.screens.common.report_page import report_page

        await self._context.app.push_screen_wait(report_page(report))
