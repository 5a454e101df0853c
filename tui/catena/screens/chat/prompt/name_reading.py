"""What a composer offers behind a slash, read beside what is typed: templates, and names behind a command."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the first frame offers none
    from catena.settings.templates import Template


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


_PATIENCE = 0.8  # seconds; less than the keys wait for an action


class TemplateReading:
    """The templates of one composer, as they were when its text began with a slash last."""

    def __init__(
        self, read: Callable[[str], Awaitable[Sequence[Template]]], changed: Callable[[], None]
    ) -> None:
        """``read`` reads those of a directory; ``changed`` is called when they are there."""
        self.known: Sequence[Template] = ()
        self._read_from = read
        self._changed = changed
        self._directory: str | None = None  # of the text that begins with a slash; None for another one
        self._reading: asyncio.Task[None] | None = None  # until it has ended
        self._hangs = False

    def typed(self, text: str, directory: str) -> None:
        """Read anew where a text begins to begin with a slash; not while that is being done."""
        wanted = directory if text.startswith("/") else None
        before, self._directory = self._directory, wanted
        if wanted is None or wanted == before:
            return
        if self._reading is None or before is not None:
            self.known, self._hangs = (), False
            self._reading = asyncio.create_task(self._read(wanted))

    @property
    def expected(self) -> bool:
        """True while they are being read and somebody may wait for that."""
        return self._reading is not None and not self._hangs

    @property
    def late(self) -> bool:
        """True while they are still being read, although nobody waits for them any more."""
        return self._reading is not None and self._hangs

    async def come(self) -> bool:
        """Wait until they are there; False where that takes long, and then nobody waits for them any more."""
        if (reading := self._reading) is not None:
            await asyncio.wait({reading}, timeout=_PATIENCE)
            self._hangs = not reading.done()
        return not self._hangs

    async def _read(self, directory: str) -> None:
        found: Sequence[Template] = ()
        try:
            found = await self._read_from(directory)
        finally:  # the store may fail
            if asyncio.current_task() is self._reading:
                self.known, self._reading = found, None
                self._changed()

    def forget(self) -> None:
        """Wait for nothing any more."""
        if (reading := self._reading) is not None:
            self._reading = None
            reading.cancel()
