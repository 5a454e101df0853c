"""Permission rules of the active tab, and the way to the next question."""

from __future__ import annotations

from catena.screens.chat.actions.tabs import TabActions
from catena.screens.chat.context import ChatContext


class PermissionActions:
    """Actions on permission rules, and on tabs that ask."""

    def __init__(self, context: ChatContext, tabs: TabActions) -> None:
        self._context = context
        self._tabs = tabs

    async def permissions(self) -> None:
        """Show the rules in force in the active tab."""
        if tab := self._context.tab:
            from catena.screens.settings.permissions import PermissionsScreen

            context = self._context
            screen = PermissionsScreen(
                tab.conversation,
                apply=lambda: context.tabs.apply_rules(lambda: context.panes.reasoned),
                subject=context.subject,
            )
            await self._context.app.push_screen_wait(screen)

    async def next_question(self) -> None:
        """Go to the next tab whose agent asks, around the end."""
        context = self._context
        tabs, active = context.tabs.tabs, context.tab
        at = tabs.index(active) if active in tabs else -1
        around = [*range(at + 1, len(tabs)), *range(max(0, at))]
        asking = next((number for number in around if tabs[number].mark == "?"), None)
        if asking is not None:
            self._tabs.go_to(asking)
        elif active is not None and active.asks:
            context.say("No other tab asks.")
        else:
            context.say("No tab asks.")
