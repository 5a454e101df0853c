"""The status line: the agent, the cost, what goes on, and how to stop it."""

from __future__ import annotations

import time
from dataclasses import dataclass

from rich.cells import cell_len
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget

from catena.text.safe_text import safe, safe_line

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_FRAMES_A_SECOND = 4


@dataclass(frozen=True, slots=True)
class Status:
    """The contents of the status line."""

    who: str  # agent · model · mode
    meter: str = ""  # context and cost, where the agent reports them
    doing: str = ""  # in words; "" while idle
    since: float | None = None  # time.monotonic() of the turn's beginning; None while idle
    ways: str = ""  # what can be done about it


class StatusLine(Widget):
    """One line; it moves only while something goes on."""

    DEFAULT_CSS = """
    StatusLine { height: 1; color: $muted; }
    """

    def __init__(self, *, still: bool, id: str | None = None) -> None:
        """``still``: nothing turns, and the time is told once a second (over a slow line)."""
        super().__init__(id=id)
        self._still = still
        self._status = Status("")
        self._mode = ""
        self._timer: Timer | None = None

    def show_mode(self, words: str) -> None:
        """Show the mode that the keys are in, in the place of the agent; "" for none."""
        if words != self._mode:
            self._mode = words
            self.refresh()

    def show(self, status: Status) -> None:
        """Show another status."""
        if status == self._status:
            return
        self._status = status
        if status.since is None and self._timer is not None:
            self._timer.stop()
            self._timer = None
        elif status.since is not None and self._timer is None:
            self._timer = self.set_interval(1.0 if self._still else 1 / _FRAMES_A_SECOND, self.refresh)
        self.refresh()

    def render(self) -> Content:
        """The line, as much of it as there is room for; what goes on is said first."""
        width = self.size.width
        right, doing = Content(""), safe_line(self._status.doing)
        if self._status.since is not None:
            elapsed = max(0.0, time.monotonic() - self._status.since)
            spinner = "" if self._still else _SPINNER[int(elapsed * _FRAMES_A_SECOND) % len(_SPINNER)] + " "
            seconds = (
                f"{int(elapsed)} s" if elapsed < 120 else f"{int(elapsed) // 60} min {int(elapsed) % 60:02} s"
            )
            right = Content.assemble((spinner, "$accent"), f"{doing} {seconds}".strip())
            if self._status.ways:
                right += Content(f"   {safe_line(self._status.ways)}")
        elif doing:
            right = Content(doing)
        left = _cut(" " + safe_line(self._mode or self._status.who), max(0, width - right.cell_length - 2))
        room = width - cell_len(left) - right.cell_length - 1
        meter = safe(self._status.meter)
        middle = f"   {meter}" if meter and cell_len(meter) + 4 < room else ""
        gap = max(1, room - cell_len(middle))
        return Content(left + middle + " " * gap) + right


def _cut(text: str, width: int) -> str:
    return text if cell_len(text) <= width else text[: max(0, width - 1)] + "…"
