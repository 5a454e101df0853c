"""The source and the forks of the conversation; a click goes there."""

from __future__ import annotations

from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from catena.text.formats import whole_clauses


class LineageLine(Widget):
    """One line above the transcript, if there is a source or a fork."""

    DEFAULT_CSS = """
    LineageLine {
        height: 1;
        display: none;
        padding: 0 2;
        color: $faint;
        &.-any { display: block; }
        &:hover { color: $muted; }
    }
    """

    class Wanted(Message):
        """The person wants to go to the source or a fork."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._words = ""

    def show(self, words: str) -> None:
        """Show a line; nothing for ""."""
        if words != self._words:
            self._words = words
            self.set_class(bool(words), "-any")
            self.refresh()

    def render(self) -> Content:
        """As many of the words as there is room for."""
        return Content(whole_clauses(self._words, max(1, self.content_size.width)))

    def on_click(self) -> None:
        """Go to the source or a fork."""
        self.post_message(self.Wanted())
