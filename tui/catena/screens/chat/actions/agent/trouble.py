"""Actions on trouble: send again, wait, log in, switch the agent, read its last lines."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import assert_never

from catena.errors import CommandRefused
from catena.screens.chat.actions.agent.settings import other_agents
from catena.screens.chat.context import ChatContext
from catena.workspace.tab import Tab
from catena.workspace.trouble import RETRY_CANCELLED, StandingTrouble
from catena_acp.conversation.inspection.price import price_of_any
from catena_acp.errors import AgentError, ReadOnly
from catena_acp.trouble.troubles import Offer
from catena_store.chains.links import UNSET
from catena_store.errors import StoreError
from catena_store.ids import utc_now

GRACE = timedelta(seconds=3)  # after a limit's end, for clocks that differ
_LONGEST_NAP = 15.0  # seconds between two looks at the clock; it may have been set, or the machine slept


class TroubleActions:
    """Actions on the trouble of a tab, each requested by the person."""

    def __init__(
        self,
        context: ChatContext,
        act: Callable[..., Awaitable[None]],
        *,
        do: Callable[[str], None],
        choose_agent: Callable[[], Awaitable[None]],
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        """``do`` does the command of a name; ``choose_agent`` lets the person switch to another agent."""
        self._context = context
        self._act = act
        self._do = do
        self._choose_agent = choose_agent
        self._clock = clock
        self.grace = GRACE
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
                self._wait(tab, standing)
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
        standing = tab.trouble.standing if tab else None
        if tab is None or standing is None or standing.waits_until is None:
            return False
        self._wait(tab, standing)
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

    def _wait(self, tab: Tab, standing: StandingTrouble) -> None:
        """Wait for the end of the limit, or stop waiting."""
        resets_at = standing.problem.resets_at
        if standing.waits_until is not None:
            tab.trouble.wait(None)
            self._context.say(RETRY_CANCELLED)
        elif resets_at is not None:
            waiting = tab.trouble.wait(resets_at + self.grace)
            if waiting is not None:
                self._context.run(self._when_it_ends(tab, waiting))
        self._context.presenter.refresh()

    async def _when_it_ends(self, tab: Tab, waiting: StandingTrouble) -> None:
        """Send the prompt at the end of its limit, unless something else has happened in the tab by then."""
        assert waiting.waits_until is not None
        while (left := (waiting.waits_until - self._clock()).total_seconds()) > 0:
            await asyncio.sleep(min(left, _LONGEST_NAP))
            if tab.trouble.standing is not waiting or tab not in self._context.tabs.tabs:
                return
        if tab.trouble.standing is waiting and tab.leaf_id == waiting.leaf_id and not tab.at_work:
            tab.trouble.wait(None)
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
