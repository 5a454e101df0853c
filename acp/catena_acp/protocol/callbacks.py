"""Methods that an agent may call: session updates, permission requests, elicitations, files and terminals.

The SDK calls ``handle`` in the order of the messages, each in a task of its own, and cancels that task if the agent
cancels its request. Nothing is awaited before an event is delivered: the next task would overtake it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePath
from typing import Any, TypeVar

from acp import RequestError
from acp.schema import (
    AllowedOutcome,
    CreateTerminalRequest,
    CreateTerminalResponse,
    DeniedOutcome,
    KillTerminalRequest,
    KillTerminalResponse,
    ReadTextFileRequest,
    ReadTextFileResponse,
    ReleaseTerminalRequest,
    ReleaseTerminalResponse,
    RequestPermissionResponse,
    TerminalExitStatus,
    TerminalOutputRequest,
    TerminalOutputResponse,
    WaitForTerminalExitRequest,
    WaitForTerminalExitResponse,
    WriteTextFileRequest,
    WriteTextFileResponse,
)
from pydantic import BaseModel, ValidationError

from catena_acp.errors import FileRefused, TerminalRefused
from catena_acp.permissions.own_request_policy import OwnRequests
from catena_acp.permissions.own_requests import (
    ALLOW,
    OPTIONS,
    command_run,
    file_asked,
    file_written,
    in_terminal,
)
from catena_acp.port.elicitation.requests import CANCEL, Elicitation, ElicitationAnswer, WebPage
from catena_acp.port.port import FileGuard
from catena_acp.port.session_events import (
    ElicitationAnswered,
    ElicitationCompleted,
    ElicitationRequested,
    Event,
    PermissionRequested,
    PermissionWithdrawn,
    ToolCallChanged,
)
from catena_acp.protocol import answers, session_updates
from catena_acp.protocol.answers import INTERNAL, INVALID, NOT_FOUND, described
from catena_acp.protocol.elicitations import ElicitationInvalid, answer_message, elicitation_of
from catena_acp.protocol.files import FileAccess, RequestQueue
from catena_acp.protocol.framing import Json
from catena_acp.tasks import shielded
from catena_acp.terminals.terminal import TerminalCommand, text_of
from catena_acp.terminals.terminals import Terminals

MAX_QUESTIONS = 200  # permission requests and elicitations that are open at the same time
_LOGGED = 1_000  # characters of a command or a path

Deliver = Callable[[str, Event], None]
Asked = TypeVar("Asked", bound=BaseModel)


@dataclass(slots=True)
class _PermissionRequest:
    """An open permission request; the answer is an option's id, or None for `cancelled`."""

    session_id: str
    answer: asyncio.Future[str | None]


@dataclass(slots=True)
class _ElicitationRequest:
    """An open elicitation."""

    session_id: str
    request: Elicitation
    answer: asyncio.Future[ElicitationAnswer]


class Callbacks:
    """Callbacks of one connection: session updates, permission requests, elicitations, files, terminals.

    ``ask_id`` makes the ids of questions, unique over all agents of the program; ``session_of_request`` names the
    session of a request of ours that an elicitation belongs to. ``owner_of`` names the session whose turn a
    question belongs to that came under a session id, about a tool call, and whether it is an elicitation; None if
    there is none. Extensions are not advertised, and neither are files and terminals where ``files`` or
    ``terminals`` is None; the transport refuses them. Terminals need ``files``, which has the directories.
    """

    def __init__(
        self,
        deliver: Deliver,
        files: FileAccess | None,
        ask_id: Callable[[int], str],
        *,
        has_room: Callable[[], bool] = lambda: True,
        session_of_request: Callable[[object], str | None] = lambda _: None,
        owner_of: Callable[[str, str | None, bool], str | None] = lambda session_id, *_: session_id,
        terminals: Terminals | None = None,
        log: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._deliver = deliver
        self._files = files
        self._terminals = terminals
        self._log = log
        self._ask_id = ask_id
        self._ask_count = 0
        self._session_of_request = session_of_request
        self._owner_of = owner_of
        self._permissions: dict[str, _PermissionRequest] = {}
        self._elicitations: dict[str, _ElicitationRequest] = {}
        # That were opened: session and ask by the agent's id.
        self._web_pages: dict[str, tuple[str, str]] = {}
        self._request_queue = RequestQueue(has_room)
        self._cancelling: set[str] = set()
        self._tokens: dict[str, answers.Tokens] = {}  # of calls of the model, by session
        self._session_files: dict[str, FileAccess] = {}
        self._session_homes: dict[str, str] = {}
        self._file_guards: dict[str, FileGuard] = {}
        self._read_only: set[str] = set()
        self.missing_files_are_empty = False
        # The requests for what is offered: each in the SDK's type, and what answers it.
        self._served: dict[str, tuple[type[BaseModel], Callable[[Any], Awaitable[BaseModel]]]] = {}
        if files is not None:
            self._served |= {
                "fs/read_text_file": (ReadTextFileRequest, self._read_text_file),
                "fs/write_text_file": (WriteTextFileRequest, self._write_text_file),
            }
        if terminals is not None:
            self._served |= {
                "terminal/create": (CreateTerminalRequest, partial(self._create_terminal, terminals)),
                "terminal/output": (TerminalOutputRequest, partial(self._terminal_output, terminals)),
                "terminal/wait_for_exit": (WaitForTerminalExitRequest, partial(_wait_for_exit, terminals)),
                "terminal/kill": (KillTerminalRequest, partial(_kill, terminals)),
                "terminal/release": (ReleaseTerminalRequest, partial(_release, terminals)),
            }

    # Called by the SDK.

    async def handle(self, method: str, params: Any, _is_notification: bool) -> BaseModel | Json | None:
        """Handle a notification, or a request with its answer; ``params`` are as the agent wrote them."""
        given: Json = params if isinstance(params, dict) else {}
        match method:
            case "session/update":
                self._update(given["sessionId"], given["update"])
            case "_session/retrying":
                if isinstance(session_id := given.get("sessionId"), str):
                    self._deliver(session_id, session_updates.retry_of(given))
            case "elicitation/complete":
                self._complete(given.get("elicitationId"))
            case "session/request_permission":
                return await self._request_permission(given)
            case "elicitation/create":
                return answer_message(await self._elicit(given))
            case _ if method in self._served:
                model, serve = self._served[method]
                try:
                    return await serve(_checked(model, given))
                except (FileRefused, TerminalRefused) as error:
                    raise RequestError(NOT_FOUND if error.missing else INVALID, str(error)) from error
            case _:
                raise RequestError.method_not_found(method)
        return None

    def _update(self, session_id: str, update: Json) -> None:
        if tokens := answers.tokens_of_call(update):
            self._tokens[session_id] = answers.added(self._tokens.get(session_id, {}), tokens)
        for event in session_updates.events_of(update):
            self._deliver(session_id, event)

    async def _request_permission(self, request: Json) -> RequestPermissionResponse:
        """Deliver a permission request and wait for its answer.

        `cancelled` while the turn is being cancelled, and if there is no turn that it belongs to.
        """
        session_id = request.get("sessionId")
        if not isinstance(session_id, str):
            raise RequestError(INVALID, "the request names no session")
        asked = session_updates.permission_of(self._new_ask_id(), request)
        owner = self._owner_of(session_id, asked.tool_call.tool_call_id, False)
        if owner is None or owner in self._cancelling:
            return _cancelled()
        option_id = await self._ask(owner, asked)
        if option_id is None:
            return _cancelled()
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=option_id))

    async def _ask(self, session_id: str, asked: PermissionRequested) -> str | None:
        """The id of the option that is chosen, None for `cancelled`; withdrawn if the agent cancels its request."""
        answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._permissions[asked.ask_id] = _PermissionRequest(session_id, answer)
        self._deliver(session_id, asked)
        try:
            return await answer
        except asyncio.CancelledError:
            if self._permissions.pop(asked.ask_id, None) is not None:
                self._deliver(session_id, PermissionWithdrawn(asked.ask_id))
            raise

    async def _elicit(self, asked: Json) -> ElicitationAnswer:
        """The person's answer; `cancel` while the turn is being cancelled, and if no session is concerned.

        Withdrawn if the agent cancels its request.
        """
        try:
            request = elicitation_of(asked)
        except ElicitationInvalid as error:
            raise RequestError(INVALID, str(error)) from error
        session_id = asked.get("sessionId")
        if not isinstance(session_id, str):
            session_id = self._session_of_request(asked.get("requestId"))
        ask_id, call_id = self._new_ask_id(), asked.get("toolCallId")
        call_id = call_id if isinstance(call_id, str) else None
        session_id = session_id and self._owner_of(session_id, call_id, True)
        if session_id is None or session_id in self._cancelling:
            return CANCEL
        answer: asyncio.Future[ElicitationAnswer] = asyncio.get_running_loop().create_future()
        self._elicitations[ask_id] = _ElicitationRequest(session_id, request, answer)
        self._deliver(session_id, ElicitationRequested(ask_id, request, call_id))
        try:
            return await answer
        except asyncio.CancelledError:
            if self._elicitations.pop(ask_id, None) is not None:
                self._deliver(session_id, ElicitationAnswered(ask_id, request, CANCEL))
            raise

    def _new_ask_id(self) -> str:
        """An id for another question. Raises RequestError where too many are open."""
        if len(self._permissions) + len(self._elicitations) >= MAX_QUESTIONS:
            raise RequestError(INTERNAL, f"more than {MAX_QUESTIONS} questions are open")
        self._ask_count += 1
        return self._ask_id(self._ask_count)

    async def _read_text_file(self, asked: ReadTextFileRequest) -> ReadTextFileResponse:
        """Read a text file below the session's directories."""
        try:
            files = self._files_of(asked.session_id)
            await self._pass_guard(asked.session_id, None)
            text = await self._request_queue.run(lambda: files.read(asked.path, asked.line, asked.limit))
        except FileRefused as error:
            if not (error.missing and self.missing_files_are_empty):
                raise
            text = ""
        return ReadTextFileResponse(content=text)

    async def _write_text_file(self, asked: WriteTextFileRequest) -> WriteTextFileResponse:
        """Write a text file below the session's directories."""
        path, content, files = asked.path, asked.content, self._files_of(asked.session_id)
        call = await self._allowed(
            asked.session_id,
            file_written(path, content),
            lambda: file_asked(path, content, files.before(path)),
        )
        # Not given up half-way though the agent cancels its request: it is told.
        before = await shielded(self._request_queue.run(lambda: files.write(path, content)))
        done = file_written(path, content, before)
        self._deliver(asked.session_id, replace(done, tool_call_id=call.tool_call_id, status="completed"))
        return WriteTextFileResponse()

    async def _create_terminal(
        self, terminals: Terminals, asked: CreateTerminalRequest
    ) -> CreateTerminalResponse:
        """Run a command in a terminal, in the session's working directory if it names no other."""
        session_id, args = asked.session_id, tuple(asked.args or ())
        files = self._files_of(session_id)
        if session_id in self._read_only:
            raise TerminalRefused("this session may not run commands")
        home = self._session_homes[session_id]
        wanted = home if asked.cwd is None else asked.cwd
        variables = tuple((each.name, each.value) for each in asked.env or ())
        elsewhere = None if PurePath(wanted) == PurePath(home) else wanted
        call = await self._allowed(session_id, command_run(asked.command, args, elsewhere, dict(variables)))
        directory = await self._request_queue.run(lambda: files.directory(wanted))
        command = TerminalCommand(asked.command, args, variables, directory)
        # Not given up half-way, either.
        terminal_id = await shielded(terminals.create(session_id, command, asked.output_byte_limit))
        self._deliver(session_id, in_terminal(call, terminal_id))
        return CreateTerminalResponse(terminal_id=terminal_id)

    async def _terminal_output(
        self, terminals: Terminals, asked: TerminalOutputRequest
    ) -> TerminalOutputResponse:
        """Return the output of a terminal so far, without colours, and how its command ended, if it has."""
        terminal = terminals.find(asked.session_id, asked.terminal_id)
        data, limit = terminal.output.newest()
        truncated, ended = terminal.output.truncated, terminal.status
        text = await self._request_queue.run(lambda: text_of(data, limit))
        status = TerminalExitStatus(exit_code=ended.exit_code, signal=ended.signal) if ended else None
        return TerminalOutputResponse(output=text, truncated=truncated, exit_status=status)

    # Called by the connection.

    def look_at_terminals(self, session_id: str) -> None:
        """Deliver what the session's terminals show now: its turn is over."""
        if self._terminals is not None:
            self._terminals.look(session_id)

    def close_terminals(self) -> None:
        """End the commands of all terminals, and refuse new ones."""
        if self._terminals is not None:
            self._terminals.close()

    def answer_permission(self, ask_id: str, option_id: str | None) -> None:
        """Answer a permission request; None is `cancelled`. A second answer is ignored."""
        permission = self._permissions.pop(ask_id, None)
        if permission is not None and not permission.answer.done():
            permission.answer.set_result(option_id)

    def open_in(self, session_id: str, directory: str) -> None:
        """Note the working directory of a session that was opened: the process may have been started in another one."""
        self._session_homes[session_id] = directory

    def answer_elicitation(self, ask_id: str, answer: ElicitationAnswer) -> None:
        """Answer an elicitation and deliver the answer, which the transcript keeps. A second answer is ignored."""
        asked = self._elicitations.pop(ask_id, None)
        if asked is None or asked.answer.done():
            return
        if isinstance(asked.request, WebPage) and answer.action == "accept":
            while len(self._web_pages) >= MAX_QUESTIONS:
                del self._web_pages[next(iter(self._web_pages))]
            self._web_pages[asked.request.elicitation_id] = asked.session_id, ask_id
        asked.answer.set_result(answer)
        self._deliver(asked.session_id, ElicitationAnswered(ask_id, asked.request, answer))

    def allow_directories(self, session_id: str, directories: Sequence[str]) -> None:
        """Replace the further directories below which the session may read and write files; the session is open."""
        if self._files is not None:
            home = self._session_homes.get(session_id) if self._files.follows_sessions else None
            roots = [Path(each) for each in ((home,) if home else ()) + tuple(directories)]
            self._session_files[session_id] = self._files.with_roots(roots)

    def guard_files(self, session_id: str, guard: FileGuard) -> Callable[[], None]:
        """Let a session's requests for files and terminals pass a guard; return the unsubscription."""
        self._file_guards[session_id] = guard

        def end() -> None:
            if self._file_guards.get(session_id) is guard:
                del self._file_guards[session_id]

        return end

    async def _pass_guard(self, session_id: str, call: ToolCallChanged | None) -> bool:
        """Let a request pass the guard of the session's turn; True if a question covered it."""
        guard = self._file_guards.get(session_id)
        return guard is not None and await guard(call)

    async def _allowed(
        self,
        session_id: str,
        call: ToolCallChanged,
        as_asked: Callable[[], ToolCallChanged] | None = None,
    ) -> ToolCallChanged:
        """What is to be written or run, once it may be. Raises FileRefused.

        ``as_asked`` blocks, and makes the call that the person is asked about, if that is another one.
        """
        policy = self._files.own_requests if self._files else OwnRequests.REFUSE
        if session_id in self._read_only:
            return call  # it is refused for that
        if await self._pass_guard(session_id, call):
            return call
        if policy is OwnRequests.REFUSE:
            raise FileRefused("the settings refuse what no permission request covered: ask for it first")
        if policy is OwnRequests.ASK:
            call = await self._request_queue.run(as_asked) if as_asked else call
            await self._ask_for(session_id, call)
        else:
            self._log(f"done for the agent, and nobody was asked: {(call.title or '')[:_LOGGED]!r}")
        return call

    async def _ask_for(self, session_id: str, call: ToolCallChanged) -> None:
        """Ask the person for what Catena is to do. Raises FileRefused if they do not allow it."""
        if session_id in self._cancelling:
            raise FileRefused("the turn is being cancelled")
        if await self._ask(session_id, PermissionRequested(self._new_ask_id(), call, OPTIONS)) != ALLOW:
            raise FileRefused("it was rejected")

    def forbid_writes(self, session_id: str) -> None:
        """Refuse every later file write of the session, and every command."""
        self._read_only.add(session_id)

    def forget(self, session_id: str) -> None:
        """Forget a closed session; it reads and writes no file any more, and its commands are ended."""
        if self._terminals is not None:
            self._terminals.forget(session_id)
        self._session_files.pop(session_id, None)
        self._session_homes.pop(session_id, None)
        self._read_only.discard(session_id)
        self._tokens.pop(session_id, None)
        self._web_pages = {key: page for key, page in self._web_pages.items() if page[0] != session_id}

    def take_tokens(self, session_id: str) -> answers.Tokens | None:
        """The tokens that a session told of in its chunks since they were taken last."""
        return self._tokens.pop(session_id, None)

    def begin_cancel(self, session_id: str) -> None:
        """Answer the session's open and later questions with `cancelled`, until ``end_cancel``."""
        self._cancelling.add(session_id)
        self.withdraw_questions(session_id)

    def end_cancel(self, session_id: str) -> None:
        """End the cancellation of a turn."""
        self._cancelling.discard(session_id)

    def withdraw_questions(self, session_id: str | None = None) -> None:
        """Answer the questions of one session, or of all, with `cancelled` and report their withdrawal."""
        for ask_id, permission in list(self._permissions.items()):
            if session_id in (None, permission.session_id):
                self.answer_permission(ask_id, None)
                self._deliver(permission.session_id, PermissionWithdrawn(ask_id))
        for ask_id, asked in list(self._elicitations.items()):
            if session_id in (None, asked.session_id):
                self.answer_elicitation(ask_id, CANCEL)

    def _complete(self, elicitation_id: object) -> None:
        """What was to be done on a web page is done, whether the person opened it here or not."""
        if isinstance(elicitation_id, str) and elicitation_id in self._web_pages:
            self._deliver_completed(*self._web_pages.pop(elicitation_id))
            return
        for ask_id, asked in list(self._elicitations.items()):
            request = asked.request
            if isinstance(request, WebPage) and request.elicitation_id == elicitation_id:
                del self._elicitations[ask_id]
                if not asked.answer.done():
                    asked.answer.set_result(CANCEL)
                self._deliver_completed(asked.session_id, ask_id)

    def _deliver_completed(self, session_id: str, ask_id: str) -> None:
        self._deliver(session_id, ElicitationCompleted(ask_id))

    def _files_of(self, session_id: str) -> FileAccess:
        """The files of an open session. Raises FileRefused."""
        files = self._session_files.get(session_id)
        if files is None:
            raise FileRefused("no such session is open")
        return files.read_only() if session_id in self._read_only else files


def _cancelled() -> RequestPermissionResponse:
    return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))


def _checked(model: type[Asked], params: Json) -> Asked:
    """The parameters of a request in the SDK's type. Raises RequestError if they do not fit."""
    try:
        return model.model_validate(params)
    except ValidationError as error:
        raise RequestError(INVALID, f"Invalid params: {described(error)}") from error


async def _wait_for_exit(
    terminals: Terminals, asked: WaitForTerminalExitRequest
) -> WaitForTerminalExitResponse:
    ended = await terminals.wait(asked.session_id, asked.terminal_id)
    return WaitForTerminalExitResponse(exit_code=ended.exit_code, signal=ended.signal)


async def _kill(terminals: Terminals, asked: KillTerminalRequest) -> KillTerminalResponse:
    await terminals.kill(asked.session_id, asked.terminal_id)
    return KillTerminalResponse()


async def _release(terminals: Terminals, asked: ReleaseTerminalRequest) -> ReleaseTerminalResponse:
    await terminals.release(asked.session_id, asked.terminal_id)
    return ReleaseTerminalResponse()
