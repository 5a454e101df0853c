"""Long text cut into slices that are short enough to be drawn at once, the same ones however it came."""

from __future__ import annotations

from typing import NamedTuple

from rich.cells import split_graphemes

LINES = 200
_JOINED = 64  # characters that are surely more than one that is seen
_COUNTED = (
    256_000  # characters; further on lines are not counted, since looking for each of them has its price
)


class Slice(NamedTuple):
    """From where to where a slice goes, and what stands between it and the next one."""

    start: int
    end: int
    joint: str = "\n"


class Slicer:
    """Cuts what stands in a growing text from ``start`` on, at line ends, and endless lines at spaces.

    A slice that was cut stays as it is; ``start`` is then where the next one begins.
    """

    __slots__ = ("_characters", "_origin", "start")

    def __init__(self, start: int, characters: int) -> None:
        self.start = start
        self._origin = start
        self._characters = characters

    def cut(self, text: str, end: int) -> list[Slice]:
        """Return the slices of ``text`` that are full before ``end``; something is always left."""
        slices: list[Slice] = []
        while (piece := self._next(text, end)) is not None:
            slices.append(piece)
            self.start = piece.end + len(piece.joint)
        return slices

    def _next(self, text: str, end: int) -> Slice | None:
        start = self.start
        limit = min(start + self._characters, end)
        if start - self._origin < _COUNTED and text.count("\n", start, limit) >= LINES:
            at = start
            for _ in range(LINES):
                at = text.find("\n", at) + 1
            return Slice(start, at - 1) if at < end else None
        if end - start <= self._characters:
            return None
        newline = text.rfind("\n", start, limit + 1)
        if newline >= 0:
            return Slice(start, newline)
        space = text.rfind(" ", start + 1, limit)
        return Slice(start, space + 1 if space > start else _untorn(text, start, limit), "")


def _untorn(text: str, start: int, limit: int) -> int:
    """Return the place nearest to ``limit``, not after it, where no joined emoji or combining mark is torn."""
    begin = max(start, limit - _JOINED)
    last = begin + split_graphemes(text[begin : limit + 1])[0][-1][0]
    return last if last > begin else limit
