"""Looks of cells: colours, attributes and link of a style, and the sequences that change from one to another."""

from __future__ import annotations

import re

from rich.color import ColorSystem
from rich.style import Style
from textual.strip import Strip

_PROBE = "x"
_RENDERED = re.compile(
    rf"(?:\x1b\]8;(?P<link>[^\x1b]*)\x1b\\)?(?:\x1b\[(?P<codes>[0-9;]*)m)?{_PROBE}(?:\x1b\[0m)?(?:\x1b\]8;;\x1b\\)?"
)
# The code that ends each attribute; one code may end two.
_ENDS = {1: 22, 2: 22, 3: 23, 4: 24, 5: 25, 6: 25, 7: 27, 8: 28, 9: 29, 21: 24, 51: 54, 52: 54, 53: 55}
_ITALIC = 3
_SEEN_ON_BLANKS = frozenset({4, 7, 9, 21, 51, 52, 53})
_MOST_STYLES = 8_192  # each clickable place has a style of its own
_MOST_LOOKS = (
    4_096  # each link has a look of its own; equal ones that were made before and after are drawn again
)


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
