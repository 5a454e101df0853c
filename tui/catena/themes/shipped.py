"""The colours of the themes that ship."""

from __future__ import annotations

from collections.abc import Mapping

from catena.themes.colours import ThemeColours

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
