"""A place in a transcript, as a number that is stored with a tab. Pure."""

from __future__ import annotations

from typing import NamedTuple

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
