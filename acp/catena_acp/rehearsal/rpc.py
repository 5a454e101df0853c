"""JSON-RPC on two file descriptors, one message a line, and the log of received messages."""

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
    """Error answer to a request, raised by its handler."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class ClientRequest:
    """A request to the client; ``answer`` stays None if it was abandoned."""

    __slots__ = ("answer", "done")

    def __init__(self) -> None:
        self.done = threading.Event()
        self.answer: dict[str, Any] | None = None

    def abandon(self) -> None:
        """End the wait without an answer."""
        self.done.set()


class RpcChannel:
    """Both directions of the connection; any thread may send, one thread reads."""

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink
        self._writing = threading.Lock()
        self._ids = itertools.count(1)
        self._waiting: dict[str, ClientRequest] = {}
        self._stopped_reading = threading.Event()

    def messages(self) -> Iterator[dict[str, Any]]:
        """Yield messages until the input ends; an invalid one is answered with an error."""
        with os.fdopen(self._source, "rb", buffering=1 << 16, closefd=False) as lines:
            for line in lines:
                if self._stopped_reading.is_set():
                    threading.Event().wait()
                message = self._parse(line)
                if message is not None:
                    yield message

    def stop_reading(self) -> None:
        """Stop handling input, after at most one more line is read."""
        self._stopped_reading.set()

    def send(self, message: dict[str, Any]) -> None:
        """Send a message."""
        self.write(encode(message))

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification."""
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
        """Send a request without waiting; its ``done`` is set when the client has answered."""
        request = ClientRequest()
        request_id = f"ask-{next(self._ids)}"
        self._waiting[request_id] = request
        self.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        return request

    def settle(self, message: dict[str, Any]) -> None:
        """Match a client's answer to its request; unknown ones are dropped."""
        request = self._waiting.pop(str(message.get("id")), None)
        if request is not None:
            request.answer = message
            request.done.set()

    def write(self, raw: bytes) -> None:
        """Write bytes without any other message in between. Ends the process where the client is gone."""
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
    """Encode a message as one line of ASCII, so that every text can be sent."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def exit_process(status: int) -> NoReturn:
    """End the process at once, without waiting for the threads of turns."""
    os._exit(status)


class MessageLog:
    """JSON-lines log of received messages, shared by every process with the same path."""

    def __init__(self, path: Path | None) -> None:
        self._file = (
            None
            if path is None
            else os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        )

    def started(self, argv: Sequence[str]) -> None:
        """Log the start of this process."""
        self._note({"event": "start", "argv": list(argv)})

    def message(self, message: dict[str, Any]) -> None:
        """Log a request, a notification or an answer; ``blocks`` are a prompt's texts."""
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
        """Log the end of a turn: its stop reason, or ``error`` and the code."""
        self._note({"event": "turn ended", "session": session_id, "how": how})

    def _note(self, line: dict[str, Any]) -> None:
        if self._file is not None:
            # One write a line, since several processes append to the file.
            os.write(self._file, json.dumps({"pid": os.getpid(), **line}).encode() + b"\n")
