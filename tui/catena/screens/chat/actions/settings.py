"""The agent, its model, mode and options, and the theme."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

from textual.app import App

from catena.screens.chat.context import ChatContext
from catena.screens.common.picker import Picker, fuzzy_match
from catena.settings.agents import REHEARSAL, agent_of_setting, find_agent, stored_agent, stored_agent_name
from catena.settings.installed_agents import agent_statuses
from catena.settings.settings import Settings
from catena.widgets.row_list import Row
from catena.workspace.tab import Tab
from catena_acp.agents.catalog import find_agents
from catena_acp.continuity.conversation_events import SessionState
from catena_acp.continuity.sessions.session_state import option_of_category
from catena_acp.errors import AgentMissing
from catena_acp.port import AgentSpec
from catena_acp.session_events import Option

# What the next prompt would need with each of some agents, in words.
Prices = Callable[[Sequence[AgentSpec]], Awaitable[Sequence[str]]]


def kept_agent(tab: Tab, settings: Settings) -> AgentSpec | None:
    """The agent that a tab's conversation was kept with; None if nothing is known of it any more."""
    try:
        return stored_agent(tab.agent, tab.profile, settings)
    except AgentMissing:
        return None


def row_of(kept: tuple[str, str] | None, settings: Settings) -> str | None:
    """The row of the agent and profile that a conversation was kept with."""
    return stored_agent_name(*kept, settings) if kept else None


def agent_rows(
    settings: Settings, last_used: str | None, versions: Mapping[str, str] | None = None
) -> list[Row]:
    """The rows of the known agents: the last used, the others installed, rehearsal; then how to get the rest."""
    own = []
    for setting in settings.agents.values():
        try:
            spec = agent_of_setting(setting, settings)
        except AgentMissing:
            continue
        own.append(Row(setting.name, spec.title, note=" ".join(spec.command), detail="from your settings"))
    named = {row.key for row in own}
    here, missing, rehearsal = [], [], []
    for found in find_agents():
        entry = found.entry
        if entry.name in named:
            continue
        if found.spec is None:
            missing.append(Row(entry.name, entry.title, note=entry.install, detail="not installed", dim=True))
        elif entry.name == REHEARSAL:
            rehearsal.append(
                Row(
                    entry.name,
                    entry.title,
                    note="built-in demo, no account needed",
                    detail="ready",
                )
            )
        else:
            version = found.version or (versions or {}).get(entry.name)
            note = f"login: {entry.login}" if entry.login else ""
            here.append(
                Row(entry.name, entry.title, note=note, detail=f"{version} · ready" if version else "ready")
            )
    present = sorted(own + here, key=lambda row: row.key != last_used)
    here_and_now = [*rehearsal, *present] if last_used == REHEARSAL else [*present, *rehearsal]
    return [*here_and_now, *missing]


async def choose_agent(
    app: App[object],
    title: str,
    settings: Settings,
    last_used: str | None,
    *,
    prices: Prices | None = None,
) -> AgentSpec | None:
    """The agent that the person chooses, None if they leave; ``prices`` names the price of each."""
    note = ""
    keep = last_used
    priced = await _prices_by_row(agent_rows(settings, last_used), settings, prices)

    async def with_versions() -> list[Row]:
        lines = await agent_statuses(settings)
        versions = {line.name: line.version for line in lines if line.version}
        return _with_prices(agent_rows(settings, last_used, versions), priced)

    while True:
        rows = _with_prices(agent_rows(settings, last_used), priced)
        picker = Picker(
            title,
            rows,
            keep=keep,
            hint="enter select · type to filter · esc cancel · custom agent: catena --agent-command CMD",
            note=note,
            later=with_versions,
        )
        chosen = await app.push_screen_wait(picker)
        if chosen is None:
            return None
        try:
            return find_agent(chosen, settings)
        except AgentMissing as error:
            how = next((row.note for row in rows if row.key == chosen), "")
            # The catalogue's words name the way to get it, too: it is said once.
            note = f"{str(error).removesuffix(f'; {how}')}. To install: {how}" if how else f"{error}"
            keep = chosen


async def _prices_by_row(rows: Sequence[Row], settings: Settings, prices: Prices | None) -> dict[str, str]:
    """The price of each agent that is there, by its row's key."""
    specs = {}
    for row in rows:
        with contextlib.suppress(AgentMissing):
            if not row.dim:
                specs[row.key] = find_agent(row.key, settings)
    return dict(zip(specs, await prices(list(specs.values())), strict=True)) if prices else {}


def _with_prices(rows: Sequence[Row], priced: Mapping[str, str]) -> list[Row]:
    """The rows, with the price before what their notes say."""
    return [
        replace(row, note=f"{price} · {row.note}" if row.note else price)
        if (price := priced.get(row.key))
        else row
        for row in rows
    ]


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
    return _named(named, rows) or await app.push_screen_wait(Picker("mode", rows, keep=session.mode))


async def choose_option(app: App[object], options: Sequence[Option]) -> Option | None:
    """One of the options that the agent offers."""
    rows = [
        Row(each.id, each.name, note=each.description or "", detail=_value_name(each)) for each in options
    ]
    chosen = await app.push_screen_wait(Picker("the agent's settings", rows))
    return next((each for each in options if each.id == chosen), None)


async def choose_theme(app: App[object], named: str = "") -> bool:
    """Let the person choose a theme, and show each while they choose; False if they leave."""
    before = app.theme
    if named in app.available_themes:
        app.theme = named
        return True
    ours = sorted(name for name in app.available_themes if name.startswith("catena"))
    others = sorted(name for name in app.available_themes if not name.startswith("catena"))
    rows = [
        Row(name, name, detail="dark" if app.available_themes[name].dark else "light")
        for name in ours + others
    ]

    def preview(name: str) -> None:
        app.theme = name

    chosen = await app.push_screen_wait(Picker("theme", rows, keep=before, preview=preview))
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
            kept = (tab.agent, tab.profile) if tab else await context.tabs.last_used_agent()
            last_used = row_of(kept, context.settings)
            title = "Continue with which agent?" if tab else "Which agent?"
            chosen = await choose_agent(context.app, title, context.settings, last_used, prices=self._prices)
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
