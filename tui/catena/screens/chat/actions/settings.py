"""The agent, its model, mode and options, and the theme."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from textual.app import App
from textual.theme import Theme

from catena.screens.chat.context import ChatContext
from catena.screens.common.picker import Picker, fuzzy_match
from catena.settings.agent_choices import AgentChoice, agent_choices, with_versions
from catena.settings.agents import find_agent, stored_agent, stored_agent_name
from catena.settings.installed_agents import agent_versions
from catena.settings.settings import Settings
from catena.themes.variables import has_dim_steps
from catena.widgets.row_list import Row, Word
from catena.workspace.tab import Tab
from catena_acp.continuity.conversation_events import SessionState
from catena_acp.continuity.sessions.session_state import option_of_category
from catena_acp.errors import AgentMissing
from catena_acp.port import AgentSpec
from catena_acp.session_events import Option

WHICH_AGENT = "Which agent?"
_OURS, _PREFIX = "Catena", "catena-"

# What the next prompt would need with each of some agents, in words.
Prices = Callable[[Sequence[AgentSpec]], Awaitable[Sequence[str]]]


def kept_agent(tab: Tab, settings: Settings) -> AgentSpec | None:
    """The agent that a tab's conversation was kept with; None if nothing is known of it any more."""
    try:
        return stored_agent(tab.agent, tab.profile, settings)
    except AgentMissing:
        return None


def agent_rows(choices: Sequence[AgentChoice], priced: Mapping[str, str]) -> list[Row]:
    """The rows of agents: name, price and what is worth knowing, version, state."""
    return [
        Row(
            choice.name,
            choice.title,
            note=" · ".join(words for words in (priced.get(choice.name), choice.about) if words),
            columns=(Word(choice.version),),
            detail=choice.readiness,
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
) -> AgentSpec | None:
    """The agent that the person chooses, None if they leave; ``prices`` names the price of each.

    ``last_used`` is the stored name and profile of the one to begin at.
    """
    note = ""
    keep = stored_agent_name(*last_used, settings) if last_used else None
    known = agent_choices(settings, last_used)
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
        note = f"{choice.title} is not installed. To install: {choice.how}"
        keep = chosen


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
    if named in app.available_themes:
        app.theme = named
        return True
    rows = [_theme_row(name, app.available_themes[name]) for name in sorted(app.available_themes)]
    rows.sort(key=lambda row: row.group != _OURS)

    def preview(name: str) -> None:
        app.theme = name

    chosen = await app.push_screen_wait(Picker("Theme", rows, keep=before, preview=preview))
    app.theme = chosen or before
    return chosen is not None


def _theme_row(name: str, theme: Theme) -> Row:
    """The row of a theme: a shipped one without the word that all of them begin with."""
    ours = name.startswith(_PREFIX)
    brightness = "the terminal's own" if has_dim_steps(theme) else "dark" if theme.dark else "light"
    return Row(name, name.removeprefix(_PREFIX), detail=brightness, group=_OURS if ours else "More")


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
            kept = (tab.agent, tab.profile) if tab else await context.tabs.last_used_agent()
            title = "Continue with which agent?" if tab else WHICH_AGENT
            chosen = await choose_agent(context.app, title, context.settings, kept, prices=self._prices)
            if chosen is None:
                return
            spec = chosen
        if tab is None:
            await self._open_with(spec)
        elif tab.answered_by(spec):
            context.say(f"{spec.title} is already in use here.")
        else:
            (price,) = await self._prices([spec])
            await tab.window.set_agent(spec)
            context.say(f"Switched to {spec.title}." + (f" Your next prompt: {price}." if price else ""))
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
            context.say(f'To keep it, set `theme = "{context.app.theme}"` in the settings file.')


async def _session(tab: Tab) -> SessionState:
    """What is known of the tab's session, which is waited for where it is being opened, and opened where it can be."""
    session = await tab.window.session_opened()
    if session.link_id is None:
        await tab.window.prepare()
        session = tab.window.session
    return session
