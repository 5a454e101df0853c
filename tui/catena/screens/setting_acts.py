"""What the agent lets a person set, which agent it is, and the theme."""

from __future__ import annotations

from catena.agent_choice import agent_named
from catena.screens import choices
from catena.screens.desk import Desk

_NO_SESSION = "The agent has not told yet what it offers; it does when its session is open."


class SettingActs:
    """Acts on the session of the tab that is looked at; each takes the text behind its command."""

    def __init__(self, desk: Desk, *, prices: choices.Prices) -> None:
        self._desk = desk
        self._prices = prices

    async def agent(self, argument: str = "") -> None:
        """Go on with another agent."""
        desk = self._desk
        tab = desk.tab
        if argument:
            spec = agent_named(argument, desk.settings)
        else:
            kept = (tab.agent, tab.profile) if tab else await desk.tabs.last_used_agent()
            last_used = choices.row_of(kept, desk.settings)
            title = "go on with which agent?" if tab else "which agent?"
            chosen = await choices.agent(desk.app, title, desk.settings, last_used, prices=self._prices)
            if chosen is None:
                return
            spec = chosen
        if tab is None:
            await desk.screen.open_with(spec)
        elif tab.answered_by(spec):
            desk.say(f"{spec.title} answers here already.")
        else:
            (price,) = await self._prices([spec])
            await tab.conversation.set_agent(tab.window_id, spec)
            desk.say(f"{spec.title} answers from now on." + (f" Your next prompt: {price}." if price else ""))
            await tab.conversation.prepare(tab.window_id)

    async def model(self, argument: str = "") -> None:
        """Another model."""
        desk = self._desk
        if (tab := desk.tab) is None:
            return
        option = choices.model_option(tab)
        if option is None:
            desk.say("The agent offers no choice of models." if tab.session else _NO_SESSION)
            return
        value = await choices.value_of(desk.app, option, argument)
        if value is not None:
            await tab.conversation.set_option(tab.window_id, option.id, value)

    async def mode(self, argument: str = "") -> None:
        """Another mode."""
        desk = self._desk
        if (tab := desk.tab) is None:
            return
        if tab.session is None or not tab.session.modes:
            desk.say("The agent offers no modes." if tab.session else _NO_SESSION)
            return
        mode = await choices.mode(desk.app, tab, argument)
        if mode is not None:
            await tab.conversation.set_mode(tab.window_id, mode)

    async def options(self, argument: str = "") -> None:
        """Any of the agent's settings."""
        desk = self._desk
        if (tab := desk.tab) is None:
            return
        offered = (
            [each for each in tab.session.options if each.kind in ("select", "boolean")]
            if tab.session
            else []
        )
        if not offered:
            desk.say("The agent offers no settings." if tab.session else _NO_SESSION)
            return
        option = await choices.option(desk.app, offered)
        value = await choices.value_of(desk.app, option) if option else None
        if option and value is not None:
            await tab.conversation.set_option(tab.window_id, option.id, value)

    async def theme(self, argument: str = "") -> None:
        """Another theme, for as long as this Catena runs; the settings keep one for good."""
        desk = self._desk
        if await choices.theme(desk.app, argument):
            desk.say(f'`theme = "{desk.app.theme}"` in the settings file keeps it.')
