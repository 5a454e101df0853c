"""The price of the next prompt: the text to be told, and its receiver, before anything is done.

The route is asked, as for a prompt, and the text is made that would be sent; no process is started for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from catena_acp.continuity.routing import route
from catena_acp.continuity.routing.prior_context import Budget, PriorContext, read_prior_context
from catena_acp.continuity.sending.context import SendContext, read_situation
from catena_acp.continuity.sessions.agent_pool import kept_powers
from catena_acp.continuity.sessions.sessions import Sessions
from catena_acp.continuity.wording.context_summary import ContextSummary, price_clauses
from catena_acp.conversation.branches.branches import SAID_BEFORE
from catena_acp.conversation.live import LiveConversation
from catena_acp.port.port import AgentPort, AgentSpec
from catena_store.chains import links
from catena_store.chains.links import Unset
from catena_store.conversations.logouts import said_before_logout
from catena_store.database.database import Reader
from catena_store.records import ContextSource, ConversationRecord, LinkState, Path
from catena_store.windows import windows


@dataclass(frozen=True, slots=True)
class Price(ContextSummary):
    """What it takes to go on: how the context would get there, and what would be told."""

    exact: bool = True  # False if the agent does not run, and what it can do matters and is assumed
    abridged: bool = False  # what the session was told earlier was cut
    copied: str = ""  # to where the session's transcript is copied for it, in words
    reason: str = ""  # why it is not the price that was named before, in words
    before_logout: bool = False  # it takes along what was said before the person logged out of the agent

    @property
    def words(self) -> str:
        """The price in one line."""
        return self._worded("")

    @property
    def in_brief(self) -> str:
        """The price in its first clause; one that is only probable is a question."""
        return self._clauses()[0] + ("" if self.exact else "?")

    @property
    def in_a_word(self) -> str:
        """The price of a prompt that sends more than itself, in as few cells as it takes."""
        if self.native:
            return "copied" if self.copied else "before logout"
        return f"replays {self.told}" if self.told else "replays tools"

    @property
    def beside_prompt(self) -> bool:
        """True if something is sent besides the prompt, or a session is copied for it."""
        return not self.native or bool(self.copied) or self.before_logout

    @property
    def least_words(self) -> str:
        """The price in one line, where others are higher."""
        return self._worded("from ")

    @property
    def short_words(self) -> str:
        """The price in one line, without what is never replayed, for a place that has no room for it."""
        return self._worded("", all_of_it=False)

    def _worded(self, least: str, *, all_of_it: bool = True) -> str:
        likely = "" if self.exact else "probably "
        *taken_along, first = self._clauses(all_of_it=all_of_it)[: 1 + self.before_logout]
        rest = self._clauses(all_of_it=all_of_it)[1 + self.before_logout :]
        return ", ".join((*taken_along, f"{likely}{least}{first}", *rest))

    def _clauses(self, *, all_of_it: bool = True) -> list[str]:
        if self.copied and self.native:
            clauses = ["same context", self.copied]
        else:
            clauses = price_clauses(self, reason=self.reason, abridged=self.abridged, all_of_it=all_of_it)
        # First: a narrow screen cuts the end.
        return [SAID_BEFORE, *clauses] if self.before_logout else clauses


def price_of_any(prices: Sequence[Price]) -> str:
    """The price of going on with one of several agents: that of all of them, or `from` the least."""
    if not prices:
        return ""
    least = min(prices, key=lambda price: price.tokens)
    same = all(price.tokens == least.tokens for price in prices)
    least = replace(least, exact=all(price.exact for price in prices))
    return least.words if same else least.least_words


async def prices(
    conversation: LiveConversation,
    window_id: str,
    specs: Sequence[AgentSpec],
    *,
    leaf_id: str | Unset | None,
    apart: bool = False,
    forks: bool = True,
) -> list[Price]:
    """The prices of a window's next prompt with each of the agents; in one snapshot.

    ``leaf_id`` is the row that the prompt would hang from, if that is not the window's leaf. ``apart``: in a
    conversation of its own, whose links this one's are not. ``forks``: False if no session can be forked for it. Raises
    ReadOnly.
    """
    conversation.writable()
    async with conversation.services.db.read() as reader:
        if isinstance(leaf_id, Unset):
            window = await windows.get(reader, window_id)
            leaf_id = window.leaf_id if window else None
        contexts = [conversation.send_context(spec=spec) for spec in specs]
        told = _Told(reader, leaf_id, conversation.services.budget)
        return [await _price(context, told, window_id, apart, forks) for context in contexts]


async def costs_more_without(conversation: LiveConversation, window_id: str, agent: AgentPort) -> bool:
    """True if the next prompt of a window would not get its context as now if the process of its agent were gone.

    A fork takes the place of no session, and one that can be opened only once more is not spent for this.
    Raises ReadOnly, AgentMissing, StoreError.
    """
    context = conversation.send_context()
    if context.agents.live(context.spec, conversation.record.family) is not agent:
        return False
    async with conversation.services.db.read() as reader:
        window = await windows.get(reader, window_id)
        leaf_id = window.leaf_id if window else None
        situation = await context.situation(reader, agent, window_id, leaf_id)
    now = route.candidates(situation)[0]
    then = route.candidates(replace(situation, warm=frozenset()))[0]
    spent = situation.powers.reopens_once and isinstance(then, route.Use)
    return spent or _way(now, context.sessions) != _way(then, None)


def _way(
    step: route.Step, sessions: Sessions | None
) -> tuple[type[route.Step] | None, str | None, str | None]:
    """The step, for one to a session that knows anything; what that knows, and from where on unabridged."""
    knows, _, unabridged_from = _first_step(step, sessions)
    return type(step) if knows else None, knows, unabridged_from


class _Told:
    """The prior contexts of prompts below one row, each read once: several agents may know the same."""

    def __init__(self, reader: Reader, leaf_id: str | None, budget: Budget) -> None:
        self.reader = reader
        self.leaf_id = leaf_id
        self._budget = budget
        self._read: dict[tuple[str | None, bool], PriorContext | None] = {}

    async def to(self, path: Path, knows: str | None, *, unsure: bool) -> PriorContext | None:
        """What a session is told that knows the path to ``knows``; ``unsure`` if it may hold more."""
        key = (knows, unsure)
        if key not in self._read:
            self._read[key] = await read_prior_context(
                self.reader, path, knows, self.leaf_id, self._budget, unsure=unsure
            )
        return self._read[key]


async def _price(
    context: SendContext,
    told: _Told,
    window_id: str,
    apart: bool,
    forks: bool,
) -> Price:
    reader, leaf_id = told.reader, told.leaf_id
    agent = context.agents.live(context.spec, context.record.family)
    situation = await context.situation_with(reader, agent.abilities if agent else None, window_id, leaf_id)
    if apart:
        situation = replace(situation, conversation_id="", window_id="")
    if not forks:
        situation = replace(situation, powers=replace(situation.powers, forks=False))
    step = route.candidates(situation)[0]
    knows, how, unabridged_from = _first_step(step, context.sessions)
    prior = await told.to(situation.path, knows, unsure=_unsure(step))
    spec = context.spec
    return replace(
        Price.of_prior(_with_telling(how, knows, prior), prior),
        exact=agent is not None or await _is_certain(reader, situation, step, context.record),
        abridged=unabridged_from is not None,
        copied=_copied(step, context),
        before_logout=await said_before_logout(
            reader, leaf_id, context.record.family, agent=spec.name, profile=spec.profile
        ),
    )


async def price_when_closed(
    reader: Reader, record: ConversationRecord, leaf_id: str | None, budget: Budget, *, apart: bool = False
) -> Price:
    """The price of the next prompt below a row, in a conversation that is not open here.

    ``apart``: in a fork of it. Starts nothing and opens nothing: the agent's capabilities are taken as they were last.
    """
    situation = await read_situation(
        reader,
        record,
        route.Target(record.agent, record.profile, record.cwd),
        "",
        leaf_id,
        frozenset(),
        await kept_powers(reader, record.agent),
    )
    if apart:
        situation = replace(situation, conversation_id="")
    step = route.candidates(situation)[0]
    knows, how, unabridged_from = _first_step(step, None)
    prior = await read_prior_context(reader, situation.path, knows, leaf_id, budget, unsure=_unsure(step))
    return replace(
        Price.of_prior(_with_telling(how, knows, prior), prior),
        exact=await _is_certain(reader, situation, step, record),
        abridged=unabridged_from is not None,
        before_logout=await said_before_logout(
            reader, leaf_id, record.family, agent=record.agent, profile=record.profile
        ),
    )


async def _is_certain(
    reader: Reader, situation: route.Situation, step: route.Step, record: ConversationRecord
) -> bool:
    """True where an agent that does not run could have no other way: no session of it is left that it could use."""
    if not isinstance(step, route.New):
        return False
    agent, profile, cwd = situation.target.agent, situation.target.profile, situation.target.cwd
    if any(link.agent == agent and link.state is not LinkState.LOST for link in situation.links):
        return False
    return not await links.open_elsewhere(reader, record.id, agent, profile, cwd)


def _first_step(step: route.Step, sessions: Sessions | None) -> tuple[str | None, ContextSource, str | None]:
    """What the session would know, how it would come to that, and from where on that is unabridged."""
    match step:
        case route.Use(link):
            live = sessions.of(link) if sessions else None
            return link.knows, live.opened if live else ContextSource.RESUMED, link.unabridged_from
        case route.Fork(link):
            return link.knows, ContextSource.FORKED, link.unabridged_from
        case route.ForkAt(_, turn):
            return turn.last_id, ContextSource.FORKED_AT, turn.unabridged_from
        case route.Copy(link):
            return link.knows, ContextSource.RESUMED, link.unabridged_from
        case route.New():
            return None, ContextSource.FRESH, None


def _unsure(step: route.Step) -> bool:
    """True if the session may hold more than is known of it."""
    return isinstance(step, route.Use) and step.link.reach != step.link.knows


def _copied(step: route.Step, context: SendContext) -> str:
    match step:
        case route.Copy(link) if link.profile != context.spec.profile:
            return (
                f"copied to account {context.spec.profile}"
                if context.spec.profile
                else "copied to this account"
            )
        case route.Copy():
            return "the session moves along"
        case _:
            return ""


def _with_telling(how: ContextSource, knows: str | None, prior: PriorContext | None) -> ContextSource:
    if prior:
        return ContextSource.TOLD if knows is None else ContextSource.CAUGHT_UP
    if knows is None:
        return ContextSource.FRESH
    return ContextSource.CONTINUED if how is ContextSource.FRESH else how
