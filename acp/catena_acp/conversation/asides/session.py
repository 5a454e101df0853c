"""The session of an aside: a fork of what the next prompt would go to, for a few questions; then it is thrown away.

The route says what needs the least telling, as for a fork: what the next prompt would use is not used, but forked.
Where nothing can be forked, a new session is told. Its link is committed before anything is said to it, in a state in
which no prompt can go to it, and is lost with the aside.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from catena_acp.continuity.routing import route
from catena_acp.continuity.routing.prior_context import PriorContext, read_prior_context
from catena_acp.continuity.sending.context import SendContext
from catena_acp.continuity.services import title_of
from catena_acp.continuity.sessions.opening import anchor_of, ask_for_fork, end_upstream, point_at
from catena_acp.continuity.sessions.session_state import opened_state
from catena_acp.continuity.sessions.sessions import LiveSession
from catena_acp.continuity.sessions.settings import WantedSettings, apply_settings, ask_first, wanted_on
from catena_acp.continuity.wording.context_summary import ContextSummary, how_words
from catena_acp.errors import AgentError, AgentRefused, ForkWrong, ReadOnly, SessionGone, SessionMoved
from catena_acp.port.port import AgentPort
from catena_acp.port.session_events import Event, SessionOpened
from catena_acp.trouble.diagnosis import diagnose
from catena_acp.trouble.troubles import Trouble
from catena_store.chains import links, turns
from catena_store.conversations import messages
from catena_store.database.database import Reader, Writer
from catena_store.errors import SessionHeld, StoreError
from catena_store.records import Cause, ContextSource, Kind, Link, LinkState, Turn
from catena_store.windows import windows

_MODEL = frozenset({"model", "model_config", "thought_level"})  # categories of options
_FORKS = 3  # that are tried before a new session is told
_ABOUT_THE_ACCOUNT = frozenset({Trouble.RATE_LIMIT, Trouble.CREDIT, Trouble.LOGIN_NEEDED})


@dataclass(frozen=True, slots=True)
class AsideSession:
    """An open session that only an aside talks to."""

    link: Link
    agent: AgentPort
    title: str  # what a person reads for the agent
    how: ContextSource
    began: ContextSource  # the same before anything is told: a fork, or new
    prior: PriorContext | None  # to be told with the first question
    refused: tuple[str, ...]  # what of the branch's model it did not take, in words
    model: str | None  # that answers
    begins_after: str | None  # the row that its fork begins after
    release: Callable[[], None]  # the agent may be ended as idle

    @property
    def words(self) -> str:
        """How the session came to what it knows, in one line."""
        told = how_words(ContextSummary.of_prior(self.how, self.prior))
        if self.prior is None or self.agent.abilities.fork:
            return told
        return f"{self.title} cannot fork: {told}"


async def where_it_stands(reader: Reader, window_id: str) -> str | None:
    """The row that an aside of this window is about: while a turn runs, the one above its prompt."""
    window = await windows.get(reader, window_id)
    leaf = await messages.get(reader, window.leaf_id) if window and window.leaf_id else None
    turn = await turns.get(reader, leaf.turn_id) if leaf and leaf.turn_id else None
    if turn and turn.stop_reason is None:
        prompt = await messages.get(reader, turn.prompt_id)
        return prompt.parent_id if prompt else None
    if leaf and turn is None and leaf.kind is Kind.USER:
        return leaf.parent_id
    return await point_at(reader, leaf.id if leaf else None)


class AsideSessionOpener:
    """Opens the session of one aside; its link gets ``link_id``."""

    def __init__(self, context: SendContext, link_id: str, leaf_id: str | None, window_id: str) -> None:
        self._context = context
        self._link_id = link_id
        self._leaf_id = leaf_id
        self._window_id = window_id

    async def open(self) -> AsideSession:
        """Open it. Raises AgentError, ReadOnly, StoreError; then nothing is left of it."""
        context = self._context
        record = context.record
        agent = await context.agents.running(
            context.spec, record.family, record.cwd, context.host.agent_started
        )
        release = context.agents.hold(agent)
        with contextlib.ExitStack() as undoing:
            undoing.callback(release)
            async with context.services.db.read() as reader:
                situation = await context.situation(reader, agent, "", self._leaf_id)
            link, opened, knows, how = await self._session(agent, situation)
            agent.forbid_writes(link.session_id)
            async with context.services.db.read() as reader:
                budget = context.services.budget
                prior = await read_prior_context(reader, situation.path, knows, self._leaf_id, budget)
                wanted = await wanted_on(reader, self._leaf_id, self._window_id, context.spec.name)
            refused, model = await _apply_model(agent, link, opened, wanted)
            undoing.pop_all()
        began = how
        if prior:
            how = ContextSource.TOLD if knows is None else ContextSource.CAUGHT_UP
        title = title_of(context.spec, agent.abilities)
        return AsideSession(link, agent, title, how, began, prior, tuple(refused), model, knows, release)

    async def _session(
        self, agent: AgentPort, situation: route.Situation
    ) -> tuple[Link, SessionOpened, str | None, ContextSource]:
        """The link and its session, what that knows, and how it came to it."""
        forks = 0
        # Of no conversation and no window: what the next prompt would use is to be forked.
        for step in route.candidates(replace(situation, conversation_id="")):
            if isinstance(step, route.Fork | route.ForkAt) and forks < _FORKS:
                forks += 1
                turn = step.turn if isinstance(step, route.ForkAt) else None
                forked = await self._forked(agent, step.link, turn)
                if forked:
                    knows = turn.last_id if turn else step.link.knows
                    return *forked, knows, ContextSource.FORKED_AT if turn else ContextSource.FORKED
        return *await self._new(agent), None, ContextSource.FRESH

    async def _forked(
        self, agent: AgentPort, source: Link, turn: Turn | None
    ) -> tuple[Link, SessionOpened] | None:
        """A fork with its link; None if it did not come to be, or its source moved meanwhile."""
        context = self._context
        try:
            await context.sessions.drop_stale(source)
            if not agent.abilities.quirks.fork_cold and context.sessions.of(source) is None:
                place = replace(context.place, cwd=source.cwd)
                opening = context.sessions.open_cold(source, agent, place, context.host)
                await context.services.opening_wait.bound(opening)
            anchor = None
            async with context.services.db.read() as reader:
                source = await links.get(reader, source.id) or source
                if turn:
                    anchor = await anchor_of(reader, turn, agent.abilities.quirks)
            forking = ask_for_fork(context.services, agent, source.session_id, context.place, anchor)
            opened = await context.services.opening_wait.bound(forking)
            if opened.session_id == source.session_id:
                raise ForkWrong(f"{context.title} answered the fork with the original session's id")
            holds = (
                replace(source, knows=turn.last_id, reach=turn.last_id, unabridged_from=turn.unabridged_from)
                if turn
                else source
            )
            opened, _ = await context.sessions.open_fork(agent, opened, context.place, holds)
            link = await self._kept_fork(agent, opened, source, at_turn=turn is not None)
            return (link, opened) if link else None
        except SessionHeld as held:
            await context.distrust(held, self._window_id)
        except SessionGone as error:
            await context.lose(source, str(error), self._window_id)
        except AgentRefused as error:
            if diagnose(error, now=context.services.clock()).trouble in _ABOUT_THE_ACCOUNT:
                raise
        except (ForkWrong, SessionMoved):
            pass
        return None

    async def _kept_fork(
        self, agent: AgentPort, opened: SessionOpened, source: Link, *, at_turn: bool
    ) -> Link | None:
        context = self._context
        async with context.ended_without_link(agent, opened):
            # What came before the fork was answered may be in it: the source has moved then.
            await context.sessions.settle(source.id)
            async with context.tenure.write() as tx:
                now = await links.get(tx, source.id)
                moved = not at_turn and (now is None or now.version != source.version)
                link = None if moved else await self._add(tx, opened, source)
        if link is None:
            await context.end_unless_held(agent, opened)
        return link

    async def _new(self, agent: AgentPort) -> tuple[Link, SessionOpened]:
        context = self._context
        opened = await agent.new_session(context.place)
        try:
            async with context.ended_without_link(agent, opened), context.tenure.write() as tx:
                return await self._add(tx, opened, None), opened
        except SessionHeld as held:
            await context.distrust(held, self._window_id)
            raise AgentError(f"{context.title} reused an earlier session id") from held

    async def _add(self, tx: Writer, opened: SessionOpened, source: Link | None) -> Link:
        # Suspect and without a turn: the route can neither use it, nor fork it, nor fork it at a turn.
        new = replace(
            self._context.new_link(opened.session_id, Cause.ASIDE), id=self._link_id, state=LinkState.SUSPECT
        )
        if source is not None:
            new = replace(new, source_id=source.id, cost_total=source.cost_total)
        return await links.add(tx, new)


class _Unheard:
    """A session listener that ignores everything: the answer to the question is read elsewhere."""

    def handle(self, live: LiveSession, event: Event) -> None:
        pass

    def handle_state(self, live: LiveSession) -> None:
        pass

    async def settle(self, link_id: str) -> None:
        pass


async def _apply_model(
    agent: AgentPort, link: Link, opened: SessionOpened, wanted: WantedSettings | None
) -> tuple[list[str], str | None]:
    """Let the branch's model answer, as far as it does; its mode is one that asks, since an aside only reads."""
    state = opened_state(agent, link.id, opened)
    how = ContextSource.FORKED
    live = LiveSession(link.id, link.session_id, agent, link.version, how, how, state, _Unheard())
    await ask_first(live)  # what it asks for is declined
    if wanted is None:
        return [], live.state.model
    about = {option.id for option in state.options if option.category in _MODEL}
    options = {option: value for option, value in wanted.options.items() if option in about}
    refused = await apply_settings(live, WantedSettings(None, wanted.model, options))
    return refused, live.state.model


async def throw_away(context: SendContext, session: AsideSession) -> None:
    """End the session of an aside that is over; where the agent has exited, that is done when it runs again."""
    try:
        if await end_upstream(session.agent, session.link.session_id):
            with contextlib.suppress(StoreError, ReadOnly):
                await context.lose(session.link, "the side question was closed")
    finally:
        session.release()


async def sweep(context: SendContext, agent: AgentPort, open_here: Callable[[], Collection[str]]) -> None:
    """End the sessions of asides that a client left which is gone; not those that are ``open_here``.

    Raises StoreError, ReadOnly.
    """
    async with context.services.db.read() as reader:
        chain = await links.of_conversation(reader, context.record.id)
    for link in chain:
        left = link.cause is Cause.ASIDE and link.state is not LinkState.LOST
        ours = (link.agent, link.profile) == (agent.spec.name, agent.spec.profile)
        if left and ours and link.id not in open_here() and await end_upstream(agent, link.session_id):
            await context.lose(link, "the side question was left open")
