"""Every theme by its name: those that ship, and those that are made of a person's or Textual's colours."""

from __future__ import annotations

from collections.abc import Mapping

from textual.theme import BUILTIN_THEMES, Theme

from catena.themes.colours import DARK, LIGHT, SHIPPED, TERMINAL, ColourDepth, ThemeColours, mix
from catena.themes.variables import terminal_theme, theme_of

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
