"""A page of text to read: the help, a whole change."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from catena.text.safe_text import safe_line


class PageScreen(ModalScreen[None]):
    """Something to read, and any way out."""

    CSS_PATH = "page.tcss"
    HINT: ClassVar[str] = "↑ ↓ scroll · esc back"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter,f1,ctrl+c,d", "leave", "back", priority=True),
        Binding("j,down", "scroll(1)", show=False, priority=True),
        Binding("k,up", "scroll(-1)", show=False, priority=True),
        Binding("pagedown,space", "page(1)", show=False, priority=True),
        Binding("pageup", "page(-1)", show=False, priority=True),
    ]

    def __init__(self, title: str, text: Content | Callable[[int], Content], *, at_end: bool = False) -> None:
        """``text`` may be made for a width. ``at_end``: what matters is at the end, so it begins there."""
        super().__init__()
        self._at_end = at_end
        self._title = safe_line(title)
        self._text = text

    def compose(self) -> ComposeResult:
        """Title, text, hint."""
        yield Static(self._title, id="title", markup=False)
        with VerticalScroll(id="text"):
            yield Static(self._text, markup=False) if isinstance(self._text, Content) else _Fitted(self._text)
        yield Static(self.HINT, id="hint", markup=False)

    def on_mount(self) -> None:
        """Begin where it matters."""
        if self._at_end:
            text = self.query_one("#text", VerticalScroll)
            text.call_after_refresh(text.scroll_end, animate=False)

    def action_leave(self) -> None:
        """Back."""
        self.dismiss(None)

    def action_scroll(self, step: int) -> None:
        """By a line."""
        self.query_one("#text", VerticalScroll).scroll_relative(y=step, animate=False)

    def action_page(self, step: int) -> None:
        """By a screenful."""
        text = self.query_one("#text", VerticalScroll)
        text.scroll_relative(y=step * max(1, text.size.height - 2), animate=False)


class _Fitted(Static):
    """A text that is laid out by whoever wrote it, for the width that there is."""

    def __init__(self, text: Callable[[int], Content]) -> None:
        super().__init__(markup=False)
        self._text = text
        self._width = 0

    def on_resize(self, event: events.Resize) -> None:
        """Another width."""
        if event.size.width != self._width:
            self._width = event.size.width
            self.update(self._text(self._width))
