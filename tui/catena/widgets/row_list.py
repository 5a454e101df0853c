"""A list of one-line rows with a cursor; only visible rows are drawn, so thousands cost nothing.

A row stands on the axes of the column: its mark on cell 0, its label on 2, its note behind the labels, and what is said
of it in columns that end two cells before the edge. Rows may stand in groups, each below a heading.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import groupby
from typing import overload

from rich.cells import set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.strip import Strip
from textual.widget import Widget

from catena.cells import cell_len
from catena.text.formats import whole_clauses
from catena.text.safe_text import safe, safe_line
from catena.widgets.scroll_bar import thin_scroll_bar

_MARGIN = 2  # cells on either side of the text; marks stand in the left ones
_HIDDEN = 4  # cells that say how many levels of a lead are left out
_NOTES = 16  # cells from the labels to the notes, at least
_LABELS = 26  # cells of the column of labels, at most
_NARROW = 60  # cells of a list below which only times stand on the right
_SHORT = 15  # rows of a terminal below which groups have no headings
_GAP = 3  # cells between columns
_BAR = "▌"  # before the row under the cursor


class Tone(Enum):
    """How a word of a row looks."""

    TEXT = "text"
    MUTED = "muted"
    FAINT = "faint"
    ACCENT = "accent"
    ASKING = "asking"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class ToneStyles:
    """The styles of a list as its style sheet has them: of its ground, its cursor, and each tone on either."""

    base: Style = field(default_factory=Style.null)
    cursor: Style = field(default_factory=Style.null)
    tones: Mapping[Tone, Style] = field(default_factory=dict)
    selected: Mapping[Tone, Style] = field(default_factory=dict)  # under the cursor

    @classmethod
    def of(cls, widget: Widget) -> ToneStyles:
        """Read the styles of the component classes of `Rows`."""
        base = widget.rich_style
        cursor = base + widget.get_component_rich_style("rows--cursor")
        tones = {tone: widget.get_component_rich_style(f"rows--{tone.value}", partial=True) for tone in Tone}
        # Nothing is faint on the ground of the selection, and where that is the text's colour, nothing has another.
        selected = {**tones, Tone.FAINT: tones[Tone.MUTED], Tone.TEXT: Style.null()}
        return cls(
            base,
            cursor,
            {tone: base + style for tone, style in tones.items()},
            {tone: cursor if cursor.reverse else cursor + style for tone, style in selected.items()},
        )


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a row that is toned."""

    text: str = ""
    tone: Tone = Tone.MUTED


@dataclass(frozen=True, slots=True)
class Lead:
    """The part of a row before its label: rails of branches, two cells a level, and a bead."""

    rails: str  # no text from outside, for it is drawn as it is
    bead: Word
    tone: Tone = Tone.MUTED  # of the outermost rail


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its key, a label that is read first, and texts that may be cut off."""

    key: str
    label: str
    detail: str = ""  # muted, on the right
    note: str = ""  # muted, behind the label
    dim: bool = False
    lead: Lead | None = None
    mark: Word | None = None  # one cell, before everything else
    columns: tuple[Word, ...] = ()  # on the right, before the detail
    time: str = ""  # at the right end, and the last thing to go
    group: str = ""  # the heading that the row stands below, with those around it
    hidden: str = ""  # found by a filter, and not drawn
    found: frozenset[int] = frozenset()  # the letters of the label that fit what is typed
    note_found: frozenset[int] = frozenset()  # those of the note


class RowsOnDemand(Sequence[Row]):
    """Rows without notes and groups, of which each is made when it is drawn, for lists of very many."""

    def __init__(self, keys: Sequence[str], row: Callable[[int], Row], columns: Columns) -> None:
        """``row`` makes the row at a place, counted from 0."""
        self.keys = keys
        self.columns = columns
        self._row = row

    def __len__(self) -> int:
        return len(self.keys)

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> list[Row]: ...
    def __getitem__(self, at: int | slice) -> Row | list[Row]:
        if isinstance(at, slice):
            return [self._row(each) for each in range(*at.indices(len(self.keys)))]
        return self._row(range(len(self.keys))[at])


@dataclass(frozen=True, slots=True)
class Columns:
    """The widths of the columns of a list, in cells."""

    label: int = 0  # of rows with a note
    words: tuple[int, ...] = ()
    detail: int = 0
    time: int = 0

    @classmethod
    def fitting(cls, rows: Sequence[Row]) -> Columns:
        """The columns that rows need."""
        count = max((len(row.columns) for row in rows), default=0)
        return cls(
            label=min(_LABELS, _widest(row.label for row in rows if row.note)),
            words=tuple(
                _widest(row.columns[at].text for row in rows if at < len(row.columns)) for at in range(count)
            ),
            detail=_widest(row.detail for row in rows),
            time=_widest(row.time for row in rows),
        )


def _widest(texts: Iterable[str]) -> int:
    return max((len(text) if text.isascii() else cell_len(text) for text in texts if text), default=0)


class RowLines:
    """Which row stands on which line, with headings and rules between runs of rows of one height."""

    def __init__(
        self,
        rows: int = 0,
        headings: Mapping[int, str] | None = None,
        rules: Mapping[int, str] | None = None,
        tall: Sequence[range] = (),
    ) -> None:
        """``headings`` and ``rules`` are by the row below; ``tall``, apart from each other, have two lines."""
        self.rows = rows
        self._starts: list[int] = []  # of each run: its first row,
        self._lines: list[int] = []  # the line of that,
        self._heights: list[int] = []  # and how many lines each of its rows has
        self.words: dict[int, str] = {}  # headings, by their lines
        self.rules: dict[int, str] = {}
        headings, rules = headings or {}, rules or {}
        begins, ends = {run.start for run in tall}, {run.stop for run in tall}
        line, before, height = 0, 0, 1
        for at in sorted({0, *headings, *rules, *begins, *ends}):
            if at >= rows:
                break
            line += (at - before) * height
            height = 2 if at in begins else 1 if at in ends else height
            if heading := headings.get(at):
                line += 1
            if at in headings:
                line += at > 0
            elif at in rules:
                line += 1
                self.rules[line - 1] = rules[at]
            if heading:
                self.words[line - 1] = heading
            self._starts.append(at)
            self._lines.append(line)
            self._heights.append(height)
            before = at
        self.count = line + (rows - before) * height

    def line(self, at: int) -> int:
        """The first line of a row."""
        run = bisect_right(self._starts, at) - 1
        return 0 if run < 0 else self._lines[run] + (at - self._starts[run]) * self._heights[run]

    def region(self, at: int) -> Region:
        """The lines of a row, with its heading."""
        line, run = self.line(at), bisect_right(self._starts, at) - 1
        above = line - 1 in self.words or line - 1 in self.rules
        return Region(0, line - above, 1, above + (self._heights[run] if run >= 0 else 1))

    def row(self, line: int) -> tuple[int, int] | None:
        """The row of a line, and which of its lines that is; None for a heading or a blank line."""
        run = bisect_right(self._lines, line) - 1
        if run < 0:
            return None
        at, part = divmod(line - self._lines[run], self._heights[run])
        at += self._starts[run]
        end = self._starts[run + 1] if run + 1 < len(self._starts) else self.rows
        return (at, part) if at < end else None


class Rows(ScrollView, can_focus=False):
    """Rows of one or two lines with a cursor, which the screen or a filter moves: the list takes no focus."""

    COMPONENT_CLASSES = {  # noqa: RUF012 - Textual's
        "rows--cursor",
        "rows--empty",
        "rows--heading",
        "rows--rule",
        *(f"rows--{tone.value}" for tone in Tone),
    }
    DEFAULT_CSS = """
    Rows {
        height: 1fr;
        scrollbar-size-vertical: 1;
        & > .rows--cursor {
            color: $selection-text;
            background: $selection;
            text-style: $selection-style;
        }
        & > .rows--heading { color: $muted; text-style: bold; }
        & > .rows--rule { color: $rule; }
        & > .rows--empty { color: $faint; }
        & > .rows--text { color: $foreground; }
        & > .rows--muted { color: $muted; }
        & > .rows--faint { color: $faint; }
        & > .rows--accent { color: $accent; }
        & > .rows--asking { color: $asking; }
        & > .rows--failure { color: $failure; }
    }
    """

    cursor = reactive(0)

    def __init__(self, *, empty: str = "", id: str | None = None) -> None:
        """``empty`` stands in place of rows."""
        super().__init__(id=id)
        self._lines = RowLines()
        self._above = 0  # blank lines above the first row
        self._empty = empty
        self._styles = ToneStyles()
        self._taken_up = False

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        """The scroll bar."""
        return thin_scroll_bar(self)

    @property
    def taken_up(self) -> bool:
        """True once somebody moved the cursor among these rows: else the first row is the one to choose."""
        return self._taken_up

    def move(self, step: int) -> None:
        """Move the cursor; it stops at both ends, and a single step goes around."""
        if not (count := self._lines.rows):
            return
        self._taken_up = True
        target = self.cursor + step
        if abs(step) == 1:
            target %= count
        self.cursor = max(0, min(count - 1, target))

    def reveal(self) -> None:
        """Scroll the row under the cursor into sight, and its heading with the first row of a group."""
        if self.size.height:
            self.scroll_to_region(
                self._lines.region(self.cursor).translate((0, self._above)),
                animate=False,
                force=True,
                immediate=True,
                x_axis=False,
            )

    def row_at(self, y: int) -> tuple[int, int] | None:
        """The row at a line of the widget, and which of its lines that is."""
        return self._lines.row(y + self.scroll_offset.y - self._above)

    @property
    def headed(self) -> bool:
        """True if there is room for headings."""
        return self.app.size.height >= _SHORT

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw rows; read the styles that they share once."""
        self._styles = ToneStyles.of(self)
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """Draw one line."""
        width = self.scrollable_content_region.width
        line = y + self.scroll_offset.y - self._above
        if not self._lines.rows and line < len(empty := self.empty_lines):
            return self._words(empty[line], "rows--empty", width)
        if heading := self._lines.words.get(line):
            return self._words(heading, "rows--heading", width)
        if rule := self._lines.rules.get(line):
            return self._rule(rule, width)
        if (found := self._lines.row(line)) is None:
            return Strip.blank(width, self._styles.base)
        margin = 0 if self.size.width < _NARROW else max(0, _MARGIN - (self.size.width - width))
        return self.drawn(*found, width, margin, chosen=found[0] == self.cursor)

    def drawn(self, at: int, part: int, width: int, margin: int, *, chosen: bool) -> Strip:
        """Draw a line of a row, which leaves a ``margin`` on the right."""
        raise NotImplementedError

    @property
    def empty_lines(self) -> list[str]:
        """What stands in place of rows, in lines."""
        room = self.scrollable_content_region.width - 2 * _MARGIN
        return [line.plain for line in Content(safe_line(self._empty)).wrap(max(1, room))]

    def _words(self, text: str, component: str, width: int) -> Strip:
        style = self._styles.base + self.get_component_rich_style(component, partial=True)
        return Strip([Segment(set_cell_size(f"{'':{_MARGIN}}{safe_line(text)}", width), style)], width)

    def _rule(self, text: str, width: int) -> Strip:
        style = self._styles.base + self.get_component_rich_style("rows--rule", partial=True)
        words = Segment(f" {text} ", self._styles.tones[Tone.FAINT])
        rest = "─" * max(0, width - cell_len(text) - 2 * _MARGIN - 5)
        segments = [Segment(f"{'':{_MARGIN}}───", style), words, Segment(rest, style)]
        return Strip(segments).adjust_cell_length(width, self._styles.base)


class RowList(Rows):
    """Rows of one line, in columns."""

    class Chosen(Message):
        """A row was clicked."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    class Moved(Message):
        """The cursor is on another row, or the rows were replaced."""

        def __init__(self, key: str | None) -> None:
            super().__init__()
            self.key = key

    def __init__(self, *, empty: str = "", id: str | None = None) -> None:
        super().__init__(empty=empty, id=id)
        self._rows: Sequence[Row] = ()
        self._columns = Columns()

    @property
    def rows(self) -> Sequence[Row]:
        """All rows, from the first to the last."""
        return self._rows

    @property
    def chosen(self) -> Row | None:
        """The row under the cursor."""
        return self._rows[self.cursor] if 0 <= self.cursor < len(self._rows) else None

    @property
    def kept(self) -> str | None:
        """The key of the row that the person moved to; None if they did not move."""
        return self.chosen.key if self._taken_up and self.chosen else None

    @property
    def page_length(self) -> int:
        """How many rows a page key moves the cursor by."""
        return max(2, self.size.height - 1)

    def show(
        self,
        rows: Sequence[Row],
        *,
        keep: str | None = None,
        empty: str | None = None,
        columns: Columns | None = None,
    ) -> None:
        """Replace the rows; the cursor goes to the row with key ``keep``, else to the first.

        ``columns``: their widths, where these should not depend on just these rows.
        """
        self._rows = rows
        if columns is None:
            columns = rows.columns if isinstance(rows, RowsOnDemand) else Columns.fitting(rows)
        self._columns = columns
        if empty is not None:
            self._empty = empty
        self._lay_out()
        keys = rows.keys if isinstance(rows, RowsOnDemand) else [row.key for row in rows]
        at = keys.index(keep) if keep in keys else 0
        self._taken_up = self._taken_up and keep in keys
        if at == self.cursor:
            self._post_moved()
        self.cursor = at
        self.refresh()

    def _lay_out(self) -> None:
        headings, group = dict[int, str](), ""
        if self.headed and not isinstance(self._rows, RowsOnDemand):
            for at, row in enumerate(self._rows):
                if row.group != group:
                    headings[at] = group = row.group
        self._lines = RowLines(len(self._rows), headings)
        lines = self._lines.count if self._rows else len(self.empty_lines)
        self.virtual_size = Size(0, max(1, lines))

    def watch_cursor(self) -> None:
        """Keep the cursor in sight, and the heading of a group with its first row."""
        self.reveal()
        self.refresh()
        self._post_moved()

    def _post_moved(self) -> None:
        row = self.chosen
        self.post_message(self.Moved(row.key if row else None))

    def on_resize(self) -> None:
        """Keep the cursor in sight in another size."""
        self._lay_out()
        self.watch_cursor()

    def on_click(self, event: events.Click) -> None:
        """Choose the row that was clicked."""
        if (found := self.row_at(event.y)) is not None:
            self.cursor = found[0]
            self.post_message(self.Chosen(self._rows[found[0]].key))

    def drawn(self, at: int, part: int, width: int, margin: int, *, chosen: bool) -> Strip:
        """Draw a row; what stands on the right is cut before the label."""
        row, end = self._rows[at], width - margin
        tones = self._styles.selected if chosen else self._styles.tones
        plain = tones[Tone.MUTED if row.dim and not chosen else Tone.TEXT]
        mark = row.mark or Word(_BAR if chosen else "", Tone.ACCENT)
        right = self._right(row, end)
        right_width = sum(cell_len(word.text) for word in right)
        room = max(1, end - _MARGIN - (right_width + 2 if right_width else 0))
        segments = [Segment(set_cell_size(mark.text, _MARGIN), tones[mark.tone])]
        used = 0
        if row.lead is not None:
            rails = _shorten_lead(row.lead.rails, end // 3)
            on_way = 1 if rails == row.lead.rails else 0
            segments += [
                Segment(rails[:on_way], tones[row.lead.tone]),
                Segment(rails[on_way:], tones[Tone.MUTED]),
                Segment(f"{row.lead.bead.text} ", tones[row.lead.bead.tone]),
            ]
            used = cell_len(rails) + cell_len(row.lead.bead.text) + 1
        label = _cut(safe_line(row.label), max(1, room - used))
        segments += _with_found(label, row.label, row.found, plain + Style(bold=True) if chosen else plain)
        used += cell_len(label)
        note = safe_line(row.note)
        gap = max(2, max(_NOTES, self._columns.label + 2) - used) if end >= 2 * _LABELS else 2
        if note and room - used - gap > 3:
            note = _first_clauses(note, room - used - gap)
            segments.append(Segment(" " * gap, plain))
            segments += _with_found(note, row.note, row.note_found, tones[Tone.MUTED])
            used += gap + cell_len(note)
        segments.append(Segment(" " * max(0, end - _MARGIN - used - right_width), plain))
        segments += [Segment(word.text, tones[word.tone]) for word in right]
        segments.append(Segment(" " * (width - end), plain))
        return Strip([segment for segment in segments if segment.text], width)

    def _right(self, row: Row, end: int) -> list[Word]:
        """What stands on the right, each with the blanks before it; a narrow list has room for the time alone."""
        columns = self._columns
        time = f"{safe_line(row.time):>{columns.time}}" if columns.time else ""
        if end < _NARROW - _MARGIN:
            return [Word(time)] if time else []
        room = end * 2 // 3 - (len(time) + _GAP if time else 0)
        detail = _cut(safe(row.detail).replace("\n", " "), min(room, end // 2)) if row.detail else ""
        if columns.detail and (columns.words or time):
            detail = _right_aligned(detail, min(columns.detail, room))
        parts = [Word(detail)] if detail else []
        room -= cell_len(detail) + _GAP
        for at in reversed(range(len(columns.words))):
            word = row.columns[at] if at < len(row.columns) else Word()
            if columns.words[at] and columns.words[at] <= room:
                parts.append(Word(_right_aligned(safe_line(word.text), columns.words[at]), word.tone))
                room -= columns.words[at] + _GAP
        parts.reverse()
        if time:
            parts.append(Word(time))
        # What is blank at the left is room for the label.
        said = next((at for at, part in enumerate(parts) if part.text.strip()), len(parts))
        return [
            Word(f"{'':{_GAP}}{part.text}" if at else part.text.lstrip(), part.tone)
            for at, part in enumerate(parts[said:])
        ]


def _with_found(drawn: str, text: str, found: frozenset[int], style: Style) -> list[Segment]:
    """A text as it is drawn, with the letters bold that were looked for; underlined where all of it is bold."""
    same = next(
        (at for at, pair in enumerate(zip(drawn, text, strict=False)) if pair[0] != pair[1]), len(drawn)
    )
    strong = style + Style(bold=True, underline=bool(style.bold))
    return [
        Segment("".join(drawn[at] for at in places), strong if fits else style)
        for fits, places in groupby(range(len(drawn)), key=lambda at: at < same and at in found)
    ]


def _right_aligned(text: str, width: int) -> str:
    return " " * (width - cell_len(text)) + text


def _first_clauses(text: str, width: int) -> str:
    """The clauses of a note that there is room for, and `…` where more of it is left out."""
    if cell_len(text) <= width:
        return text
    clauses = whole_clauses(text, max(1, width - 2))
    return clauses if clauses.endswith("…") else f"{clauses} …"


def _cut(text: str, width: int) -> str:
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(0, width - 1)).rstrip(" …") + "…"


def _shorten_lead(lead: str, width: int) -> str:
    """Keep the levels nearest to the label, behind the number of those that are left out."""
    if len(lead) <= width:
        return lead
    hidden = (len(lead) - max(0, width - _HIDDEN) + 1) // 2
    return f"…{hidden}".ljust(_HIDDEN) + lead[2 * hidden :]
