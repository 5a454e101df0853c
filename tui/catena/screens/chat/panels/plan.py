"""The agent's plan, pinned above the composer while it has open items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from textual.content import Content
from textual.widget import Widget

from catena.text.safe_text import safe_line

_MARKS = {"completed": "✓", "in_progress": "▸", "pending": "·"}
_SHOWN = 5


class PlanPanel(Widget):
    """A short checklist around the item in progress."""

    DEFAULT_CSS = """
    PlanPanel { height: auto; max-height: 6; display: none; color: $muted; &.-open { display: block; } }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._entries: Sequence[Mapping[str, Any]] = ()
        self._source = ""

    def show(self, entries: Sequence[Mapping[str, Any]], source: str = "") -> None:
        """Show these entries where one of them is open; else nothing. ``source``: where they are from, if no plan."""
        self._source = source
        kept = entries if any(entry.get("status") != "completed" for entry in entries) else ()
        if kept != self._entries:
            self._entries = kept
            self.set_class(bool(kept), "-open")
            self.refresh(layout=True)

    def render(self) -> Content:
        """How far the plan is, and the entries around the open ones."""
        entries = self._entries
        done = sum(entry.get("status") == "completed" for entry in entries)
        first_open = next(
            (index for index, entry in enumerate(entries) if entry.get("status") != "completed"), 0
        )
        start = max(0, min(first_open - 1, len(entries) - _SHOWN))
        title, note = ("todo", f" · {self._source}") if self._source else ("plan", "")
        lines = [Content.assemble((f"  {title}", "$accent"), f"  {done} of {len(entries)} done{note}")]
        for entry in entries[start : start + _SHOWN]:
            status = str(entry.get("status", "pending"))
            text = f"  {_MARKS.get(status, '·')} " + safe_line(str(entry.get("text", "")))
            style = {"completed": "$faint", "in_progress": "$foreground"}.get(status, "$muted")
            lines.append(Content.styled(text, style).truncate(max(4, self.size.width - 1), ellipsis=True))
        return Content("\n").join(lines)
