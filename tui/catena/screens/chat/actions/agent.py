"""The agent of a conversation: its install, model, mode and options, the theme, and what can be done about trouble.

Nothing is fetched by the process that draws the screen: `catena agents install` runs in the terminal.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, assert_never

from textual.app import App

from catena.errors import CommandRefused, ExitStatus, InvalidSettings, SettingsNotWritten
from catena.screens.chat.context import ChatContext
from catena.screens.chat.panels.start import more_agents
from catena.screens.common.picker import Picker, theme_picker, theme_rows, words_match
from catena.settings.agent_choices import (
    AgentChoice,
    Readiness,
    agent_choices,
    agent_versions,
    offered_agents,
    with_versions,
)
from catena.settings.agents import REHEARSAL, find_agent, stored_agent_name
from catena.settings.settings import Settings
from catena.terminal.programs import TerminalUnavailable, run_in_terminal
from catena.text.safe_text import safe_line
from catena.widgets.row_list import Row, Tone, Word
from catena.workspace.tab import Tab
from catena.workspace.trouble import RETRY_CANCELLED, StandingTrouble
from catena_acp.conversation.inspection.price import price_of_any
from catena_acp.errors import AgentError, ReadOnly
from catena_acp.port.port import AgentSpec
from catena_acp.trouble.troubles import Offer
from catena_store.chains.links import UNSET
from catena_store.errors import StoreError

# What the next prompt would need with each of some agents, in words.
_FOLD = "the rest"  # no agent has a name with a blank

Prices = Callable[[Sequence[AgentSpec]], Awaitable[Sequence[str]]]


def other_agents(tab: Tab, settings: Settings) -> list[AgentSpec]:
    """The agents that are ready to go on in place of a tab's; rehearsal only if there is no other."""
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
    show: Callable[[Picker], Awaitable[str | None]],
    title: str,
    settings: Settings,
    last_used: tuple[str, str] | None,
    *,
    prices: Prices | None = None,
    used: Mapping[str, str] | None = None,
    limited: tuple[str, str] | None = None,
) -> AgentSpec | None:
    """The agent that the person chooses, None if they leave; ``prices`` names the price of each.

    ``show`` shows the list until a row is chosen. ``last_used`` is the stored name and profile of the one to begin at;
    ``used`` are those of the conversation; ``limited`` is one whose limit is reached. Those that cannot be used are
    folded, and found by what is typed.
    """
    note = ""
    keep = stored_agent_name(*last_used, settings) if last_used and last_used != limited else None
    known = agent_choices(settings, last_used, await offered_agents(), used, limited=limited)
    priced = await _prices_of(known, settings, prices)
    folded = True

    def rows() -> list[Row]:
        rest = [choice for choice in known if not choice.usable]
        if not folded or not rest:
            return agent_rows(known, priced)
        why = " or ".join(dict.fromkeys(choice.readiness for choice in rest))
        usable = agent_rows(known[: len(known) - len(rest)], priced)
        return [*usable, Row(_FOLD, more_agents(len(rest), why), dim=True)]

    def match(text: str, shown: Sequence[Row]) -> Sequence[Row]:
        return words_match(text, agent_rows(known, priced) if text else shown)

    async def rows_with_versions() -> list[Row]:
        nonlocal known
        known = with_versions(known, await agent_versions(settings))
        return rows()

    while True:
        picker = Picker(
            title,
            rows(),
            keep=keep,
            match=match,
            note=note,
            later=rows_with_versions,
        )
        chosen = await show(picker)
        if chosen is None:
            return None
        if chosen == _FOLD:
            keep, folded = next(choice.name for choice in known if not choice.usable), False
            continue
        choice = next(choice for choice in known if choice.name == chosen)
        if choice.found:
            return find_agent(chosen, settings)
        keep = chosen
        if not choice.installable:
            note = f"{choice.title} is not installed. To install: {choice.how}"
            continue
        done, note = await install_in_terminal(app, choice)
        if done:
            known = agent_choices(settings, last_used, await offered_agents(), used, limited=limited)
            priced = await _prices_of(known, settings, prices)


async def _prices_of(
    choices: Sequence[AgentChoice], settings: Settings, prices: Prices | None
) -> dict[str, str]:
    """The price of each agent that is there, by its name."""
    if prices is None:
        return {}
    specs = {choice.name: find_agent(choice.name, settings) for choice in choices if choice.found}
    return dict(zip(specs, await prices(list(specs.values())), strict=True))


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


class SettingsActions:
    """Actions on the theme."""

    def __init__(self, context: ChatContext) -> None:
        self._context = context

    async def theme(self, argument: str = "") -> None:
        """Switch to another theme, which the settings keep."""
        context = self._context
        if not await choose_theme(context.app, argument):
            return
        from catena.screens.settings.screen import SettingsScreen
        from catena.settings.file.document import settings_path
        from catena.settings.file.writing import SettingChange, write_setting

        try:
            settings = write_setting(settings_path(), SettingChange(("theme",), context.app.theme))
        except (InvalidSettings, SettingsNotWritten) as error:
            context.say(f"The theme applies until you quit; it could not be saved: {error}")
        else:
            context.app.post_message(SettingsScreen.Changed(settings))


async def install_in_terminal(app: App[Any], choice: AgentChoice) -> tuple[bool, str]:
    """Offer to install an agent, with the screen suspended; whether it is installed now, and that in a sentence."""
    title = safe_line(choice.title)
    # `-P`: nothing of the directory that Catena was started in is imported.
    command = (sys.executable, "-P", "-m", "catena", "agents", "install", choice.name)
    try:
        status = await run_in_terminal(
            app, command, directory=str(Path.home()), wait_message="\nPress Enter to return to Catena."
        )
    except (OSError, TerminalUnavailable):
        return (
            False,
            f"{title} is not installed. This terminal cannot be used; run {choice.how} in another one.",
        )
    if status == ExitStatus.ANSWERED:
        return True, f"{title} is installed."
    if status == ExitStatus.STOPPED:
        return False, f"{title} was not installed."
    return False, f"{title} was not installed; {choice.how} says why."


class TroubleActions:
    """Actions on the trouble of a tab, each requested by the person."""

    def __init__(
        self,
        context: ChatContext,
        act: Callable[..., Awaitable[None]],
        *,
        do: Callable[[str], None],
        choose_agent: Callable[[], Awaitable[None]],
    ) -> None:
        """``do`` does the command of a name; ``choose_agent`` lets the person switch to another agent."""
        self._context = context
        self._act = act
        self._do = do
        self._choose_agent = choose_agent
        self._priced: StandingTrouble | None = None

    async def take(self, offer: Offer) -> None:
        """Do what the trouble panel of the active tab offers."""
        tab = self._context.tab
        standing = tab.trouble.standing if tab else None
        if tab is None or standing is None:
            return
        match offer:
            case Offer.RETRY:
                await self._retry(tab)
            case Offer.WAIT:
                self._wait(tab)
            case Offer.LOGIN:
                self._do("login")
            case Offer.OTHER_AGENT:
                await self._elsewhere(tab, standing)
            case Offer.LAST_LINES:
                self._do("stderr")
            case Offer.TAKE_OVER:
                self._do("takeover")
            case _:
                assert_never(offer)

    def price(self) -> None:
        """Show what it would take to send the prompt again, once that is known."""
        tab = self._context.tab
        standing = tab.trouble_to_show if tab else None
        if tab is None or standing is self._priced:
            return
        self._priced = standing
        if standing is not None and standing.about_prompt:
            self._context.run(self._price(tab, standing))

    async def _price(self, tab: Tab, standing: StandingTrouble) -> None:
        """Price a retry by the agent, and by another one that is ready here."""
        parts, offers = self._context.parts, standing.problem.offers
        chain = tab.conversation.chain
        prompt = None if standing.problem.returned else self._context.presenter.last_prompt
        leaf_id = UNSET if prompt is None else prompt.parent_id
        prices: dict[Offer, str] = {}
        with contextlib.suppress(AgentError, ReadOnly, StoreError):  # said where it is tried
            if Offer.RETRY in offers:
                prices[Offer.RETRY] = (await chain.price(tab.window, leaf_id=leaf_id)).words
            if Offer.OTHER_AGENT in offers:
                others = other_agents(tab, self._context.settings)
                priced = await chain.prices(tab.window, others, leaf_id=leaf_id)
                prices[Offer.OTHER_AGENT] = price_of_any(priced)
        if prices:
            parts.trouble.show_prices(standing, prices)

    async def _retry(self, tab: Tab) -> None:
        await self._act("catena.acts.prompts:send_again", tab=tab)

    def stop_waiting(self) -> bool:
        """Cancel sending the active tab's prompt at the end of its limit; False if nothing waits."""
        tab = self._context.tab
        if tab is None or not tab.trouble.stop_waiting():
            return False
        self._context.say(RETRY_CANCELLED)
        self._context.presenter.refresh()
        return True

    def dismiss(self) -> bool:
        """Stop waiting, else dismiss the trouble of the active tab; False if there is neither."""
        context = self._context
        tab = context.tab
        if tab is None or tab.busy or not context.parts.trouble.open:
            return False
        if not self.stop_waiting():
            tab.trouble.dismiss()
            context.presenter.refresh()
        return True

    # Waiting.

    def _wait(self, tab: Tab) -> None:
        """Wait for the end of the limit, or stop waiting."""
        if not self.stop_waiting() and tab.trouble.wait() is not None:
            self._context.run(self._when_it_ends(tab))
            self._context.presenter.refresh()

    async def _when_it_ends(self, tab: Tab) -> None:
        """Send the prompt at the end of its limit, unless something else has happened in the tab by then."""
        due = await self._context.tabs.wait_out(tab)
        self._context.presenter.refresh()
        if due:
            try:
                await self._retry(tab)
            except (AgentError, CommandRefused, StoreError, ReadOnly):
                if tab is self._context.presenter.shown:
                    raise
                tab.failed = True  # a mark; the tab that is looked at has no part in it

    # Elsewhere.

    async def _elsewhere(self, tab: Tab, standing: StandingTrouble) -> None:
        """Send the prompt to another agent, if the person chooses one."""
        before = _agent_of(tab)
        await self._choose_agent()
        if (
            _agent_of(tab) != before
            and standing.about_prompt
            and tab.leaf_id == standing.leaf_id
            and not tab.at_work
        ):
            await self._retry(tab)


def _agent_of(tab: Tab) -> tuple[str, str]:
    return tab.conversation.record.agent, tab.conversation.record.profile
