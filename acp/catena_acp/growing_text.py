"""Text that comes in pieces."""

from __future__ import annotations


class GrowingText:
    """A text that grows by pieces, which are joined once, when it is read: joining at each piece would be quadratic."""

    __slots__ = ("_pieces", "length")

    def __init__(self, text: str = "") -> None:
        self._pieces = [text]
        self.length = len(text)  # in characters

    def add(self, piece: str) -> None:
        """Append a piece."""
        self._pieces.append(piece)
        self.length += len(piece)

    def __str__(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0]
