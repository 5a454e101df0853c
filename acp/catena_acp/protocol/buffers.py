"""Buffers between an agent's pipes and the SDK: incoming messages with text chunks joined, and outgoing lines.

An answer comes in hundreds of chunks a second, a replayed history in tens of thousands. Joining adjacent chunks first
makes both cheap: a message costs by its dispatch, not by its length.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

from catena_acp.growing_text import GrowingText
from catena_acp.protocol.framing import Message, session_id_of

MAX_MESSAGES = 2_000
MAX_BYTES = 32 * 1024 * 1024
MAX_JOINED = 64 * 1024  # characters of one joined chunk

_CHUNKS = frozenset({"agent_message_chunk", "agent_thought_chunk", "user_message_chunk"})
_PLAIN_PARAMS = frozenset({"sessionId", "update"})
_PLAIN_UPDATE = frozenset({"sessionUpdate", "content", "messageId"})
_PLAIN_CONTENT = frozenset({"type", "text"})


@dataclass(slots=True)
class _Entry:
    message: Message
    size: int
    session_id: str | None = None
    key: tuple[object, ...] | None = None  # kind and message id that the next chunk must share to be joined
    text: GrowingText | None = None  # of a chunk that can be joined


class Inbox:
    """Incoming messages in their order.

    Adjacent text chunks of the same session, kind and message id become one. Nothing is joined across another message
    of the same session, nor across an answer, whose session is not known.
    """

    def __init__(self) -> None:
        self._entries: deque[_Entry] = deque()
        self._open_chunks: dict[str, _Entry] = {}  # by session: the chunk that the next one may be joined to
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def full(self) -> bool:
        """True if no more should be read until some messages are taken."""
        return len(self._entries) >= MAX_MESSAGES or self._bytes >= MAX_BYTES

    def put(self, message: Message, size: int) -> None:
        """Add a message of ``size`` bytes."""
        self._bytes += size
        session_id = session_id_of(message)
        if session_id is None:
            self._open_chunks.clear()
            self._entries.append(_Entry(message, size))
            return
        key = _chunk_key(message)
        growing = self._open_chunks.get(session_id)
        if (
            growing is not None
            and growing.text is not None
            and growing.key == key
            and growing.text.length < MAX_JOINED
        ):
            growing.text.add(message["params"]["update"]["content"]["text"])
            growing.size += size
            return
        entry = _Entry(message, size, session_id, key)
        self._entries.append(entry)
        if key is None:
            self._open_chunks.pop(session_id, None)
        else:
            entry.text = GrowingText(message["params"]["update"]["content"]["text"])
            self._open_chunks[session_id] = entry

    def take(self) -> Message:
        """The oldest message."""
        entry = self._entries.popleft()
        self._bytes -= entry.size
        if entry.session_id is not None and self._open_chunks.get(entry.session_id) is entry:
            del self._open_chunks[entry.session_id]
        if entry.text is not None:
            entry.message["params"]["update"]["content"]["text"] = str(entry.text)
        return entry.message


def _chunk_key(message: Message) -> tuple[object, ...] | None:
    """Kind and message id of a text chunk; None for anything but plain text without ``_meta``."""
    if message.get("method") != "session/update":
        return None
    params = message["params"]
    update = params["update"]
    kind, content, message_id = update.get("sessionUpdate"), update.get("content"), update.get("messageId")
    if (
        isinstance(kind, str)
        and kind in _CHUNKS
        and isinstance(content, dict)
        and content.get("type") == "text"
        and isinstance(content.get("text"), str)
        and (message_id is None or isinstance(message_id, str))
        and params.keys() <= _PLAIN_PARAMS
        and update.keys() <= _PLAIN_UPDATE
        and content.keys() <= _PLAIN_CONTENT
    ):
        return (kind, message_id)
    return None


MAX_UNREAD_BYTES = 32 * 1024 * 1024


class Outbox:
    """Outgoing lines to the pipe that the agent reads from; what the agent does not read yet waits here.

    ``on_read`` is called when the agent has read some, ``on_lost`` once when the pipe is closed at either end.
    """

    def __init__(self, on_read: Callable[[], None], on_lost: Callable[[], None]) -> None:
        self._on_read = on_read
        self._on_lost = on_lost
        self._pipe: IO[bytes] | None = None
        self._rest = memoryview(b"")  # of a line of which some was written: nothing goes before it
        self._waiting: deque[tuple[str | None, bytes]] = deque()
        self._unread_bytes = 0

    @property
    def full(self) -> bool:
        """True if so many bytes are unread that no further request should be read."""
        return self._unread_bytes > MAX_UNREAD_BYTES

    def connect(self, pipe: IO[bytes]) -> None:
        os.set_blocking(pipe.fileno(), False)
        self._pipe = pipe
        # Nothing can be read from this end: it becomes readable when the other end is closed.
        asyncio.get_running_loop().add_reader(pipe, self.close)

    def put(self, line: bytes, session_id: str | None = None, *, ahead: bool = False) -> None:
        """Send a line; ``ahead`` of other sessions' lines, but not of its own session's.

        A cancel must not overtake the prompt that it cancels.
        """
        self._unread_bytes += len(line)
        if ahead:
            own = [place for place, (named, _) in enumerate(self._waiting) if named == session_id]
            self._waiting.insert(own[-1] + 1 if own else 0, (session_id, line))
        else:
            self._waiting.append((session_id, line))
        if not self._rest:
            self._write()

    def close(self) -> None:
        """Close the pipe; unread lines are discarded."""
        self._waiting.clear()
        self._rest, self._unread_bytes = memoryview(b""), 0
        pipe, self._pipe = self._pipe, None
        if pipe is not None:
            loop = asyncio.get_running_loop()
            loop.remove_reader(pipe)
            loop.remove_writer(pipe)
            pipe.close()
            self._on_lost()

    def _write(self) -> None:
        """Write as much as the pipe takes, and go on when it takes more."""
        if self._pipe is None:
            return
        while self._rest or self._waiting:
            self._rest = self._rest or memoryview(self._waiting.popleft()[1])
            try:
                written = self._pipe.write(self._rest)
            except OSError:
                self.close()
                return
            if not written:
                asyncio.get_running_loop().add_writer(self._pipe, self._go_on)
                return
            self._rest = self._rest[written:]
            self._unread_bytes -= written

    def _go_on(self) -> None:
        assert self._pipe is not None
        asyncio.get_running_loop().remove_writer(self._pipe)
        self._write()
        self._on_read()
