"""One turn of a headless run: its events, its permission requests, its exit status and its login hint."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import Awaitable, Coroutine
from dataclasses import dataclass, replace
from typing import Any, assert_never

from catena.cli.run.answers import InvalidAnswer, Terminal, ask_elicitation, policy_answer
from catena.cli.run.interrupts import Interrupts
from catena.cli.run.output import Output
from catena.errors import ExitStatus
from catena.settings.agents import stored_agent_name
from catena.settings.settings import Settings
from catena.settings.tables import Permissions
from catena.text.safe_text import call_line, safe_line
from catena_acp.continuity.conversation_events import (
    BackgroundChanged,
    ConversationEvent,
    DoingChanged,
    ElicitationClosed,
    ElicitationOpened,
    HoldChanged,
    LeafMoved,
    LinkChanged,
    MessageAdded,
    MessageChanged,
    MessageGrew,
    PermissionClosed,
    PermissionOpened,
    PlaceMoved,
    PromptReturned,
    Question,
    QueueChanged,
    Remarked,
    Renamed,
    SessionChanged,
    Troubled,
    TurnEnded,
    TurnStarted,
    Usage,
)
from catena_acp.continuity.wording.problems import retry_words
from catena_acp.conversation.conversation import Conversation
from catena_acp.conversation.prompts.window import Window
from catena_acp.errors import AgentError, QuestionChanged
from catena_acp.port.abilities import AuthMethod
from catena_acp.port.elicitation.requests import CANCEL, DECLINE, ElicitationAnswer
from catena_acp.port.session_events import PermissionOption
from catena_acp.spoken.call import Call
from catena_acp.trouble.troubles import Trouble
from catena_store.chains import links
from catena_store.database.database import Database
from catena_store.records import Kind, Message, StopReason, Turn

_SETTLING_SECONDS = 2.0
CLEARED = "Context cleared: the agent no longer sees earlier messages. The transcript stays."
_GROWING = frozenset({Kind.AGENT, Kind.THOUGHT})


@dataclass(frozen=True, slots=True)
class TurnRules:
    """How an agent's questions are answered."""

    policy: Permissions
    terminal: Terminal | None  # where the person is asked instead


class HeadlessTurn:
    """Sends one prompt in a window and follows its turn to the end."""

    def __init__(
        self,
        conversation: Conversation,
        window: Window,
        db: Database,
        output: Output,
        rules: TurnRules,
        *,
        whose: str = "",  # the agent's name, where several are asked
    ) -> None:
        self.ended: TurnEnded | None = None
        self.started: asyncio.Future[Turn | None] = asyncio.get_running_loop().create_future()
        self.said = False  # the prompt is in the store
        self.refused = False  # a permission request was rejected
        self.invalid = False  # a form was left at an answer that it does not take
        self._conversation = conversation
        self._window = window
        self._db = db
        self._output = output
        self._policy = rules.policy
        self._terminal = rules.terminal
        self._whose = whose
        self._events: asyncio.Queue[ConversationEvent] = asyncio.Queue()
        self._messages: dict[str, Message] = {}
        self._sent: dict[str, int] = {}  # by message id: characters already written
        self._asked: dict[str, tuple[Question, asyncio.Task[None]]] = {}  # on the terminal
        self._remarked: set[tuple[str, str]] = set()  # notes of calls, by message
        self._usage: Usage | None = None

    async def send(self, sending: Awaitable[None]) -> None:
        """Send a prompt in the window by ``sending``. Raises ReadOnly, StoreError."""
        # Never unsubscribed: after an interrupt, the turn ends while the conversation is being closed.
        self._conversation.subscribe(self._handle)
        await sending
        self.said = True

    async def follow(self, interrupts: Interrupts) -> TurnEnded:
        """Report what comes of the prompt until its turn has ended. Raises StoreError."""
        try:
            async with asyncio.TaskGroup() as tasks:
                self._tasks = tasks
                interrupts.begin_turn(self, self._stop)
                while self.ended is None or not self._events.empty():
                    await self._report(await self._events.get())
                interrupts.end_turn(self)
                for _, asking in self._asked.values():
                    asking.cancel()
                return self.ended
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from errors
        finally:
            interrupts.end_turn(self)

    async def clear(self, prompt: str, *, edited: str | None, empty: bool) -> None:
        """Clear the context by `/clear`, which is ours and goes to no agent, at the end or in place of a prompt.

        Nothing is written into an ``empty`` conversation.
        """
        self.said = True
        if edited is not None:
            await self._window.edit(edited, prompt)
        elif not empty:
            await self._window.clear()
        self._output.remark(CLEARED)

    async def settle(self, interrupts: Interrupts) -> None:
        """Wait up to two seconds for the work on the session that follows a turn, unless a signal comes."""
        if interrupts.status is None:
            work = asyncio.create_task(self._window.settled())
            with interrupts.settling(work.cancel):
                await asyncio.wait({work}, timeout=_SETTLING_SECONDS)
            work.cancel()
        while not self._events.empty():
            if isinstance(event := self._events.get_nowait(), Remarked):
                self._output.remark(event.text)

    def _handle(self, event: ConversationEvent) -> None:
        if event.window_id != self._window.id:
            return
        match event:
            case TurnStarted(turn=turn) if not self.started.done():
                self.started.set_result(turn)
            case TurnEnded():
                self.ended = event
                if not self.started.done():
                    self.started.set_result(None)
            case _:
                pass
        self._events.put_nowait(event)

    def _stop(self) -> None:
        self._tasks.create_task(self._window.stop())

    async def _report(self, event: ConversationEvent) -> None:
        match event:
            case MessageAdded(message=message) | MessageChanged(message=message):
                self._message(message)
            case MessageGrew(message_id=message_id, text=text):
                self._append(message_id, text)
            case TurnStarted(turn=turn):
                async with self._db.read() as reader:
                    link = await links.get(reader, turn.link_id)
                self._output.turn(turn, link)
            case PermissionOpened():
                await self._answer(event)
            case ElicitationOpened(opened=opened):
                if not opened:
                    await self._elicit(event)
            case PermissionClosed(ask_id=ask_id) | ElicitationClosed(ask_id=ask_id):
                self._close(ask_id)
            case SessionChanged(session=session):
                if session.usage is not None and session.usage != self._usage:
                    self._usage = session.usage
                    self._output.usage(session.usage)
            case Troubled(problem=problem):
                self._output.problem(problem)
            case LinkChanged(link=link, why=why):
                self._output.link(link, why)
            case Remarked(text=text):
                self._output.remark(text)
            case DoingChanged(retried=retried):
                if retried is not None:
                    self._output.remark(retry_words(retried))
            case (
                TurnEnded()
                | LeafMoved()
                | PromptReturned()
                | QueueChanged()
                | Renamed()
                | HoldChanged()
                | BackgroundChanged()
                | PlaceMoved()
            ):
                return
            case _:
                assert_never(event)

    def _message(self, message: Message) -> None:
        call = Call.of(message) if message.kind is Kind.TOOL else None
        if call and call.rule and not call.rule.allowed:
            self.refused = True
        self._messages[message.id] = message
        self._output.message(message)
        if call and call.unlike:
            self._remark_unlike(message.id, call)
        sent = self._sent.get(message.id, 0)
        if message.kind in _GROWING and len(message.text) > sent:
            self._append(message.id, message.text[sent:])

    def _remark_unlike(self, message_id: str, call: Call) -> None:
        """Say what a call did beside what was asked for, each thing once."""
        for note in call.notes:
            if (message_id, note) not in self._remarked:
                self._remarked.add((message_id, note))
                self._output.remark(call_line(note))

    def _append(self, message_id: str, text: str) -> None:
        if (message := self._messages.get(message_id)) is not None:
            self._sent[message_id] = self._sent.get(message_id, 0) + len(text)
            self._output.text(message, text)

    async def _answer(self, asked: PermissionOpened) -> None:
        self._withdraw(asked.ask_id)  # it may have changed: it is asked anew
        self._output.asked(asked)
        if self._terminal is not None:
            self._begin(asked, self._ask(asked, self._terminal))
        else:
            await self._send_answer(asked, policy_answer(self._policy, asked), by="policy")

    async def _ask(self, asked: PermissionOpened, terminal: Terminal) -> None:
        option = await terminal.ask(asked, self._conversation.record.cwd, whose=self._whose)
        if self._asked.get(asked.ask_id, (None,))[0] is not asked:
            return  # it changed meanwhile
        self._asked.pop(asked.ask_id, None)
        await self._send_answer(asked, option, by="person")

    async def _send_answer(
        self, asked: PermissionOpened, option: PermissionOption | None, *, by: str
    ) -> None:
        try:
            await self._conversation.answer(asked.ask_id, option.id if option else None, asked.tool_call)
        except QuestionChanged:
            return  # it is asked anew
        if option is None or option.kind.startswith("reject"):
            self.refused = True
        self._output.answered(asked, option, by)

    async def _elicit(self, asked: ElicitationOpened) -> None:
        """Ask the person, or decline where nobody can answer."""
        self._output.elicited(asked)
        if self._terminal is None:
            await self._send_elicited(asked, DECLINE, by="policy")
            return
        self._begin(asked, self._ask_elicited(asked, self._terminal))

    async def _ask_elicited(self, asked: ElicitationOpened, terminal: Terminal) -> None:
        try:
            answer = await ask_elicitation(terminal, asked)
        except InvalidAnswer as error:
            answer, self.invalid = CANCEL, True
            self._output.trouble(str(error), ExitStatus.USAGE)
        self._asked.pop(asked.ask_id, None)
        await self._send_elicited(asked, answer, by="person")

    async def _send_elicited(self, asked: ElicitationOpened, answer: ElicitationAnswer, *, by: str) -> None:
        self._output.elicitation_answered(asked, answer, by)
        await self._conversation.answer_elicitation(asked.ask_id, answer)

    def _begin(self, asked: Question, asking: Coroutine[Any, Any, None]) -> None:
        self._asked[asked.ask_id] = asked, self._tasks.create_task(asking)

    def _withdraw(self, ask_id: str) -> Question | None:
        """Cancel a question on the terminal, and return it; None if it waits for no answer there."""
        if ask_id not in self._asked:
            return None
        asked, asking = self._asked.pop(ask_id)
        asking.cancel()
        return asked

    def _close(self, ask_id: str) -> None:
        """Withdraw a question as the agent did."""
        match self._withdraw(ask_id):
            case PermissionOpened() as asked:
                self._output.answered(asked, None, "agent")
            case ElicitationOpened() as asked:
                self._output.elicitation_answered(asked, CANCEL, "agent")
            case None:
                pass

    def status_of(self, ended: TurnEnded) -> ExitStatus:
        """The exit status of the turn."""
        status = _status_of(ended, refused=self.refused)
        return ExitStatus.USAGE if self.invalid and status is ExitStatus.ANSWERED else status


def _status_of(ended: TurnEnded, *, refused: bool) -> ExitStatus:
    """The exit status of a turn; ``refused`` if a permission request was rejected in it."""
    if ended.problem is not None:
        match ended.problem.trouble:
            case Trouble.AGENT_MISSING | Trouble.AGENT_GONE | Trouble.AGENT_SILENT:
                return ExitStatus.NO_AGENT
            case Trouble.LOGIN_NEEDED:
                return ExitStatus.LOGIN_NEEDED
            case Trouble.READ_ONLY:
                return ExitStatus.HELD_ELSEWHERE
            case (
                Trouble.REFUSED
                | Trouble.EMPTY_TURN
                | Trouble.NO_CARRIER
                | Trouble.STORE
                | Trouble.RATE_LIMIT
                | Trouble.CREDIT
                | Trouble.OVERLOAD
                | Trouble.CONTEXT_FULL
                | Trouble.SESSION_LOST
                | Trouble.INTERRUPTED
            ):
                return ExitStatus.FAILED
            case _:
                assert_never(ended.problem.trouble)
    reason = ended.turn.stop_reason if ended.turn else None
    if refused and (reason is None or reason.clean or reason is StopReason.CANCELLED):
        return ExitStatus.PERMISSION_REFUSED
    match reason:
        case StopReason.END_TURN | StopReason.MAX_TOKENS | StopReason.MAX_TURN_REQUESTS:
            return ExitStatus.ANSWERED
        case StopReason.CANCELLED:
            return ExitStatus.STOPPED
        case StopReason.AGENT_GONE:
            return ExitStatus.NO_AGENT
        case StopReason.REFUSAL | StopReason.ERROR | StopReason.INTERRUPTED | StopReason.NOT_SENT | None:
            return ExitStatus.FAILED
        case _:
            assert_never(reason)


async def with_login_hint(
    ended: TurnEnded, conversation: Conversation, window: Window, settings: Settings
) -> TurnEnded:
    """The end of a turn with a line on how to log in added to a login problem."""
    problem = ended.problem
    if problem is None or problem.trouble is not Trouble.LOGIN_NEEDED:
        return ended
    methods: tuple[AuthMethod, ...] = ()
    with contextlib.suppress(AgentError):
        methods = await conversation.logins.methods(window)
    record = conversation.record
    name = stored_agent_name(record.agent, record.profile, settings)
    way = _command(name, methods) if methods else conversation.logins.own_way_in
    if way is None:
        return ended
    return replace(ended, problem=replace(problem, detail=(*problem.detail, f"To log in: {way}")))


def _command(name: str, methods: tuple[AuthMethod, ...]) -> str:
    command = name.removeprefix("command:")
    whose = name if command == name else f"--agent-command {shlex.quote(command)}"
    ways = ", ".join(safe_line(method.name) for method in methods)
    return f"catena login {whose} ({ways})"
