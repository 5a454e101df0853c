"""Connection to one agent: every request of the protocol, subject to the agent's capabilities.

Requests are made and checked by the SDK's types. Answers and updates are read as the agent wrote them: the SDK's types
would refuse an answer for one unknown word in it, and leave out what they do not know.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from acp import RequestError
from acp.core import Connection as JsonRpc
from acp.schema import (
    AuthenticateRequest,
    CancelNotification,
    CloseSessionRequest,
    DeleteSessionRequest,
    ForkSessionRequest,
    Implementation,
    InitializeRequest,
    ListSessionsRequest,
    LoadSessionRequest,
    LogoutRequest,
    NewSessionRequest,
    PromptRequest,
    ResumeSessionRequest,
    SetSessionConfigOptionBooleanRequest,
    SetSessionConfigOptionSelectRequest,
    SetSessionModeRequest,
)
from acp.utils import serialize_params
from pydantic import BaseModel, ValidationError

from catena_acp.errors import AgentError, AgentGone, AgentRefused, AgentSilent, NotOffered, ProtocolBroken
from catena_acp.port.abilities import Abilities
from catena_acp.port.elicitation.requests import ElicitationAnswer
from catena_acp.port.port import FileGuard, Limits, SessionSetup
from catena_acp.port.session_events import (
    Event,
    NoticeReported,
    Option,
    PermissionRequested,
    PromptBlock,
    PromptEnded,
    SessionOpened,
    SessionPage,
    TerminalChanged,
    ToolCallChanged,
)
from catena_acp.protocol.answers import (
    CANCELLED,
    NO_SUCH_METHOD,
    PROTOCOL_VERSION,
    SessionOptions,
    abilities_of,
    described,
    options_of,
    page_of,
    prompt_ended_of,
    refusal,
    session_id_of,
)
from catena_acp.protocol.callbacks import Callbacks
from catena_acp.protocol.delivery import EventDelivery
from catena_acp.protocol.files import FileAccess
from catena_acp.protocol.framing import Json
from catena_acp.protocol.request_parameters import (
    client_capabilities,
    content_block,
    fork_meta,
    mcp_servers,
    session_directories,
)
from catena_acp.protocol.transport import StdioTransport
from catena_acp.terminals.terminals import Terminals

DeliverTerminal = Callable[[str, TerminalChanged], None]


class Requests:
    """Requests to an agent, and their errors as ``AgentError``.

    ``exit_error`` waits for the agent's end after its connection failed and returns the error to raise.
    """

    def __init__(self, rpc: JsonRpc, exit_error: Callable[[], Awaitable[AgentGone]]) -> None:
        self._rpc = rpc
        self._exit_error = exit_error
        self.agent_name = ""

    async def send(
        self,
        method: str,
        params: Callable[[], BaseModel] | Json,
        *,
        limit: float | None = None,
        session_id: str | None = None,
        opening: bool = False,
        anchor: str | None = None,
    ) -> Json:
        """Make a request and return its result as the agent wrote it, an empty object for null.

        ``params`` makes them in the SDK's type; an object goes out as it is. The answer is awaited in the calling
        task, with nothing in between: updates that came before the answer have been delivered when this returns, and
        later ones have not. If the caller is cancelled, or ``limit`` passes, the agent is told so.
        """
        try:
            written = serialize_params(params()) if callable(params) else params
        except ValidationError as error:
            raise ProtocolBroken(f"the request cannot be made: {described(error)}") from error
        try:
            async with asyncio.timeout(limit):
                result = await self._rpc.send_request(method, written)
        except TimeoutError as error:
            raise AgentSilent(f"no answer within {limit:g} seconds") from error
        except RequestError as error:
            raise refusal(
                error.code,
                str(error),
                error.data,
                session_id=session_id,
                opening=opening,
                anchor=anchor,
                agent_name=self.agent_name,
            ) from error
        except OSError as error:
            raise await self._exit_error() from error
        return result if isinstance(result, dict) else {}

    async def notify(self, method: str, params: BaseModel) -> None:
        """Send a notification, without waiting until the agent reads it."""
        try:
            await self._rpc.send_notification(method, serialize_params(params))
        except OSError as error:
            raise await self._exit_error() from error


class Connection:
    """Connection to one agent: its requests, its callbacks and the state of its sessions."""

    def __init__(
        self,
        transport: StdioTransport,
        delivery: EventDelivery,
        *,
        files: FileAccess | None,
        terminals: Callable[[DeliverTerminal], Terminals] | None,
        ask_id: Callable[[int], str],
        exit_error: Callable[[], Awaitable[AgentGone]],
        limits: Limits,
        log: Callable[[str], None],
    ) -> None:
        self._log = log
        self._delivery = delivery
        self._files = files
        self._offers_terminals = terminals is not None
        self._limits = limits
        self._callbacks = Callbacks(
            self._deliver,
            files,
            ask_id,
            has_room=lambda: transport.has_room,
            session_of_request=transport.session_of_request,
            owner_of=self._owner_of_question,
            terminals=terminals(self._deliver) if terminals is not None else None,
            log=log,
        )
        self._rpc = JsonRpc(self._callbacks.handle, transport)
        self._requests = Requests(self._rpc, exit_error)
        self._abilities = Abilities(name="", title="", version="", protocol_version=PROTOCOL_VERSION)
        self._running_prompts = _RunningPrompts()
        # Session ids of the openings under way, None for new ones and forks.
        self._opening: list[str | None] = []
        self._states = SessionOptions()

    @property
    def abilities(self) -> Abilities:
        return self._abilities

    async def initialize(self, client_version: str, limit: float) -> None:
        """Initialise the connection. Raises ProtocolBroken for another version of the protocol."""
        answer = await self._requests.send(
            "initialize",
            lambda: InitializeRequest(
                protocol_version=PROTOCOL_VERSION,
                client_capabilities=client_capabilities(self._files, terminals=self._offers_terminals),
                client_info=Implementation(name="catena", title="Catena", version=client_version),
            ),
            limit=limit,
        )
        try:
            abilities = abilities_of(answer)
        except ValueError as error:
            raise ProtocolBroken(str(error)) from error
        if abilities.protocol_version != PROTOCOL_VERSION:
            raise ProtocolBroken(
                f"speaks version {abilities.protocol_version} of the protocol, not {PROTOCOL_VERSION}"
            )
        self._abilities = abilities
        self._requests.agent_name = abilities.name
        self._callbacks.missing_files_are_empty = abilities.quirks.missing_files_must_be_empty

    # Sessions.

    async def new_session(self, setup: SessionSetup) -> SessionOpened:
        answer = await self._open(
            "session/new",
            lambda: NewSessionRequest(
                cwd=setup.cwd,
                additional_directories=session_directories(setup, self._abilities),
                mcp_servers=mcp_servers(setup, self._abilities),
            ),
        )
        return self._session_opened(answer, None, [], setup)

    async def _open(
        self,
        method: str,
        params: Callable[[], BaseModel],
        session_id: str | None = None,
        *,
        known: str | None = None,
        anchor: str | None = None,
    ) -> Json:
        """Open a session: ``session_id`` again, a fork of ``known``, or a new one; as long as the agent takes."""
        self._opening.append(session_id)
        try:
            return await self._requests.send(
                method,
                params,
                session_id=session_id or known,
                opening=bool(session_id or known),
                anchor=anchor,
            )
        finally:
            self._opening.remove(session_id)

    async def resume_session(self, session_id: str, setup: SessionSetup) -> SessionOpened:
        self._require(self._abilities.resume, "session/resume")
        return await self._reopen("session/resume", ResumeSessionRequest, session_id, setup)

    async def load_session(self, session_id: str, setup: SessionSetup) -> SessionOpened:
        self._require(self._abilities.load, "session/load")
        late = self._abilities.quirks.replay_ends_with_commands
        return await self._reopen("session/load", LoadSessionRequest, session_id, setup, late=late)

    async def _reopen(
        self,
        method: str,
        request: type[ResumeSessionRequest | LoadSessionRequest],
        session_id: str,
        setup: SessionSetup,
        *,
        late: bool = False,
    ) -> SessionOpened:
        """Open a session again; ``late``: its history comes behind the answer, and its commands behind that."""
        with self._delivery.collect_replay(session_id) as replay:
            answer = await self._open(
                method,
                lambda: request(
                    session_id=session_id,
                    cwd=setup.cwd,
                    additional_directories=session_directories(setup, self._abilities),
                    mcp_servers=mcp_servers(setup, self._abilities),
                ),
                session_id,
            )
            if late:
                await replay.until_commands(self._limits.replay)
        return self._session_opened(answer, session_id, replay.events, setup)

    async def fork_session(
        self, session_id: str, setup: SessionSetup, at: str | None = None
    ) -> SessionOpened:
        """Fork a session at its head, or ``at`` a message id through the ``_meta`` key that this agent reads.

        An agent that does not know the key forks the whole session and does not say so.
        """
        self._require(self._abilities.fork, "session/fork")
        answer = await self._open(
            "session/fork",
            lambda: ForkSessionRequest(
                session_id=session_id,
                cwd=setup.cwd,
                additional_directories=session_directories(setup, self._abilities),
                mcp_servers=mcp_servers(setup, self._abilities),
                field_meta=fork_meta(at, self._abilities.quirks.fork_at_key),
            ),
            known=session_id,
            anchor=at,
        )
        forked = session_id_of(answer, None)
        return self._session_opened(answer, None, self._delivery.take_unclaimed(forked), setup)

    async def list_sessions(self, cwd: str | None = None, cursor: str | None = None) -> SessionPage:
        """One page of the agent's sessions; ``cursor`` is ``next`` of the previous page, valid only now."""
        self._require(self._abilities.list, "session/list")
        answer = await self._requests.send(
            "session/list",
            lambda: ListSessionsRequest(cwd=cwd, cursor=cursor),
            limit=self._limits.setting,
        )
        return page_of(answer)

    async def close_session(self, session_id: str) -> None:
        """Close a session where the agent offers that; a refusal is not an error."""
        if self._abilities.close:
            with suppress(AgentRefused):
                await self._requests.send(
                    "session/close",
                    lambda: CloseSessionRequest(session_id=session_id),
                    limit=self._limits.closing,
                )
        self._forget(session_id)

    async def close_open_sessions(self, limit: float) -> None:
        """Close all open sessions concurrently within ``limit`` seconds; errors are ignored."""
        if not (self._abilities.close and self._states.open_sessions):
            return
        closing = [
            asyncio.create_task(self.close_session(session_id))
            for session_id in sorted(self._states.open_sessions)
        ]
        _, late = await asyncio.wait(closing, timeout=limit)
        for task in late:
            task.cancel()
        for task in closing:
            with suppress(AgentError, asyncio.CancelledError):
                await task

    async def delete_session(self, session_id: str) -> None:
        self._require(self._abilities.delete, "session/delete")
        await self._requests.send(
            "session/delete",
            lambda: DeleteSessionRequest(session_id=session_id),
            limit=self._limits.setting,
            session_id=session_id,
        )
        self._forget(session_id)

    # Turns.

    async def prompt(self, session_id: str, blocks: Sequence[PromptBlock]) -> PromptEnded:
        """Prompt a session and wait for the end of the turn; its updates have been delivered by then."""
        if not blocks:
            raise ValueError("a prompt needs at least one block")
        self._running_prompts.begin(session_id)
        self._callbacks.take_tokens(session_id)  # those of a replay
        try:
            answer = await self._requests.send(
                "session/prompt",
                lambda: PromptRequest(
                    session_id=session_id, prompt=[content_block(block) for block in blocks]
                ),
                session_id=session_id,
            )
        except AgentRefused as error:
            if error.code == CANCELLED:
                return PromptEnded("cancelled", None)
            raise
        finally:
            self._callbacks.look_at_terminals(session_id)
            if self._running_prompts.end(session_id):
                self._callbacks.end_cancel(session_id)
        ended, counted = prompt_ended_of(answer), self._callbacks.take_tokens(session_id)
        return ended if ended.usage is not None or not counted else replace(ended, usage=counted)

    async def cancel(self, session_id: str) -> None:
        """Send `session/cancel`, and answer the session's permission requests and elicitations with `cancelled`."""
        if session_id in self._running_prompts:
            self._callbacks.begin_cancel(session_id)
        else:
            self._callbacks.withdraw_questions(session_id)
        await self._requests.notify("session/cancel", CancelNotification(session_id=session_id))

    async def steer(self, session_id: str, blocks: Sequence[PromptBlock]) -> str:
        """Steer a running turn; return the outcome: injected, startedNewTurn, promptRequired or failed."""
        self._require(self._abilities.steering, "_session/steering")
        prompt = [
            content_block(block).model_dump(mode="json", by_alias=True, exclude_none=True) for block in blocks
        ]
        answer = await self._requests.send(
            "_session/steering",
            {
                "sessionId": session_id,
                "prompt": prompt,
                "_meta": {"steering": {"idleBehavior": "promptRequired"}},
            },
            limit=self._limits.setting,
            session_id=session_id,
        )
        outcome = answer.get("outcome")
        return outcome if isinstance(outcome, str) else "failed"

    def guard_files(self, session_id: str, guard: FileGuard) -> Callable[[], None]:
        return self._callbacks.guard_files(session_id, guard)

    def answer_permission(self, ask_id: str, option_id: str | None) -> None:
        self._callbacks.answer_permission(ask_id, option_id)

    def answer_elicitation(self, ask_id: str, answer: ElicitationAnswer) -> None:
        self._callbacks.answer_elicitation(ask_id, answer)

    # Settings.

    async def set_mode(self, session_id: str, mode_id: str) -> None:
        await self._requests.send(
            "session/set_mode",
            lambda: SetSessionModeRequest(session_id=session_id, mode_id=mode_id),
            limit=self._limits.setting,
            session_id=session_id,
        )

    async def set_option(self, session_id: str, option_id: str, value: str | bool) -> tuple[Option, ...]:
        """Set a config option; return all options of the session."""
        if self._states.is_legacy_model(session_id, option_id):
            await self._requests.send(
                "session/set_model",
                {"sessionId": session_id, "modelId": str(value)},
                limit=self._limits.setting,
                session_id=session_id,
            )
            return self._states.set_option(session_id, option_id, value)
        answer = await self._requests.send(
            "session/set_config_option",
            lambda: (
                SetSessionConfigOptionBooleanRequest(
                    config_id=option_id, session_id=session_id, value=value, type="boolean"
                )
                if isinstance(value, bool)
                else SetSessionConfigOptionSelectRequest(
                    config_id=option_id, session_id=session_id, value=value
                )
            ),
            limit=self._limits.setting,
            session_id=session_id,
        )
        options = options_of(answer)
        if options is None:
            return self._states.set_option(session_id, option_id, value)
        return self._states.update_options(session_id, options)

    # Logins.

    async def authenticate(self, method_id: str) -> None:
        await self._requests.send(
            "authenticate", lambda: AuthenticateRequest(method_id=method_id), limit=self._limits.login
        )

    async def logout(self) -> None:
        self._require(self._abilities.logout, "logout")
        await self._requests.send("logout", LogoutRequest, limit=self._limits.setting)

    # The end.

    async def close(self) -> None:
        """Withdraw all questions, begin to end the terminals, and close the SDK's connection."""
        self._callbacks.withdraw_questions()
        self._callbacks.close_terminals()
        await self._rpc.close()

    def allow_directories(self, session_id: str, session_directories: Sequence[str]) -> None:
        """Replace the further directories below which the session may read and write files."""
        self._callbacks.allow_directories(session_id, session_directories)

    def forbid_writes(self, session_id: str) -> None:
        """Refuse every later file write of the session, and every command."""
        self._callbacks.forbid_writes(session_id)

    def _session_opened(
        self, answer: Json, asked: str | None, replay: list[Event], setup: SessionSetup
    ) -> SessionOpened:
        opened = self._states.add(answer, session_id_of(answer, asked), replay)
        self._callbacks.open_in(opened.session_id, setup.cwd)
        self.allow_directories(opened.session_id, setup.additional_directories)
        for event in self._states.replayed_state(opened):
            self._deliver(opened.session_id, event)
        return opened

    def _deliver(self, session_id: str, event: Event) -> None:
        self._running_prompts.note(session_id, event)
        if isinstance(event, ToolCallChanged) and not self._knows(session_id):
            # The child of a session goes on with a call that a turn of ours knows, since it asked about it.
            session_id = self._running_prompts.that_knows(event.tool_call_id) or session_id
        self._delivery.deliver(session_id, self._states.complete(session_id, event))

    def _knows(self, session_id: str) -> bool:
        """True for a session that is open, or being opened, under this id."""
        return session_id in self._states.open_sessions or session_id in self._opening

    def _owner_of_question(self, session_id: str, call_id: str | None, is_elicitation: bool) -> str | None:
        """The session whose turn a question belongs to; None if it belongs to none, which is said.

        Agents ask under the session id of a child, too, which nobody here has opened: the turn that knows the tool
        call has the question, else the only running one. Agents elicit before a session is open, too.
        """
        if self._knows(session_id):
            return session_id
        owner = self._running_prompts.that_knows(call_id)
        if owner is None and is_elicitation and self._opening:
            return session_id  # kept for the session that is being opened
        owner = owner or self._running_prompts.only
        if owner is None:
            self._say_cancelled(session_id)
        elif call_id is not None:
            for event in self._delivery.take_calls(session_id, call_id):
                self._deliver(owner, event)
        return owner

    def _say_cancelled(self, session_id: str) -> None:
        """Say in the log, and in every running turn, that a question was cancelled which belongs to none."""
        words = f"The agent asked a question in the unknown session {session_id[:100]!r}. It was cancelled."
        self._log(words)
        self.notice(words)

    def notice(self, words: str) -> bool:
        """Say something in every running turn; False if there is none."""
        running = list(self._running_prompts)
        for session_id in running:
            self._deliver(session_id, NoticeReported(words, "warning"))
        return bool(running)

    def _forget(self, session_id: str) -> None:
        self._callbacks.forget(session_id)
        self._states.forget(session_id)
        self._delivery.forget(session_id)

    def _require(self, offered: bool, method: str) -> None:
        if not offered:
            raise NotOffered(NO_SUCH_METHOD, f"the agent does not offer {method}")


class _RunningPrompts:
    """The sessions with a prompt under way, each with the tool calls that its turn was told of."""

    def __init__(self) -> None:
        self._prompts: dict[str, int] = {}
        self._calls: dict[str, set[str]] = {}

    def __contains__(self, session_id: str) -> bool:
        return session_id in self._prompts

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._prompts))

    def begin(self, session_id: str) -> None:
        """Note that a prompt goes out to the session."""
        self._prompts[session_id] = self._prompts.get(session_id, 0) + 1
        self._calls.setdefault(session_id, set())

    def end(self, session_id: str) -> bool:
        """Note that a prompt of the session is over; True if it was its last."""
        self._prompts[session_id] -= 1
        if self._prompts[session_id]:
            return False
        del self._prompts[session_id], self._calls[session_id]
        return True

    def note(self, session_id: str, event: Event) -> None:
        """Note the tool call that an event of the session is about."""
        call = event.tool_call if isinstance(event, PermissionRequested) else event
        if isinstance(call, ToolCallChanged) and session_id in self._calls:
            self._calls[session_id].add(call.tool_call_id)

    def that_knows(self, call_id: str | None) -> str | None:
        """The session whose running turn knows a tool call."""
        return next((session_id for session_id, calls in self._calls.items() if call_id in calls), None)

    @property
    def only(self) -> str | None:
        """The session with a running turn, if there is just one."""
        return next(iter(self._prompts)) if len(self._prompts) == 1 else None
