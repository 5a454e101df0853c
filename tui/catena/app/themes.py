"""Catena's themes: one accent, the terminal's own colours, and two dimmer steps.

The themes use the terminal's foreground and background and have explicit greys, since a percentage of a terminal
colour cannot be computed. Textual's own themes are available, too.
"""

from __future__ import annotations

from collections.abc import Mapping

from textual.theme import BUILTIN_THEMES, Theme

from catena.settings.settings import wrong_setting

DARK = "catena-dark"
LIGHT = "catena-light"
ANSI = "catena-ansi"


def themes() -> tuple[Theme, ...]:
    """The themes to register."""
    return (
        _theme(DARK, True, accent="#6fb3c8", muted="#9aa3ad", faint="#666f7a", selected="#2d4652"),
        _theme(LIGHT, False, accent="#1d6f8a", muted="#5b636c", faint="#8d959e", selected="#cfe3ea"),
        _theme(
            ANSI,
            True,
            accent="ansi_cyan",
            muted="ansi_white",
            faint="ansi_bright_black",
            selected="ansi_blue",
        ),
    )


def check_theme(name: str | None) -> None:
    """Raise InvalidSettings for a theme of the settings that does not exist."""
    names = [*(theme.name for theme in themes()), *sorted(BUILTIN_THEMES)]
    if name is not None and name not in names:
        raise wrong_setting(("theme",), f'"{name}" is none of {", ".join(names)}')


def default_theme(environment: Mapping[str, str], *, dark: bool) -> str:
    """The theme for a terminal where the person chose none."""
    if environment.get("NO_COLOR") or environment.get("TERM", "") in ("linux", "dumb", "vt100", "xterm"):
        return ANSI
    return DARK if dark else LIGHT


def _theme(name: str, dark: bool, *, accent: str, muted: str, faint: str, selected: str) -> Theme:
    ansi = name == ANSI
    amber, red, green = ("ansi_yellow", "ansi_red", "ansi_green")
    if not ansi:
        amber, red, green = ("#d8a657", "#e06c75", "#8fb573") if dark else ("#8a5a00", "#b3261e", "#3c7a2a")
    selected_text = "ansi_bright_white" if ansi else "ansi_default"
    return Theme(
        name=name,
        ansi=True,
        dark=dark,
        primary=accent,
        secondary=accent,
        accent=accent,
        warning=amber,
        error=red,
        success=green,
        foreground="ansi_default",
        background="ansi_default",
        surface="ansi_default",
        panel="ansi_default",
        variables={
            "ansi-background": "ansi_black" if dark else "ansi_white",
            "ansi-foreground": "ansi_white" if dark else "ansi_black",
            "text-muted": muted,
            "text-disabled": faint,
            "foreground-muted": muted,
            "foreground-disabled": faint,
            "background-muted": faint,
            "border": faint,
            "border-blurred": faint,
            "block-cursor-foreground": selected_text,
            "block-cursor-background": selected,
            "block-cursor-text-style": "bold",
            "block-cursor-blurred-foreground": selected_text,
            "block-cursor-blurred-background": selected,
            "input-cursor-foreground": "ansi_default",
            "input-cursor-background": "ansi_default",
            "input-selection-background": selected,
            "input-selection-foreground": selected_text,
            "screen-selection-background": selected,
            "screen-selection-foreground": selected_text,
            "scrollbar": faint,
            "scrollbar-hover": muted,
            "scrollbar-active": accent,
            "scrollbar-background": "ansi_default",
            "scrollbar-background-hover": "ansi_default",
            "scrollbar-background-active": "ansi_default",
            "link-color": accent,
        },
    )
