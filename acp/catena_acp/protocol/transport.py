"""Transport of JSON-RPC messages over an agent's pipes: tolerant, bounded, with text chunks joined.

``StdioTransport`` has the interface that the SDK expects of a transport (``send``, ``receive``, ``close``). It replaces
the SDK's own, which fails at one invalid line, waits for ever on a closed pipe and has no back-pressure.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

from catena_acp.child_process import ReadEnd
from catena_acp.protocol import framing
from catena_acp.protocol.buffers import Inbox, Outbox
from catena_acp.protocol.framing import Message
from catena_acp.protocol.wire_record import WireRecord

_MESSAGES_PER_TURN = 64
_MOST_LOST = 20  # times that it is said of one kind that a message was dropped
_MOST_SAID = 3  # times that it is said what an agent printed
_MOST_UNFINISHED = 1024 * 1024  # bytes of a line without its end that are looked at
_QUIET_TIMES = 5  # quiet intervals behind what is no message, and it is shown
_SHOWN = 300  # characters of what was printed
_LINES_IN_A_TURN = 4_096  # of the loop: a block of tiny lines is tens of thousands
_LARGEST_PIPE = 1 << 20  # bytes that are unread in one at most
_NOTIFICATIONS = frozenset({"elicitation/complete", "$/cancel_request", "_session/retrying"})
_BUSY = 0.005  # seconds that an iteration of a busy event loop takes


@dataclass(frozen=True, slots=True)
class _Request:
    """A request of ours that is unanswered: its number in the SDK, and the session that it names."""

    number: int
    session_id: str | None


class StdioTransport:
    """Transport over the two pipes of an agent.

    Requests of the agent that are not among ``allowed_methods`` are answered with "method not found" here, in the words
    of ``switched_off`` where it has some. ``lost`` is set once the agent has closed its output or its input.
    """

    def __init__(
        self,
        *,
        allowed_methods: frozenset[str],
        log: Callable[[str], None],
        switched_off: Mapping[str, str] | None = None,
        max_line: int = framing.MAX_LINE,
        printed: Callable[[str], None] = lambda _text: None,
        lost_message: Callable[[str], None] = lambda _words: None,
        quiet: float = 1.0,
        holder: int = 1,
        record: WireRecord | None = None,
    ) -> None:
        """``printed`` is told what the agent printed instead of a message that is waited for.

        A line without its end is looked at after ``quiet`` seconds without another byte; ``printed`` is called after
        five times as many. ``lost_message`` is told, in a sentence, of what the agent meant and cannot be read.
        ``holder`` is how many processes have held this agent, ours included: no two of their requests share an id.
        """
        self._printed = printed
        self._lost_message = lost_message
        self._quiet_seconds = quiet
        self._quiet_timer: asyncio.TimerHandle | None = None
        self._noise: deque[str] = deque(maxlen=3)  # lines without a message, since the last one with any
        self._said = 0
        self._allowed_methods = allowed_methods
        self._switched_off = switched_off or {}
        self._log = log
        self.dropped: Counter[str] = Counter()
        self.lost = asyncio.Event()
        self.drained = asyncio.Event()  # all messages were received, and no more will come
        self._splitter = framing.LineSplitter(self._drop, max_line)
        self._lines: deque[bytes] = deque()  # that came and are not looked at yet
        self._inbox = Inbox()
        self._message_event = asyncio.Event()
        self._output_closed = asyncio.Event()
        self._ended = asyncio.Event()
        self._received_bytes = 0
        self._received_messages = 0
        self._paused = False
        self._output: ReadEnd | None = None
        self._outbox = Outbox(self._resume_reading, self.lost.set)
        self._holder = holder
        self._record = record
        self._requests: dict[str, _Request] = {}  # of ours that are unanswered, by their ids on the wire

    def connect(self, to_agent: IO[bytes], from_agent: IO[bytes]) -> None:
        """Connect both pipes; ``close`` closes them."""
        self._outbox.connect(to_agent)
        self._output = ReadEnd(from_agent, self._output_received, self._output_ended)

    # Called by the SDK.

    async def send(self, message: Message) -> None:
        """Write a message without waiting until the agent reads it.

        Raises BrokenPipeError once the agent has closed its input; answers are dropped then.
        """
        if "method" not in message:
            if not self.lost.is_set():
                self._write(message)
            return
        if self.lost.is_set():
            raise BrokenPipeError("the agent no longer reads its input")
        if "id" in message:
            wire_id = self._wire_id(message["id"])
            self._requests[wire_id] = _Request(message["id"], framing.session_id_of(message))
            message = {**message, "id": wire_id}
        elif message["method"] == "$/cancel_request":
            wire_id = self._wire_id(message["params"]["requestId"])
            if self._requests.pop(wire_id, None) is None:
                return  # it was answered meanwhile
            message = {**message, "params": {"requestId": wire_id}}
        self._write(message, ahead=message["method"] == "session/cancel")

    def _wire_id(self, number: int) -> str:
        """The id that a request of the SDK has on the wire, among those of all processes that held the agent."""
        return f"{self._holder}.{number}"

    async def receive(self) -> Message | None:
        """The next message; None at the end."""
        while True:
            if self._inbox:
                self._received_messages += 1
                if self._received_messages % _MESSAGES_PER_TURN == 0:
                    await self._yield_to_loop()
                message = self._inbox.take()
                self._resume_reading()
                return message
            if self._ended.is_set():
                self.drained.set()
                return None
            self._message_event.clear()
            await self._message_event.wait()

    async def _yield_to_loop(self) -> None:
        """Let other tasks run, for longer while the loop is busy: messages that nobody can handle yet stay in the pipe.

        Behind the last message there is nothing to hold back.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()
        await asyncio.sleep(0)
        held_up = loop.time() - began
        if held_up > _BUSY:
            with suppress(TimeoutError):
                async with asyncio.timeout(held_up):
                    await self._ended.wait()

    async def close(self) -> None:
        """Close both pipes and end ``receive``."""
        self._end()
        self.close_input()

    # Called by the client.

    def session_of_request(self, wire_id: object) -> str | None:
        """The session that one of our unanswered requests names, if any."""
        request = self._requests.get(wire_id) if isinstance(wire_id, str) else None
        return request.session_id if request else None

    def close_input(self) -> None:
        """Close the agent's input; unread messages are discarded."""
        self._outbox.close()

    async def drain(self, quiet: float = 0.2, limit: float = 1.5) -> None:
        """Read the rest of a dead agent's output, then end ``receive``.

        The end of the pipe ends the wait; since a grandchild may hold the pipe open, so do ``quiet`` seconds without
        data, or ``limit`` seconds in all. The content of the pipe is read then however late we are: it may be the
        answer.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + limit
        while not self._output_closed.is_set() and loop.time() < deadline:
            seen = self._received_bytes
            try:
                async with asyncio.timeout(quiet):
                    await self._output_closed.wait()
            except TimeoutError:
                if self._received_bytes == seen and not self._paused:
                    break
        self._read_rest()
        self._end()

    def _read_rest(self) -> None:
        """Read what is in the pipe, at most what a pipe can hold."""
        if self._output is None or self._output_closed.is_set() or self._ended.is_set():
            return
        self._output.pause()
        self._paused = True
        rest = _LARGEST_PIPE
        while rest > 0 and (block := self._output.read(rest)):
            rest -= len(block)
            self._lines.extend(self._splitter.feed(block))

    @property
    def received_messages(self) -> int:
        """How many messages were taken by now."""
        return self._received_messages

    # Called by the pipes.

    def _output_received(self, block: bytes) -> None:
        self._received_bytes += len(block)
        self._lines.extend(self._splitter.feed(block))
        if self._quiet_timer is None:
            self._look_when_quiet(1)
        self._take_lines(_LINES_IN_A_TURN)
        if self._lines:
            asyncio.get_running_loop().call_soon(self._take_more)
        if self._overloaded and not self._paused and self._output is not None:
            self._paused = True
            self._output.pause()

    def _output_ended(self) -> None:
        self._take_lines(len(self._lines))
        if not self._ended.is_set() and (last := self._splitter.rest()).strip():
            self._accept_line(last)
        self._output_closed.set()
        self.lost.set()
        self._message_event.set()

    # Output that is no message.

    def _look_when_quiet(self, times: int) -> None:
        """Look at what is left after as many quiet intervals, if no byte comes until then."""
        loop = asyncio.get_running_loop()
        self._quiet_timer = loop.call_later(self._quiet_seconds, self._is_quiet, self._received_bytes, times)

    def _is_quiet(self, seen: int, times: int) -> None:
        self._quiet_timer = None
        if self._ended.is_set():
            return
        if self._received_bytes != seen or self._lines or self._paused:
            self._look_when_quiet(1)
            return
        rest = self._splitter.unfinished(_MOST_UNFINISHED).strip()
        if times == 1 and rest and any(True for _ in framing.decode(rest, lambda _reason: None)):
            self._splitter.rest()
            self._accept_line(rest)
            self._message_event.set()
        elif (self._noise or rest) and self._requests:
            if times < _QUIET_TIMES:
                self._look_when_quiet(times + 1)
            else:
                self._say_printed(rest)

    def _say_printed(self, rest: bytes) -> None:
        lines = [*self._noise, rest.decode("utf-8", "replace")]
        self._noise.clear()
        text = " ".join("".join(each if each.isprintable() else " " for each in "\n".join(lines)).split())
        if text and self._said < _MOST_SAID:
            self._said += 1
            self._printed(text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…")

    # Incoming.

    def _take_lines(self, most: int) -> None:
        for _ in range(min(most, len(self._lines))):
            self._accept_line(self._lines.popleft())
        if self._inbox:
            self._message_event.set()

    def _take_more(self) -> None:
        self._take_lines(_LINES_IN_A_TURN)
        if self._lines:
            asyncio.get_running_loop().call_soon(self._take_more)
        self._resume_reading()

    def _accept_line(self, line: bytes) -> None:
        messages = list(framing.decode(line, self._drop))
        if messages:
            self._noise.clear()
        else:
            self._noise.append(line[:_SHOWN].decode("utf-8", "replace"))
        if self._record is not None:
            for each in messages:
                self._record.received(each)
            if not messages:
                self._record.received(self._noise[-1])
        for message in messages:
            fit = self._accept(message)
            if fit is not None:
                self._inbox.put(fit, len(line))

    def _accept(self, message: Message) -> Message | None:
        """The message for the SDK; None if it is dropped or answered here."""
        method = message.get("method")
        if method is None:
            return self._accept_answer(message)
        if not isinstance(method, str):
            self._drop("message whose method is not a name")
            return None
        if "id" in message:
            return self._accept_request(method, message)
        if method == "session/update":
            return message if framing.has_update(message, self._drop) else None
        if method in _NOTIFICATIONS:
            return message
        self._drop("notification of an unknown kind")
        return None

    def _accept_request(self, method: str, message: Message) -> Message | None:
        request_id = framing.valid_id(message["id"])
        if request_id is None:
            self._drop("request with an odd id")
            return None
        if method in self._allowed_methods:
            return {**message, "id": request_id}
        words = self._switched_off.get(method, "Method not found")
        error = {"code": -32601, "message": words, "data": {"method": method}}
        if not self.lost.is_set():
            self._write({"jsonrpc": "2.0", "id": request_id, "error": error})
        return None

    def _accept_answer(self, message: Message) -> Message | None:
        wire_id = message.get("id")
        if framing.valid_id(wire_id) is None:
            self._drop("message that is neither a request nor an answer")
            return None
        request = self._requests.pop(wire_id, None) if isinstance(wire_id, str) else None
        if request is None:
            self._drop("answer that nobody waits for")
            return None
        return framing.whole_answer(message, request.number)

    def _drop(self, reason: str) -> None:
        self.dropped[reason] += 1
        if reason in framing.LOST and self.dropped[reason] <= _MOST_LOST:
            self._lost_message(
                f"The agent sent a {reason}: it was dropped, and what it asked for or told is lost."
            )
        if self.dropped[reason] == 1:
            self._log(f"dropped what the agent wrote: {reason}; others like it are dropped, too")

    @property
    def has_room(self) -> bool:
        """False while too many bytes wait for the agent to read."""
        return not self._outbox.full

    @property
    def _overloaded(self) -> bool:
        return bool(self._lines) or self._inbox.full or self._outbox.full

    def _resume_reading(self) -> None:
        if self._paused and not self._overloaded and not self._ended.is_set() and self._output is not None:
            self._paused = False
            self._output.resume()

    def _end(self) -> None:
        if self._ended.is_set():
            return
        self._take_lines(len(self._lines))
        self._ended.set()
        self.lost.set()
        self._message_event.set()
        if self._record is not None:
            self._record.close()
        if self._output is not None:
            self._output.close()
        if self._quiet_timer is not None:
            self._quiet_timer.cancel()

    # Outgoing.

    def _write(self, message: Message, *, ahead: bool = False) -> None:
        if self._record is not None:
            self._record.sent(message)
        self._outbox.put(framing.encode(message), framing.session_id_of(message), ahead=ahead)
