"""Asides: questions about a conversation that leave no trace in it.

An aside has a session of its own, which knows what the window's next prompt would be answered from. Its messages are
kept in memory only, and so are its checkpoints, one at the start of each question; its session is closed, and deleted
if the agent offers that, when the aside is over.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Final

from catena_acp.continuity.conversation_events import MessageAdded
from catena_acp.continuity.routing.prior_context import PriorContext
from catena_acp.continuity.sending.context import SendContext
from catena_acp.continuity.sending.prompt_blocks import prompt_blocks
from catena_acp.continuity.sessions.opening import greeting_text, is_prompt
from catena_acp.continuity.turns.endings import Ending, problem_of_end, stop_reason_of, unfinished_status
from catena_acp.continuity.turns.questions import completed_call
from catena_acp.continuity.turns.tool_data import call_of
from catena_acp.continuity.wording.context_summary import ContextSummary
from catena_acp.continuity.wording.problems import ending_words
from catena_acp.conversation.asides.rows import AsideCost, AsideRows, RowEvent
from catena_acp.conversation.asides.session import (
    AsideSession,
    AsideSessionOpener,
    sweep,
    throw_away,
    where_it_stands,
)
from catena_acp.conversation.inspection.price import Price, prices
from catena_acp.conversation.live import LiveConversation
from catena_acp.conversation.prompts.window import Window
from catena_acp.errors import (
    AgentError,
    AgentGone,
    NoCheckpoint,
    NotAQuestion,
    NotSent,
    ReadOnly,
    StillAtWork,
)
from catena_acp.permissions.options import option_of
from catena_acp.permissions.subject import only_reads, subject_of
from catena_acp.port.elicitation.requests import DECLINE
from catena_acp.port.elicitation.words import answered_text, asked_text
from catena_acp.port.port import AgentPort
from catena_acp.port.session_events import (
    ElicitationAnswered,
    ElicitationCompleted,
    ElicitationRequested,
    Event,
    PermissionRequested,
    PermissionWithdrawn,
    PromptEnded,
    TextBlock,
    TranscriptEvent,
    UsageReported,
)
from catena_acp.spoken.call import Call
from catena_acp.tasks import outlived
from catena_acp.trouble.troubles import Trouble
from catena_store.conversations.checkpoints import Checkpoint, CheckpointStore, MemoryCheckpoints
from catena_store.errors import StoreError
from catena_store.records import Attachment, ContextSource, Message, StopReason
from catena_store.windows import inputs

_INTRODUCTION: Final = (
    "[Catena · an aside] The person asks something beside the conversation. Answer it from what you know of the "
    "conversation, and by reading only: change no file, and run nothing that changes anything. Do not go on with the "
    "work of the conversation; the aside is thrown away afterwards."
)
_BEGUN_ANEW: Final = "The agent was restarted; the questions above were replayed."
_OTHER_MODEL: Final = "{title} answers with different settings than the conversation: {what}."
_LOGGED_OUT: Final = (
    "You logged out of {title} before this was asked, so it was not sent. "
    "A new side question can be asked below the line “logged out”."
)
_REFUSED: Final = (
    "{title} tried to do more than read: {what}. Side questions are read-only, so this was denied."
)


@dataclass(frozen=True, slots=True)
class AsideOpened:
    """The aside has its session; ``words`` say in one line what that knows, and how it came to it."""

    words: str


@dataclass(frozen=True, slots=True)
class AsideEnded:
    """The question is answered, or was stopped, or came to nothing: then ``problem`` says why."""

    stop: StopReason
    problem: str | None


@dataclass(frozen=True, slots=True)
class AsideRewound:
    """The aside stands at the start of an earlier question; these rows are left."""

    rows: tuple[Message, ...]


AsideEvent = RowEvent | AsideOpened | AsideRewound | AsideEnded


class Aside:
    """One aside of a window; made by ``Asides.begin``, and to be closed."""

    def __init__(
        self,
        conversation: LiveConversation,
        context: SendContext,
        window_id: str,
        leaf_id: str | None,
        price: Price,
    ) -> None:
        self._conversation = conversation
        self._context = context
        self._window_id = window_id
        self._leaf_id = leaf_id
        self.price = price  # of its first question
        self.link_id = conversation.services.new_id()
        self.title = conversation.title_of(context.spec.name, context.spec.profile)
        self._rows = AsideRows(
            conversation.id,
            self.link_id,
            window_id,
            new_id=conversation.services.new_id,
            clock=conversation.services.clock,
        )
        self._knows_logout = context.tenure.logouts.known_in(window_id)
        self._checkpoints: CheckpointStore = MemoryCheckpoints()  # the id of each is its question's
        self._opening: asyncio.Task[AsideSession] | None = None
        self._leaving: asyncio.Task[None] | None = None  # the session of a question that was taken back ends
        self._cost = AsideCost(conversation, context)
        self._told = False  # what its session does not know by itself is out
        self._busy = False
        self._stopping = False
        self._closed: asyncio.Task[None] | None = None

    @property
    def rows(self) -> tuple[Message, ...]:
        """All that was said in it, oldest first."""
        return self._rows.all

    @property
    def text(self) -> str:
        """The answer to the newest question, as far as it has come."""
        return self._rows.answer

    @property
    def busy(self) -> bool:
        """True while a question is being answered."""
        return self._busy

    @property
    def over(self) -> bool:
        """True when it is thrown away."""
        return self._closed is not None and self._closed.done()

    def price_of(self, question_id: str) -> ContextSummary:
        """The context of the aside itself that would be told with a question in place of this one."""
        prior = self._rows.prior_context(question_id, self._context.services.budget)
        return ContextSummary.of_prior(ContextSource.TOLD if prior else ContextSource.FORKED, prior)

    async def ask(
        self,
        question: str,
        files: Sequence[Attachment] = (),
        *,
        typed: str | None = None,
        instead_of: str | None = None,
    ) -> AsyncGenerator[AsideEvent]:
        """Ask, and receive what comes of it; the last event is ``AsideEnded``, whatever goes wrong.

        ``files`` go along as with a prompt; like the question they are kept in memory only. ``typed`` is what the
        person wrote for it, which is kept among what was typed. ``instead_of`` is the id of an earlier question: the
        aside first goes back to where that was asked. Raises StillAtWork while another question is being answered,
        NotAQuestion, NoCheckpoint.
        """
        if self._busy or self._closed:
            raise StillAtWork
        if question.startswith("/"):
            raise NotAQuestion
        self._busy, self._stopping = True, False
        try:
            if instead_of:
                await self._rewind(instead_of)
                yield AsideRewound(self._rows.all)
            began = await self._began(question, files)
            yield began
            await self._keep_typed(typed or question)
            try:
                async with contextlib.aclosing(self._asked(began.message.id, question, files)) as answer:
                    async for event in answer:
                        yield event
            except AgentError as error:
                for event in self._over(Ending(StopReason.ERROR, error)):
                    yield event
            except (StoreError, ReadOnly, NotSent) as error:
                for row in self._rows.close(clean=False, tool_status="unknown"):
                    yield row
                yield AsideEnded(StopReason.ERROR, str(error))
        finally:
            self._busy = False

    async def stop(self) -> None:
        """Let the agent answer no further."""
        self._stopping = True
        session = self._session
        if self._busy and session and session.agent.alive:
            with contextlib.suppress(AgentError):
                await session.agent.cancel(session.link.session_id)

    async def close(self) -> None:
        """Throw it away; what is under way is stopped first."""
        if self._closed is None:
            self._closed = asyncio.ensure_future(self._end())
        await asyncio.shield(self._closed)

    def abandon(self) -> None:
        """Wait for nothing any more; what is left upstream is ended when its agent runs again."""
        for task in (self._opening, self._leaving, self._closed):
            if task:
                task.cancel()

    async def _began(self, question: str, files: Sequence[Attachment]) -> MessageAdded:
        added = self._rows.question(question, files)
        start = Checkpoint(
            id=added.message.id,
            conversation_id=self._conversation.id,
            message_id=added.message.parent_id,
            link_id=None,
            label=None,
            automatic=True,
            created_at=added.message.created_at,
        )
        await self._checkpoints.save(start)
        return added

    async def _rewind(self, question_id: str) -> None:
        """Go back to the start of a question; the session, which has heard it, is thrown away."""
        start = await self._checkpoints.get(question_id)
        if start is None:
            raise NoCheckpoint("This question is no longer here.")
        for later in await self._checkpoints.list(start.conversation_id):
            await self._checkpoints.remove(later.id)
            if later.id == start.id:
                break
        self._rows.rewind(start.message_id)
        if session := self._session:
            self._leave_session()
            # As with its opening: whoever breaks off here leaves it to `close`.
            self._leaving = asyncio.ensure_future(throw_away(self._context, session))
            await asyncio.shield(self._leaving)

    def _leave_session(self) -> None:
        """Have another session opened for the next question, and told what was asked above it."""
        self._opening, self._told = None, False
        self.link_id = self._conversation.services.new_id()

    @property
    def _session(self) -> AsideSession | None:
        opening = self._opening
        if opening is None or not opening.done() or opening.cancelled() or opening.exception():
            return None
        return opening.result()

    async def _opened(self) -> AsideSession:
        """Its session; anew where its agent has ended since, or takes no prompts any more. Raises NotSent."""
        await self._refuse_after_logout()
        before = self._session
        if before and not self._context.agents.serves(before.agent):
            self._leave_session()
            self._leaving = asyncio.ensure_future(throw_away(self._context, before))
        if self._session is None:
            opening = AsideSessionOpener(self._context, self.link_id, self._leaf_id, self._window_id)
            # Whoever breaks off the question must not leave a session behind that nobody knows of.
            self._opening = asyncio.ensure_future(opening.open())
        assert self._opening is not None
        session = await outlived(self._opening)
        if session.agent.alive and not self._context.agents.serves(session.agent):
            return await self._opened()
        return session

    async def _refuse_after_logout(self) -> None:
        """Raise NotSent if the aside knows, or was asked, what is from before a logout."""
        known, heard = self._knows_logout, self._context.tenure.logouts
        async with self._context.services.db.read() as reader:
            before = await self._context.is_before_logout(reader, self._leaf_id, known)
        if before or (self._told and known < heard.number):
            raise NotSent(None, _LOGGED_OUT.format(title=self.title))

    async def _asked(
        self, question_id: str, question: str, files: Sequence[Attachment]
    ) -> AsyncGenerator[AsideEvent]:
        anew = self._session is not None and not self._context.agents.serves(self._session.agent)
        session = await self._opened()
        prior = None
        if not self._told:
            prior = self._rows.prior_context(question_id, self._context.services.budget)
            yield AsideOpened(_opened_words(session, prior))
            remarks = [_BEGUN_ANEW] if anew else []
            if session.refused:
                remarks.append(_OTHER_MODEL.format(title=self.title, what="; ".join(session.refused)))
            for remark in remarks:
                for row in self._rows.add_notice(remark):
                    yield row
        if self._stopping or self._closed:
            yield AsideEnded(StopReason.CANCELLED, None)
            return
        heard: asyncio.Queue[Event | None] = asyncio.Queue()
        agent, session_id = session.agent, session.link.session_id
        told = [] if self._told else [each.text for each in (session.prior, prior) if each]
        blocks = [
            *(TextBlock(text) for text in (*told, _INTRODUCTION)),
            *prompt_blocks(question, files, agent.abilities),
        ]
        self._cost.begin(session)
        unlisten = agent.listen(session_id, heard.put_nowait)
        # What is there before the first question goes out answers none: a greeting, or a fork's history.
        early = [] if self._told else [heard.get_nowait() for _ in range(heard.qsize())]
        for event in early:
            if isinstance(event, UsageReported):
                self._cost.report(event, asked=False)
        prompt = asyncio.ensure_future(agent.prompt(session_id, blocks))
        prompt.add_done_callback(lambda _: heard.put_nowait(None))
        self._told = True
        try:
            if early and not any(is_prompt(event) for event in early if event):
                greeting = greeting_text(event for event in early if isinstance(event, TranscriptEvent))
                for row in self._rows.add_notice(greeting) if greeting else ():
                    yield row
            while (event := await heard.get()) is not None:
                for row in self._heard(agent, event):
                    yield row
        finally:
            unlisten()
            if not prompt.done():
                with contextlib.suppress(AgentError):
                    await agent.cancel(session_id)
                prompt.cancel()
                self._conversation.spawn(self._cost.end(None))
        await self._cost.end(_answer(prompt))
        for ending in self._over(_ending(prompt, stopping=self._stopping)):
            yield ending

    def _heard(self, agent: AgentPort, event: Event) -> list[RowEvent]:
        match event:
            case UsageReported():
                self._cost.report(event)
                return []
            case PermissionRequested():
                return [*self._rows.add_event(event), *self._permitted(agent, event)]
            case ElicitationRequested(ask_id=ask_id, request=request):
                agent.answer_elicitation(ask_id, DECLINE)
                text = f"{asked_text(request)}{answered_text(request, DECLINE)}"
                return self._rows.add_notice(text)
            case PermissionWithdrawn() | ElicitationAnswered() | ElicitationCompleted():
                return []
            case _:
                return self._rows.add_event(event)

    def _permitted(self, agent: AgentPort, ask: PermissionRequested) -> list[RowEvent]:
        """Reading is allowed, once; everything else is refused, and that is said."""
        call_id = ask.tool_call.tool_call_id
        known = self._rows.tool(call_id)
        call = completed_call(ask.tool_call, call_of(call_id, Call(known)) if known else None)
        subject = subject_of(call, self._context.record.cwd)
        reading = only_reads(subject) or (subject.kind == "think" and not subject.mentions)
        if reading and (option := option_of(ask.options, allow=True)):
            agent.answer_permission(ask.ask_id, option.id)
            return []
        rejection = option_of(ask.options, allow=False)
        agent.answer_permission(ask.ask_id, rejection.id if rejection else None)
        what = " ".join((call.title or "unspecified").split())
        return self._rows.add_notice(_REFUSED.format(title=self.title, what=what))

    def _over(self, ending: Ending) -> list[AsideEvent]:
        well = ending.stop.clean and self._rows.answered
        event: list[AsideEvent] = [*self._rows.close(clean=well, tool_status=unfinished_status(ending.stop))]
        now = self._conversation.services.clock()
        problem = problem_of_end(ending, self.title, answered=self._rows.answered, only_words=None, now=now)
        words = problem.text if problem else None
        if problem and problem.trouble is Trouble.EMPTY_TURN:
            words = f"{self.title} returned an empty answer."
        elif problem is None and ending.stop is StopReason.REFUSAL:
            words = f"{self.title} refused to answer."
        elif problem is None and ending.stop is not StopReason.CANCELLED:
            words = ending_words(self.title, ending.stop)
        return [*event, AsideEnded(ending.stop, words)]

    async def _keep_typed(self, text: str) -> None:
        with contextlib.suppress(StoreError):
            async with self._conversation.services.db.write() as tx:
                await inputs.add(tx, text, self._conversation.record.cwd)

    async def _end(self) -> None:
        await self.stop()
        if self._leaving:
            await self._leaving
        if self._opening:
            with contextlib.suppress(AgentError, StoreError, ReadOnly):
                await throw_away(self._context, await self._opening)


def _opened_words(session: AsideSession, prior: PriorContext | None) -> str:
    if prior is None:
        return session.words
    told = ContextSummary.of_prior(ContextSource.TOLD, prior).replayed_words()
    return f"{session.words} · side question: {', '.join(told)}"


def _answer(prompt: asyncio.Future[PromptEnded]) -> PromptEnded | None:
    return None if prompt.cancelled() or prompt.exception() else prompt.result()


def _ending(prompt: asyncio.Future[PromptEnded], *, stopping: bool) -> Ending:
    try:
        answer = prompt.result()
    except AgentGone as error:
        return Ending(StopReason.AGENT_GONE, error)
    except AgentError as error:
        return Ending(StopReason.CANCELLED if stopping else StopReason.ERROR, error)
    return Ending(stop_reason_of(answer.stop_reason), None, answer)


_ENDING_SECONDS = 2.0  # that an aside may take to be over where the client ends


class Asides:
    """The asides of one conversation that are open in this client."""

    def __init__(self, conversation: LiveConversation) -> None:
        self._conversation = conversation
        self._open: set[Aside] = set()

    async def begin(self, window: Window) -> Aside:
        """An aside of where the window stands; while its turn runs, of the end of the one before.

        It names its price; nothing is opened before it is asked something. To be closed. Raises ReadOnly, AgentMissing,
        StoreError.
        """
        context = self._conversation.send_context()
        await self._conversation.settle()
        async with self._conversation.services.db.read() as reader:
            leaf_id = await where_it_stands(reader, window.id)
        (price,) = await prices(self._conversation, window.id, [context.spec], leaf_id=leaf_id, apart=True)
        self._open = {aside for aside in self._open if not aside.over}
        aside = Aside(self._conversation, context, window.id, leaf_id, price)
        self._open.add(aside)
        return aside

    async def sweep(self, agent: AgentPort) -> None:
        """End the sessions of asides that a client which is gone left in this agent."""
        with contextlib.suppress(AgentError, StoreError, ReadOnly):
            await sweep(
                self._conversation.send_context(), agent, lambda: {aside.link_id for aside in self._open}
            )

    async def close(self) -> None:
        """The conversation is closed: so are its asides, as far as that is possible soon."""
        open_still = [aside for aside in self._open if not aside.over]
        try:
            async with asyncio.timeout(_ENDING_SECONDS):
                await asyncio.gather(*(aside.close() for aside in open_still))
        except TimeoutError:
            for aside in open_still:
                aside.abandon()
