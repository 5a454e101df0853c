"""One turn of a headless run: what it tells, who answers its questions, and what its end means to a script."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from catena.cli.run.interrupts import Interrupts
from catena.cli.run.output import Output
from catena.cli.run.permissions import Terminal, ruled
from catena.errors import ExitStatus
from catena.settings.agents import stored_agent_name
from catena.settings.settings import Permissions, Settings
from catena.text.safe_text import safe_line
from catena_acp.abilities import AuthMethod
from catena_acp.continuity.events import (
    Asked,
    AskSettled,
    ConversationEvent,
    DoingChanged,
    HoldChanged,
    LeafMoved,
    LinkChanged,
    MessageAdded,
    MessageChanged,
    MessageGrew,
    PromptReturned,
    QueueChanged,
    Remarked,
    Renamed,
    SessionChanged,
    Troubled,
    TurnEnded,
    TurnStarted,
    Usage,
)
from catena_acp.conversation.conversation import Conversation
from catena_acp.conversation.prompts.window import Window
from catena_acp.errors import AgentError
from catena_acp.events import PermissionOption
from catena_acp.trouble.troubles import Trouble
from catena_store.chains import links
from catena_store.database.database import Database
from catena_store.records import Attachment, Kind, Message, StopReason

_GROWING = frozenset({Kind.AGENT, Kind.THOUGHT})


class HeadlessTurn:
    """Says one prompt in a window and follows it to its end."""

    def __init__(
        self,
        conversation: Conversation,
        window: Window,
        db: Database,
        output: Output,
        *,
        policy: Permissions,
        terminal: Terminal | None,  # where the person is asked instead
    ) -> None:
        self.ended: TurnEnded | None = None
        self.said = False  # the prompt is in the store
        self.refused = False  # a permission was
        self._conversation = conversation
        self._window = window
        self._db = db
        self._output = output
        self._policy = policy
        self._terminal = terminal
        self._news: asyncio.Queue[ConversationEvent] = asyncio.Queue()
        self._messages: dict[str, Message] = {}
        self._told: dict[str, int] = {}  # message id: characters of its text that were told
        self._asked: dict[str, tuple[Asked, asyncio.Task[None]]] = {}
        self._usage: Usage | None = None

    async def take(
        self,
        prompt: str,
        interrupts: Interrupts,
        attachments: Sequence[Attachment] = (),
        *,
        edited: str | None = None,
    ) -> TurnEnded:
        """Say the prompt, or say it instead of an ``edited`` one; returns when its turn has ended.

        Raises ReadOnly, StoreError.
        """
        # Never unsubscribed: where we are interrupted, the turn's end is told while the conversation is being closed.
        self._conversation.subscribe(self._hear)
        if edited is None:
            await self._window.say(prompt, attachments)
        else:
            await self._window.edit(edited, prompt, attachments)
        self.said = True
        try:
            async with asyncio.TaskGroup() as tasks:
                self._tasks = tasks
                interrupts.turn_begins(self._stop)
                while self.ended is None or not self._news.empty():
                    await self._tell(await self._news.get())
                interrupts.turn_is_over()
                for _, question in self._asked.values():
                    question.cancel()
                return self.ended
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from errors
        finally:
            interrupts.turn_is_over()

    async def settle(self) -> None:
        """Let what is done with the session after a turn come to its end, before the agent is ended."""
        await self._window.settled()
        while not self._news.empty():
            if isinstance(news := self._news.get_nowait(), Remarked):
                self._output.remark(news.text)

    def _hear(self, news: ConversationEvent) -> None:
        if news.window_id != self._window.id:
            return
        if isinstance(news, TurnEnded):
            self.ended = news
        self._news.put_nowait(news)

    def _stop(self) -> None:
        self._tasks.create_task(self._window.stop())

    async def _tell(self, news: ConversationEvent) -> None:
        match news:
            case MessageAdded(message=message) | MessageChanged(message=message):
                self._message(message)
            case MessageGrew(message_id=message_id, text=text):
                self._grown(message_id, text)
            case TurnStarted(turn=turn):
                async with self._db.read() as reader:
                    link = await links.get(reader, turn.link_id)
                self._output.turn(turn, link)
            case Asked():
                await self._answer(news)
            case AskSettled(ask_id=ask_id):
                self._settled(ask_id)
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
            case (
                TurnEnded()
                | DoingChanged()
                | LeafMoved()
                | PromptReturned()
                | QueueChanged()
                | Renamed()
                | HoldChanged()
            ):
                return
            case _:
                assert_never(news)

    def _message(self, message: Message) -> None:
        self._messages[message.id] = message
        self._output.message(message)
        told = self._told.get(message.id, 0)
        if message.kind in _GROWING and len(message.text) > told:
            self._grown(message.id, message.text[told:])

    def _grown(self, message_id: str, text: str) -> None:
        if (message := self._messages.get(message_id)) is not None:
            self._told[message_id] = self._told.get(message_id, 0) + len(text)
            self._output.text(message, text)

    async def _answer(self, asked: Asked) -> None:
        self._output.asked(asked)
        if self._terminal is not None:
            self._asked[asked.ask_id] = (asked, self._tasks.create_task(self._ask(asked, self._terminal)))
        else:
            await self._give(asked, ruled(self._policy, asked), by="policy")

    async def _ask(self, asked: Asked, terminal: Terminal) -> None:
        option = await terminal.ask(asked)
        self._asked.pop(asked.ask_id, None)
        await self._give(asked, option, by="person")

    async def _give(self, asked: Asked, option: PermissionOption | None, *, by: str) -> None:
        if option is None or option.kind.startswith("reject"):
            self.refused = True
        self._output.answered(asked, option, by)
        await self._conversation.answer(asked.ask_id, option.id if option else None)

    def _settled(self, ask_id: str) -> None:
        """The question is no longer open; where it still stands on the terminal, nobody needs to answer it."""
        if (open_question := self._asked.pop(ask_id, None)) is not None:
            asked, question = open_question
            question.cancel()
            self._output.answered(asked, None, "agent")


def status_of(ended: TurnEnded, *, refused: bool) -> ExitStatus:
    """What a turn's end means to a script; ``refused`` where the agent was refused a permission in it."""
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


async def with_way_in(
    ended: TurnEnded, conversation: Conversation, window: Window, settings: Settings
) -> TurnEnded:
    """The same end; where it wants a login, with one line more that says how."""
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
