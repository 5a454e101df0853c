"""How well a name fits what is typed of it: to the letter, in full, its beginning, a part of it, its letters."""

from __future__ import annotations

from enum import IntEnum


class Fit(IntEnum):
    """How a name fits, the best first."""

    EXACT = 0
    WHOLE = 1  # but for capitals
    BEGINS = 2
    INSIDE = 3
    LETTERS = 4  # in their order
    NONE = 5


class Fits:
    """What names are compared with."""

    def __init__(self, typed: str) -> None:
        """``typed`` is not empty."""
        from textual.fuzzy import FuzzySearch  # after the first frame

        self._typed = typed
        self._low = typed.casefold()
        self._search = FuzzySearch()

    def __call__(self, name: str) -> tuple[Fit, float]:
        """How a name fits, and a number that is lower for the better one of two that fit alike."""
        if name == self._typed:
            return Fit.EXACT, 0.0
        low = name.casefold()
        if low == self._low:
            return Fit.WHOLE, 0.0
        if low.startswith(self._low):
            return Fit.BEGINS, float(len(name))
        points = self._search.match(self._typed, name)[0]
        if self._low in low:
            return Fit.INSIDE, -points
        return (Fit.LETTERS, -points) if points > 0 else (Fit.NONE, 0.0)
