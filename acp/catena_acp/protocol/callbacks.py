"""Every method that an agent may call on us.

The SDK calls these, one task for each message, in the order of the messages. Nothing here waits before it has handed
over what it was called with: a task that waits would be overtaken by the next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from acp import RequestError
from acp.schema import (
    AllowedOutcome,
    DeniedOutcome,
    ReadTextFileResponse,
    RequestPermissionResponse,
    WriteTextFileResponse,
)

from catena_acp.errors import FileRefused
from catena_acp.events import Event, PermissionWithdrawn
from catena_acp.protocol import framing, incoming
from catena_acp.protocol.files import FileAccess, FileTurns
from catena_acp.protocol.refusals import CANCELLED, INTERNAL, NOT_FOUND

MAX_ASKS = 200  # that are open at once; nobody answers more

Tell = Callable[[str, Event], None]


@dataclass(slots=True)
class _Ask:
    """A permission that the agent waits for. The answer is an option's id, or None for `cancelled`."""

    session_id: str
    request_id: int | str
    answer: asyncio.Future[str | None]


class Callbacks:
    """Our side of the connection: session updates, permissions, files.

    ``name_ask`` makes the ids of permissions, which must differ between the agents of one program. Terminals,
    elicitation and extensions are not advertised, and the transport answers them; so are files where ``files`` is None.
    """

    def __init__(
        self,
        tell: Tell,
        files: FileAccess | None,
        name_ask: Callable[[int], str],
        room: Callable[[], bool] = lambda: True,
    ) -> None:
        self._tell = tell
        self._files = files
        self._name_ask = name_ask
        self._asked = 0
        self._asks: dict[str, _Ask] = {}
        self._turns = FileTurns(room)
        self._stopping: set[str] = set()
        self._directories: dict[str, tuple[str, ...]] = {}
        self._only_reading: set[str] = set()
        self.missing_files_are_empty = False

    # What the SDK calls.

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        """A session update or a cancelled request, which the transport sends this way."""
        match f"_{method}":
            case framing.UPDATE:
                for event in incoming.events_of(params["update"]):
                    self._tell(params["sessionId"], event)
            case framing.CANCEL:
                self._request_cancelled(params["request_id"])

    async def request_permission(
        self,
        *,
        session_id: str,
        request_id: int | str,
        asked: dict[str, Any],
        **_validated: Any,
    ) -> RequestPermissionResponse:
        """Ask, and wait for ``answer_permission``; while the session is being stopped the answer is `cancelled`."""
        if session_id in self._stopping:
            return _cancelled()
        if len(self._asks) >= MAX_ASKS:
            raise RequestError(INTERNAL, f"more than {MAX_ASKS} questions are open")
        self._asked += 1
        ask_id = self._name_ask(self._asked)
        answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._asks[ask_id] = _Ask(session_id, request_id, answer)
        self._tell(session_id, incoming.permission_of(ask_id, asked))
        try:
            option_id = await answer
        finally:
            self._asks.pop(ask_id, None)
        if option_id is None:
            return _cancelled()
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=option_id))

    async def read_text_file(
        self,
        *,
        path: str,
        session_id: str = "",
        line: int | None = None,
        limit: int | None = None,
        **_other: Any,
    ) -> ReadTextFileResponse:
        """Read a file below the conversation's directories."""
        files = self._offered_files("fs/read_text_file", session_id)
        try:
            text = await self._turns.run(lambda: files.read(path, line, limit))
        except FileRefused as error:
            if not (error.missing and self.missing_files_are_empty):
                raise _file_error(error) from error
            text = ""
        return ReadTextFileResponse(content=text)

    async def write_text_file(
        self, *, path: str, content: str, session_id: str = "", **_other: Any
    ) -> WriteTextFileResponse:
        """Write a file below the conversation's directories."""
        files = self._offered_files("fs/write_text_file", session_id)
        if session_id in self._only_reading:
            files = replace(files, writable=False)
        try:
            await self._turns.run(lambda: files.write(path, content))
        except FileRefused as error:
            raise _file_error(error) from error
        return WriteTextFileResponse()

    # What we call.

    def answer_permission(self, ask_id: str, option_id: str | None) -> None:
        """Answer a permission; None is `cancelled`. One that is settled already is left alone."""
        ask = self._asks.pop(ask_id, None)
        if ask is not None and not ask.answer.done():
            ask.answer.set_result(option_id)

    def allow_directories(self, session_id: str, directories: Sequence[str]) -> None:
        """From now on the session may ask for files below these directories, too, and below no others."""
        self._directories[session_id] = tuple(directories)

    def forbid_writes(self, session_id: str) -> None:
        """From now on the session may write no file."""
        self._only_reading.add(session_id)

    def forget(self, session_id: str) -> None:
        """The session is over."""
        self._directories.pop(session_id, None)
        self._only_reading.discard(session_id)

    def begin_stopping(self, session_id: str) -> None:
        """Answer what the session waits for, and what it will yet ask, with `cancelled`."""
        self._stopping.add(session_id)
        self.withdraw_asks(session_id)

    def end_stopping(self, session_id: str) -> None:
        """The turn that was to be stopped is over."""
        self._stopping.discard(session_id)

    def withdraw_asks(self, session_id: str | None = None) -> None:
        """Answer what one session waits for, or all of them, with `cancelled`, and say that it is settled."""
        for ask_id, ask in list(self._asks.items()):
            if session_id in (None, ask.session_id):
                self.answer_permission(ask_id, None)
                self._tell(ask.session_id, PermissionWithdrawn(ask_id))

    def _request_cancelled(self, request_id: int | str | None) -> None:
        for ask_id, ask in list(self._asks.items()):
            if ask.request_id == request_id and not ask.answer.done():
                del self._asks[ask_id]
                ask.answer.set_exception(RequestError(CANCELLED, "Request cancelled"))
                self._tell(ask.session_id, PermissionWithdrawn(ask_id))

    def _offered_files(self, method: str, session_id: str) -> FileAccess:
        if self._files is None:
            raise RequestError.method_not_found(method)
        more = self._directories.get(session_id, ())
        return self._files.with_roots(tuple(Path(directory) for directory in more))


def _cancelled() -> RequestPermissionResponse:
    return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))


def _file_error(error: FileRefused) -> RequestError:
    return RequestError(NOT_FOUND if error.missing else -32602, str(error))
