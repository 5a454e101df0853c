"""Sheets with a text to read: a page of help, a whole change, a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ScreenResultType
from textual.scrollbar import ScrollBar
from textual.widget import Widget
from textual.widgets import Static

from catena.acts.surface import Report, Voice
from catena.cells import cell_len
from catena.keys.bindings import priority_bindings
from catena.screens.common.dialog import Dialog
from catena.text.changes_text import size_words
from catena.text.safe_text import safe, safe_line
from catena.widgets.scroll_bar import thin_scroll_bar
from catena.widgets.sheet_edges import SheetKey, SheetWords, Subject


class ReadingPane(VerticalScroll):
    """A text that scrolls."""

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        """The scroll bar."""
        return thin_scroll_bar(self)


class ReadingScreen(Dialog[ScreenResultType]):
    """A text that is scrolled by line and by page."""

    @property
    def reader(self) -> Widget:
        """The widget that scrolls."""
        return self.query_one("#text", VerticalScroll)

    def action_scroll(self, step: int) -> None:
        """Scroll by a number of lines."""
        self.reader.scroll_relative(y=step, animate=False)

    def action_page(self, step: int) -> None:
        """Scroll by a screenful, less two lines."""
        reader = self.reader
        reader.scroll_relative(y=step * max(1, reader.size.height - 2), animate=False)


# For texts beside which nothing is typed.
SCROLL_KEYS: Sequence[BindingType] = priority_bindings(
    line_down="scroll(1)",
    line_up="scroll(-1)",
    row_down="scroll(1)",
    row_up="scroll(-1)",
    page_down="page(1)",
    page_up="page(-1)",
)


class PageScreen(ReadingScreen[None]):
    """A page of text, with any way out."""

    KEYS: ClassVar[tuple[SheetKey, ...]] = (
        SheetKey("{row_up row_down}", "scroll"),
        SheetKey("{leave}", "close", "leave"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        *priority_bindings(
            leave="leave",
            cancel="leave",
            close_page="leave",
            dismiss="leave",
            help="leave",
            next_page="page(1)",
        ),
        *SCROLL_KEYS,
    ]

    def __init__(
        self,
        title: str,
        text: Content | Callable[[int], Content] | Widget,
        *,
        count: str = "",
        subject: Subject | None = None,
        at_end: bool = False,
    ) -> None:
        """``text`` may be a function of the width, or a widget; ``at_end``: begin at the end of the text."""
        super().__init__(SheetWords(title, count, subject or Subject()))
        self._at_end = at_end
        self._text = text

    def compose(self) -> ComposeResult:
        """Head, text, keys."""
        yield from self.compose_head()
        with ReadingPane(id="text", classes="-drawn" if isinstance(self._text, Widget) else None):
            match self._text:
                case Widget() as drawn:
                    yield drawn
                case Content() as text:
                    yield Static(text, markup=False)
                case text:
                    yield Fitted(text)
        yield from self.compose_foot(*self.KEYS)

    def on_mount(self) -> None:
        """Scroll to the end, where the page begins there."""
        if self._at_end:
            self.reader.call_after_refresh(self.reader.scroll_end, animate=False)


_NAMES = 16  # cells of the column of names
_NARROW = 50  # cells of a page below which values stand below their names


def facts_page(facts: Iterable[tuple[str, str]]) -> Callable[[int], Content]:
    """Names and values, laid out for a width; an empty name continues the value before."""
    pairs = list(facts)

    def laid_out(width: int) -> Content:
        lines = []
        for name, value in pairs:
            at = _NAMES if width >= _NARROW else 2 if cell_len(value) <= width - 2 or " " in value else 0
            words = Content(safe_line(value)).wrap(max(1, width - at)) if value else [Content("")]
            title = Content.styled(f"{safe_line(name):<{at}}", "$muted")
            if width < _NARROW:
                lines += [*([title] if name else []), *(Content(" " * at) + line for line in words if line)]
            else:
                lines += [
                    (Content(" " * at) if number else title) + line for number, line in enumerate(words)
                ]
        return Content("\n").join(lines)

    return laid_out


class Fitted(Static):
    """A text laid out by its author for the width of the widget."""

    def __init__(self, text: Callable[[int], Content]) -> None:
        super().__init__(markup=False)
        self._text = text
        self._width = 0

    def show(self, text: Callable[[int], Content]) -> None:
        """Show another text."""
        self._text = text
        self.update(text(self._width))

    def on_resize(self, event: events.Resize) -> None:
        """Lay the text out for another width."""
        width = event.size.width - self.gutter.width
        if width != self._width:
            self._width = width
            # Behind the layout that tells of the width: what asks for another one within it may be forgotten.
            self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        self.update(self._text(self._width))


EYE = Voice(" · ", size_words)
_APART = 3  # cells between a name and what is said of it


def report_page(report: Report) -> PageScreen:
    """Make the sheet of a report; a text is read from its end on."""
    if report.text:
        return PageScreen(report.title, Content(safe(report.text)), at_end=True)
    rows = [(row.name, row.said(EYE)) for row in report.rows]
    return PageScreen(report.title, noted_page(report.note, rows) if report.note else facts_page(rows))


def noted_page(note: str, rows: Sequence[tuple[str, str]]) -> Callable[[int], Content]:
    """Lay out rows below a note: what is said of each ends at the right edge, or stands below its name."""

    def laid_out(width: int) -> Content:
        lines = [*Content.styled(note, "$muted").wrap(max(1, width)), Content("")]
        for name, words in rows:
            gap = width - cell_len(name) - cell_len(words)
            if gap >= _APART:
                lines.append(Content.assemble(name, " " * gap, (words, "$muted")))
            else:
                lines += Content(name).wrap(max(1, width))
                lines += (
                    Content.assemble("  ", line)
                    for line in Content.styled(words, "$muted").wrap(max(1, width - 2))
                )
        return Content("\n").join(lines)

    return laid_out
