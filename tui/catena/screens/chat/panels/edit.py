"""The line over the composer while a prompt is edited: which prompt, its price, how to leave."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from catena.text.safe_text import safe_line

if TYPE_CHECKING:  # nothing is edited before there is a tab
    from catena.workspace.tab import Editing


_SHORT = 15  # rows of a screen that has no room for more than one line of it


class EditPanel(Widget):
    """One line over the composer."""

    DEFAULT_CSS = """
    EditPanel {
        height: auto;
        max-height: 3;
        display: none;
        border-top: solid $accent;
        padding: 0 1;
        color: $muted;
        &.-editing { display: block; }
    }
    """

    class Left(Message):
        """The person wants the draft back."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._words: tuple[str, str, bool] | None = None

    @property
    def open(self) -> bool:
        """True while a prompt is edited."""
        return self._words is not None

    @property
    def stops_a_turn(self) -> bool:
        """True while sending the edit would stop a turn."""
        return self._words is not None and self._words[2]

    def show(self, editing: Editing | None, *, busy: bool = False) -> None:
        """Show which prompt is edited; ``busy`` while a turn runs, which sending would stop."""
        words = None
        if editing is not None:
            written_at = editing.prompt.created_at.astimezone()
            words = (f"{written_at:%H:%M}", safe_line(editing.price), busy)
        if words != self._words:
            self._words = words
            self.set_class(words is not None, "-editing")
            self.refresh(layout=True)

    def render(self) -> Content:
        """The longest line that fits; the keys are dropped before the price, since the hints have them as well."""
        if self._words is None:
            return Content("")
        at, price, busy = self._words
        width = max(1, self.content_size.width)
        sends = "enter stop the turn and send" if busy else "enter send"
        leaves = Content.from_markup("[@click=leave]esc cancel[/]")
        full = Content.assemble((f"editing prompt from {at}", "$accent"), f" · {price} · {sends} · ", leaves)
        brief = Content.assemble((f"editing {at}", "$accent"), f" · {price} · ", leaves)
        if full.cell_length <= width:
            return full
        if brief.cell_length <= width or self.screen.size.height >= _SHORT:
            return brief
        return Content.assemble(("editing", "$accent"), f" · {price}").truncate(width, ellipsis=True)

    def action_leave(self) -> None:
        """Leave the edit, as Esc does."""
        self.post_message(self.Left())
