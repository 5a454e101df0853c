"""The themes that ship, and those that are made of a person's or Textual's colours."""

from __future__ import annotations

from collections.abc import Mapping

from textual.theme import BUILTIN_THEMES, Theme

from catena.themes.colours import ColourDepth, ThemeColours, mix
from catena.themes.variables import terminal_theme, theme_of

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


__all__ = ["DARK", "LIGHT", "SHIPPED", "TERMINAL", "ThemeCatalog"]


class ThemeCatalog:
    """Every theme by its name, for a terminal of some depth; ``own`` are the person's, from the settings."""

    def __init__(self, depth: ColourDepth, own: Mapping[str, ThemeColours] | None = None) -> None:
        self._depth = depth
        self._colours = {**SHIPPED, **(own or {})}

    @property
    def own_names(self) -> list[str]:
        """The names of the themes that ship and of the person's."""
        return [*self._colours, TERMINAL]

    @property
    def names(self) -> list[str]:
        """The names of all themes: those that ship, the person's, then Textual's."""
        return [*self.own_names, *sorted(BUILTIN_THEMES)]

    def theme(self, name: str, *, ground: str | None = None) -> Theme:
        """The theme of a name; ``ground`` is the terminal's own, for one that is to stand on it. Raises KeyError."""
        few = self._depth in (ColourDepth.SIXTEEN, ColourDepth.NONE)
        if few or name == TERMINAL or (name in BUILTIN_THEMES and BUILTIN_THEMES[name].ansi):
            return terminal_theme(name, coloured=self._depth is not ColourDepth.NONE)
        colours = self._colours.get(name) or _colours_of(BUILTIN_THEMES[name])
        if ground is not None and (moved := colours.on(ground)) is not None:
            return theme_of(name, moved, self._depth, painted=False)
        return theme_of(name, colours, self._depth)

    def default(self, *, dark: bool) -> str:
        """The name of the theme for a terminal where the person chose none."""
        if self._depth in (ColourDepth.SIXTEEN, ColourDepth.NONE):
            return TERMINAL
        return DARK if dark else LIGHT


def _colours_of(theme: Theme) -> ThemeColours:
    """The ten colours of one of Textual's themes."""
    colours = theme.to_color_system().generate()

    def colour(name: str) -> str:
        return colours[name][:7].lower()

    ground, text = colour("background"), colour("foreground")
    return ThemeColours(
        ground=ground,
        text=text,
        muted=mix(ground, text, 0.70),
        faint=mix(ground, text, 0.52),
        accent=colour("primary"),
        asking=colour("warning"),
        failure=colour("error"),
        added=colour("success"),
        unasked=colour("accent"),
        sand=colour("secondary"),
    )
