"""Output of a terminal as the lines that it leaves on a screen: rewritten ones in their last state, in colour. Pure.

What a program draws over (progress bars, lists that are redrawn) is resolved; a title, a bell, a mouse mode and all
else that steers a terminal is dropped. It is a reader of our own, since it reads the tail of an output four times a
second while a command runs: pyte models every cell of a screen, takes seconds for a megabyte, has no scrollback
without reading all of it, and is LGPL.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

ROWS = 40  # of the screen: how far up a program can move to draw again
COLUMNS = 120
_TAB = 8
_LAST_COLUMN = COLUMNS - 1  # the cursor moves no further; text may, since lines are not wrapped

_TOKEN = re.compile(
    r"""
    (?P<text>[^\x00-\x1f\x7f-\x9f]+)
  | (?P<csi>(?:\x1b\[|\x9b)(?P<parameters>[0-9:;<=>?]{0,128})[ -/]{0,8}(?P<final>[@-~]))
  | (?:\x1b\]|\x9d)[^\x07\x1b\x9c]{0,4096}(?:\x07|\x1b\\|\x9c)       # OSC: titles, links
  | (?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c]{0,4096}(?:\x1b\\|\x9c)  # DCS, SOS, PM, APC
  | (?:\x1b\[|\x9b)[0-9:;<=>? -/]*                                   # a sequence that is cut off, or is none
  | \x1b[ -/]{0,4}(?P<escape>[0-Z\\-~])?
  | (?P<control>[\x00-\x1f\x7f-\x9f])
    """,
    re.VERBOSE,
)
_STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # anything but text, tabs and newlines
_SGR = re.compile("\x1b\\[([0-9;]*)m")


@dataclass(frozen=True, slots=True)
class OutputStyle:
    """How text is drawn: attributes, and foreground and background among 16 colours, None for the default."""

    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    reverse: bool = False
    strike: bool = False
    foreground: int | None = None
    background: int | None = None

    @property
    def codes(self) -> str:
        """The parameters of the SGR sequence that sets it, after a reset; empty for the default."""
        codes = [code for name, code in _ATTRIBUTES if getattr(self, name)]
        for colour, normal, bright in ((self.foreground, 30, 90), (self.background, 40, 100)):
            if colour is not None:
                codes.append(normal + colour if colour < 8 else bright + colour - 8)
        return ";".join(map(str, codes))

    def after(self, parameters: str) -> OutputStyle:
        """The pen after an SGR sequence; what it does not know is ignored."""
        return _pen_after(self, parameters)


_ATTRIBUTES = (("bold", 1), ("dim", 2), ("italic", 3), ("underline", 4), ("reverse", 7), ("strike", 9))
_SET = {code: name for name, code in _ATTRIBUTES} | {21: "underline"}
_UNSET = {22: ("bold", "dim"), 23: ("italic",), 24: ("underline",), 27: ("reverse",), 29: ("strike",)}
PLAIN = OutputStyle()


@lru_cache(maxsize=512)
def _pen_after(pen: OutputStyle, parameters: str) -> OutputStyle:
    numbers = _numbers(parameters)
    at = 0
    while at < len(numbers):
        code = numbers[at]
        at += 1
        if code == 0:
            pen = PLAIN
        elif code in _SET:
            pen = replace(pen, **{_SET[code]: True})
        elif code in _UNSET:
            pen = replace(pen, **dict.fromkeys(_UNSET[code], False))
        elif code in (38, 48):
            colour, at = _extended_colour(numbers, at)
            pen = replace(pen, foreground=colour) if code == 38 else replace(pen, background=colour)
        elif 30 <= code <= 37 or 90 <= code <= 97:
            pen = replace(pen, foreground=code - 30 if code < 90 else code - 82)
        elif 40 <= code <= 47 or 100 <= code <= 107:
            pen = replace(pen, background=code - 40 if code < 100 else code - 92)
        elif code == 39:
            pen = replace(pen, foreground=None)
        elif code == 49:
            pen = replace(pen, background=None)
    return pen


def _numbers(parameters: str) -> list[int]:
    """The numbers of an SGR sequence; `4:0` is no underline, and other parts behind a colon are read in order."""
    text = re.sub(r"(?<![0-9:])4:([0-9])", lambda match: "24" if match[1] == "0" else "4", parameters)
    text = re.sub(r"([34]8):2:[0-9]*:(?=[0-9]+:[0-9]+:[0-9]+)", r"\1:2:", text)
    return [int(part[:4]) if part.isdecimal() else 0 for part in re.split("[;:]", text)]


def _extended_colour(numbers: Sequence[int], at: int) -> tuple[int | None, int]:
    """One of 16 colours for `5;n` or `2;r;g;b`, and the place behind it."""
    match numbers[at : at + 4]:
        case [5, number, *_]:
            return _nearest(*_rgb(number)) if number > 15 else number, at + 2
        case [2, red, green, blue]:
            return _nearest(red, green, blue), at + 4
    return None, len(numbers)


def _rgb(number: int) -> tuple[int, int, int]:
    """The colour of one of the numbers from 16 to 255."""
    if number >= 232:
        grey = 8 + 10 * (min(number, 255) - 232)
        return grey, grey, grey
    red, rest = divmod(number - 16, 36)
    green, blue = divmod(rest, 6)
    return tuple(55 + 40 * level if level else 0 for level in (red, green, blue))  # type: ignore[return-value]


def _nearest(red: int, green: int, blue: int) -> int:
    """The number among 16 of a colour: its hue, and whether it is bright."""
    most, least = max(red, green, blue), min(red, green, blue)
    if most - least < 40:
        return 0 if most < 64 else 8 if most < 150 else 7 if most < 220 else 15
    middle = (most + least) // 2
    hue = (red > middle) + 2 * (green > middle) + 4 * (blue > middle)
    return hue + 8 if most > 200 else hue


class StyledText(NamedTuple):
    """Text that is drawn with one pen."""

    pen: OutputStyle
    text: str


def pieces_of(line: str) -> Iterator[StyledText]:
    """The pieces of a line in which SGR sequences are the only ones, as ``screen_text`` makes them."""
    pen, at = PLAIN, 0
    for match in _SGR.finditer(line):
        if match.start() > at:
            yield StyledText(pen, line[at : match.start()])
        pen, at = pen.after(match[1]), match.end()
    if at < len(line):
        yield StyledText(pen, line[at:])


def without_colours(text: str) -> str:
    """Text of ``screen_text`` without its SGR sequences."""
    return _SGR.sub("", text) if "\x1b" in text else text


def screen_text(output: str) -> str:
    """The lines that an output leaves, without blank ones at the end; each resets the SGR sequences of its colours.

    Nothing else in it steers a terminal; other control characters are dropped.
    """
    output = output.replace("\r\n", "\n")
    if _STEERS.search(output) is None:
        return output.rstrip("\n")
    screen = _Screen()
    screen.write(output)
    return "\n".join(screen.lines()).rstrip("\n")


class _Row:
    """A row as cells: the second cell of a wide character is empty, what joins a character stands with it."""

    __slots__ = ("cells", "pens")

    def __init__(self) -> None:
        self.cells: list[str] = []
        self.pens: list[OutputStyle] = []

    def put(self, column: int, text: str, pen: OutputStyle) -> int:
        """Write over what is there, and return the column behind it."""
        cells = list(text) if text.isascii() else _cells_of(text)
        if not cells:
            if 0 < column <= len(self.cells):  # only a mark that joins the character before it
                self.cells[column - 1] += text
            return column
        missing = column - len(self.cells)
        if missing > 0:
            self.cells += [" "] * missing
            self.pens += [PLAIN] * missing
        end = column + len(cells)
        self._split_at(column)
        self._split_at(end)
        self.cells[column:end] = cells
        self.pens[column:end] = [pen] * len(cells)
        return end

    def cut(self, start: int, end: int | None = None) -> None:
        """Remove the cells between two columns; what is behind them moves up."""
        self._split_at(start)
        if end is not None:
            self._split_at(end)
        del self.cells[start:end], self.pens[start:end]

    def _split_at(self, column: int) -> None:
        """Make both halves of a wide character spaces where it stands across this column."""
        if 0 < column < len(self.cells) and not self.cells[column]:
            self.cells[column - 1 : column + 1] = "  "

    def text(self) -> str:
        """The row with SGR sequences, reset at its end."""
        texts: list[str] = []
        before, at = PLAIN, 0
        # Comparing every cell's pen would take longer than all else.
        for _, group in groupby(self.pens, key=id):
            pens = list(group)
            text = "".join(self.cells[at : at + len(pens)])
            at += len(pens)
            if pens[0] == PLAIN and at == len(self.cells):
                text = text.rstrip(" ")
            if text and pens[0] != before:
                reset, before = "" if before == PLAIN else "\x1b[0m", pens[0]
                texts.append(reset + ("" if before == PLAIN else f"\x1b[{before.codes}m"))
            texts.append(text)
        return "".join(texts) + ("\x1b[0m" if before != PLAIN else "")


def _cells_of(text: str) -> list[str]:
    cells: list[str] = []
    for character in text:
        if unicodedata.combining(character) or character in "\u200d\ufe0f":
            if cells:
                cells[-1 if cells[-1] else -2] += character
        elif unicodedata.east_asian_width(character) in "WF":
            cells += (character, "")
        else:
            cells.append(character)
    return cells


class _Screen:
    """Lines that a program writes and writes over; it reaches the last 40 of them, and the others are text."""

    def __init__(self) -> None:
        self._above: list[str] = []
        self._rows: list[_Row] = [_Row()]
        self._row = 0
        self._column = 0
        self._pen = PLAIN

    def write(self, output: str) -> None:
        for match in _TOKEN.finditer(output):
            match match.lastgroup:
                case "text":
                    self._column = self._line.put(self._column, match[0], self._pen)
                case "control":
                    self._control(match[0])
                case "final" | "csi":
                    self._sequence(match["parameters"], match["final"])
                case "escape":
                    self._escape(match["escape"])

    def lines(self) -> list[str]:
        """All lines as text, with SGR sequences."""
        return [*self._above, *(row.text() for row in self._rows)]

    @property
    def _line(self) -> _Row:
        return self._rows[self._row]

    def _control(self, control: str) -> None:
        match control:
            case "\n" | "\x0b" | "\x0c" | "\x85":
                self._move(self._row + 1)
                self._column = 0
            case "\r":
                self._column = 0
            case "\b":
                self._column = max(0, self._column - 1)
            case "\t":
                self._go_to((self._column // _TAB + 1) * _TAB)

    def _escape(self, final: str) -> None:
        match final:
            case "M":
                self._move(self._row - 1)
            case "D" | "E":
                self._move(self._row + 1)
                self._column = 0 if final == "E" else self._column
            case "c":
                self._pen = PLAIN

    def _sequence(self, parameters: str, final: str) -> None:
        if final == "m":
            if not parameters.startswith(("<", "=", ">", "?")):
                self._pen = self._pen.after(parameters)
            return
        numbers = [int(part[:5]) if part.isdecimal() else 0 for part in parameters.split(";")]
        first = numbers[0]
        count = max(1, first)
        match final:
            case "A" | "F":
                self._move(self._row - count)
                self._column = 0 if final == "F" else self._column
            case "B" | "E":
                self._move(min(self._row + count, self._bottom))
                self._column = 0 if final == "E" else self._column
            case "C":
                self._go_to(self._column + count)
            case "D":
                self._column = max(0, self._column - count)
            case "G" | "`":
                self._go_to(count - 1)
            case "H" | "f":
                column = numbers[1] if len(numbers) > 1 else 1
                self._move(min(count, ROWS) - 1)
                self._go_to(max(1, column) - 1)
            case "K":
                self._erase(first)
            case "J":
                self._erase_rows(first)
            case "P":
                self._line.cut(self._column, self._column + count)
            case "X":
                self._blank(self._column, self._column + count)

    @property
    def _bottom(self) -> int:
        return len(self._rows) - 1

    def _go_to(self, column: int) -> None:
        """Move to a column of the screen; to the right of it only what was written leads."""
        self._column = min(column, max(_LAST_COLUMN, self._column))

    def _move(self, row: int) -> None:
        """Move to a row, which is made where there is none, and not above the screen."""
        row = max(0, row)
        while row > self._bottom:
            self._rows.append(_Row())
        while len(self._rows) > ROWS:
            self._above.append(self._rows.pop(0).text())
            row -= 1
        self._row = row

    def _blank(self, start: int, end: int) -> None:
        """Draw blanks over the cells between two columns, as far as there are any."""
        line = self._line
        line.put(start, " " * (min(end, len(line.cells)) - start), PLAIN)

    def _erase(self, what: int) -> None:
        match what:
            case 0:
                self._line.cut(self._column)
            case 1:
                self._blank(0, self._column + 1)
            case 2:
                self._line.cut(0)

    def _erase_rows(self, what: int) -> None:
        self._erase(what)
        if what == 0:
            del self._rows[self._row + 1 :]
        else:
            for row in self._rows[: self._row if what == 1 else None]:
                row.cut(0)
