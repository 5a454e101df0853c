"""The HTTP side: requests in, answers and a log of what was heard out."""

from __future__ import annotations

import gzip
import itertools
import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from .dialects import Body, Dialect, Event, dialect_of
from .reply import Failure, Heard, Reply, reply_to

HANG_SECONDS = 600


@dataclass
class Log:
    """One JSON line for each request, with the whole text of every message in it."""

    path: Path | None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, number: int, dialect: Dialect, heard: list[Heard], tools: list[str], reply: Reply) -> None:
        """Add a line."""
        if self.path is None:
            return
        line = {
            "number": number,
            "dialect": dialect.name,
            "tools": tools,
            "messages": [
                {"role": m.role, "texts": m.texts, "tool_result": m.tool_result, "results": m.results}
                for m in heard
            ],
            "tool": reply.tool.name if reply.tool else None,
            "status": reply.failure.status if reply.failure else 200,
        }
        with self._lock, self.path.open("a") as log:
            log.write(json.dumps(line) + "\n")


class FakeModel(ThreadingHTTPServer):
    """The server; it listens on 127.0.0.1 only."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, port: int, log: Path | None) -> None:
        self.log = Log(log)
        self.numbers = itertools.count(1)
        super().__init__(("127.0.0.1", port), _Request)


class _Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FakeModel

    def log_message(self, *_: Any) -> None:
        """What is worth keeping is in the server's own log."""

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        if "/models" not in self.path:
            return self._json(404, {"error": {"message": f"no such path: {self.path}"}})
        model = {"id": "fake-model", "object": "model", "type": "model", "display_name": "Fake", "created": 1}
        models = {
            "object": "list",
            "data": [model],
            "has_more": False,
            "models": [{"name": "models/fake-model"}],
        }
        return self._json(200, models)

    def do_POST(self) -> None:
        raw = self._body()
        path = self.path.split("?")[0]
        if path.endswith("/count_tokens"):
            return self._json(200, {"input_tokens": max(1, len(raw) // 4)})
        if path.endswith(":countTokens"):
            return self._json(200, {"totalTokens": max(1, len(raw) // 4)})
        dialect = dialect_of(path)
        if dialect is None:
            return self._json(404, {"error": {"message": f"no such path: {path}"}})
        number = next(self.server.numbers)
        body = json.loads(raw)
        heard, tools = dialect.heard(body), dialect.tools(body)
        reply = reply_to(heard, tools, raw, number)
        self.server.log.note(number, dialect, heard, [tool.name for tool in tools], reply)
        try:
            return self._answer(dialect, reply, body, streamed=bool(body.get("stream")) or "stream" in path)
        except ConnectionError:
            self.close_connection = True  # the agent was stopped, or killed: what the tests are about
            return None

    def _answer(self, dialect: Dialect, reply: Reply, body: Body, *, streamed: bool) -> None:
        if reply.failure:
            return self._json(
                reply.failure.status, dialect.failure(reply.failure), _headers_of(reply.failure)
            )
        if not streamed:
            return self._json(200, dialect.whole(reply, body))
        self._begin_stream()
        if reply.hang:
            time.sleep(HANG_SECONDS)
            return None
        words_left = len(reply.words)
        for event in dialect.stream(reply):
            self._send_event(event)
            if event.word:
                words_left -= 1
                time.sleep(reply.pause)
                if reply.cut and not words_left:
                    self.close_connection = True
                    return None
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()
        return None

    def _begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("cache-control", "no-cache")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def _send_event(self, event: Event) -> None:
        payload = event.payload if isinstance(event.payload, str) else json.dumps(event.payload)
        name = f"event: {event.name}\n" if event.name else ""
        data = f"{name}data: {payload}\n\n".encode()
        self.wfile.write(b"%x\r\n" % len(data) + data + b"\r\n")
        self.wfile.flush()

    def _json(self, status: int, body: Body, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _body(self) -> str:
        if "chunked" in (self.headers.get("transfer-encoding") or ""):
            data = b"".join(iter(self._chunk, b""))
        else:
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("content-encoding") == "gzip":
            data = gzip.decompress(data)
        return data.decode("utf-8", "replace")

    def _chunk(self) -> bytes:
        size = int(self.rfile.readline().split(b";")[0], 16)
        data = self.rfile.read(size)
        self.rfile.readline()
        return data


def _headers_of(failure: Failure) -> dict[str, str]:
    headers = {"retry-after": "1"} if failure.status == 429 else {}
    if failure.forbids_retry:
        headers["x-should-retry"] = "false"
    return headers
