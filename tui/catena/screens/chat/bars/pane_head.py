"""The head of a pane: which tab it is, and what that is doing."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget

from catena.screens.chat.bars.tabs import mark_content
from catena.text.safe_text import safe_line
from catena.widgets.typing_box import cut_content


class PaneHead(Widget):
    """One row over the transcript, while several panes stand side by side."""

    DEFAULT_CSS = """
    PaneHead {
        height: 1;
        padding: 0 2;
        display: none;
        &.-beside { display: block; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._title = self._mark = ""
        self._has_keys = False

    def show(self, title: str, mark: str, *, has_keys: bool) -> None:
        """Show the name of a tab and its mark; ``has_keys``: what is typed goes to this pane."""
        if (title, mark, has_keys) != (self._title, self._mark, self._has_keys):
            self._title, self._mark, self._has_keys = title, mark, has_keys
            self.refresh()

    def render(self) -> Content:
        """The name, and behind it the mark."""
        mark = mark_content(self._mark)
        room = max(1, self.content_size.width - mark.cell_length - 1)
        style = "bold $accent" if self._has_keys else "$muted"
        title = cut_content(Content.styled(safe_line(self._title), style), room)
        return Content.assemble(title, " ", mark) if self._mark else title
