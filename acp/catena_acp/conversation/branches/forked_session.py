"""The agent's own fork that a conversation begins in, if it offers one that holds a part of the branch."""

from __future__ import annotations

from dataclasses import dataclass, replace

from catena_acp.continuity.routing import route
from catena_acp.continuity.sending.context import SendContext
from catena_acp.continuity.sessions.fork_points import anchor_of
from catena_acp.continuity.sessions.sessions import LiveSession
from catena_acp.continuity.wording.problems import short
from catena_acp.conversation.live import LiveConversation
from catena_acp.errors import AgentMissing, AgentRefused, ForkWrong, LoginNeeded, SessionGone
from catena_acp.port.port import AgentPort
from catena_store.database.database import Reader
from catena_store.errors import SessionHeld
from catena_store.records import Link, LinkState

_TRIES = 4  # steps of the route, and forks whose source moved meanwhile


@dataclass(frozen=True, slots=True)
class ForkedSession:
    """What came of forking the agent's session for a conversation that has just been made."""

    live: LiveSession | None  # the fork; None if all of the branch has to go as prior context
    refused: str = ""  # why the agent did not fork, in its own words, if it was asked to


async def forked_session(
    conversation: LiveConversation, window_id: str, leaf_id: str | None, source_cwd: str
) -> ForkedSession:
    """Fork the agent's session that holds most of the branch, if it offers that; what it refuses is told instead.

    Of an agent whose program is missing nothing is forked: another one may go on. Raises LoginNeeded and any other
    AgentError that is no refusal: then telling would not do either.
    """
    context = conversation.send_context()
    steps = _Steps(conversation, context, window_id, leaf_id, source_cwd)
    if not await steps.possible():
        return ForkedSession(None)
    try:
        agent = await context.agent(window_id)
    except AgentMissing as error:
        return ForkedSession(None, f"{conversation.agent_title} cannot be started ({short(str(error))})")
    refused = ""
    for _ in range(_TRIES):
        step = await steps.next(agent)
        if step is None:
            break
        try:
            live = await _done(context, agent, step, window_id)
        except LoginNeeded:
            raise
        except (AgentRefused, ForkWrong) as error:
            refused = f"{conversation.agent_title} did not fork the session ({short(str(error))})"
            continue
        if live is not None:
            return ForkedSession(live)
        steps.again(step)  # its source moved meanwhile
    return ForkedSession(None, refused)


async def _done(
    context: SendContext, agent: AgentPort, step: route.Fork | route.ForkAt, window_id: str
) -> LiveSession | None:
    release = context.agents.hold(agent)
    try:
        at = None
        if isinstance(step, route.ForkAt):
            async with context.services.db.read() as reader:
                at = (step.turn, await anchor_of(reader, step.turn, agent.abilities.quirks))
        return await context.fork(agent, step.link, window_id, at)
    except SessionHeld as held:
        await context.distrust(held, window_id)
        raise ForkWrong(f"{context.title} gave its fork the id of another session") from held
    except SessionGone as error:
        await context.lose(step.link, str(error), window_id)
        raise
    finally:
        release()


class _Steps:
    """The steps by which the fork's first prompt could come to its context, each but once."""

    def __init__(
        self,
        conversation: LiveConversation,
        context: SendContext,
        window_id: str,
        leaf_id: str | None,
        source_cwd: str,
    ) -> None:
        self._conversation = conversation
        self._context = context
        self._window_id = window_id
        self._leaf_id = leaf_id
        # The sessions that can be forked work where the source does, wherever the fork is to work.
        self._target = replace(context.target, cwd=source_cwd)
        self._tried: set[route.StepKey] = set()

    async def possible(self) -> bool:
        """False if a fork is known to be of no use, without asking anybody."""
        agent = self._context.agents.live(self._context.spec, self._context.record.family)
        async with self._conversation.services.db.read() as reader:
            situation = await self._situation(reader, agent)
        if not situation.powers.forks or not situation.path.content_after(None):
            return False
        return any(_can_be_forked(link) for link in situation.links)

    async def next(self, agent: AgentPort) -> route.Fork | route.ForkAt | None:
        """The next fork to try; None if forking would save no prior context."""
        async with self._conversation.services.db.read() as reader:
            situation = await self._situation(reader, agent)
        for step in route.candidates(situation):
            if route.key_of(step) not in self._tried:
                if not isinstance(step, route.Fork | route.ForkAt):
                    return None
                self._tried.add(route.key_of(step))
                return step
        return None

    def again(self, step: route.Step) -> None:
        """It may be tried once more."""
        self._tried.discard(route.key_of(step))

    async def _situation(self, reader: Reader, agent: AgentPort | None) -> route.Situation:
        abilities = agent.abilities if agent else None
        situation = await self._context.situation_with(reader, abilities, self._window_id, self._leaf_id)
        return replace(situation, target=self._target)


def _can_be_forked(link: Link) -> bool:
    return link.state is not LinkState.LOST and link.knows is not None
