"""Small files of a directory, read without waiting for one that hangs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

Found = TypeVar("Found")

_SECONDS = 1.0  # a network directory that hangs must not hold up a prompt


class DirectoryReading(Generic[Found]):
    """Reads something of directories, in a thread; after it has hung once, nothing is read any more."""

    def __init__(self, read: Callable[[str], Found | None]) -> None:
        self._read = read
        self._hangs = False

    async def of(self, directory: str) -> Found | None:
        """What is found there; None if there is nothing, or it takes too long."""
        if self._hangs:
            return None
        try:
            async with asyncio.timeout(_SECONDS):
                return await asyncio.to_thread(self._read, directory)
        except TimeoutError:
            self._hangs = True
            return None
