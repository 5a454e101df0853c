"""How many files an agent may have at a time: few, and none while it does not read what it was sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from catena_acp.file_access import FileRefused

AT_A_TIME = 4
WAITING = 256

T = TypeVar("T")


class FileTurns:
    """The order in which an agent's files are read and written, in threads.

    An answer holds up to eight megabytes, so an agent that asked for thousands at once, or read none of the answers,
    would have all of them in our memory. ``room`` is False while too much waits for the agent already.
    """

    def __init__(self, room: Callable[[], bool]) -> None:
        self._room = room
        self._running = asyncio.Semaphore(AT_A_TIME)
        self._waiting = 0

    async def run(self, work: Callable[[], T]) -> T:
        """Do it when its turn comes. Raises FileRefused, also where too many wait."""
        if self._waiting >= WAITING:
            raise FileRefused(f"more than {WAITING} files were asked for at once")
        self._waiting += 1
        try:
            async with self._running:
                if not self._room():
                    raise FileRefused("too much that was asked for has not been read yet")
                return await asyncio.to_thread(work)
        finally:
            self._waiting -= 1
