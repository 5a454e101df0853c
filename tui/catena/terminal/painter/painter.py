"""The painter: takes what Textual's compositor drew, and sends the terminal the cells that change."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from rich.color import ColorSystem
from rich.console import Console
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.strip import Strip

from catena.terminal.painter.cells import ASCII, CellRow, CellsOfStrips, Look, Looks, blank_row, is_sure

_FEWEST_MOVED = 3  # rows that have to move together before the terminal is told to move them
_NARROWEST_MOVED = 20  # cells of a widget whose rows are moved between margins
_SHORT_GAP = 5  # unchanged cells that are sent again in fewer bytes than a movement of the cursor takes
_SHORT_REST = 3  # blanks that are sent in fewer bytes than an erasure to the end of the line
_SHORT_BLANKS = 10  # and than an erasure of so many cells with a movement of the cursor behind them


class _Column(NamedTuple):
    """Cells of all rows, from one to another."""

    start: int
    end: int  # behind the last


class Frame(CompositorUpdate):
    """An update of the compositor as the changes of cells that come of it, when it is written; None: what was kept."""

    def __init__(
        self, painter: Painter, update: LayoutUpdate | ChopsUpdate | None, cursor: tuple[int, int]
    ) -> None:
        self._painter = painter
        self._update = update
        self._cursor = cursor

    def render_segments(self, console: Console) -> str:
        """The bytes to write, as text; Textual asks for them once, and writes them behind one another."""
        return self._painter.paint(self._update, colors_of(console), self._cursor)


def colors_of(console: Console) -> ColorSystem:
    """The colours of a console, as plain output has them."""
    return console._color_system or ColorSystem.TRUECOLOR


class Painter:
    """Model of the terminal's cells: those that are wanted, and those that it shows, as far as that is known.

    ``erases_with_background`` is True for a terminal that gives cells that it erases the background of the pen,
    ``italics`` False for one that takes them for something else.
    """

    def __init__(self, *, erases_with_background: bool, italics: bool = True) -> None:
        self._erases_with_background = erases_with_background
        self._looks = Looks(erases_with_background=erases_with_background, italics=italics)
        self._cells = CellsOfStrips(self._looks)
        self._pen = Pen(self._looks)
        self._width = 0
        self._wanted: list[CellRow] = []
        self._shown: list[CellRow] = []  # empty: nothing is known
        self._kept: set[int] = set()  # rows that are wanted otherwise, and were not painted
        # In which the rows of a widget beside others are wanted otherwise.
        self._columns: set[_Column] = set()
        self.moves_columns = False  # the terminal moves rows between a left and a right margin, too
        self._cursor: tuple[int, int] | None = None  # where it stands, if that is known
        self._way = ("", "")  # of the cursor behind the last frame: as Textual writes it, and shorter
        self._forgotten = 0  # how often; a signal may come in the middle of a frame
        self._remembered = 0  # the number of times before the last frame began

    def widen_ambiguous(self) -> None:
        """Take two cells for each character whose width Unicode calls ambiguous, as `catena.cells` then does."""
        self._cells = CellsOfStrips(self._looks, narrow=ASCII)
        self.forget()

    def forget(self) -> None:
        """Forget what the terminal shows: the next frame sends every cell. Signal handlers may call this."""
        self._forgotten += 1

    def keep(self, update: LayoutUpdate | ChopsUpdate, system: ColorSystem) -> None:
        """Note an update that cannot be written now; it is painted together with the next one."""
        self._prepare(*_size(update))
        self._kept |= self._take(update, system)

    def paint_row_of(self, cursor: tuple[int, int]) -> str:
        """What to write so that the cursor's row is shown as it is wanted, where the cursor did not leave its row."""
        y = cursor[1]
        known = self._shown and self._remembered == self._forgotten
        if not known or self._cursor is None or self._cursor[1] != y:
            return ""
        self._pen.begin(self._cursor)
        if self._wanted[y] != self._shown[y]:
            self._paint_row(y)
        self._pen.move(*cursor)
        self._cursor = cursor
        return self._pen.end()

    def paint(
        self, update: LayoutUpdate | ChopsUpdate | None, system: ColorSystem, cursor: tuple[int, int]
    ) -> str:
        """What to write so that the update and what was kept is shown; ``cursor``: where Textual puts it behind."""
        if update is not None:
            self._prepare(*_size(update))
            self._kept |= self._take(update, system)
        else:
            self._prepare(self._width, len(self._wanted))
        touched, self._kept = self._kept, set()
        columns, self._columns = self._columns, set()
        self._pen.begin(self._cursor)
        if not self._shown:
            self._clear()
            touched = set(range(len(self._wanted)))
        changed = {y for y in touched if self._wanted[y] != self._shown[y]}
        if len(changed) >= _FEWEST_MOVED:
            changed = self._scroll(changed, _Column(0, self._width))
            for column in sorted(columns) if self.moves_columns else ():
                changed = self._scroll(changed, column)
        for y in sorted(changed):
            self._paint_row(y)
        self._cursor = cursor
        sent = self._pen.end()
        self._way = self._pen.way_to(*cursor)
        return sent

    def shortened(self, written: str) -> str:
        """What a frame writes, with a shorter way of the cursor to its place at the end, if there is one."""
        whole, short = self._way
        self._way = ("", "")
        return written.removesuffix(whole) + short if whole and written.endswith(whole) else written

    def _prepare(self, width: int, height: int) -> None:
        """Begin anew where the terminal has another size, or may show anything."""
        if (width, height) != (self._width, len(self._wanted)):
            self._width = width
            self._wanted = [blank_row(width, self._looks.plain)] * height
            self._kept = set()
            self.forget()
        if self._remembered != self._forgotten:
            self._remembered = self._forgotten
            self._shown = []
            self._cursor = None

    def _take(self, update: LayoutUpdate | ChopsUpdate, system: ColorSystem) -> set[int]:
        """Note what is wanted; the rows that it is about."""
        touched = set()
        pieces = _pieces_of_layout(update) if isinstance(update, LayoutUpdate) else _pieces_of_chops(update)
        for x, y, strip in pieces:
            self._wanted[y] = self._wanted[y].with_cells(x, *self._cells.of(strip, system))
            touched.add(y)
            if _NARROWEST_MOVED <= strip.cell_length < self._width:
                self._columns.add(_Column(x, x + strip.cell_length))
        return touched

    def _clear(self) -> None:
        """Erase all of the screen, with the background that most of it is to have."""
        ground = self._ground(self._wanted)
        self._pen.clear(ground)
        self._shown = [blank_row(self._width, ground)] * len(self._wanted)

    def _ground(self, rows: Iterable[CellRow]) -> Look:
        """The look with which most cells of these rows can be erased."""
        if not self._erases_with_background:
            return self._looks.plain
        cells_of: Counter[str] = Counter()
        for look, count in Counter(chain.from_iterable(row.looks for row in rows)).items():
            cells_of[look.background] += count
        return self._looks.of_ground(max(cells_of, key=cells_of.__getitem__, default=""))

    # --- rows that move

    def _scroll(self, changed: set[int], column: _Column) -> set[int]:
        """Let the terminal move the rows of a column that only moved, if some did; the rows to be painted then."""
        whole = column == (0, self._width)
        cells = slice(*column)
        by, moved = self._movement(changed, column)
        if len(moved) < _FEWEST_MOVED:
            return changed
        top, bottom = min(moved) + min(by, 0), max(moved) + max(by, 0)
        rows = self._shown[top : bottom + 1]
        if not whole and not all(row.is_whole_between(*column) for row in rows):
            return changed
        new = slice(bottom + 1 - by, bottom + 1) if by > 0 else slice(top, top - by)
        ground = self._ground(row.part(cells) for row in self._wanted[new])
        region = [row.part(cells) for row in rows]
        blanks = [blank_row(column.end - column.start, ground)] * abs(by)
        region = [*region[by:], *blanks] if by > 0 else [*blanks, *region[:by]]
        if not whole:
            region = [
                row.with_cells(column.start, part.texts, part.looks)
                for row, part in zip(rows, region, strict=True)
            ]
        left = {y for y, row in enumerate(region, top) if row.part(cells) != self._wanted[y].part(cells)}
        before = {y for y in changed if top <= y <= bottom}
        if not whole:
            before = {y for y in before if self._shown[y].part(cells) != self._wanted[y].part(cells)}
        if len(left) + _FEWEST_MOVED > len(before):
            return changed
        self._pen.scroll(top, bottom, by, ground, None if whole else column)
        self._shown[top : bottom + 1] = region
        return {y for y in changed | left if self._shown[y] != self._wanted[y]}

    def _movement(self, changed: set[int], column: _Column) -> tuple[int, list[int]]:
        """By how many rows most of the changed rows of a column moved up, and which of them did."""
        start, end = column.start, column.end - 1  # without the scroll bar
        shown = ["".join(row.texts[start:end]) for row in self._shown]
        times = Counter(shown)
        places = {text: y for y, text in enumerate(shown) if times[text] == 1 and not text.isspace()}
        moves: dict[int, list[int]] = {}
        for y in changed:
            place = places.get("".join(self._wanted[y].texts[start:end]), y)
            if place != y:
                moves.setdefault(place - y, []).append(y)
        return max(moves.items(), key=lambda move: len(move[1]), default=(0, []))

    # --- cells that change

    def _paint_row(self, y: int) -> None:
        shown, wanted = self._shown[y], self._wanted[y]
        self._shown[y] = wanted
        # What a terminal made of a doubtful character may be anywhere behind it. It depends on nothing but this row
        # as it is now: from there on all is erased and drawn again as soon as anything is different.
        tail = min(shown.doubtful, wanted.doubtful)
        sent_blanks: set[int] = set()
        if not wanted.is_same_from(tail, shown):
            ground = self._ground([wanted])
            erased = shown.erased_from(tail, ground)
            if erased != shown:
                self._pen.erase(tail, y, ground)
            shown = erased
            sent_blanks = wanted.blanks_in_reach(tail)
        self._paint_cells(y, shown, wanted, sent_blanks)

    def _paint_cells(self, y: int, shown: CellRow, wanted: CellRow, sent_blanks: set[int]) -> None:
        """Send the characters that are different and these blanks, and erase what is behind the last one."""
        texts, looks, pen = wanted.texts, wanted.looks, self._pen
        cells = zip(texts, shown.texts, looks, shown.looks, strict=True)
        different = [
            x
            for x, (text, before, look, other) in enumerate(cells)
            if text != before or (look is not other and not _as_blank(text, look, other)) or x in sent_blanks
        ]
        drawn = 0  # how many of them are
        end = 0  # behind the blanks that can be erased together
        while drawn < len(different):
            x = different[drawn]
            if x in sent_blanks:
                drawn += 1
                pen.move(x, y)
                pen.draw(" ", looks[x], 1)
                continue
            if x >= end:
                end = x + wanted.blanks_from(x)
            behind = bisect_left(different, end, drawn)
            if end == self._width and behind - drawn > _SHORT_REST:
                begun = pen.y == y and pen.x < x and pen.x + wanted.blanks_from(pen.x) == end
                pen.erase(pen.x if begun else x, y, looks[x])
                break
            if self._erases_with_background and behind - drawn > _SHORT_BLANKS:
                pen.erase(x, y, looks[x], different[behind - 1] + 1 - x)
                drawn = behind
                continue
            drawn += 1
            if not texts[x]:
                continue  # comes with the character before it
            gap = slice(pen.x, x)
            if pen.y == y and 0 < x - pen.x <= _SHORT_GAP and pen.draws(texts[gap], looks[gap]):
                pen.draw_again(texts[gap])
            pen.move(x, y)
            end_of_run, more = _run_from(x, wanted, different, drawn)
            if end_of_run > x:
                pen.draw_run(texts[x:end_of_run], looks[x])
                drawn += more
            else:
                end_of_run = x + wanted.width_of(x)
                pen.draw(texts[x], looks[x], end_of_run - x)
            if end_of_run >= self._width:
                pen.lose()


def _as_blank(text: str, look: Look, other: Look) -> bool:
    """True where a blank of one look cannot be told from one of the other."""
    return text == " " and look.of_blank is other.of_blank


def _run_from(x: int, row: CellRow, different: Sequence[int], drawn: int) -> tuple[int, int]:
    """The end of what is sent together from a letter on, and how many more cells that are different are in it.

    These are cells in one look, each a character of one cell about which all terminals agree, with the short gaps and
    the short blanks among them; ``x`` if the first of them is none. ``different`` ones behind it from ``drawn`` on.
    """
    texts, looks, look = row.texts, row.looks, row.looks[x]
    blank, width, end, more = look.of_blank, len(texts), x, 0
    if texts[x] != " " and x < row.doubtful and (x + 1 == width or texts[x + 1]):
        end = x + 1
    while drawn + more < len(different) and x < end:
        last = different[drawn + more]
        if last - end > _SHORT_GAP or last >= row.doubtful:
            break
        if last + 1 < width and not texts[last + 1]:
            break  # a character of two cells
        if texts[last] == " " and row.blanks_from(last) > _SHORT_REST:
            break  # they may be erased instead
        for at in range(end, last + 1):
            alike = looks[at] is look and texts[at]
            if not alike and (texts[at] != " " or looks[at].of_blank is not blank):
                return end, more
        end = last + 1
        more += 1
    return end, more


def _size(update: LayoutUpdate | ChopsUpdate) -> tuple[int, int]:
    if isinstance(update, LayoutUpdate):
        return update.region.size
    return update.chop_ends[0][-1], len(update.chops)


_Piece = tuple[int, int, Strip]  # column, row, what is to stand there


def _pieces_of_layout(update: LayoutUpdate) -> Iterator[_Piece]:
    for y, strips in enumerate(update.strips, update.region.y):
        x = update.region.x
        for strip in strips:
            yield x, y, strip
            x += strip.cell_length


def _pieces_of_chops(update: ChopsUpdate) -> Iterator[_Piece]:
    """The pieces of lines that plain output sends."""
    for y, start, stop in update.spans:
        for end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
            if strip is None or x > stop or end <= start:
                continue
            yield x, y, strip if start <= x < stop and end <= stop else strip.crop(0, min(end, stop) - x)


class Pen:
    """The terminal's cursor and look, and the sequences that change them.

    Between frames it keeps its look, without the link; whoever lets another program write has to reset the terminal's.
    """

    def __init__(self, looks: Looks) -> None:
        self._looks = looks
        self._look = looks.plain
        self._sent: list[str] = []
        self.x = self.y = -1  # -1: not known

    def begin(self, cursor: tuple[int, int] | None) -> None:
        """Begin a frame with the cursor at this cell, or nobody knows where."""
        self._sent = []
        self.x, self.y = (-1, -1) if cursor is None else cursor  # the first cell is false as a truth value

    def end(self) -> str:
        """End the frame; what was sent."""
        if self._look.link:
            self._turn(self._looks.plain)
        return "".join(self._sent)

    def lose(self) -> None:
        """Forget where the cursor is: terminals differ."""
        self.x = self.y = -1

    def move(self, x: int, y: int) -> None:
        """Move the cursor to a cell."""
        if (x, y) == (self.x, self.y):
            return
        if y == self.y:
            self._sent.append("\r" if x == 0 else f"\x1b[{x + 1}G")
        elif x == 0:
            self._sent.append("\r\n" if self.y >= 0 and y == self.y + 1 else f"\x1b[{y + 1}H")
        else:
            self._sent.append(f"\x1b[{y + 1};{x + 1}H")
        self.x, self.y = x, y

    def way_to(self, x: int, y: int) -> tuple[str, str]:
        """The sequence that moves the cursor to a cell from wherever it is, and the shortest one from here."""
        whole = f"\x1b[{y + 1};{x + 1}H"
        if y != self.y:
            return whole, whole
        if x == self.x:
            return whole, ""
        # One cell back by a sequence: a bare backspace is nothing that should ever leave this program.
        return whole, "\x1b[D" if x == self.x - 1 else f"\x1b[{x + 1}G"

    def draws(self, texts: list[str], looks: list[Look]) -> bool:
        """True for cells that the pen would draw without another look, each a character of one cell."""
        return "" not in texts and all(
            look is self._look or _as_blank(text, look, self._look)
            for text, look in zip(texts, looks, strict=True)
        )

    def draw_again(self, texts: list[str]) -> None:
        """Send cells that are shown already, to get behind them."""
        self._sent += texts
        self.x += len(texts)

    def draw(self, text: str, look: Look, width: int) -> None:
        """Draw a character at the cursor."""
        if text == " ":
            self._turn_for_blanks(look)
        else:
            self._turn(look)
        self._sent.append(text)
        self.x += width
        if not is_sure(text):
            self.lose()

    def draw_run(self, texts: list[str], look: Look) -> None:
        """Draw characters of one cell each at the cursor, about which all terminals agree; the first is no blank."""
        self._turn(look)
        self._sent += texts
        self.x += len(texts)

    def clear(self, look: Look) -> None:
        """Erase all of the screen, so that it has blanks of a look, whatever look the terminal has now."""
        self._sent.append(f"{self._looks.anew(look)}\x1b[H\x1b[J")
        self._look = look
        self.x = self.y = 0

    def erase(self, x: int, y: int, look: Look, count: int | None = None) -> None:
        """Erase a line from a cell on, or so many cells, so that it has blanks of a look."""
        self.move(x, y)
        self._turn_for_blanks(look)
        self._sent.append("\x1b[K" if count is None else f"\x1b[{count}X")

    def scroll(self, top: int, bottom: int, by: int, look: Look, column: _Column | None = None) -> None:
        """Move the lines between two lines up, or down where ``by`` is negative; blanks of a look take their places.

        ``column``: only what is in it.
        """
        self._turn_for_blanks(look)
        act = f"{by}M" if by > 0 else f"{-by}L"
        rows = f"\x1b[{top + 1};{bottom + 1}r"
        if column is None:
            self._sent.append(f"{rows}\x1b[{top + 1}H\x1b[{act}\x1b[r")
        else:
            margins = f"\x1b[?69h\x1b[{column.start + 1};{column.end}s"
            place = f"\x1b[{top + 1};{column.start + 1}H"
            self._sent.append(f"{margins}{rows}{place}\x1b[{act}\x1b[r\x1b[?69l")
        self.lose()

    def _turn_for_blanks(self, look: Look) -> None:
        if look.of_blank is not self._look.of_blank:
            self._turn(self._looks.blank_in(look, self._look))

    def _turn(self, look: Look) -> None:
        self._sent.append(self._looks.change(self._look, look))
        self._look = look
