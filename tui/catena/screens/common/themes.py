"""The picker of themes, which shows each while the person chooses."""

from __future__ import annotations

from textual.app import App
from textual.theme import Theme

from catena.screens.common.picker import PreviewPicker
from catena.themes.variables import has_dim_steps
from catena.widgets.row_list import Row

_OURS, _PREFIX = "Catena", "catena-"


def theme_picker(app: App[object]) -> PreviewPicker:
    """A picker whose cursor changes the theme of the app; who pushes it sets the one that holds afterwards."""

    def preview(name: str) -> None:
        app.theme = name

    return PreviewPicker("Theme", theme_rows(app), keep=app.theme, preview=preview)


def theme_rows(app: App[object]) -> list[Row]:
    """The themes of the app, those that Catena ships first."""
    rows = [_theme_row(name, app.available_themes[name]) for name in sorted(app.available_themes)]
    return sorted(rows, key=lambda row: row.group != _OURS)


def _theme_row(name: str, theme: Theme) -> Row:
    """The row of a theme: a shipped one without the word that all of them begin with."""
    ours = name.startswith(_PREFIX)
    brightness = "the terminal's own" if has_dim_steps(theme) else "dark" if theme.dark else "light"
    return Row(name, name.removeprefix(_PREFIX), detail=brightness, group=_OURS if ours else "More")
