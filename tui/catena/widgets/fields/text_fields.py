"""Fields that text is edited in, drawn so that nothing in the text can steer the terminal.

The text itself is not changed. Drawing, wrapping, clicks and cursor moves use another text of the same length, in which
every character that a terminal would obey is one visible cell. Every field that takes text is one of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, overload

from rich.text import Text
from textual import events
from textual._text_area_theme import TextAreaTheme
from textual.binding import BindingType
from textual.content import Content
from textual.document._document import Document, EditResult, Location
from textual.document._document_navigator import DocumentNavigator
from textual.document._wrapped_document import WrappedDocument
from textual.geometry import Offset, Region, Size
from textual.reactive import Reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Input, TextArea
from textual.widgets.input import Selection

from catena.cells import cell_len, cluster_end, cluster_start, clusters
from catena.keys.actions import ACTIONS
from catena.keys.bindings import bindings
from catena.keys.keymap import KeyMap
from catena.text.safe_text import safe, safe_cells, safe_line

_AS_ONE_LINE = {ord("\t"): "\u2409", ord("\n"): "\u240a"}


# Of the table of keys: those that are repeated fast, and lead nowhere.
FIELD_ACTIONS = (
    "text_left",
    "text_right",
    "text_start",
    "text_end",
    "delete_left",
    "delete_right",
    "text_word_left",
    "text_word_right",
    "delete_word_left",
    "delete_to_start",
)


def field_keys(keys: KeyMap) -> frozenset[str]:
    """The keys of these actions, as Textual reports them, without those that lead elsewhere from the composer."""
    leading = {key for each in ACTIONS.values() if each.place == "anywhere" for key in keys.names(each.name)}
    return frozenset(key for name in FIELD_ACTIONS for key in keys.names(name)) - leading


class EditedText(Document):
    """A text whose lines are given as they are drawn, and as they are where they are taken out.

    A line ends at a newline and nowhere else: other separators would not come out as they went in.
    """

    def __init__(self, text: str) -> None:
        super().__init__("")
        self._lines = text.split("\n")
        self._drawn = [self._draw(line) for line in self._lines]

    def _draw(self, line: str) -> str:
        drawn = safe_cells(line)
        return f"{drawn[:-1]} " if line.endswith("\r") else drawn

    @property
    def edited(self) -> str:
        """The text as it is edited."""
        return "\n".join(self._lines)

    @property
    def lines(self) -> list[str]:
        """The lines as they are drawn."""
        return self._drawn

    @overload
    def __getitem__(self, line_index: int) -> str: ...

    @overload
    def __getitem__(self, line_index: slice) -> list[str]: ...

    def __getitem__(self, line_index: int | slice) -> str | list[str]:
        """A line as it is drawn, or several."""
        return self._drawn[line_index]

    def get_size(self, tab_width: int) -> Size:
        """How many cells the longest line takes, and how many lines there are."""
        widths = [cell_len(line.expandtabs(tab_width)) for line in self._drawn]
        return Size(max(widths, default=0), len(widths))

    def replace_range(self, start: Location, end: Location, text: str) -> EditResult:
        """Put ``text`` in the place of what is between two locations."""
        (top, left), (bottom, right) = sorted((start, end))
        replaced = Document.get_text_range(self, (top, left), (bottom, right))
        before = self._lines[top][:left] if top < len(self._lines) else ""
        after = self._lines[bottom][right:] if bottom < len(self._lines) else ""
        inserted = text.split("\n")
        inserted[0] = before + inserted[0]
        column = len(inserted[-1])
        inserted[-1] += after
        self._lines[top : bottom + 1] = inserted
        self._drawn[top : bottom + 1] = [self._draw(line) for line in inserted]
        return EditResult((top + len(inserted) - 1, column), replaced)


class ClusterNavigator(DocumentNavigator):
    """Goes from one character that is drawn to the next, however many code points it has."""

    def get_location_left(self, location: Location) -> Location:
        """Where the character to the left begins; at the start of a line, the end of the line above."""
        row, column = super().get_location_left(location)
        return row, cluster_start(self._document[row], column)

    def get_location_right(self, location: Location) -> Location:
        """Where the character to the right ends; at the end of a line, the start of the line below."""
        row, column = super().get_location_right(location)
        return (row, cluster_end(self._document[row], column - 1)) if column else (row, column)


TEXT_KEYS: Sequence[BindingType] = bindings(
    text_up="cursor_up",
    text_down="cursor_down",
    text_left="cursor_left",
    text_right="cursor_right",
    text_word_left="cursor_word_left",
    text_word_right="cursor_word_right",
    text_start="cursor_line_start",
    text_end="cursor_line_end",
    select_up="cursor_up(True)",
    select_down="cursor_down(True)",
    select_left="cursor_left(True)",
    select_right="cursor_right(True)",
    select_word_left="cursor_word_left(True)",
    select_word_right="cursor_word_right(True)",
    select_to_start="cursor_line_start(True)",
    select_to_end="cursor_line_end(True)",
    select_line="select_line",
    select_all="select_all",
    delete_left="delete_left",
    delete_right="delete_right",
    delete_word_left="delete_word_left",
    delete_word_right="delete_word_right",
    delete_to_start="delete_to_start_of_line",
    delete_to_end="delete_to_end_of_line_or_delete_line",
    delete_line="delete_line",
    copy="copy",
    cut="cut",
    paste="paste",
    redo_typing="redo",
)
_LINE_KEYS: Sequence[BindingType] = bindings(
    accept="submit",
    text_left="cursor_left",
    text_right="cursor_right",
    text_word_left="cursor_left_word",
    text_word_right="cursor_right_word",
    text_start="home",
    text_end="end",
    select_left="cursor_left(True)",
    select_right="cursor_right(True)",
    select_word_left="cursor_left_word(True)",
    select_word_right="cursor_right_word(True)",
    select_to_start="home(True)",
    select_to_end="end(True)",
    select_all="select_all",
    delete_left="delete_left",
    delete_right="delete_right",
    delete_word_left="delete_left_word",
    delete_word_right="delete_right_word",
    delete_to_start="delete_left_all",
    delete_to_end="delete_right_all",
    copy="copy",
    cut="cut",
    paste="paste",
    redo_typing="yank",
)


class SafeTextArea(TextArea, inherit_bindings=False):
    """A text area that draws whatever is in it without harm."""

    DEFAULT_CSS = """
    SafeTextArea {
        &:light .text-area--cursor, &:dark .text-area--cursor, &:ansi .text-area--cursor {
            color: $input-cursor-foreground;
            background: $input-cursor-background;
            text-style: reverse;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*TEXT_KEYS]

    def __init__(
        self,
        *,
        id: str | None = None,
        placeholder: str = "",
        highlight_cursor_line: bool = True,
        compact: bool = False,
    ) -> None:
        super().__init__(id=id, highlight_cursor_line=highlight_cursor_line, compact=compact)
        self.placeholder = placeholder
        self._killed = ""  # the word or line that was deleted last
        self._styled_theme: TextAreaTheme | None = None  # the theme that has our styles

    def notify_style_update(self) -> None:
        """Read the styles again."""
        self._styled_theme = None
        super().notify_style_update()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Render lines; Textual's reads all styles for each key."""
        if self._theme is None or self._styled_theme is self._theme:
            return ScrollView.render_lines(self, crop)
        self._styled_theme = self._theme
        return super().render_lines(crop)

    def validate_placeholder(self, placeholder: str | Content) -> Content:
        """A placeholder as it is drawn; never markup."""
        return Content(safe(str(placeholder)))

    def validate_suggestion(self, suggestion: str) -> str:
        """A suggestion as it is drawn."""
        return safe_cells(suggestion)

    async def _on_paste(self, event: events.Paste) -> None:
        """Insert pasted text."""
        event.text = pasted_text(event.text)

    def _made_document(self, text: str) -> EditedText:
        return EditedText(text)

    @property
    def edited(self) -> str:
        """The text as it is edited."""
        assert isinstance(self.document, EditedText)
        return self.document.edited

    def _set_document(self, text: str, language: str | None) -> None:
        """Edit another text. There are no languages here."""
        self.document = self._made_document(text)
        self.wrapped_document = WrappedDocument(self.document, tab_width=self.indent_width)
        self.navigator = ClusterNavigator(self.wrapped_document)
        self._build_highlight_map()
        self.move_cursor((0, 0))
        self._rewrap_and_refresh_virtual_size()

    def on_resize(self) -> None:
        """Keep the cursor in sight in another size."""
        self.call_after_refresh(self.scroll_cursor_visible)

    def _delete_via_keyboard(self, start: Location, end: Location) -> EditResult | None:
        """Delete a text, and keep one of more than a character."""
        text = self.get_text_range(start, end)
        self._killed = text if len(text) > 1 else self._killed
        return super()._delete_via_keyboard(start, end)

    def action_redo(self) -> None:
        """Redo typing; with nothing to redo put back what was deleted last."""
        if self.history.redo_stack or self.read_only:
            super().action_redo()
        else:
            self.insert(self._killed)


class SafeInput(Input, inherit_bindings=False):
    """A field of one line that draws whatever is in it without harm."""

    BINDINGS: ClassVar[list[BindingType]] = [*_LINE_KEYS]
    DEFAULT_CSS = """
    SafeInput:ansi > .input--cursor {
        color: $input-cursor-foreground;
        background: $input-cursor-background;
        text-style: reverse;
    }
    """

    _killed = ""  # the word or line that was deleted last
    virtual_size = Reactive(Size(0, 0))  # one line in a place of its own: a letter more lays nothing out anew

    async def _on_key(self, event: events.Key) -> None:
        """Do what a key of the field does here and now.

        Textual does it when the key has gone up to the app, and what was typed behind it is in the field by then.
        """
        if not event.is_printable:
            own = next((each for node, each in self.screen._binding_chain if node is self), self._bindings)
            for binding in own.key_to_bindings.get(event.key, ()):
                if await self.app.run_action(binding.action, self):
                    event.stop()
                    event.prevent_default()
                    return
        await super()._on_key(event)

    def action_cursor_left(self, select: bool = False) -> None:
        """Go to the character on the left."""
        super().action_cursor_left(select)
        self._go_on_to(cluster_start(_one_line(self.value), self.cursor_position), select)

    def action_cursor_right(self, select: bool = False) -> None:
        """Go to the character on the right, or take the suggestion."""
        start = self.cursor_position
        super().action_cursor_right(select)
        if self.cursor_position == start + 1:
            self._go_on_to(cluster_end(_one_line(self.value), start), select)

    def _go_on_to(self, position: int, select: bool) -> None:
        if select:
            self.selection = Selection(self.selection.start, position)
        else:
            self.cursor_position = position

    def action_delete_left(self) -> None:
        """Delete what is selected, else the character on the left."""
        end = self.cursor_position
        if self.selection.is_empty and end:
            self.delete(cluster_start(_one_line(self.value), end - 1), end)
        else:
            super().action_delete_left()

    def action_delete_right(self) -> None:
        """Delete what is selected, else the character on the right."""
        start = self.cursor_position
        if self.selection.is_empty and start < len(self.value):
            self.delete(start, cluster_end(_one_line(self.value), start))
        else:
            super().action_delete_right()

    def delete(self, start: int, end: int) -> None:
        """Delete a text, and keep one of more than a character."""
        start, end = sorted((start, end))
        if end - start > 1:
            self._killed = self.value[start:end]
        super().delete(start, end)

    def action_yank(self) -> None:
        """Put back what was deleted last."""
        self.insert_text_at_cursor(self._killed)

    def validate_placeholder(self, placeholder: str) -> str:
        """A placeholder as it is drawn."""
        return safe_line(placeholder)

    def render_line(self, y: int) -> Strip:
        """The value; in its place a placeholder that ends with a mark where it is cut, and not behind some word."""
        room = self.scrollable_content_region.width
        whole = self.placeholder
        if self.value or cell_len(whole) <= room:
            return super().render_line(y)
        self.set_reactive(SafeInput.placeholder, Content(whole).truncate(room, ellipsis=True).plain)
        try:
            return super().render_line(y)
        finally:
            self.set_reactive(SafeInput.placeholder, whole)

    def validate__suggestion(self, suggestion: str) -> str:
        """A completion as it is drawn, of unchanged length, since Textual cuts it at the end of the value."""
        return _one_line(suggestion)

    @property
    def _value(self) -> Text:
        """The value as it is drawn."""
        return Text(_one_line(self.value), no_wrap=True, overflow="ignore", end="")

    @property
    def cursor_screen_offset(self) -> Offset:
        """Where the cursor is drawn on the screen; Textual's is a cell further at the end of the value."""
        x, y, _, _ = self.content_region
        return Offset(x + self._position_to_cell(self.cursor_position) - self.scroll_offset.x, y)

    def _position_to_cell(self, position: int) -> int:
        """The cell that a place in the value is drawn at."""
        return cell_len(_one_line(self.value)[:position])

    def _cell_offset_to_index(self, offset: int) -> int:
        """The place in the value that is drawn at a cell."""
        offset += self.scroll_offset.x
        for begin, _, cells in clusters(_one_line(self.value)):
            offset -= cells
            if offset < 0:
                return begin
        return len(self.value)


def _one_line(text: str) -> str:
    return safe_cells(text).translate(_AS_ONE_LINE)


def pasted_text(text: str) -> str:
    """A paste as it was copied: most terminals send a carriage return for each line end of it."""
    return text if "\n" in text else text.replace("\r", "\n")
