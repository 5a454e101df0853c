"""Buffers between an agent's pipes and the SDK: incoming messages with text chunks joined, and outgoing lines.

An answer comes in hundreds of chunks a second, a replayed history in tens of thousands. Joining adjacent chunks first
makes both cheap: a message costs by its dispatch, not by its length.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

from catena_acp.growing_text import GrowingText
from catena_acp.protocol.framing import UPDATE, Message, session_id_of

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
    if message.get("method") != UPDATE:
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


class Outbox(asyncio.BaseProtocol):
    """Outgoing lines to the pipe that the agent reads from; a line that the agent does not read yet is buffered.

    ``on_read`` is called when the agent has read some, ``on_lost`` once when the pipe is closed.
    """

    def __init__(self, on_read: Callable[[], None], on_lost: Callable[[], None]) -> None:
        self._on_read = on_read
        self._on_lost = on_lost
        self._pipe: asyncio.WriteTransport | None = None
        self._writable = True
        self._waiting: deque[tuple[str | None, bytes]] = deque()
        self._unread_bytes = 0

    @property
    def full(self) -> bool:
        """True if so many bytes are unread that no further request should be read."""
        return self._unread_bytes > MAX_UNREAD_BYTES

    async def connect(self, pipe: IO[bytes]) -> None:
        self._pipe, _ = await asyncio.get_running_loop().connect_write_pipe(lambda: self, pipe)

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
        self._flush()

    def close(self) -> None:
        """Close the pipe; unread lines are discarded."""
        self._clear()
        pipe, self._pipe = self._pipe, None
        if pipe is not None:
            pipe.abort()

    def pause_writing(self) -> None:
        self._writable = False

    def resume_writing(self) -> None:
        self._writable = True
        self._flush()
        self._on_read()

    def connection_lost(self, exc: Exception | None) -> None:
        self._writable = False
        self._pipe = None
        self._clear()
        self._on_lost()

    def _flush(self) -> None:
        while self._waiting and self._writable and self._pipe is not None:
            _, line = self._waiting.popleft()
            self._unread_bytes -= len(line)
            self._pipe.write(line)

    def _clear(self) -> None:
        self._waiting.clear()
        self._unread_bytes = 0
