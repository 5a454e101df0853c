"""Writing to a standard stream without holding up the event loop.

Where the reader pauses (``less``), a write blocks. On the loop that would also stop the agent's turn, the heartbeat of
the lease, and Ctrl+C.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from queue import SimpleQueue


class Outlet:
    """A file descriptor that takes text in order, at once, and writes it on a thread of its own.

    ``on_broken`` is called once, on the loop, when nobody reads any more; what comes after that is dropped. The
    thread does not keep the process from ending.
    """

    def __init__(
        self, descriptor: int, *, encoding: str = "utf-8", on_broken: Callable[[], None] | None = None
    ) -> None:
        self.broken = False  # nobody reads any more
        self._descriptor = descriptor
        self._encoding = encoding
        self._on_broken = on_broken
        self._loop = asyncio.get_running_loop()
        self._waiting: SimpleQueue[bytes | asyncio.Future[None]] = SimpleQueue()
        threading.Thread(target=self._write_all, name=f"outlet-{descriptor}", daemon=True).start()

    def write(self, text: str) -> None:
        """Hand text over; returns at once."""
        self._waiting.put(text.encode(self._encoding, "replace"))

    async def flush(self) -> None:
        """Wait until everything handed over so far is written, or nobody reads."""
        done = self._loop.create_future()
        self._waiting.put(done)
        await done

    def _write_all(self) -> None:
        while True:
            match self._waiting.get():
                case bytes() as data if not self.broken:
                    self.broken = not self._written(data)
                    if self.broken and self._on_broken:
                        self._loop.call_soon_threadsafe(self._on_broken)
                case asyncio.Future() as done:
                    self._loop.call_soon_threadsafe(_settle, done)

    def _written(self, data: bytes) -> bool:
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError:
            return False
        return True


def _settle(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)
