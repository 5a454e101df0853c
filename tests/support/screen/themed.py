"""An app with Catena's themes, for a widget on its own."""

from __future__ import annotations

from textual.app import App
from textual.screen import Screen
from textual.theme import BUILTIN_THEMES, Theme

from catena.terminal.compositor import SparingCompositor
from catena.themes.catalog import ThemeCatalog
from catena.themes.colours import DARK, ColourDepth


class ThemedApp(App[None]):
    """Base of apps that show one widget."""

    def __init__(self, theme: str = DARK) -> None:
        self._catalog = ThemeCatalog(ColourDepth.FULL)  # Textual asks for a theme while it is made
        super().__init__()
        for name in self._catalog.names:
            self.register_theme(self._catalog.theme(name))
        self.theme = theme

    def get_default_screen(self) -> Screen[object]:
        """A screen that lays out as those of Catena do."""
        screen = super().get_default_screen()
        screen._compositor = SparingCompositor()
        return screen

    def get_theme(self, theme_name: str) -> Theme | None:
        theme = super().get_theme(theme_name)
        return self._catalog.theme(theme_name) if theme is BUILTIN_THEMES.get(theme_name) else theme

    def get_css_variables(self) -> dict[str, str]:
        return {**super().get_css_variables(), "column": "100", "half-row": "block"}
