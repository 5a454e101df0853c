"""What the next prompt would need: what would be told to whom, before anything is done.

The route is asked, as for a prompt, and the text is made that would be sent; no process is started for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from catena_acp.continuity.context_summary import ContextSummary, price_words
from catena_acp.continuity.routing import route
from catena_acp.continuity.routing.prior_context import PriorContext, read_prior_context
from catena_acp.continuity.sending.context import SendContext
from catena_acp.conversation.branches.logout_barrier import SAID_BEFORE, said_before_logout
from catena_acp.conversation.runtime import ConversationRuntime
from catena_acp.port import AgentSpec
from catena_store.chains.links import Unset
from catena_store.database.database import Reader
from catena_store.records import ContextSource
from catena_store.windows import windows


@dataclass(frozen=True, slots=True)
class Price(ContextSummary):
    """What it takes to go on: how the context would get there, and what would be told."""

    exact: bool = True  # False if the agent does not run, and what it can do is assumed
    abridged: bool = False  # what the session was told earlier was cut
    before_logout: bool = False  # it takes along what was said before the person logged out of the agent

    @property
    def words(self) -> str:
        """The price in one line."""
        likely = "" if self.exact else "probably "
        taken_along = f"{SAID_BEFORE}, " if self.before_logout else ""  # first: a narrow screen cuts the end
        return taken_along + likely + price_words(self, abridged=self.abridged)


async def prices(
    runtime: ConversationRuntime,
    window_id: str,
    specs: Sequence[AgentSpec],
    *,
    leaf_id: str | Unset | None,
    apart: bool = False,
) -> list[Price]:
    """What the next prompt of a window would need with each of the agents; in one snapshot.

    ``leaf_id`` is the row that the prompt would hang from, if that is not the window's leaf. ``apart``: in a
    conversation of its own, whose links this one's are not. Raises ReadOnly.
    """
    runtime.writable()
    async with runtime.services.db.read() as reader:
        if isinstance(leaf_id, Unset):
            window = await windows.get(reader, window_id)
            leaf_id = window.leaf_id if window else None
        contexts = [runtime.send_context(spec=spec) for spec in specs]
        return [await _price(context, reader, window_id, leaf_id, apart) for context in contexts]


async def _price(
    context: SendContext,
    reader: Reader,
    window_id: str,
    leaf_id: str | None,
    apart: bool,
) -> Price:
    agent = context.agents.live(context.spec, context.record.family)
    situation = await context.situation_with(reader, agent.abilities if agent else None, window_id, leaf_id)
    if apart:
        situation = replace(situation, conversation_id="", window_id="")
    knows, how, unabridged_from = _first_step(route.candidates(situation)[0], context)
    prior = await read_prior_context(reader, situation.path, knows, leaf_id, context.services.budget)
    spec = context.spec
    return replace(
        Price.of_prior(_with_telling(how, knows, prior), prior),
        exact=agent is not None,
        abridged=unabridged_from is not None,
        before_logout=await said_before_logout(reader, leaf_id, context.record, spec.name, spec.profile),
    )


def _first_step(step: route.Step, context: SendContext) -> tuple[str | None, ContextSource, str | None]:
    """What the session would know, how it would come to that, and from where on that is unabridged."""
    match step:
        case route.Use(link):
            live = context.sessions.of(link)
            return link.knows, live.opened if live else ContextSource.RESUMED, link.unabridged_from
        case route.Fork(link):
            return link.knows, ContextSource.FORKED, link.unabridged_from
        case route.ForkAt(_, turn):
            return turn.last_id, ContextSource.FORKED_AT, turn.unabridged_from
        case route.New():
            return None, ContextSource.FRESH, None


def _with_telling(how: ContextSource, knows: str | None, prior: PriorContext | None) -> ContextSource:
    if prior:
        return ContextSource.TOLD if knows is None else ContextSource.CAUGHT_UP
    if knows is None:
        return ContextSource.FRESH
    return ContextSource.CONTINUED if how is ContextSource.FRESH else how
