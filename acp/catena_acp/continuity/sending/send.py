"""One prompt on its way to a session: ask the route, do the step, ask again.

A step only changes the set of links. Each is tried once for a prompt, there is one new session at most, and the
text goes out twice at most: the second time only where the first was refused before any update.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Set
from typing import Any, TypeVar

from catena_acp.continuity.conversation_events import Doing
from catena_acp.continuity.routing import route
from catena_acp.continuity.routing.explanation import RouteRecord
from catena_acp.continuity.routing.slash_commands import command_name
from catena_acp.continuity.sending.claim import Claim, turn_before
from catena_acp.continuity.sending.context import Host, SendContext
from catena_acp.continuity.sending.prompt_blocks import prompt_blocks
from catena_acp.continuity.sessions.opening import anchor_of
from catena_acp.continuity.sessions.sessions import LiveSession
from catena_acp.continuity.turns.endings import Ending
from catena_acp.continuity.turns.turn import RunningTurn
from catena_acp.continuity.wording.problems import problem_of_notice, short
from catena_acp.errors import (
    AgentError,
    AgentMissing,
    AgentRefused,
    ForkEmpty,
    ForkWrong,
    NotCopied,
    NotSent,
    RefusedAtOnce,
    SessionGone,
)
from catena_acp.port.port import AgentPort
from catena_acp.port.session_events import NoticeReported, PromptBlock, TextBlock
from catena_acp.tasks import raise_if_cancelled, shielded, with_retries
from catena_acp.trouble.diagnosis import diagnose
from catena_acp.trouble.troubles import Trouble
from catena_store.chains import links
from catena_store.conversations import messages
from catena_store.database.database import Reader
from catena_store.errors import SessionHeld
from catena_store.records import ContextSource, Link, Message, StopReason, Turn
from catena_store.windows import attachments

L = TypeVar("L")


async def was_full(reader: Reader, row: Message) -> bool:
    """True if this prompt went out before to a session whose context was full."""
    if row.turn_id is None:
        return False
    before = await turn_before(reader, row)
    if before is None or before.prompt_id != row.id:
        return False
    last = await messages.get(reader, before.last_id)
    problem = problem_of_notice(last) if last else None
    return problem is not None and problem.trouble is Trouble.CONTEXT_FULL


def begins_empty(step: route.Step) -> bool:
    """True for a step to a session that holds nothing yet; a fork of a full one is as full."""
    match step:
        case route.New():
            return True
        case route.Use(link):
            return link.knows is None
        case _:
            return False


class PromptCarrier:
    """The delivery of one prompt row to a session."""

    def __init__(
        self,
        context: SendContext,
        window_id: str,
        row: Message,
        ready: Callable[[LiveSession], Awaitable[None]] | None = None,
    ) -> None:
        """``ready`` gets a session ready for just this prompt, before it is claimed."""
        self._context = context
        self._ready = ready
        self._window_id = window_id
        self._row = row
        self._tried: set[route.StepKey] = set()
        self._last_error: AgentError | None = None
        self._made: set[str] = set()  # links that it came to; what is empty cannot be opened again
        self._asleep: dict[str, ContextSource] = {}  # … and forks of them that were not found when prompted
        self._empty: set[str] = set()  # links whose fork held nothing
        self._way: str | None = None  # why it goes another way: a session was lost on the way, or copied
        self._openings = _Openings(context.host, window_id)
        self._route = RouteRecord()
        self.turn: RunningTurn | None = None  # claimed
        self.text_is_out = False

    async def carry(self) -> Ending:
        """Send the prompt to a session and run its turn; ``self.turn`` is then still to be ended.

        Raises NotSent if no session accepted it.
        """
        try:
            return await self._carry()
        finally:
            self._openings.close()

    async def _carry(self) -> Ending:
        texts = 0
        await self._context.host.environment.remark_changes(
            self._window_id, self._row.parent_id, self._context.record.cwd
        )
        while texts < 2:
            agent = await self._agent()
            release = self._context.agents.hold(agent)  # who would end it waits until this step is done
            try:
                await self._context.sessions.settle_unattended(agent)
                self._take_answered()
                step = await self._next(agent)
                if step is None:
                    break
                self._tried.add(route.key_of(step))
                if not (isinstance(step, route.Use) and self._context.sessions.of(step.link)):
                    self._context.host.set_doing(self._window_id, Doing.OPENING)
                match step:
                    case route.Use(link):
                        running = await self._use(link, agent)
                        if running is None:
                            continue
                        texts += 1
                        ending = await self._run(running)
                        if ending is not None:
                            return ending
                    case route.Fork(link):
                        await self._fork(link, None, agent)
                    case route.ForkAt(link, turn):
                        await self._fork(link, turn, agent)
                    case route.Copy(link):
                        await self._copy(link, agent)
                    case route.New():
                        await self._open_new(agent)
            finally:
                if agent.alive and not self._context.agents.serves(agent):
                    self._tried.clear()  # what it was asked for says nothing of the process that takes its place
                release()
        raise NotSent(self._last_error)

    async def _agent(self) -> AgentPort:
        directory = self._context.record.cwd
        if not await asyncio.to_thread(self._context.services.is_directory, directory):
            raise NotSent(None, f"The directory {directory} is gone. Use /cd DIR to continue in another one.")
        try:
            return await self._context.agent(self._window_id)
        except AgentError as error:
            raise NotSent(error) from error

    def _take_answered(self) -> bool:
        """Consider the sessions again that were left and opened after all; nothing has gone out meanwhile."""
        answered = self._openings.answered()
        for step, live in answered:
            if step[0] == "use":
                self._tried.discard(step)
            else:
                self._made.add(live.link_id)
        return bool(answered)

    async def _next(self, agent: AgentPort) -> route.Step | None:
        situation, steps = await self._steps(agent)
        if not steps:
            return None
        if not (isinstance(steps[0], route.Use) and steps[0].link.id in self._made):
            self._route.chose(situation, steps)
        return steps[0]

    async def _steps(self, agent: AgentPort) -> tuple[route.Situation, list[route.Step]]:
        """The steps that are left, the one to be done first."""
        async with self._context.services.db.read() as reader:
            situation = await self._context.situation(
                reader, agent, self._window_id, self._row.parent_id, prompt_id=self._row.id
            )
            full = await was_full(reader, self._row)
        possible = [step for step in route.candidates(situation) if route.key_of(step) not in self._tried]
        untried = [step for step in possible if not _forks_one_of(step, self._empty)]
        steps = [step for step in untried if not full or begins_empty(step)]
        for step in untried:
            if not isinstance(step, route.New) and step not in steps:
                self._route.failed(step.link.id, _TOO_FULL)
        return situation, steps

    async def _open_new(self, agent: AgentPort) -> None:
        """Open a new session; its settings are applied when it is used."""
        making = asyncio.ensure_future(self._context.open_new(agent, self._window_id))
        try:
            while not making.done():
                waited: set[asyncio.Future[Any]] = {making, *self._openings.left}
                await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
                if not making.done() and self._take_answered():
                    making.cancel()  # its link is stored when it comes
                    return
            self._made.add(making.result().link_id)
        except asyncio.CancelledError:
            making.cancel()
            raise
        except AgentError as error:
            raise NotSent(error) from error

    async def _copy(self, link: Link, agent: AgentPort) -> None:
        """Copy a session that worked elsewhere; the copy is opened, and compared, when it is used."""
        try:
            copy = await self._context.copy_session(agent, link, self._window_id)
        except (NotCopied, AgentMissing) as error:
            self._route.failed(link.id, f"it could not be copied: {short(str(error))}")
            return
        if copy is None:
            self._route.failed(link.id, "it could not be copied: it continued meanwhile")
            return
        account = f"account {copy.profile}" if copy.profile else "the account without a profile"
        self._way = (
            f"moved to {copy.cwd}" if copy.profile == link.profile else f"same context, copied to {account}"
        )

    async def _use(self, link: Link, agent: AgentPort) -> RunningTurn | None:
        """Open the session where it is cold, and claim it; None if it can carry the prompt no more."""
        context = self._context
        live = context.sessions.of(link) if link.id in self._made else await context.open_session_of(link)
        if live is None:
            try:
                place, asleep = self._context.place_for(self._window_id), link.id in self._asleep
                opening = self._context.sessions.open_cold(
                    link, agent, place, self._context.host, made_here=asleep
                )
                step = route.key_of(route.Use(link))
                live = await self._openings.wait(step, opening, lambda: self._is_another(agent))
                live.opened = live.began = self._asleep.get(link.id, live.opened)
            except _LeftOpening:
                self._route.failed(link.id, f"it could not be opened: {_TOO_LONG}")
                return None
            except AgentError as error:
                await self._failed(link, error, "it could not be opened")
                return None
        await self._context.host.settle(link.id)
        if live.opened is not ContextSource.CONTINUED:
            await self._context.host.environment.apply_settings(live, self._row.id, self._window_id)
        if self._ready:
            await self._ready(live)
        return await self._claim_whole(live, agent)

    async def _claim_whole(self, live: LiveSession, agent: AgentPort) -> RunningTurn | None:
        """Claim the session despite cancellation, so that a turn that was opened is always found in ``self.turn``."""
        claim = Claim(self._context, self._window_id, self._row, self._way, self._route)
        self.turn = await shielded(claim.take(live, agent))
        raise_if_cancelled()
        return self.turn

    async def _fork(self, link: Link, turn: Turn | None, agent: AgentPort) -> None:
        try:
            at = None
            if turn:
                async with self._context.services.db.read() as reader:
                    at = (turn, await anchor_of(reader, turn, agent.abilities.quirks))
            step = route.key_of(route.ForkAt(link, turn) if turn else route.Fork(link))
            forking = self._context.fork(agent, link, self._window_id, at)
            if live := await self._openings.wait(step, forking, lambda: self._is_another(agent)):
                self._made.add(live.link_id)
            else:
                self._route.failed(link.id, f"{_FORK_FAILED}: it continued meanwhile")
        except _LeftOpening:
            self._route.failed(link.id, f"{_FORK_FAILED}: {_TOO_LONG}")
        except SessionHeld as held:
            self._route.failed(link.id, f"{_FORK_FAILED}: its agent answered with a known session")
            await self._context.distrust(held, self._window_id)
        except ForkWrong as error:
            self._route.failed(link.id, f"{_FORK_FAILED}: {short(str(error))}")
            self._last_error = error
            if isinstance(error, ForkEmpty):
                self._empty.add(link.id)
        except AgentError as error:
            await self._failed(link, error, _FORK_FAILED)

    async def _is_another(self, agent: AgentPort) -> bool:
        """True if a step is left beside the one that takes long."""
        return bool((await self._steps(agent))[1])

    async def _failed(self, link: Link, error: AgentError, what: str) -> None:
        """Lose the link of a failed step on proof; else it only counts as tried for this prompt."""
        self._route.failed(link.id, f"{what}: {short(str(error))}")
        self._last_error = error
        if self._trouble(error) in _ABOUT_THE_ACCOUNT:
            raise NotSent(error) from error
        if isinstance(error, SessionGone):
            self._way = f"session lost ({short(str(error))})"
            await self._context.lose(link, str(error), self._window_id)

    def _trouble(self, error: AgentError) -> Trouble:
        return diagnose(error, now=self._context.services.clock()).trouble

    async def _run(self, running: RunningTurn) -> Ending | None:
        """Send the text; None if it was refused at once and may go out again."""
        blocks: list[PromptBlock] = []
        if running.turn.prior_context:
            blocks.append(TextBlock(running.turn.prior_context))
        async with self._context.services.db.read() as reader:
            files = await attachments.of_message(reader, self._row.id)
        blocks += prompt_blocks(self._row.text, files, running.live.agent.abilities)
        await running.keep_files_before()
        self._openings.close()
        self._context.host.attach(running)
        live = running.live
        if greeting := live.take_greeting():  # it came after the claim
            running.receive(NoticeReported(greeting, "info"))
        opened, live.opened = live.opened, ContextSource.CONTINUED
        heard = live.prompted
        self._context.host.set_doing(self._window_id, Doing.WORKING)
        self.text_is_out = True
        try:
            return await running.run(blocks)
        except RefusedAtOnce as refused:
            live.opened = opened
            return await self._refused(running, refused.error, heard=heard)

    async def _refused(self, running: RunningTurn, error: AgentRefused, *, heard: bool) -> Ending | None:
        """The ending of a turn that was refused at once, or None; ``heard``: its session had a prompt before."""
        if self._trouble(error) in _NOWHERE_BETTER:
            return Ending(StopReason.ERROR, error)
        self._last_error = error
        self._route.failed(running.live.link_id, f"it refused the prompt: {short(str(error))}")
        self.text_is_out = False  # nothing of it was heard: where the store fails now, it is given back
        # A command goes to the agent's own program: what that does not serve no session hears.
        command = command_name(self._row.text) is not None and not isinstance(error, SessionGone)
        await shielded(with_retries(lambda: running.mark_not_sent(error, unheard=command)))
        if command:
            running.live.prompted = heard
        # What the session still tells is not this prompt's any more, and must raise the session's reach.
        self._context.host.detach(running)
        self.turn = None
        raise_if_cancelled()
        if command:
            raise NotSent(error)  # another session would be asked for the same
        async with self._context.services.db.read() as reader:
            link = await links.get(reader, running.live.link_id)
        if link and isinstance(error, SessionGone):
            if running.live.opened in _FORKED and link.id not in self._asleep:
                # It was made, but is not live: it is opened, once, as any session of before.
                self._asleep[link.id] = running.live.opened
                self._made.discard(link.id)
                self._tried.discard(route.key_of(route.Use(link)))
                self._context.sessions.forget(link.id)
                return None
            self._way = f"session lost ({short(str(error))})"
            await self._context.lose(link, str(error), self._window_id)
        return None


def _forks_one_of(step: route.Step, link_ids: Set[str]) -> bool:
    return isinstance(step, route.Fork | route.ForkAt) and step.link.id in link_ids


_FORKED = frozenset({ContextSource.FORKED, ContextSource.FORKED_AT})

_FORK_FAILED = "fork failed"
_TOO_LONG = "the agent did not answer, and the prompt went on without it"
_TOO_FULL = "not used: its context window was full for this prompt"

# Errors of the account: a new session would fail the same way.
_ABOUT_THE_ACCOUNT = frozenset({Trouble.RATE_LIMIT, Trouble.CREDIT, Trouble.LOGIN_NEEDED})

# Errors after which no other session is tried. For a full context the person decides.
_NOWHERE_BETTER = _ABOUT_THE_ACCOUNT | {Trouble.OVERLOAD, Trouble.CONTEXT_FULL}


class _LeftOpening(Exception):
    """An opening that took long, which the prompt goes on without."""


class _Openings:
    """The openings of one prompt, by step."""

    def __init__(self, host: Host, window_id: str) -> None:
        self._host = host
        self._window_id = window_id
        self._left: dict[route.StepKey, asyncio.Future[Any]] = {}

    @property
    def left(self) -> set[asyncio.Future[Any]]:
        """Those that were left and are not taken."""
        return set(self._left.values())

    async def wait(
        self,
        step: route.StepKey,
        opening: Coroutine[Any, Any, L],
        is_another: Callable[[], Awaitable[bool]],
    ) -> L:
        """Wait for an opening. One that takes long may be left if there is another step.

        Raises LeftOpening, or what the opening raises.
        """
        wait, task = self._host.services.opening_wait, asyncio.ensure_future(opening)
        try:
            await asyncio.wait({task}, timeout=wait.long)
            if not task.done() and await is_another():
                await self._host.offer_to_leave(self._window_id, task, wait.until_left)
                if not task.done():
                    self._left[step] = task
                    task.add_done_callback(_look_at)
                    raise _LeftOpening
            if not task.done():
                await asyncio.wait({task})
        except asyncio.CancelledError:
            task.cancel()
            raise
        return task.result()

    def answered(self) -> list[tuple[route.StepKey, LiveSession]]:
        """Remove and return the sessions of those that were answered after all; failed ones are removed."""
        found = []
        for step, task in list(self._left.items()):
            if task.done():
                del self._left[step]
                if live := _session_of(task):
                    found.append((step, live))
        return found

    def close(self) -> None:
        """Close the sessions of those that are left, also of those that are answered later."""
        sessions = self._host.sessions
        for task in self.left:
            task.add_done_callback(lambda done: sessions.close_soon(_session_of(done)))
        self._left.clear()


def _session_of(task: asyncio.Future[Any]) -> LiveSession | None:
    found: LiveSession | None = None if task.cancelled() or task.exception() else task.result()
    return found


def _look_at(task: asyncio.Future[Any]) -> None:
    """Nobody waits for the error of one that was left."""
    if not task.cancelled():
        task.exception()
