"""A terminal's screen, modelled cell by cell from the bytes that a program sends.

It knows what a modern terminal does with them, as xterm documents it; a sequence that would change cells in a way that
it does not know is an error, so that nothing is measured on a screen that is not what a person would see.
"""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache

from rich.cells import cell_len

_TOKEN = re.compile(
    r"\x1b\[(?P<private>[<=>?]?)(?P<numbers>[0-9;:]*)(?P<between>[ -/]*)(?P<final>[@-~])"
    r"|\x1b\](?P<command>[^\x07\x1b]*)(?:\x07|\x1b\\)"
    r"|\x1b[PX^_].*?\x1b\\"
    r"|\x1b[ -/]+[0-~]"
    r"|\x1b(?P<escape>[0-OQ-WYZ\\`-~])"
    r"|(?P<control>[\x00-\x1a\x1c-\x1f\x7f])"
    r"|(?P<text>[^\x00-\x1f\x7f]+)",
    re.DOTALL,
)
_WITHOUT_CELLS = frozenset("cghlnpqtuxy")  # finals of reports, tab stops, modes: no cell changes
_ON = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 5: "blink", 6: "blink", 7: "reverse", 8: "conceal"}
_ON |= {9: "strike", 21: "underline2", 51: "frame", 52: "encircle", 53: "overline"}
_OFF = {22: {"bold", "dim"}, 23: {"italic"}, 24: {"underline", "underline2"}, 25: {"blink"}, 27: {"reverse"}}
_OFF |= {28: {"conceal"}, 29: {"strike"}, 54: {"frame", "encircle"}, 55: {"overline"}}

Clusters = Callable[[str], Iterable[tuple[str, int]]]  # characters that share cells, and how many cells


@dataclass(frozen=True, slots=True)
class Look:
    """How a cell is drawn; colours are SGR parameters, "" for the terminal's own."""

    foreground: str = ""
    background: str = ""
    attributes: frozenset[str] = frozenset()
    link: str = ""


PLAIN = Look()


@dataclass(slots=True)
class _Row:
    """Characters and looks; the second cell of a wide character is "" and counts with the one before it."""

    texts: list[str]
    looks: list[Look]


def one_by_one(text: str) -> Iterable[tuple[str, int]]:
    """Every code point with a width of its own, as in terminals that know nothing of joined characters."""
    return ((character, cell_len(character)) for character in text)


class Screen:
    """The cells of a terminal of ``columns`` by ``rows``.

    ``erases_with_background`` is False for one whose erased cells have its own background, whatever the pen has.
    """

    def __init__(
        self,
        columns: int,
        rows: int,
        clusters: Clusters = one_by_one,
        *,
        erases_with_background: bool = True,
    ) -> None:
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._clusters = clusters
        self._erases_with_background = erases_with_background
        self._held = ""  # the beginning of a sequence that has not ended
        self._pen = PLAIN
        self._wraps = True
        self._has_margins = False
        self.x = self.y = 0
        self._last = (0, 0)  # the cell that was printed last
        self.resize(columns, rows)

    def resize(self, columns: int, rows: int) -> None:
        """Another size; nothing of what was shown is worth keeping."""
        self.columns, self.rows = columns, rows
        self._top, self._bottom = 0, rows - 1
        self._left, self._right = 0, columns  # behind the last column
        self._grid = [self._blank_row(PLAIN) for _ in range(rows)]
        self.x, self.y = min(self.x, columns - 1), min(self.y, rows - 1)
        self._last = (0, 0)

    @property
    def lines(self) -> list[str]:
        """What a person reads, line by line, without the blanks at the ends."""
        return ["".join(row.texts).rstrip() for row in self._grid]

    def cells(self, y: int) -> list[tuple[str, Look]]:
        """The cells of a line."""
        row = self._grid[y]
        return list(zip(row.texts, row.looks, strict=True))

    def feed(self, data: bytes) -> None:
        """Take what the program sent, however it was cut up. Raises ValueError for what is not modelled."""
        text = self._held + self._decoder.decode(data)
        at = 0
        while found := _TOKEN.match(text, at):
            at = found.end()
            if found["text"] is not None:
                self._print(found["text"])
            elif found["final"] is not None:
                if not found["between"] and (not found["private"] or found["final"] in "hl"):
                    self._control(found["private"], found["numbers"], found["final"])
            elif found["control"] is not None:
                self._move_by_control(found["control"])
            elif found["command"] is not None:
                self._operating_system_command(found["command"])
            elif found["escape"] is not None:
                self._escape(found["escape"])
        self._held = text[at:]

    # --- cells

    @property
    def _erased(self) -> Look:
        """The look of a cell that is erased now."""
        return Look(background=self._pen.background) if self._erases_with_background else PLAIN

    def _blank_row(self, look: Look) -> _Row:
        return _Row([" "] * self.columns, [look] * self.columns)

    def _print(self, text: str) -> None:
        if text.isascii() and self.x + len(text) < self.columns:
            self._put(list(text))
            return
        for cluster, width in self._clusters(text):
            if not width:
                self._join(cluster)
                continue
            if width > self.columns:
                continue
            if self.x + width > self.columns:
                if self._wraps:
                    self.x = 0
                    self._line_feed()
                else:
                    self.x = self.columns - width
            self._put([cluster] + [""] * (width - 1))

    def _put(self, texts: list[str]) -> None:
        row, start, end = self._grid[self.y], self.x, self.x + len(texts)
        self._break_wide(row, start)
        self._break_wide(row, end)
        row.texts[start:end] = texts
        row.looks[start:end] = [self._pen] * len(texts)
        self._last = (self.y, end - 1)
        self.x = end if self._wraps else min(end, self.columns - 1)

    def _break_wide(self, row: _Row, x: int) -> None:
        """Blank a wide character of which only one half would be left when cells from or up to ``x`` change."""
        if x >= self.columns or row.texts[x]:
            return
        start = end = x
        while start and not row.texts[start]:
            start -= 1
        while end < self.columns and not row.texts[end]:
            end += 1
        row.texts[start:end] = [" "] * (end - start)

    def _join(self, cluster: str) -> None:
        y, x = self._last
        row = self._grid[y]
        while x and not row.texts[x]:
            x -= 1
        row.texts[x] += cluster

    def _erase(self, y: int, start: int, end: int) -> None:
        row = self._grid[y]
        self._break_wide(row, start)
        self._break_wide(row, end)
        row.texts[start:end] = [" "] * (end - start)
        row.looks[start:end] = [self._erased] * (end - start)

    def _scroll(self, top: int, by: int) -> None:
        """Move the lines from ``top`` to the margin up, or down where ``by`` is negative."""
        region = self._grid[top : self._bottom + 1]
        by = max(-len(region), min(by, len(region)))
        new = [self._blank_row(self._erased) for _ in range(abs(by))]
        moved = region[by:] + new if by >= 0 else new + region[:by]
        if (self._left, self._right) == (0, self.columns):
            self._grid[top : self._bottom + 1] = moved
            return
        cells = slice(self._left, self._right)
        parts = [(row.texts[cells], row.looks[cells]) for row in moved]
        for row, (texts, looks) in zip(region, parts, strict=True):
            self._break_wide(row, self._left)
            self._break_wide(row, self._right)
            row.texts[cells], row.looks[cells] = texts, looks

    # --- what is not text

    def _move_by_control(self, control: str) -> None:
        match control:
            case "\b":
                self.x = max(0, self.x - 1)
            case "\t":
                self.x = min(self.columns - 1, self.x // 8 * 8 + 8)
            case "\r":
                self.x = 0
            case "\n" | "\v" | "\f":
                self._line_feed()
            case _:
                pass

    def _line_feed(self) -> None:
        if self.y == self._bottom:
            self._scroll(self._top, 1)
        else:
            self.y = min(self.rows - 1, self.y + 1)

    def _escape(self, final: str) -> None:
        match final:
            case "M" if self.y == self._top:
                self._scroll(self._top, -1)
            case "M":
                self.y = max(0, self.y - 1)
            case "D" | "E":
                self.x = self.x if final == "D" else 0
                self._line_feed()
            case "=" | ">" | "\\" | "7":
                pass
            case _:
                raise ValueError(f"escape {final!r} is not modelled")

    def _operating_system_command(self, command: str) -> None:
        name, _, rest = command.partition(";")
        if name == "8":
            parameters, _, address = rest.partition(";")
            self._pen = replace(self._pen, link=f"{parameters};{address}" if address else "")

    def _control(self, private: str, numbers: str, final: str) -> None:
        if final == "m":
            self._pen = _pen_after(self._pen, numbers)
            return
        given = [int(number or 0) for number in numbers.replace(":", ";").split(";")]
        first = max(1, given[0])
        match final:
            case "H" | "f":
                self.y = min(self.rows, first) - 1
                self.x = min(self.columns, max(1, given[1] if len(given) > 1 else 1)) - 1
            case "A":
                self.y = max(0, self.y - first)
            case "B":
                self.y = min(self.rows - 1, self.y + first)
            case "C":
                self.x = min(self.columns - 1, self.x + first)
            case "D":
                self.x = max(0, self.x - first)
            case "G":
                self.x = min(self.columns, first) - 1
            case "d":
                self.y = min(self.rows, first) - 1
            case "K":
                self._erase_line(given[0])
            case "J":
                self._erase_screen(given[0])
            case "L" | "M" if self._top <= self.y <= self._bottom and self._left <= self.x < self._right:
                self._scroll(self.y, first if final == "M" else -first)
                self.x = self._left
            case "s" if self._has_margins and not private:
                self._left, self._right = first - 1, given[1]
                self.x = self.y = 0
            case "S" | "T":
                self._scroll(self._top, first if final == "S" else -first)
            case "X":
                self._erase(self.y, self.x, min(self.columns, self.x + first))
            case "r":
                self._top = first - 1
                self._bottom = (given[1] if len(given) > 1 and given[1] else self.rows) - 1
                self.x = self.y = 0
            case "h" | "l" if private == "?":
                self._set_modes(given, on=final == "h")
            case _ if final not in _WITHOUT_CELLS:
                raise ValueError(f"control sequence {numbers}{final} is not modelled")
            case _:
                pass

    def _erase_line(self, part: int) -> None:
        self._erase(self.y, 0 if part else self.x, self.x + 1 if part == 1 else self.columns)

    def _erase_screen(self, part: int) -> None:
        if part != 2:
            self._erase_line(part)
        lines = {0: range(self.y + 1, self.rows), 1: range(self.y), 2: range(self.rows)}
        for y in lines.get(part, ()):
            self._erase(y, 0, self.columns)

    def _set_modes(self, modes: list[int], *, on: bool) -> None:
        for mode in modes:
            if mode == 7:
                self._wraps = on
            elif mode == 69:
                self._has_margins = on
                self._left, self._right = 0, self.columns
            elif mode == 1049:
                self.resize(self.columns, self.rows)


@cache
def _pen_after(pen: Look, numbers: str) -> Look:
    """The pen after a sequence that selects graphic renditions."""
    codes = iter([int(number or 0) for number in numbers.replace(":", ";").split(";")])
    for code in codes:
        if code == 0:
            pen = Look(link=pen.link)
        elif code in _ON:
            pen = replace(pen, attributes=pen.attributes | {_ON[code]})
        elif code in _OFF:
            pen = replace(pen, attributes=pen.attributes - _OFF[code])
        elif code in (38, 48):
            kind = next(codes)
            color = f"{kind};" + ";".join(str(next(codes)) for _ in range(3 if kind == 2 else 1))
            pen = replace(pen, foreground=color) if code == 38 else replace(pen, background=color)
        elif 30 <= code <= 39 or 90 <= code <= 97:
            pen = replace(pen, foreground="" if code == 39 else str(code))
        elif 40 <= code <= 49 or 100 <= code <= 107:
            pen = replace(pen, background="" if code == 49 else str(code - 10))
        else:
            raise ValueError(f"rendition {code} is not modelled")
    return pen
