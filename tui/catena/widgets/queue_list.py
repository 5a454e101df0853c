"""The prompts that wait, above the composer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from catena.safe_text import safe_line

if TYPE_CHECKING:
    from catena_store.records import QueueItem

_SHOWN = 4


class QueueList(Widget):
    """One line for each waiting prompt; a click on its ✕ takes it out."""

    DEFAULT_CSS = """
    QueueList { height: auto; max-height: 5; display: none; color: $text-muted; &.-any { display: block; } }
    """

    class Removed(Message):
        """The person takes a waiting prompt out of the queue."""

        def __init__(self, item: QueueItem) -> None:
            super().__init__()
            self.item = item

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._items: Sequence[QueueItem] = ()

    @property
    def items(self) -> Sequence[QueueItem]:
        """The prompts that wait, next one first."""
        return self._items

    def show(self, items: Sequence[QueueItem]) -> None:
        """Show these prompts."""
        if items != self._items:
            self._items = items
            self.set_class(bool(items), "-any")
            self.refresh(layout=True)

    def on_click(self, event: events.Click) -> None:
        """A click at the end of a line takes its prompt out."""
        if event.y < min(len(self._items), _SHOWN) and event.x >= self.size.width - 4:
            self.post_message(self.Removed(self._items[event.y]))

    def render(self) -> Content:
        """The first prompts, and how many more there are."""
        width = self.size.width
        lines = []
        for item in self._items[:_SHOWN]:
            word = "held  " if item.held else "next  "
            text = safe_line(item.text)
            room = max(8, width - len(word) - 6)
            shown = Content(text).truncate(room, ellipsis=True)
            gap = " " * max(1, width - 2 - len(word) - shown.cell_length - 2)
            style = "$warning" if item.held else "$accent"
            lines.append(Content.assemble("  ", (word, style), shown, gap, "✕ "))
        if (more := len(self._items) - _SHOWN) > 0:
            lines.append(Content(f"  and {more} more"))
        return Content("\n").join(lines)
