"""JSON-RPC, a message a line, on two file descriptors."""

from __future__ import annotations

import itertools
import json
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
LOGIN_REQUIRED: Final = -32000
NOT_FOUND: Final = -32002


class Refusal(Exception):
    """A request is answered with this error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class ClientRequest:
    """A request of ours that waits for its answer; ``answer`` stays None where we stopped waiting."""

    __slots__ = ("answer", "done")

    def __init__(self) -> None:
        self.done = threading.Event()
        self.answer: dict[str, Any] | None = None

    def abandon(self) -> None:
        """Wake whoever waits, without an answer."""
        self.done.set()


class RpcChannel:
    """Both directions. Any thread may send; one thread reads."""

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink
        self._writing = threading.Lock()
        self._ids = itertools.count(1)
        self._waiting: dict[str, ClientRequest] = {}
        self._stopped_reading = threading.Event()

    def messages(self) -> Iterator[dict[str, Any]]:
        """Every message that comes in, until the input ends; what is no message is refused and skipped."""
        with os.fdopen(self._source, "rb", buffering=1 << 16, closefd=False) as lines:
            for line in lines:
                if self._stopped_reading.is_set():
                    threading.Event().wait()
                message = self._parse(line)
                if message is not None:
                    yield message

    def stop_reading(self) -> None:
        """Read at most one more line, and heed none."""
        self._stopped_reading.set()

    def send(self, message: dict[str, Any]) -> None:
        """Write one message."""
        self.write(encode(message))

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Write a notification."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def answer(self, request_id: Any, result: Any) -> None:
        """Answer a request."""
        self.send({"jsonrpc": "2.0", "id": request_id, "result": result})

    def refuse(self, request_id: Any, refusal: Refusal) -> None:
        """Answer a request with an error."""
        error: dict[str, Any] = {"code": refusal.code, "message": refusal.message}
        if refusal.data is not None:
            error["data"] = refusal.data
        self.send({"jsonrpc": "2.0", "id": request_id, "error": error})

    def ask(self, method: str, params: dict[str, Any]) -> ClientRequest:
        """Send a request and return at once; its ``done`` is set when the client has answered."""
        request = ClientRequest()
        request_id = f"ask-{next(self._ids)}"
        self._waiting[request_id] = request
        self.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        return request

    def settle(self, message: dict[str, Any]) -> None:
        """Hand an answer of the client's to the question that it belongs to; unknown ones are dropped."""
        request = self._waiting.pop(str(message.get("id")), None)
        if request is not None:
            request.answer = message
            request.done.set()

    def write(self, raw: bytes) -> None:
        """Write bytes as they are, no other message in between. Ends the process if the client is gone."""
        rest = memoryview(raw)
        try:
            with self._writing:
                while rest:
                    rest = rest[os.write(self._sink, rest) :]
        except BrokenPipeError:
            exit_process(0)

    def _parse(self, line: bytes) -> dict[str, Any] | None:
        if not line.strip():
            return None
        try:
            message = json.loads(line)
        except ValueError:
            self.refuse(None, Refusal(PARSE_ERROR, "Parse error"))
            return None
        if not isinstance(message, dict):
            self.refuse(None, Refusal(INVALID_REQUEST, "Invalid request"))
            return None
        return message


def encode(message: dict[str, Any]) -> bytes:
    """One message as one line; lone surrogates stay escaped, so that every text can be sent."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def exit_process(status: int) -> NoReturn:
    """End the process at once: other threads may be in the middle of a scene and are not waited for."""
    os._exit(status)


class MessageLog:
    """A JSON-lines file, one line a message, shared by every process that is given the same path."""

    def __init__(self, path: Path | None) -> None:
        self._file = (
            None
            if path is None
            else os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        )

    def started(self, argv: Sequence[str]) -> None:
        """Note that this process began."""
        self._note({"event": "start", "argv": list(argv)})

    def message(self, message: dict[str, Any]) -> None:
        """Note a request, a notification or an answer; ``blocks`` are a prompt's texts, whole."""
        if self._file is None:
            return
        method = message.get("method")
        if not isinstance(method, str):
            self._note(
                {"event": "answer", **{k: message[k] for k in ("id", "result", "error") if k in message}}
            )
            return
        params = message.get("params")
        line: dict[str, Any] = {"method": method, "id": message.get("id")}
        if isinstance(params, dict):
            line["session"] = params.get("sessionId")
            if method in ("session/prompt", "_session/steering"):
                prompt = params.get("prompt") or []
                line["blocks"] = [block.get("text", "") for block in prompt if block.get("type") == "text"]
                line["kinds"] = [block.get("type") for block in prompt]
            line["params"] = {key: value for key, value in params.items() if key != "prompt"}
        self._note(line)

    def turn_ended(self, session_id: str, how: str) -> None:
        """Note how a turn ended: its stop reason, or ``error`` with the code."""
        self._note({"event": "turn ended", "session": session_id, "how": how})

    def _note(self, line: dict[str, Any]) -> None:
        if self._file is not None:
            # One write for one line: several processes append to the same file.
            os.write(self._file, json.dumps({"pid": os.getpid(), **line}).encode() + b"\n")
