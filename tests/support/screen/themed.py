"""An app with Catena's themes, for a widget on its own."""

from __future__ import annotations

from textual.app import App

from catena.themes.catalog import DARK, ThemeCatalog
from catena.themes.depth import ColourDepth


class ThemedApp(App[None]):
    """Base of apps that show one widget."""

    def __init__(self, theme: str = DARK) -> None:
        super().__init__()
        catalog = ThemeCatalog(ColourDepth.FULL)
        for name in catalog.names:
            self.register_theme(catalog.theme(name))
        self.theme = theme

    def get_css_variables(self) -> dict[str, str]:
        return {**super().get_css_variables(), "column": "100"}
