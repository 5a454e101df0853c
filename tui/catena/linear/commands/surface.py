"""The surface of acts in linear mode: lines."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from catena.acts.surface import Report
from catena.linear import rows
from catena.linear.context import LinearContext
from catena.text.safe_text import safe


class LinesSurface:
    """Linear mode, as acts see it."""

    def __init__(self, context: LinearContext, write: Callable[[str], Awaitable[None]]) -> None:
        """``write`` puts a text into the draft."""
        self._context = context
        self._write = write

    def say(self, words: str) -> None:
        """Say words of ours."""
        self._context.say(words)

    async def write(self, text: str = "") -> None:
        """Put a text behind the draft."""
        if text:
            await self._write(text)

    async def show(self, report: Report) -> None:
        """Read a report; lines of someone else's cannot be taken for ours."""
        out = self._context.out
        out.lines(report.lines(", ", rows.size_words))
        out.lines(rows.set_in(line) for line in safe(report.text).splitlines())
