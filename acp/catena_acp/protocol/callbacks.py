"""Methods that an agent may call: session updates, permission requests and file access.

The SDK calls them in the order of the messages, each in a task of its own. None awaits anything before it has delivered
its event: the next task would overtake it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
from catena_acp.protocol import framing, session_updates
from catena_acp.protocol.files import FileAccess, FileQueue
from catena_acp.protocol.refusals import CANCELLED, INTERNAL, NOT_FOUND
from catena_acp.session_events import Event, PermissionWithdrawn

MAX_PERMISSIONS = 200  # open at the same time

Deliver = Callable[[str, Event], None]


@dataclass(slots=True)
class _PermissionRequest:
    """An open permission request; the answer is an option's id, or None for `cancelled`."""

    session_id: str
    request_id: int | str
    answer: asyncio.Future[str | None]


class Callbacks:
    """Callbacks of one connection: session updates, permission requests, files.

    ``permission_id`` makes the ids of permission requests, unique over all agents of the program. Terminals,
    elicitation and extensions are not advertised, and neither are files where ``files`` is None; the transport refuses
    them.
    """

    def __init__(
        self,
        deliver: Deliver,
        files: FileAccess | None,
        permission_id: Callable[[int], str],
        has_room: Callable[[], bool] = lambda: True,
    ) -> None:
        self._deliver = deliver
        self._files = files
        self._permission_id = permission_id
        self._permission_count = 0
        self._permissions: dict[str, _PermissionRequest] = {}
        self._file_queue = FileQueue(has_room)
        self._cancelling: set[str] = set()
        self._session_files: dict[str, FileAccess] = {}
        self._read_only: set[str] = set()
        self.missing_files_are_empty = False

    # Called by the SDK.

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        """Deliver a session update, or cancel a request; the transport passes both as extensions."""
        match f"_{method}":
            case framing.UPDATE:
                for event in session_updates.events_of(params["update"]):
                    self._deliver(params["sessionId"], event)
            case framing.CANCEL:
                self._cancel_request(params["request_id"])

    async def request_permission(
        self,
        *,
        session_id: str,
        request_id: int | str,
        request: dict[str, Any],
        **_validated: Any,
    ) -> RequestPermissionResponse:
        """Deliver a permission request and wait for its answer; `cancelled` while the turn is being cancelled."""
        if session_id in self._cancelling:
            return _cancelled()
        if len(self._permissions) >= MAX_PERMISSIONS:
            raise RequestError(INTERNAL, f"more than {MAX_PERMISSIONS} questions are open")
        self._permission_count += 1
        ask_id = self._permission_id(self._permission_count)
        answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._permissions[ask_id] = _PermissionRequest(session_id, request_id, answer)
        self._deliver(session_id, session_updates.permission_of(ask_id, request))
        try:
            option_id = await answer
        finally:
            self._permissions.pop(ask_id, None)
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
        """Read a text file below the session's directories."""
        try:
            files = self._offered_files("fs/read_text_file", session_id)
            text = await self._file_queue.run(lambda: files.read(path, line, limit))
        except FileRefused as error:
            if not (error.missing and self.missing_files_are_empty):
                raise _file_error(error) from error
            text = ""
        return ReadTextFileResponse(content=text)

    async def write_text_file(
        self, *, path: str, content: str, session_id: str = "", **_other: Any
    ) -> WriteTextFileResponse:
        """Write a text file below the session's directories."""
        try:
            files = self._offered_files("fs/write_text_file", session_id)
            await self._file_queue.run(lambda: files.write(path, content))
        except FileRefused as error:
            raise _file_error(error) from error
        return WriteTextFileResponse()

    # Called by the connection.

    def answer_permission(self, ask_id: str, option_id: str | None) -> None:
        """Answer a permission request; None is `cancelled`. A second answer is ignored."""
        permission = self._permissions.pop(ask_id, None)
        if permission is not None and not permission.answer.done():
            permission.answer.set_result(option_id)

    def allow_directories(self, session_id: str, directories: Sequence[str]) -> None:
        """Replace the further directories below which the session may read and write files; the session is open."""
        if self._files is not None:
            self._session_files[session_id] = self._files.with_roots(map(Path, directories))

    def forbid_writes(self, session_id: str) -> None:
        """Refuse every later file write of the session."""
        self._read_only.add(session_id)

    def forget(self, session_id: str) -> None:
        """Forget a closed session; it reads and writes no file any more."""
        self._session_files.pop(session_id, None)
        self._read_only.discard(session_id)

    def begin_cancel(self, session_id: str) -> None:
        """Answer the session's open and later permission requests with `cancelled`, until ``end_cancel``."""
        self._cancelling.add(session_id)
        self.withdraw_permissions(session_id)

    def end_cancel(self, session_id: str) -> None:
        """End the cancellation of a turn."""
        self._cancelling.discard(session_id)

    def withdraw_permissions(self, session_id: str | None = None) -> None:
        """Answer the permission requests of one session, or of all, with `cancelled` and report their withdrawal."""
        for ask_id, permission in list(self._permissions.items()):
            if session_id in (None, permission.session_id):
                self.answer_permission(ask_id, None)
                self._deliver(permission.session_id, PermissionWithdrawn(ask_id))

    def _cancel_request(self, request_id: int | str | None) -> None:
        for ask_id, permission in list(self._permissions.items()):
            if permission.request_id == request_id and not permission.answer.done():
                del self._permissions[ask_id]
                permission.answer.set_exception(RequestError(CANCELLED, "Request cancelled"))
                self._deliver(permission.session_id, PermissionWithdrawn(ask_id))

    def _offered_files(self, method: str, session_id: str) -> FileAccess:
        """The files of an open session. Raises RequestError, FileRefused."""
        if self._files is None:
            raise RequestError.method_not_found(method)
        files = self._session_files.get(session_id)
        if files is None:
            raise FileRefused("no such session is open")
        return files.read_only() if session_id in self._read_only else files


def _cancelled() -> RequestPermissionResponse:
    return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))


def _file_error(error: FileRefused) -> RequestError:
    return RequestError(NOT_FOUND if error.missing else -32602, str(error))
