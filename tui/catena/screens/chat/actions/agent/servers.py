"""The MCP servers of the active tab."""

from __future__ import annotations

from catena.screens.chat.context import ChatContext


class ServerActions:
    """Actions on MCP servers."""

    def __init__(self, context: ChatContext) -> None:
        self._context = context

    async def servers(self) -> None:
        """Show the servers of the active tab's conversation; those of its project can be allowed there."""
        if tab := self._context.tab:
            from catena.screens.settings.servers import ServersScreen

            context = self._context
            screen = ServersScreen(
                tab.conversation, tab.window_id, subject=context.subject, pace=context.gate.pace
            )
            await context.app.push_screen_wait(screen)
