"""The agent's plan, pinned above the composer while it has open items."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widget import Widget

from catena.text.safe_text import safe_line
from catena_acp.continuity.wording.counts import counted
from catena_acp.spoken.blocks import PlanStep

_MARKS = {"completed": ("●", "$muted"), "in_progress": ("◐", "$accent"), "pending": ("○", "$muted")}
_SHOWN = 5
_WIDE = 56  # cells of text that leave room for how far it is
_APART = 3


class PlanPanel(Widget):
    """A short checklist around the item in progress."""

    DEFAULT_CSS = """
    PlanPanel { height: auto; margin-top: 1; display: none; color: $muted; &.-open { display: block; } }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._entries: Sequence[PlanStep] = ()
        self._source = ""

    def show(self, entries: Sequence[PlanStep], source: str = "") -> None:
        """Show these entries where one of them is open; else nothing. ``source``: where they are from, if no plan."""
        self._source = source
        kept = entries if any(entry.status != "completed" for entry in entries) else ()
        if kept != self._entries:
            self._entries = kept
            self.set_class(bool(kept), "-open")
            self.refresh(layout=True)

    @property
    def rows(self) -> int:
        """The rows that the plan takes if there is room."""
        return 1 + min(len(self._entries), _SHOWN) if self._entries else 0

    def render(self) -> Content:
        """The entries around the open ones, and on the right how far the plan is."""
        entries, width = self._entries, max(8, self.size.width - 2)
        done = sum(entry.status == "completed" for entry in entries)
        first_open = next((index for index, entry in enumerate(entries) if entry.status != "completed"), 0)
        start = max(0, min(first_open - 1, len(entries) - _SHOWN))
        words = " · ".join(filter(None, [f"{done} of {counted(len(entries), 'step')} done", self._source]))
        note = Content.styled(words, "$faint") if width >= _WIDE else Content("")
        lines = []
        for entry in entries[start : start + _SHOWN]:
            mark, tone = _MARKS.get(entry.status, _MARKS["pending"])
            style = "$foreground" if entry.status == "in_progress" else "$muted"
            text = (safe_line(entry.text), style)
            line = Content.assemble("  ", (f"{mark} ", tone), text)
            line = line.truncate(max(4, width - note.cell_length - _APART), ellipsis=True)
            lines.append(Content.assemble(line, " " * (width - line.cell_length - note.cell_length), note))
            note = Content("")
        return Content("\n").join(lines)
