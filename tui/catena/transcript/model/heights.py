"""Heights of stacked items and their running sums."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate


class Heights:
    """Heights in rows, with running sums computed lazily from the first change on."""

    __slots__ = ("_heights", "_tops", "_valid")

    def __init__(self, heights: Iterable[int] = ()) -> None:
        self._heights = list(heights)
        self._tops = [0]
        self._valid = 0  # tops up to and including this index are valid

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    def __setitem__(self, index: int, height: int) -> None:
        if self._heights[index] != height:
            self._heights[index] = height
            self._valid = min(self._valid, index)

    def append(self, height: int) -> None:
        self._heights.append(height)

    def cut(self, length: int) -> None:
        """Remove all heights from index ``length`` on."""
        del self._heights[length:]
        self._valid = min(self._valid, length)

    def top(self, index: int) -> int:
        """Return the number of rows above the item at ``index``, which may be one past the last."""
        self._sum()
        return self._tops[index]

    @property
    def total(self) -> int:
        self._sum()
        return self._tops[-1]

    def find(self, row: int) -> int:
        """Return the index of the item that contains ``row``, never of one without height.

        ``row`` must be within 0 … total - 1.
        """
        self._sum()
        return bisect_right(self._tops, row) - 1

    def _sum(self) -> None:
        count = len(self._heights)
        if self._valid == count and len(self._tops) == count + 1:
            return
        valid = self._valid
        self._tops[valid:] = accumulate(self._heights[valid:], initial=self._tops[valid])
        self._valid = count
