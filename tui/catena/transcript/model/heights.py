"""Heights of stacked items, and a place among them, as a number that is stored with a tab."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from typing import NamedTuple


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


_PART_BITS, _ROW_BITS = 12, 20


class ReadingPosition(NamedTuple):
    """A row of a message as a reading position, valid whatever is added below or loaded above."""

    depth: int  # depth of the message in the tree
    part: int
    row: int

    @classmethod
    def unpack(cls, number: int) -> ReadingPosition:
        """Read a result of ``pack``."""
        part = number >> _ROW_BITS & (1 << _PART_BITS) - 1
        return cls(number >> _PART_BITS + _ROW_BITS, part - 1, number & (1 << _ROW_BITS) - 1)

    def pack(self) -> int:
        """Return the position as an integer of at most 63 bits."""
        part = min(self.part + 1, (1 << _PART_BITS) - 1)
        row = min(self.row, (1 << _ROW_BITS) - 1)
        return (self.depth << _PART_BITS | part) << _ROW_BITS | row


BEGINNING = ReadingPosition(0, -1, 0).pack()
"""The position of the blank row above the first message of a branch."""
