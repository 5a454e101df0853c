"""The smallest ACP client there is: raw lines over pipes to a rehearsal agent, for the tests of that agent."""

from __future__ import annotations

import itertools
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from support.json_lines import json_lines

DEADLINE = 60.0

Message = dict[str, Any]


class Refused(Exception):
    """The agent answered with an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error['code']} {error['message']}")
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Any = error.get("data")


@dataclass(slots=True)
class Answer:
    """The answer to a request, and what was told of the session while it was under way."""

    result: Any
    updates: list[dict[str, Any]] = field(default_factory=list)

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The updates of one kind."""
        return [update for update in self.updates if update.get("sessionUpdate") == kind]

    @property
    def text(self) -> str:
        """The text of the answer, whole."""
        return "".join(update["content"].get("text", "") for update in self.of("agent_message_chunk"))


class RawAgent:
    """A rehearsal agent process and our end of its pipes."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process = process
        self.log = log
        self.junk: list[bytes] = []
        self.capabilities: dict[str, Any] = {}
        self._ids = itertools.count(1)
        self._early: dict[int, Message] = {}
        self._incoming: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def send(self, message: Message) -> None:
        """Write a message as it is."""
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def write(self, raw: bytes) -> None:
        """Write bytes as they are."""
        assert self.process.stdin is not None
        self.process.stdin.write(raw)
        self.process.stdin.flush()

    def begin(self, method: str, **params: Any) -> int:
        """Send a request and return its id."""
        request_id = next(self._ids)
        self.send({"id": request_id, "method": method, "params": params})
        return request_id

    def next(self, within: float = DEADLINE) -> Message | None:
        """The next message, None at the end of its output. Raises ``TimeoutError``."""
        try:
            return self._incoming.get(timeout=within)
        except queue.Empty:
            raise TimeoutError("the agent said nothing") from None

    def until(self, wanted: Callable[[Message], bool]) -> list[Message]:
        """The messages up to and with the one that is wanted."""
        seen: list[Message] = []
        end = time.monotonic() + DEADLINE
        while True:
            message = self.next(max(0.0, end - time.monotonic()))
            if message is None:
                raise EOFError(f"the agent has exited after {seen}")
            seen.append(message)
            if wanted(message):
                return seen
            if "method" not in message and isinstance(message.get("id"), int):
                self._early[message["id"]] = message

    def until_text(self, text: str) -> list[Message]:
        """The messages up to and with the chunk that holds ``text``."""
        return self.until(lambda message: text in json.dumps(message.get("params", {}), ensure_ascii=False))

    def finish(self, request_id: int) -> Answer:
        """Wait for the answer to a request."""
        if request_id in self._early:
            seen = [self._early.pop(request_id)]
        else:
            seen = self.until(lambda message: message.get("id") == request_id and "method" not in message)
        *before, last = seen
        if "error" in last:
            raise Refused(last["error"])
        return Answer(
            last["result"], [m["params"]["update"] for m in before if m.get("method") == "session/update"]
        )

    def call(self, method: str, **params: Any) -> Answer:
        """Send a request and wait for its answer. Raises ``Refused``."""
        return self.finish(self.begin(method, **params))

    def initialize(self, **capabilities: Any) -> Answer:
        """The handshake, with our capabilities."""
        answer = self.call("initialize", protocolVersion=1, clientCapabilities=capabilities)
        self.capabilities = answer.result["agentCapabilities"]
        return answer

    def new(self, cwd: str = "/srv/place") -> str:
        """A new session's id."""
        return str(self.call("session/new", cwd=cwd, mcpServers=[]).result["sessionId"])

    def reopen(self, how: str, session: str, **more: Any) -> Answer:
        """Load, resume or fork a session."""
        return self.call(f"session/{how}", sessionId=session, cwd="/srv/place", mcpServers=[], **more)

    def begin_prompt(self, session: str, *texts: str) -> int:
        """Send a prompt of text blocks and return its id."""
        return self.begin(
            "session/prompt", sessionId=session, prompt=[{"type": "text", "text": t} for t in texts]
        )

    def prompt(self, session: str, *texts: str) -> Answer:
        """Send a prompt and wait until it is answered. Raises ``Refused``."""
        return self.finish(self.begin_prompt(session, *texts))

    def cancel(self, session: str) -> None:
        """Stop the running turn."""
        self.send({"method": "session/cancel", "params": {"sessionId": session}})

    def answer_request(self, method: str, **reply: Any) -> Message:
        """Wait for the agent's request of this method and answer it with ``result=`` or ``error=``."""
        request = self.until(lambda message: message.get("method") == method)[-1]
        self.send({"id": request["id"], **reply})
        return request

    def gone(self) -> int:
        """Wait until the process has ended: its return code."""
        return self.process.wait(DEADLINE)

    def heard(self, method: str | None = None) -> list[dict[str, Any]]:
        """The lines of the agent's log, those of one method where one is named."""
        lines = json_lines(self.log)
        return lines if method is None else [line for line in lines if line.get("method") == method]

    def end(self) -> None:
        """End the process and all that it started, and close the pipes."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(DEADLINE)
        self._reader.join(DEADLINE)
        assert self.process.stdin is not None and self.process.stdout is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            try:
                message = json.loads(line)
            except ValueError:
                message = None
            if isinstance(message, dict):
                self._incoming.put(message)
            else:
                self.junk.append(line)
        self._incoming.put(None)


@contextmanager
def rehearsal(
    folder: Path,
    *flags: str,
    environment: MappingProxyType[str, str] | dict[str, str] = MappingProxyType({}),
    stderr: int = subprocess.DEVNULL,
) -> Iterator[RawAgent]:
    """A rehearsal agent that keeps its sessions and its log in ``folder``, in a process group of its own."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("CATENA_")}
    log = folder / "heard.jsonl"
    process = subprocess.Popen(
        [sys.executable, "-m", "catena_acp.rehearsal", *flags],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        start_new_session=True,
        env={
            **own,
            "CATENA_REHEARSAL_HOME": str(folder / "home"),
            "CATENA_REHEARSAL_LOG": str(log),
            **environment,
        },
    )
    agent = RawAgent(process, log)
    try:
        yield agent
    finally:
        agent.end()


@contextmanager
def ready(folder: Path, *flags: str, **capabilities: Any) -> Iterator[tuple[RawAgent, str]]:
    """The same with the handshake done and a session open."""
    with rehearsal(folder, *flags) as agent:
        agent.initialize(**capabilities)
        yield agent, agent.new()
