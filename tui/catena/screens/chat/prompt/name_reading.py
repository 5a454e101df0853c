"""The names that may stand behind a command, read beside what is typed: nobody waits, for Enter takes what is typed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence


class NameReading:
    """The names of one composer, as they were when its text began to be a command with names."""

    def __init__(self, read: Callable[[str], Awaitable[Sequence[str]]], changed: Callable[[], None]) -> None:
        """``read`` reads those of a kind; ``changed`` is called when they are there."""
        self._names: Sequence[str] = ()
        self._read_of = read
        self._changed = changed
        self._wanted: tuple[str, object] = ("", None)
        self._reading: asyncio.Task[None] | None = None

    def known(self, kind: str, place: object) -> Sequence[str]:
        """Those of a kind, as far as they are known; "" for none. Another kind, or another place, is read first."""
        if (kind, place) != self._wanted:
            self.forget()
            self._names, self._wanted = (), (kind, place)
            if kind:
                self._reading = asyncio.create_task(self._read(kind))
        return self._names

    async def _read(self, kind: str) -> None:
        self._names = await self._read_of(kind)
        self._changed()

    def forget(self) -> None:
        """Wait for nothing any more."""
        if self._reading is not None:
            self._reading.cancel()
