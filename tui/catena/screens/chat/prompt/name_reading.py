"""The names that may stand behind a command, read beside what is typed: nobody waits, for Enter takes what is typed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence


class NameReading:
    """The names of one composer, as they were when its text began to be a command with names."""

    def __init__(self, read: Callable[[str], Awaitable[Sequence[str]]], changed: Callable[[], None]) -> None:
        """``read`` reads those of a kind; ``changed`` is called when they are there."""
        self.known: Sequence[str] = ()
        self._read_of = read
        self._changed = changed
        self._kind = ""
        self._reading: asyncio.Task[None] | None = None

    def want(self, kind: str) -> None:
        """Read those of a kind, where others were wanted before; "" for none."""
        if kind == self._kind:
            return
        self.forget()
        self.known, self._kind = (), kind
        if kind:
            self._reading = asyncio.create_task(self._read(kind))

    async def _read(self, kind: str) -> None:
        self.known = await self._read_of(kind)
        self._changed()

    def forget(self) -> None:
        """Wait for nothing any more."""
        if self._reading is not None:
            self._reading.cancel()
