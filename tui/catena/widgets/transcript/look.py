"""What drawing a message depends on besides the message."""

from __future__ import annotations

from dataclasses import dataclass, replace

from catena.widgets.transcript.colouring import Colouring
from catena.widgets.transcript.palette import Palette

NARROW = 60
COLUMN = 100


@dataclass(frozen=True, slots=True)
class Look:
    """The column that messages are drawn in. Widths are in cells."""

    width: int  # of a message's body, without gutter and margins
    palette: Palette
    narrow: bool = False
    directory: str = ""  # paths below it are shown relative to it
    colouring: Colouring | None = None  # None: code stays plain

    def within(self, cells: int) -> Look:
        """Return the same look for a body that is ``cells`` narrower."""
        return replace(self, width=max(4, self.width - cells))


@dataclass(frozen=True, slots=True)
class Measures:
    """How a column lies in a widget of some width."""

    margin: int
    gutter: int
    body: int

    @classmethod
    def of(cls, width: int) -> Measures:
        """Fit a column of at most 100 cells, its gutter included, into ``width``; below 60 gutter and margins go."""
        if width < NARROW:
            return cls(0, 0, max(4, width))
        column = min(COLUMN, width - 2)
        return cls((width - column) // 2, 2, column - 2)
