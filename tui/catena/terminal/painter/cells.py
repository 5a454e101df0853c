"""Rows of cells: the characters of strips, each with the cells that it takes and a look.

A look is the colours, attributes and link of a style; sequences change from one to another.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import lru_cache

from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from catena.cells import clusters, is_unusual
from catena.terminal.control.graphics import is_placeholder

# Terminals agree that these take one cell. Left out is what joins with its neighbours, what may be shown as an emoji,
# and scripts whose letters are put together differently by each terminal.
_SURE = (
    " -~\xa0-\xac\xae-\u02ff\u0370-\u0377\u037a-\u0482\u048a-\u052f"  # Latin, Greek and Cyrillic letters
    "\u2010-\u2015\u2018-\u201f\u2020-\u2022\u2026\u2032\u2033\u2039\u203a\u20ac\u2122"  # punctuation
    "\u2190-\u2193\u21d0-\u21d3\u2200-\u22ff"  # arrows, mathematics
    "\u2500-\u25a9\u25ac-\u25b5\u25b7-\u25bf\u25c1-\u25fa"  # lines, blocks and shapes
    "\u2610\u2713\u2715\u2717\u2800-\u28ff"  # boxes and ticks that we draw, and Braille
)
# And these two.
_SURE_WIDE = (
    "\u3001-\u3029\u3031-\u303c\u3041-\u3096\u309b-\u30ff\u3105-\u312f\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
    "\uff01-\uff60\uffe0-\uffe6"
)
_ALL_SURE = re.compile(f"[{_SURE}]*")
ASCII = re.compile("[ -~]*")  # one cell each, even where ambiguous characters take two
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f]")
_MOST_CELLS = 2  # of a code point
_MOST_STRIPS = 256

_PROBE = "x"
_RENDERED = re.compile(
    rf"(?:\x1b\]8;(?P<link>[^\x1b]*)\x1b\\)?(?:\x1b\[(?P<codes>[0-9;]*)m)?{_PROBE}(?:\x1b\[0m)?(?:\x1b\]8;;\x1b\\)?"
)

# The code that ends each attribute; one code may end two.
_ENDS = {1: 22, 2: 22, 3: 23, 4: 24, 5: 25, 6: 25, 7: 27, 8: 28, 9: 29, 21: 24, 51: 54, 52: 54, 53: 55}
_ITALIC = 3
_SEEN_ON_BLANKS = frozenset({4, 7, 9, 21, 51, 52, 53})
_MOST_STYLES = 8_192  # each clickable place has a style of its own
# Each link has a look of its own; equal ones that were made before and after are drawn again.
_MOST_LOOKS = 4_096


class Look:
    """How a cell is drawn; equal looks are one object, and are compared as such."""

    __slots__ = ("attributes", "background", "erasable", "foreground", "link", "of_blank")

    def __init__(self, foreground: str, background: str, attributes: frozenset[int], link: str) -> None:
        self.foreground = foreground  # SGR parameters, "" for the terminal's own
        self.background = background
        self.attributes = attributes  # SGR parameters
        self.link = link
        self.of_blank = self  # the look of a blank that cannot be told from one with this look
        self.erasable = False  # the terminal can make such blanks without being sent them


class Looks:
    """The looks of the styles that were drawn, and the sequences between them."""

    def __init__(self, *, erases_with_background: bool, italics: bool = True) -> None:
        self._erases_with_background = erases_with_background
        self._italics = italics
        self.plain = Look("", "", frozenset(), "")
        self.plain.erasable = True
        self._table: dict[tuple[str, str, frozenset[int], str], Look] = {}
        self._of_styles: dict[Style, Look] = {}
        self._changes: dict[tuple[Look, Look], str] = {}

    def of_style(self, style: Style | None, system: ColorSystem) -> Look:
        """The look with which plain output would draw the style."""
        if style is None:
            return self.plain
        look = self._of_styles.get(style)
        if look is None:
            if len(self._of_styles) >= _MOST_STYLES:
                self._of_styles.clear()
            look = self._of_styles[style] = self._parsed(Strip.render_style(style, _PROBE, system))
        return look

    def of_ground(self, background: str) -> Look:
        """The look of blanks on a background."""
        return self._look("", background, frozenset(), "")

    def blank_in(self, look: Look, pen: Look) -> Look:
        """The look of blanks of ``look`` that a pen takes with the fewest changes: they have no foreground."""
        blank = look.of_blank
        if blank.attributes & _SEEN_ON_BLANKS:
            return look
        return self._look(pen.foreground, blank.background, blank.attributes, blank.link)

    def change(self, before: Look, after: Look) -> str:
        """The shortest sequence after which the pen has another look."""
        if before is after:
            return ""
        sequence = self._changes.get((before, after))
        if sequence is None:
            sequence = self._changes[before, after] = _change(before, after)
        return sequence

    def anew(self, look: Look) -> str:
        """The sequence after which a pen has a look without a link, whatever look it had."""
        return f"\x1b[{_anew(look)}m"

    def _parsed(self, rendered: str) -> Look:
        found = _RENDERED.fullmatch(rendered)
        assert found is not None, rendered
        foreground = background = ""
        attributes: set[int] = set()
        codes = found["codes"].split(";") if found["codes"] else []
        while codes:
            code = int(codes.pop(0) or 0)
            if code in (38, 48):
                length = 4 if codes[0] == "2" else 2
                color = ";".join([str(code), *codes[:length]])
                del codes[:length]
                foreground, background = (color, background) if code == 38 else (foreground, color)
            elif code in _ENDS:
                if code != _ITALIC or self._italics:
                    attributes.add(code)
            elif 30 <= code <= 37 or 90 <= code <= 97:
                foreground = str(code)
            elif 40 <= code <= 47 or 100 <= code <= 107:
                background = str(code)
        return self._look(foreground, background, frozenset(attributes), found["link"] or "")

    def _look(self, foreground: str, background: str, attributes: frozenset[int], link: str) -> Look:
        if not (foreground or background or attributes or link):
            return self.plain
        key = (foreground, background, attributes, link)
        look = self._table.get(key)
        if look is None:
            if len(self._table) >= _MOST_LOOKS:
                self._table.clear()
                self._changes.clear()
            look = self._table[key] = Look(*key)
            if not attributes & _SEEN_ON_BLANKS:
                if foreground or attributes:
                    look.of_blank = self._look("", background, frozenset(), link)
                look.erasable = not link and (self._erases_with_background or not background)
        return look


def _change(before: Look, after: Look) -> str:
    link = f"\x1b]8;{after.link or ';'}\x1b\\" if before.link != after.link else ""
    ended = sorted({_ENDS[code] for code in before.attributes - after.attributes})
    begun = [
        code for code in sorted(after.attributes) if code not in before.attributes or _ENDS[code] in ended
    ]
    step = [str(code) for code in (*ended, *begun)]
    if before.foreground != after.foreground:
        step.append(after.foreground or "39")
    if before.background != after.background:
        step.append(after.background or "49")
    if not step:
        return link
    return min(f"\x1b[{';'.join(step)}m", f"\x1b[{_anew(after)}m", key=len) + link


def _anew(look: Look) -> str:
    """Parameters that begin with a reset, which is the empty one."""
    codes = (*map(str, sorted(look.attributes)), look.foreground, look.background)
    return "".join(f";{code}" for code in codes if code)


_Cells = tuple[list[str], list[Look]]


class CellRow:
    """A line of cells. The further cells of a wide character are empty texts."""

    __slots__ = ("doubtful", "looks", "texts")

    def __init__(self, texts: list[str], looks: list[Look], doubtful: int | None = None) -> None:
        self.texts = texts
        self.looks = looks
        # Before this cell every terminal has put the characters where they are here.
        self.doubtful = _first_doubtful(texts) if doubtful is None else doubtful

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CellRow) and self.texts == other.texts and self.looks == other.looks

    __hash__ = None  # type: ignore[assignment]

    def with_cells(self, x: int, texts: list[str], looks: list[Look]) -> CellRow:
        """The row with other cells from ``x`` on; of a wide character that loses a cell blanks are left."""
        end = min(x + len(texts), len(self.texts))
        if end - x < len(texts):
            texts, looks = texts[: end - x], looks[: end - x]
        if self.texts[x:end] == texts and self.looks[x:end] == looks and not self._parts(end):
            return self
        if x == 0 and end == len(self.texts):
            return CellRow(texts, looks)
        row = CellRow(self.texts[:], self.looks[:], 0)
        row._separate(x)
        row._separate(end)
        row.texts[x:end], row.looks[x:end] = texts, looks
        row.doubtful = _first_doubtful(row.texts)
        return row

    def part(self, cells: slice) -> CellRow:
        """Some of its cells."""
        return CellRow(self.texts[cells], self.looks[cells], 0)

    def is_whole_between(self, start: int, end: int) -> bool:
        """True where every terminal has the same characters between two cells, and none reaches over either."""
        cuts = (x for x in (start, end) if x < len(self.texts))
        return self.doubtful >= end and all(self.texts[x] for x in cuts)

    def erased_from(self, x: int, blank: Look) -> CellRow:
        """The row with nothing from ``x`` on, where a character begins."""
        count = len(self.texts) - x
        return CellRow(
            self.texts[:x] + [" "] * count,
            self.looks[:x] + [blank] * count,
            max(self.doubtful, len(self.texts)),
        )

    def blanks_in_reach(self, start: int) -> set[int]:
        """The blanks from ``start`` on that a doubtful character before them may reach over.

        A terminal that draws joined emoji apart, or wider than they are here, has them there. Some terminals (kitty)
        take cells that are only erased for free room, and others (VTE, xterm) keep remains in them; a blank that is
        sent is a blank.
        """
        reached: set[int] = set()
        for x, text in enumerate(self.texts[start:], start):
            if text and text != " " and not is_sure(text):
                at = x + self.width_of(x)
                while at < min(x + _MOST_CELLS * len(text), len(self.texts)) and self.texts[at] == " ":
                    reached.add(at)
                    at += 1
        return reached

    def blanks_from(self, x: int) -> int:
        """How many cells from ``x`` on are blank and can be erased together."""
        blank, end = self.looks[x].of_blank, x
        if not blank.erasable:
            return 0
        while end < len(self.texts) and self.texts[end] == " " and self.looks[end].of_blank is blank:
            end += 1
        return end - x

    def is_same_from(self, x: int, other: CellRow) -> bool:
        """True where the cells from ``x`` on are equal."""
        return self.texts[x:] == other.texts[x:] and self.looks[x:] == other.looks[x:]

    def width_of(self, x: int) -> int:
        """How many cells the character at ``x`` takes."""
        end = x + 1
        while end < len(self.texts) and not self.texts[end]:
            end += 1
        return end - x

    def _parts(self, x: int) -> bool:
        """True where a character takes cells on both sides of ``x``."""
        return x < len(self.texts) and not self.texts[x]

    def _separate(self, x: int) -> None:
        """Blank the character that takes cells on both sides of ``x``."""
        if not self._parts(x):
            return
        start = end = x
        while start and not self.texts[start]:
            start -= 1
        while end < len(self.texts) and not self.texts[end]:
            end += 1
        self.texts[start:end] = [" "] * (end - start)


def blank_row(width: int, blank: Look) -> CellRow:
    """A row with nothing on it."""
    return CellRow([" "] * width, [blank] * width, width)


class CellsOfStrips:
    """The cells of the strips that were drawn last: a row that only moved is the strip that it was."""

    def __init__(self, looks: Looks, *, narrow: re.Pattern[str] = _ALL_SURE) -> None:
        """``narrow``: a text of characters that take one cell each."""
        self._looks = looks
        self._narrow = narrow
        self._system = ColorSystem.TRUECOLOR
        # By the identity of the strip, which is kept with them; those that were drawn last at the end.
        self._known: dict[int, tuple[Strip, _Cells]] = {}

    def of(self, strip: Strip, system: ColorSystem) -> _Cells:
        """The cells of a strip; whoever gets them leaves them as they are."""
        if system is not self._system:
            self._known.clear()
            self._system = system
        key = id(strip)
        known = self._known.pop(key, None) or (strip, _cells(strip, self._looks, system, self._narrow))
        self._known[key] = known
        if len(self._known) > _MOST_STRIPS:
            del self._known[next(iter(self._known))]
        return known[1]


def _cells(segments: Iterable[Segment], looks: Looks, system: ColorSystem, narrow: re.Pattern[str]) -> _Cells:
    texts: list[str] = []
    of_texts: list[Look] = []
    for text, style, _ in _whole(segments):
        look = looks.of_style(style, system)
        if narrow.fullmatch(text):
            if text.isspace():
                look = look.of_blank
            texts.extend(text)
            of_texts.extend([look] * len(text))
            continue
        for cluster, width in _clusters(text):
            if width:
                texts.append(cluster)
                texts.extend([""] * (width - 1))
                of_texts.extend([look] * width)
            else:
                _join(cluster, texts)
    return texts, of_texts


def _whole(segments: Iterable[Segment]) -> Iterable[Segment]:
    """The segments of a line, with no flag or joined emoji in two: a cursor may stand on its first code point."""
    line = list(segments)
    if not any(is_unusual(text) for text, _, _ in line):
        return line
    whole = "".join([text for text, _, _ in line])
    ends = [end for _, end, _ in clusters(whole)]
    pieces: list[Segment] = []
    begin = passed = 0
    for text, style, _ in line:
        passed += len(text)
        end = ends[bisect_left(ends, passed)] if passed > begin else begin
        pieces.append(Segment(whole[begin:end], style))
        begin = end
    return pieces


def _clusters(text: str) -> Iterator[tuple[str, int]]:
    """Characters with what joins them, and how many cells they take; control characters are left out."""
    text = _CONTROLS.sub("", text)
    for begin, end, cells in clusters(text):
        yield text[begin:end], cells


def _join(cluster: str, texts: list[str]) -> None:
    """Add characters without a width to the character before them; at the beginning of a strip they are left out."""
    for x in range(len(texts) - 1, -1, -1):
        if texts[x]:
            texts[x] += cluster
            return


def _first_doubtful(texts: list[str]) -> int:
    """The first cell that may be another one than it is here, for the characters of which terminals differ."""
    width = len(texts)
    whole = "".join(texts)
    if len(whole) == width and _ALL_SURE.fullmatch(whole):
        return width
    doubtful = [x for x, text in enumerate(texts) if text and not is_sure(text)]
    # A terminal that finds no room for a character at the margin may put it over the cells before it.
    if any(x + _MOST_CELLS * len(texts[x]) > width for x in doubtful):
        doubtful.append(max(0, width - _MOST_CELLS))
    first = min(doubtful, default=width)
    while first < width and not texts[first]:
        first -= 1
    return first


def is_sure(text: str) -> bool:
    """True for a character that takes as many cells in each terminal as it does here."""
    if len(text) == 1 and (_ALL_SURE.fullmatch(text) or _sure_wide().fullmatch(text)):
        return True
    return is_placeholder(text) is not None


@lru_cache(maxsize=1)
def _sure_wide() -> re.Pattern[str]:
    """What takes two cells in every terminal; compiled for the first character that is in doubt: it takes 3 ms."""
    return re.compile(f"[{_SURE_WIDE}]")
