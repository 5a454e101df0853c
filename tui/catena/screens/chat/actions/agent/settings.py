"""The agent, its model, mode and options, and the theme."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from textual.app import App

from catena.screens.chat.actions.agent.installing import install_in_terminal
from catena.screens.chat.actions.quitting import background_words
from catena.screens.chat.context import ChatContext
from catena.screens.common.picker import Picker, fuzzy_match
from catena.screens.common.themes import theme_picker, theme_rows
from catena.settings.agent_choices import AgentChoice, Readiness, agent_choices, offered_agents, with_versions
from catena.settings.agents import REHEARSAL, find_agent, stored_agent, stored_agent_name
from catena.settings.installed_agents import agent_versions
from catena.settings.settings import Settings
from catena.widgets.row_list import Row, Tone, Word
from catena.workspace.tab import Tab
from catena_acp.continuity.conversation_events import SessionState
from catena_acp.continuity.sessions.session_state import option_of_category
from catena_acp.errors import AgentMissing
from catena_acp.port.port import AgentSpec
from catena_acp.port.session_events import Option

WHICH_AGENT = "Which agent?"

# What the next prompt would need with each of some agents, in words.
Prices = Callable[[Sequence[AgentSpec]], Awaitable[Sequence[str]]]


def kept_agent(tab: Tab, settings: Settings) -> AgentSpec | None:
    """The agent that a tab's conversation was kept with; None if nothing is known of it any more."""
    try:
        return stored_agent(tab.agent, tab.profile, settings)
    except AgentMissing:
        return None


def other_agents(tab: Tab, settings: Settings) -> list[AgentSpec]:
    """The agents that are ready to go on in place of a tab's; rehearsal only where there is no other."""
    ready = [
        find_agent(choice.name, settings)
        for choice in agent_choices(settings, None)
        if choice.readiness is Readiness.READY
    ]
    others = [spec for spec in ready if not tab.answered_by(spec)]
    return [spec for spec in others if spec.name != REHEARSAL] or others


def agent_rows(choices: Sequence[AgentChoice], priced: Mapping[str, str]) -> list[Row]:
    """The rows of agents: name, price and what is worth knowing, version, state."""
    return [
        Row(
            choice.name,
            choice.title,
            note=" · ".join(words for words in (priced.get(choice.name), choice.about) if words),
            columns=(
                Word(choice.version),
                Word(choice.readiness, Tone.ASKING if choice.needs_login else Tone.MUTED),
            ),
            dim=not choice.found,
        )
        for choice in choices
    ]


async def choose_agent(
    app: App[object],
    title: str,
    settings: Settings,
    last_used: tuple[str, str] | None,
    *,
    prices: Prices | None = None,
    used: Mapping[str, str] | None = None,
) -> AgentSpec | None:
    """The agent that the person chooses, None if they leave; ``prices`` names the price of each.

    ``last_used`` is the stored name and profile of the one to begin at; ``used`` are those of the conversation.
    """
    note = ""
    keep = stored_agent_name(*last_used, settings) if last_used else None
    known = agent_choices(settings, last_used, await offered_agents(), used)
    priced = await _prices_of(known, settings, prices)

    async def rows_with_versions() -> list[Row]:
        return agent_rows(with_versions(known, await agent_versions(settings)), priced)

    while True:
        picker = Picker(
            title,
            agent_rows(known, priced),
            keep=keep,
            note=note,
            later=rows_with_versions,
        )
        chosen = await app.push_screen_wait(picker)
        if chosen is None:
            return None
        choice = next(choice for choice in known if choice.name == chosen)
        if choice.found:
            return find_agent(chosen, settings)
        keep = chosen
        if not choice.installable:
            note = f"{choice.title} is not installed. To install: {choice.how}"
            continue
        done, note = await install_in_terminal(app, choice)
        if done:
            known = agent_choices(settings, last_used, await offered_agents(), used)
            priced = await _prices_of(known, settings, prices)


async def _prices_of(
    choices: Sequence[AgentChoice], settings: Settings, prices: Prices | None
) -> dict[str, str]:
    """The price of each agent that is there, by its name."""
    if prices is None:
        return {}
    specs = {choice.name: find_agent(choice.name, settings) for choice in choices if choice.found}
    return dict(zip(specs, await prices(list(specs.values())), strict=True))


async def choose_value(app: App[object], choose_option: Option, named: str = "") -> str | bool | None:
    """The value that the person chooses for an option; None if they leave."""
    if choose_option.kind == "boolean":
        rows = [Row("on", "on"), Row("off", "off")]
        chosen = _named(named, rows) or await app.push_screen_wait(
            Picker(
                choose_option.name,
                rows,
                keep="on" if choose_option.value else "off",
                note=choose_option.description or "",
            )
        )
        return None if chosen is None else chosen == "on"
    rows = [
        Row(choice.id, choice.name, note=choice.description or "", detail=choice.group or "")
        for choice in choose_option.choices
    ]
    return _named(named, rows) or await app.push_screen_wait(
        Picker(
            choose_option.name,
            rows,
            keep=str(choose_option.value),
            match=fuzzy_match,
            note=choose_option.description or "",
        )
    )


async def choose_mode(app: App[object], session: SessionState, named: str = "") -> str | None:
    """The mode that the person chooses."""
    rows = [Row(each.id, each.name, note=each.description or "") for each in session.modes]
    return _named(named, rows) or await app.push_screen_wait(Picker("Mode", rows, keep=session.mode))


async def choose_option(app: App[object], options: Sequence[Option]) -> Option | None:
    """One of the options that the agent offers."""
    rows = [
        Row(each.id, each.name, note=each.description or "", detail=_value_name(each)) for each in options
    ]
    chosen = await app.push_screen_wait(Picker("The agent's settings", rows))
    return next((each for each in options if each.id == chosen), None)


async def choose_theme(app: App[object], named: str = "") -> bool:
    """Let the person choose a theme, and show each while they choose; False if they leave."""
    before = app.theme
    if (meant := _named(named, theme_rows(app))) is not None:
        app.theme = meant
        return True
    chosen = await app.push_screen_wait(theme_picker(app))
    app.theme = chosen or before
    return chosen is not None


def _named(named: str, rows: Sequence[Row]) -> str | None:
    """The one row that a typed argument means."""
    if not named:
        return None
    wanted = named.casefold()
    exact = [row for row in rows if wanted in (row.key.casefold(), row.label.casefold())]
    begin = [row for row in rows if row.label.casefold().startswith(wanted)]
    for found in (exact, begin):
        if len(found) == 1:
            return found[0].key
    return None


def _value_name(choose_option: Option) -> str:
    if isinstance(choose_option.value, bool):
        return "on" if choose_option.value else "off"
    return next(
        (choice.name for choice in choose_option.choices if choice.id == choose_option.value),
        choose_option.value,
    )


_NO_SESSION = "Not known yet: the agent reports its settings when its session opens."


class SettingsActions:
    """Actions on the agent and the session of the active tab."""

    def __init__(
        self,
        context: ChatContext,
        *,
        prices: Prices,
        open_with: Callable[[AgentSpec], Awaitable[None]],
    ) -> None:
        """``open_with`` opens a conversation with an agent if there is no tab."""
        self._context = context
        self._open_with = open_with
        self._prices = prices

    async def agent(self, argument: str = "") -> None:
        """Switch to another agent."""
        context = self._context
        tab = context.tab
        if argument:
            spec = find_agent(argument, context.settings)
        else:
            used = await tab.agents_used() if tab else None
            kept = (tab.agent, tab.profile) if tab else await context.tabs.last_used_agent()
            title = "Continue with which agent?" if tab else WHICH_AGENT
            chosen = await choose_agent(
                context.app, title, context.settings, kept, prices=self._prices, used=used
            )
            if chosen is None:
                return
            spec = chosen
        if tab is None:
            await self._open_with(spec)
        elif tab.answered_by(spec):
            context.say(f"{tab.title_of(spec)} is already in use here.")
        else:
            (price,) = await self._prices([spec])
            await tab.window.set_agent(spec)
            said = [f"Switched to {tab.title_of(spec)}."]
            if running := [task.title for task in tab.window.background]:
                said.append(f"{background_words(running)} of the agent before.")
            if price:
                said.append(f"Your next prompt: {price}.")
            context.say(" ".join(said))
            await tab.window.prepare()

    async def model(self, argument: str = "") -> None:
        """Switch to another model."""
        context = self._context
        if (tab := context.tab) is None:
            return
        session = await _session(tab)
        option = option_of_category(session, "model")
        if option is None:
            context.say("The agent offers no other models." if session.link_id else _NO_SESSION)
            return
        value = await choose_value(context.app, option, argument)
        if value is not None:
            await tab.window.set_option(option.id, value)

    async def mode(self, argument: str = "") -> None:
        """Switch to another mode."""
        context = self._context
        if (tab := context.tab) is None:
            return
        session = await _session(tab)
        if session.link_id is None or not session.modes:
            context.say("The agent offers no modes." if session.link_id else _NO_SESSION)
            return
        mode = await choose_mode(context.app, session, argument)
        if mode is not None:
            await tab.window.set_mode(mode)

    async def options(self) -> None:
        """Set any option of the agent."""
        context = self._context
        if (tab := context.tab) is None:
            return
        session = await _session(tab)
        offered = [each for each in session.options if each.kind in ("select", "boolean")]
        if not offered:
            context.say("The agent offers no settings." if session.link_id else _NO_SESSION)
            return
        option = await choose_option(context.app, offered)
        value = await choose_value(context.app, option) if option else None
        if option and value is not None:
            await tab.window.set_option(option.id, value)

    async def theme(self, argument: str = "") -> None:
        """Switch to another theme for as long as this Catena runs; the settings keep one for good."""
        context = self._context
        if await choose_theme(context.app, argument):
            context.say(f"To keep it: /settings, or catena config set theme {context.app.theme}")

    async def sheet(self) -> None:
        """Show every setting, to be changed."""
        from catena.screens.settings.screen import SettingsScreen

        context = self._context
        sheet = SettingsScreen(
            context.settings, environment=context.screen.environment, subject=context.subject
        )
        await context.app.push_screen_wait(sheet)


async def _session(tab: Tab) -> SessionState:
    """What is known of the tab's session, which is waited for where it is being opened, and opened where it can be."""
    session = await tab.window.session_opened()
    if session.link_id is None:
        await tab.window.prepare()
        session = tab.window.session
    return session
