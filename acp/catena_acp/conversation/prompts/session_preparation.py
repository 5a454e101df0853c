"""The session opened before there is a prompt: to show what it offers, or to see that its agent takes prompts."""

from __future__ import annotations

from catena_acp.continuity.conversation_events import Doing, Problem, Troubled
from catena_acp.continuity.routing import route
from catena_acp.continuity.sending.context import SendContext
from catena_acp.continuity.sessions.sessions import LiveSession
from catena_acp.continuity.wording.problems import problem_of
from catena_acp.conversation.live import LiveConversation
from catena_acp.errors import AgentError, SessionGone
from catena_acp.trouble.troubles import Trouble
from catena_store.errors import StoreError
from catena_store.records import ContextSource
from catena_store.windows import windows


async def prepare(conversation: LiveConversation, window_id: str, *, new: bool = False) -> Problem | None:
    """Open a window's next session and show what it offers. Trouble is published and returned, not raised.

    ``new``: open a new session also where the next prompt will have to bring prior context along.
    """
    agent = None
    problem: Problem | None = None
    while agent != (
        conversation.record.agent,
        conversation.record.profile,
    ):  # another one may be chosen meanwhile
        agent = conversation.record.agent, conversation.record.profile
        problem = await _prepared(conversation, window_id, agent, new=new)
    if problem is not None:
        conversation.publish(Troubled(window_id, problem))
    return problem


async def _prepared(
    conversation: LiveConversation, window_id: str, agent: tuple[str, str], *, new: bool
) -> Problem | None:
    """The trouble there was, if any; nothing comes of it where another agent was chosen meanwhile."""
    try:
        preparing = SessionPreparation(conversation.send_context(), window_id, new=new)
        live = await preparing.open()
        stands = await preparing.still_stands()
        if live and stands and agent == (conversation.record.agent, conversation.record.profile):
            conversation.set_carrier(window_id, live)
    except AgentError as error:
        now = conversation.services.clock()
        return problem_of(conversation.agent_title, error, now=now, prompt=False)
    except StoreError as error:
        return Problem(Trouble.STORE, str(error))
    return None


class SessionPreparation:
    """Gets a window's next session ready: its commands, modes and models can then be shown."""

    def __init__(self, context: SendContext, window_id: str, *, new: bool = False) -> None:
        """``new``: open a new session also where it needs prior context."""
        self._context = context
        self._new = new
        self._window_id = window_id
        self._leaf_id: str | None = None

    async def still_stands(self) -> bool:
        """True if the window was not moved since the session was looked for."""
        async with self._context.services.db.read() as reader:
            window = await windows.get(reader, self._window_id)
        return window is not None and window.leaf_id == self._leaf_id

    async def open(self) -> LiveSession | None:
        """The session that the next prompt would go to, opened; None if that would need a fork, or else prior context.

        Raises AgentError.
        """
        context = self._context
        async with context.services.db.read() as reader:
            window = await windows.get(reader, self._window_id)
        self._leaf_id = leaf_id = window.leaf_id if window else None
        await context.host.environment.remark_changes(self._window_id, leaf_id, context.record.cwd)
        live = await self._opened(leaf_id)
        if live and live.opened is not ContextSource.CONTINUED:
            await context.host.environment.apply_settings(live, leaf_id, self._window_id)
        return live

    async def _opened(self, leaf_id: str | None) -> LiveSession | None:
        context = self._context
        agent = await context.agent(self._window_id)
        await context.sessions.settle_unattended(agent)
        async with context.services.db.read() as reader:
            situation = await context.situation(reader, agent, self._window_id, leaf_id)
        match route.candidates(situation)[0]:
            case route.Use(link):
                if live := await context.open_session_of(link):
                    return live
                if agent.abilities.quirks.load_destroys:
                    return None
                context.host.set_doing(self._window_id, Doing.OPENING)
                try:
                    place = context.place_for(self._window_id)
                    opening = context.sessions.open_cold(link, agent, place, context.host)
                    return await context.services.opening_wait.bound(opening)
                except SessionGone as error:
                    await context.lose(link, str(error), self._window_id)
                    return None
            case route.New() if self._new or situation.path.content_after(None) == 0:
                context.host.set_doing(self._window_id, Doing.OPENING)
                return await context.open_new(agent, self._window_id)
            case _:
                return None
