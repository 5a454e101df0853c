"""Colours: how many a terminal has, the ten of each theme that ships, and all others, mixed from those."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import Enum

from catena.multiplexers import in_screen

_PLAIN_TERMINALS = frozenset({"linux", "dumb", "vt100", "vt220", "xterm", "ansi", ""})
_XTERM_WITH_24_BITS = 331  # the first one


class ColourDepth(Enum):
    """The colours of a terminal."""

    FULL = "truecolor"
    INDEXED = "256"  # no tints: too few of them are near
    SIXTEEN = "16"  # the terminal's own, whatever they are
    NONE = "none"  # NO_COLOR: bold, dim and underline are left


def colour_depth(environment: Mapping[str, str]) -> ColourDepth:
    """The colours that the environment promises."""
    if environment.get("NO_COLOR"):
        return ColourDepth.NONE
    if in_screen(environment):  # inherits COLORTERM; its version 4 has no 24 bits, and shows something else
        return ColourDepth.INDEXED
    if environment.get("COLORTERM", "").strip().lower() in ("truecolor", "24bit") or _is_newer_xterm(
        environment
    ):
        return ColourDepth.FULL
    term = environment.get("TERM", "")
    if term in _PLAIN_TERMINALS or term.endswith("-16color"):
        return ColourDepth.SIXTEEN
    return ColourDepth.FULL if term.endswith("-direct") else ColourDepth.INDEXED


def _is_newer_xterm(environment: Mapping[str, str]) -> bool:
    """True in an xterm of this machine that calls itself plain `xterm`, which promises 8 colours, and can do more."""
    found = re.fullmatch(r"XTerm\((\d{1,6})\)", environment.get("XTERM_VERSION", ""))
    return environment.get("TERM") == "xterm" and found is not None and int(found[1]) >= _XTERM_WITH_24_BITS


_HEX = re.compile(r"#[0-9a-fA-F]{6}")
_READABLE = 7.0  # contrast of text on a ground that is not the theme's own


@dataclass(frozen=True, slots=True)
class ThemeColours:
    """The ten colours that make a theme, each as `#rrggbb`."""

    ground: str
    text: str
    muted: str  # verbs, output, descriptions
    faint: str  # durations, line numbers, hints
    accent: str  # the person
    asking: str  # the person's turn
    failure: str  # what failed; removed lines
    added: str
    unasked: str  # a mode in which the agent acts without asking
    sand: str  # strings and numbers in code

    @property
    def dark(self) -> bool:
        """True where the ground is darker than the text."""
        return luminance(self.ground) < luminance(self.text)

    def on(self, ground: str) -> ThemeColours | None:
        """The same theme on another ground, such as the terminal's own; None where its text would be hard to read."""
        moved = replace(self, ground=ground)
        return moved if moved.dark == self.dark and contrast(self.text, ground) >= _READABLE else None


COLOUR_NAMES = tuple(field.name for field in fields(ThemeColours))


def is_colour(text: str) -> bool:
    """True for `#rrggbb`."""
    return _HEX.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Grounds:
    """The colours that are mixed from a theme's colours."""

    band: str  # a prompt, the active tab
    code: str  # code, context of a diff, preview
    asking: str
    failure: str
    added: str
    added_word: str
    removed: str
    removed_word: str
    selection: str
    rule: str  # hairlines, seams, a box without focus
    focus: str  # the border of the box with the focus
    inline: str  # inline code
    keyword: str

    @classmethod
    def of(cls, colours: ThemeColours) -> Grounds:
        """Mix them; a dark theme takes other amounts than a light one."""
        ground, dark = colours.ground, colours.dark

        def tint(colour: str, on_dark: float, on_light: float) -> str:
            return mix(ground, colour, on_dark if dark else on_light)

        return cls(
            band=tint(colours.accent, 0.09, 0.07),
            code=tint(colours.text, 0.04, 0.04),
            asking=tint(colours.asking, 0.09, 0.10),
            failure=tint(colours.failure, 0.09, 0.07),
            added=tint(colours.added, 0.12, 0.11),
            added_word=tint(colours.added, 0.32, 0.30),
            removed=tint(colours.failure, 0.12, 0.10),
            removed_word=tint(colours.failure, 0.32, 0.28),
            selection=tint(colours.accent, 0.20, 0.15),
            rule=tint(colours.text, 0.20, 0.18),
            focus=tint(colours.accent, 0.62, 0.72),
            inline=mix(colours.text, colours.accent, 0.55),
            keyword=mix(colours.text, colours.accent, 0.80),
        )


def mix(ground: str, colour: str, amount: float) -> str:
    """Return so much of ``colour`` mixed into ``ground``, from 0 to 1."""
    pairs = zip(_channels(ground), _channels(colour), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * amount):02x}" for a, b in pairs)


def contrast(colour: str, other: str) -> float:
    """The contrast ratio of two colours after WCAG 2, from 1 to 21."""
    darker, lighter = sorted((luminance(colour), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    """The relative luminance of a colour after WCAG 2, from 0 to 1."""
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (channel / 255 for channel in _channels(colour))
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


DARK = "catena-dark"
LIGHT = "catena-light"
TERMINAL = "catena-ansi"  # the terminal's own 16 colours

SHIPPED: Mapping[str, ThemeColours] = {
    DARK: ThemeColours(
        ground="#14171b",
        text="#d5dae0",
        muted="#98a2ad",
        faint="#828c97",
        accent="#74c0dc",
        asking="#e5ae55",
        failure="#ef7f7b",
        added="#7fc592",
        unasked="#c9a3e6",
        sand="#cbb894",
    ),
    LIGHT: ThemeColours(
        ground="#fbfaf7",
        text="#22282e",
        muted="#57616b",
        faint="#646e78",
        accent="#0a6c8b",
        asking="#8a5800",
        failure="#b3261e",
        added="#25703a",
        unasked="#7b3aa0",
        sand="#75581f",
    ),
    "catena-ink": ThemeColours(
        ground="#000000",
        text="#ffffff",
        muted="#c3c9d0",
        faint="#a3acb6",
        accent="#9cb8ff",
        asking="#ffc457",
        failure="#ff8f88",
        added="#7ee29a",
        unasked="#e0a8ff",
        sand="#e6cf9a",
    ),
    "catena-dusk": ThemeColours(
        ground="#1d1a24",
        text="#ded8e4",
        muted="#a9a1b5",
        faint="#948ca1",
        accent="#d7a0dc",
        asking="#e8b25e",
        failure="#f08a80",
        added="#93c78b",
        unasked="#7fcfc6",
        sand="#d3bf9c",
    ),
    "catena-sepia": ThemeColours(
        ground="#f6efe1",
        text="#2f2a22",
        muted="#635a4c",
        faint="#6f6557",
        accent="#345c9c",
        asking="#8a4f00",
        failure="#a8271c",
        added="#37682a",
        unasked="#7a3488",
        sand="#6b5320",
    ),
}
