"""When to draw what grew: at once after a pause, then at a steady pace, and less often where drawing is dear."""

from __future__ import annotations

from collections.abc import Callable


class FrameClock:
    """Calls ``flush`` at most once per frame, and never so often that drawing takes more than half of the time.

    ``schedule`` calls a function after a number of seconds. Nothing is scheduled unless something was wanted.
    """

    def __init__(
        self,
        flush: Callable[[], None],
        schedule: Callable[[float, Callable[[], None]], object],
        *,
        now: Callable[[], float],
        frame: float,
    ) -> None:
        self._flush = flush
        self._schedule = schedule
        self._now = now
        self._frame = frame
        self._due = 0.0  # the earliest time of the next flush
        self._cost = 0.0  # seconds that the last flush took, painting included
        self.waiting = False

    def want(self) -> None:
        """There is something to draw."""
        if not self.waiting:
            self.waiting = True
            self._schedule(max(0.001, self._due - self._now()), self._run)

    def spent(self, seconds: float) -> None:
        """Painting what the last flush changed took so long."""
        self._cost += seconds
        self._due = max(self._due, self._now() + self._cost)

    def _run(self) -> None:
        began = self._now()
        self.waiting = False
        self._flush()
        ended = self._now()
        self._cost = ended - began
        self._due = max(began + self._frame, ended + self._cost)
