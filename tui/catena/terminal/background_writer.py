"""Writing to a standard stream without blocking the event loop.

A write blocks while the reader pauses (``less``). On the loop that would also stop the agent's turn, the heartbeat of
the lease and Ctrl+C.
"""

from __future__ import annotations

import asyncio
import errno
import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final

_NOBODY_READS: Final = frozenset((errno.EPIPE, errno.EIO))  # a closed pipe, and a terminal that is gone


class BackgroundWriter:
    """Writer of text to a file descriptor, in order, in a daemon thread.

    ``on_broken`` is called once, on the loop, when nothing can be written any more; later text is dropped.
    """

    def __init__(
        self, descriptor: int, *, encoding: str = "utf-8", on_broken: Callable[[], None] | None = None
    ) -> None:
        self.broken = False  # nobody reads any more, or nothing can be written
        self._failure: OSError | None = None  # that is no reader's doing
        self._descriptor = descriptor
        self._encoding = encoding
        self._on_broken = on_broken
        self._loop = asyncio.get_running_loop()
        self._waiting: SimpleQueue[bytes | asyncio.Future[None]] = SimpleQueue()
        threading.Thread(target=self._write_all, name=f"outlet-{descriptor}", daemon=True).start()

    def write(self, text: str) -> None:
        """Queue text, without waiting."""
        self._waiting.put(text.encode(self._encoding, "replace"))

    def check(self) -> None:
        """Raise OSError where text was dropped although it could have been read, as on a full disk."""
        if self._failure is not None:
            raise self._failure

    async def flush(self) -> None:
        """Wait until all queued text is written, or dropped."""
        done = self._loop.create_future()
        self._waiting.put(done)
        await done

    def _write_all(self) -> None:
        while True:
            match self._waiting.get():
                case bytes() as data if not self.broken:
                    self.broken = not self._write(data)
                    if self.broken and self._on_broken:
                        self._loop.call_soon_threadsafe(self._on_broken)
                case asyncio.Future() as done:
                    self._loop.call_soon_threadsafe(_settle, done)

    def _write(self, data: bytes) -> bool:
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError as error:
            if error.errno not in _NOBODY_READS:
                self._failure = error
            return False
        return True


def _settle(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)
