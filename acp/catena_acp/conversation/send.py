"""One prompt on its way to a session: ask the route, do the step, ask again.

A step only changes the set of links. Each is tried once for a prompt, there is one new session at most, and the
text goes out twice at most: the second time only where the first was refused before any update.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

from catena_acp.conversation import route
from catena_acp.conversation.claim import Claim, NotSent, turn_before
from catena_acp.conversation.ground import Ground
from catena_acp.conversation.news import Doing
from catena_acp.conversation.sessions import ForkWrong, LiveSession
from catena_acp.conversation.turn import Ending, RefusedAtOnce, RunningTurn
from catena_acp.errors import AgentError, AgentRefused, LoginNeeded, SessionGone
from catena_acp.events import PromptBlock, TextBlock
from catena_acp.port import AgentPort
from catena_store import chains, messages
from catena_store.errors import SessionHeld, StoreError
from catena_store.records import (
    Kind,
    Link,
    Message,
    PathRow,
    StopReason,
    Turn,
)


class Sending:
    """One prompt row on its way."""

    def __init__(self, ground: Ground, window_id: str, row: Message) -> None:
        self._ground = ground
        self._window_id = window_id
        self._row = row
        self._path: Sequence[PathRow] = ()
        self._tried: set[route.StepKey] = set()
        self._last_error: AgentError | None = None
        self._lost: str | None = None  # why a session that should have carried it was lost on the way
        self.turn: RunningTurn | None = None  # claimed
        self.text_is_out = False

    async def carry(self) -> Ending:
        """Bring the prompt to a session and see its turn to the end; ``self.turn`` is then still to be closed.

        Raises NotSent where no session accepted it.
        """
        texts = 0
        while texts < 2:
            agent = await self._agent()
            step = await self._next(agent)
            if step is None:
                break
            self._tried.add(route.key_of(step))
            self._ground.doing(self._window_id, Doing.OPENING)
            match step:
                case route.Use(link):
                    running = await self._use(link, agent)
                    if running is None:
                        continue
                    self.turn = running
                    texts += 1
                    ending = await self._run(running)
                    if ending is not None:
                        return ending
                case route.Fork(link):
                    await self._fork(link, None, agent)
                case route.ForkAt(link, turn):
                    await self._fork(link, turn, agent)
                case route.New():
                    await self._open_new(agent)
        raise NotSent(self._last_error)

    async def _agent(self) -> AgentPort:
        try:
            return await self._ground.agent(self._window_id)
        except AgentError as error:
            raise NotSent(error) from error

    async def _next(self, agent: AgentPort) -> route.Step | None:
        async with self._ground.services.db.read() as reader:
            if not self._path:
                self._path = await messages.path(reader, self._row.id)
            situation = await self._ground.situation(reader, agent, self._window_id, self._path)
        steps = route.candidates(situation)
        return next((step for step in steps if route.key_of(step) not in self._tried), None)

    async def _open_new(self, agent: AgentPort) -> None:
        """Open a session, in the mode and with the model that the branch had before."""
        try:
            live = await self._ground.open_new(agent, self._window_id)
        except AgentError as error:
            raise NotSent(error) from error
        async with self._ground.services.db.read() as reader:
            before = await turn_before(reader, self._row)
        if before:
            await self._ground.restore(live, before, self._window_id)

    async def _use(self, link: Link, agent: AgentPort) -> RunningTurn | None:
        """Open the session where it is cold, and claim it; None where it can carry the prompt no more."""
        live = self._ground.sessions.of(link)
        if live is None:
            try:
                live = await self._ground.sessions.open_cold(
                    link, agent, self._ground.place, self._ground.ear
                )
            except AgentError as error:
                await self._failed(link, error)
                return None
        await self._ground.settle(link.id)
        return await self._claim_whole(live, agent)

    async def _claim_whole(self, live: LiveSession, agent: AgentPort) -> RunningTurn | None:
        """Claim in one piece: who stops us in the middle of it still finds the turn that it opened."""
        attempt = Claim(self._ground, self._window_id, self._row, self._path, self._lost)
        claim = asyncio.ensure_future(attempt.take(live, agent))
        try:
            return await asyncio.shield(claim)
        except asyncio.CancelledError:
            with contextlib.suppress(NotSent, StoreError):
                self.turn = await claim
            raise

    async def _fork(self, link: Link, turn: Turn | None, agent: AgentPort) -> None:
        try:
            at = (turn, await self._anchor(turn)) if turn else None
            await self._ground.fork(agent, link, self._window_id, at)
        except SessionHeld as held:
            # An id that is handed out twice is trusted by nobody.
            async with self._ground.services.db.read() as reader:
                twice = await chains.get(reader, held.link_id) if held.link_id else None
            if twice:
                await self._ground.lose(twice, "the agent gave its session id to a fork")
        except ForkWrong as error:
            self._last_error = error
        except AgentError as error:
            await self._failed(link, error)

    async def _anchor(self, turn: Turn) -> str:
        """The agent's id of the turn's last answer, which a fork at it keeps."""
        async with self._ground.services.db.read() as reader:
            last = await messages.get(reader, turn.last_id)
        if last is None or last.kind is not Kind.AGENT or not last.agent_message_id:
            raise ForkWrong("the turn does not end with an answer that has an id")
        return last.agent_message_id

    async def _failed(self, link: Link, error: AgentError) -> None:
        """A step failed: the link is lost on proof; else it is only tried for this prompt."""
        self._last_error = error
        if isinstance(error, LoginNeeded):
            raise NotSent(error) from error
        if isinstance(error, SessionGone):
            self._lost = f"session lost ({error})"
            await self._ground.lose(link, str(error))

    async def _run(self, running: RunningTurn) -> Ending | None:
        """Send the text; None where it was refused at once and may go out again."""
        blocks: list[PromptBlock] = []
        if running.turn.prior_context:
            blocks.append(TextBlock(running.turn.prior_context))
        blocks.append(TextBlock(self._row.text))
        self._ground.attach(running)
        self._ground.doing(self._window_id, Doing.WORKING)
        release = self._ground.agents.hold(running.live.agent)
        self.text_is_out = True
        try:
            return await running.run(blocks)
        except RefusedAtOnce as refused:
            return await self._refused(running, refused.error)
        finally:
            release()

    async def _refused(self, running: RunningTurn, error: AgentRefused) -> Ending | None:
        if not _may_go_elsewhere(error):
            return Ending(StopReason.ERROR, error)
        self._last_error = error
        await running.mark_not_sent(error)
        # What the session still tells is not this prompt's any more, and must raise the session's reach.
        self._ground.detach(running)
        self.turn, self.text_is_out = None, False
        async with self._ground.services.db.read() as reader:
            link = await chains.get(reader, running.live.link_id)
        if link and isinstance(error, SessionGone):
            self._lost = f"session lost ({error})"
            await self._ground.lose(link, str(error))
        return None


_ABOUT_THE_ACCOUNT = ("rate limit", "rate_limit", "429", "529", "overloaded", "quota", "credit", "billing")


def _may_go_elsewhere(error: AgentRefused) -> bool:
    """False where another session of the same agent would be refused for the same reason."""
    if isinstance(error, LoginNeeded):
        return False
    if isinstance(error, SessionGone):
        return True
    said = f"{error.code} {error} {error.data}".lower()
    return not any(word in said for word in _ABOUT_THE_ACCOUNT)
