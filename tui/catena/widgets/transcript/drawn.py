"""Which parts are drawn, so that those which nobody looks at can be forgotten."""

from __future__ import annotations

from collections import OrderedDict

from catena.widgets.transcript.parts import Part

_KEPT_ROWS = 1500


class Drawn:
    """The parts that have their rows, those that were seen longest ago first; heights stay true when rows go."""

    def __init__(self) -> None:
        self._rows: OrderedDict[Part, int] = OrderedDict()
        self._total = 0

    def touch(self, part: Part, rows: int) -> None:
        """A part was looked at, and has so many rows."""
        self._total += rows - self._rows.pop(part, 0)
        self._rows[part] = rows

    def evict(self) -> None:
        """Forget the rows of parts beyond 1,500 rows, but of the last one that was looked at."""
        while self._total > _KEPT_ROWS and len(self._rows) > 1:
            part, rows = self._rows.popitem(last=False)
            self._total -= rows
            part.lines = None

    def forget(self) -> None:
        """Forget all rows."""
        for part in self._rows:
            part.lines = None
        self._rows.clear()
        self._total = 0

    def forget_provisional(self) -> bool:
        """Forget the rows that were drawn before their colours were known; tell whether there were any."""
        provisional = [part for part in self._rows if part.provisional]
        for part in provisional:
            part.lines, part.provisional = None, False
        return bool(provisional)
