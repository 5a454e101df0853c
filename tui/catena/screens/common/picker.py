"""A list with a filter, from which one row is chosen, and the one of themes, which shows each meanwhile."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.theme import Theme
from textual.widgets import Static

from catena.keys.bindings import bindings, priority_bindings
from catena.screens.common.dialog import STYLES, ListScreen
from catena.text.names import Fit, Fits
from catena.text.safe_text import safe
from catena.themes.variables import has_dim_steps
from catena.widgets.fields.text_fields import SafeInput
from catena.widgets.row_list import Columns, Row, RowList
from catena.widgets.sheet_edges import SheetKey, Subject

_NO_MATCH = "no match"

Match = Callable[[str, Sequence[Row]], Sequence[Row]]


def words_match(text: str, rows: Sequence[Row]) -> Sequence[Row]:
    """The rows that contain every word of ``text``: first those of that name, or that begin so, then as they stand."""
    words = text.casefold().split()
    if not words:
        return rows
    return _best_first(text, [row for row in rows if _has(_text(row), words)])


def _best_first(text: str, rows: Sequence[Row]) -> Sequence[Row]:
    """The rows, the best fit of their names first; without groups if that parts them."""
    fits = Fits(text.lstrip("/"))
    ranked = sorted(rows, key=lambda row: min(fits(name)[0] for name in (row.key, row.label.lstrip("/"))))
    return ranked if ranked == list(rows) else [replace(row, group="") for row in ranked]


def _has(text: str, words: Sequence[str]) -> bool:
    return all(word in text for word in words)


def _text(row: Row) -> str:
    """What a row is found by."""
    columns = "\n".join(word.text for word in row.columns)
    return f"{row.label}\n{row.note}\n{row.detail}\n{columns}\n{row.hidden}".casefold()


def fuzzy_match(text: str, rows: Sequence[Row]) -> Sequence[Row]:
    """The rows whose label has the letters of ``text`` in order, best first."""
    if not (text := text.lstrip("/")):
        return rows
    fits = Fits(text)
    ranked = sorted(((fits(row.label.lstrip("/")), row) for row in rows), key=itemgetter(0))
    return [row for (fit, _), row in ranked if fit is not Fit.NONE]


def words_or_letters_match(text: str, rows: Sequence[Row]) -> Sequence[Row]:
    """The rows that contain every word of ``text``; if none does, those whose label has its letters in order."""
    return words_match(text, rows) or fuzzy_match(text, rows)


class Picker(ListScreen[str | None]):
    """A sheet with rows and a filter; its result is the key of the chosen row."""

    CSS_PATH = STYLES
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(leave="leave"),
        *priority_bindings(cancel="leave"),
    ]

    def __init__(
        self,
        title: str,
        rows: Sequence[Row] = (),
        *,
        keep: str | None = None,
        keys: Sequence[SheetKey] = (),
        enter: str = "select",
        empty: str = "nothing to choose from",
        match: Match = words_match,
        filtered_by: str = "",
        preview: Callable[[str], None] | None = None,
        note: str = "",
        subject: Subject | None = None,
        later: Callable[[], Awaitable[Sequence[Row]]] | None = None,
    ) -> None:
        """``keep``: the row to begin at. ``empty``: said where there are no rows at all.

        ``preview`` is called with the key of every row that the cursor comes to.

        ``enter``: what Enter does; ``keys``: those besides. ``later`` reads the rows again, with facts that take time.
        """
        super().__init__(subject, title)
        self.set_rows(rows)
        self._keep = keep
        self._keys = (
            SheetKey("{row_up row_down}", "choose"),
            SheetKey("{accept}", enter, "take"),
            *keys,
            SheetKey("{leave}", "close", "leave"),
        )
        self._empty = empty
        self._match = match
        self._filter = filtered_by
        self._preview = preview
        self._note = safe(note)
        self._later = later

    def compose(self) -> ComposeResult:
        """Head with the filter, note, rows, keys."""
        field = SafeInput(self._filter, placeholder="Type to filter", compact=True, id="filter")
        field.cursor_blink = False
        yield from self.compose_head(field)
        if self._note:
            yield Static(self._note, id="note", markup=False)
        yield RowList(empty=self._empty, id="rows")
        yield from self.compose_foot(*self._keys)

    def on_mount(self) -> None:
        """Focus the filter and show the rows."""
        self.set_focus(self.query_one("#filter", SafeInput))
        self._refilter(self._keep)
        if self._later is not None:
            self.run_worker(self._show_later(self._later))

    async def _show_later(self, later: Callable[[], Awaitable[Sequence[Row]]]) -> None:
        self.show_rows(await later())

    def show_rows(self, rows: Sequence[Row]) -> None:
        """Replace the rows; the cursor stays where the person moved it, or on the row to begin at."""
        self.set_rows(rows)
        filtered = self.query_one("#filter", SafeInput).value.strip()
        self._refilter(self.row_list.kept or (None if filtered else self._keep))

    def set_rows(self, rows: Sequence[Row]) -> None:
        """Take these rows, without showing them."""
        self._all = rows
        self._columns = Columns.fitting(rows)

    @property
    def total(self) -> int:
        """How many rows there are to filter."""
        return len(self._all)

    def _refilter(self, keep: str | None = None) -> None:
        text = self.query_one("#filter", SafeInput).value.strip()
        shown = self._match(text, self._all)
        every, some = self.total, len(shown)
        self.show_head(count=f"{some:,} of {every:,}" if text and some != every else f"{every:,}")
        # Nothing moves sideways while rows are filtered.
        empty = _NO_MATCH if self._all else self._empty
        self.row_list.show(shown, keep=keep, empty=empty, columns=self._columns)

    def on_input_changed(self, event: SafeInput.Changed) -> None:
        """Filter the rows."""
        event.stop()
        self._refilter()

    def on_input_submitted(self, event: SafeInput.Submitted) -> None:
        """Choose the row under the cursor."""
        event.stop()
        self.action_take()

    def action_take(self) -> None:
        """Choose the row under the cursor."""
        if (key := self.chosen_key) is not None:
            self.take(key)

    def take(self, key: str) -> None:
        """Close the sheet with the key of a row."""
        self.dismiss(key)

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        """Preview the row under the cursor."""
        event.stop()
        if self._preview is not None and event.key is not None:
            self._preview(event.key)

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        """Choose the row that was clicked."""
        event.stop()
        self.take(event.key)


class PreviewPicker(Picker):
    """A picker in the lower part of the screen, which leaves in sight what its choice changes."""

    DEFAULT_CLASSES = "-full -lower"


_OURS, _PREFIX = "Catena", "catena-"


def theme_picker(app: App[object]) -> PreviewPicker:
    """A picker whose cursor changes the theme of the app; who pushes it sets the one that holds afterwards."""

    def preview(name: str) -> None:
        app.theme = name

    return PreviewPicker("Theme", theme_rows(app), keep=app.theme, preview=preview)


def theme_rows(app: App[object]) -> list[Row]:
    """The themes of the app, those that Catena ships first."""
    rows = [_theme_row(name, app.available_themes[name]) for name in sorted(app.available_themes)]
    return sorted(rows, key=lambda row: row.group != _OURS)


def _theme_row(name: str, theme: Theme) -> Row:
    """The row of a theme: a shipped one without the word that all of them begin with."""
    ours = name.startswith(_PREFIX)
    brightness = "the terminal's own" if has_dim_steps(theme) else "dark" if theme.dark else "light"
    return Row(name, name.removeprefix(_PREFIX), detail=brightness, group=_OURS if ours else "More")
