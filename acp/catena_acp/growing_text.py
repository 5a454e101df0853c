"""Text that comes in pieces."""

from __future__ import annotations

_TOGETHER = 256  # pieces; one of a few letters takes ten times the room of its letters


class GrowingText:
    """A text that grows by pieces, joined when it is read: joining all of it at each piece would be quadratic."""

    __slots__ = ("_blocks", "_pieces", "length")

    def __init__(self, text: str = "") -> None:
        self._blocks = [text]  # of very many pieces, joined
        self._pieces: list[str] = []
        self.length = len(text)  # in characters

    def add(self, piece: str) -> None:
        """Append a piece."""
        self._pieces.append(piece)
        self.length += len(piece)
        if len(self._pieces) >= _TOGETHER:
            self._blocks.append("".join(self._pieces))
            self._pieces.clear()

    def __str__(self) -> str:
        if self._pieces or len(self._blocks) > 1:
            self._blocks = ["".join([*self._blocks, *self._pieces])]
            self._pieces.clear()
        return self._blocks[0]
