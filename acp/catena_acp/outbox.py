"""Lines on their way to an agent that may read slowly, or not at all, or no longer."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import IO

MAX_UNREAD = 32 * 1024 * 1024


class Outbox(asyncio.BaseProtocol):
    """The pipe that the agent reads from. Nothing here waits: what it does not read yet is kept.

    ``moved`` is called when the agent has read some, ``lost`` once when it will read no more.
    """

    def __init__(self, moved: Callable[[], None], lost: Callable[[], None]) -> None:
        self._moved = moved
        self._lost = lost
        self._pipe: asyncio.WriteTransport | None = None
        self._writable = True
        self._waiting: deque[tuple[str | None, bytes]] = deque()
        self._unread = 0

    @property
    def full(self) -> bool:
        """True where so much waits that nothing should be read that asks for an answer."""
        return self._unread > MAX_UNREAD

    async def connect(self, pipe: IO[bytes]) -> None:
        self._pipe, _ = await asyncio.get_running_loop().connect_write_pipe(lambda: self, pipe)

    def put(self, line: bytes, session_id: str | None = None, *, ahead: bool = False) -> None:
        """Send a line. One that goes ``ahead`` passes what waits for other sessions, and nothing of its own session: a
        cancel must not come before the prompt that it is to stop."""
        self._unread += len(line)
        if ahead:
            own = [place for place, (named, _) in enumerate(self._waiting) if named == session_id]
            self._waiting.insert(own[-1] + 1 if own else 0, (session_id, line))
        else:
            self._waiting.append((session_id, line))
        self._flush()

    def close(self) -> None:
        """Let the agent see the end of its input; what it has not read is thrown away."""
        self._drop_all()
        pipe, self._pipe = self._pipe, None
        if pipe is not None:
            pipe.abort()

    def pause_writing(self) -> None:
        self._writable = False

    def resume_writing(self) -> None:
        self._writable = True
        self._flush()
        self._moved()

    def connection_lost(self, exc: Exception | None) -> None:
        self._writable = False
        self._pipe = None
        self._drop_all()
        self._lost()

    def _flush(self) -> None:
        while self._waiting and self._writable and self._pipe is not None:
            _, line = self._waiting.popleft()
            self._unread -= len(line)
            self._pipe.write(line)

    def _drop_all(self) -> None:
        self._waiting.clear()
        self._unread = 0
