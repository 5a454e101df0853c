"""How wide text is on a terminal, for what is printed without the screen."""

from __future__ import annotations

from unicodedata import category, east_asian_width

_WIDTHLESS = frozenset({"Mn", "Me", "Cf"})


def cells(text: str) -> int:
    """How many columns the text takes."""
    return len(text) if text.isascii() else sum(map(_cell, text))


def cut(text: str, width: int) -> str:
    """The text in at most ``width`` columns, with a mark where something was cut off."""
    if cells(text) <= width:
        return text
    room, kept = max(width - 1, 1), []
    for character in text:
        room -= _cell(character)
        if room < 0:
            break
        kept.append(character)
    return "".join(kept) + "…"


def _cell(character: str) -> int:
    if category(character) in _WIDTHLESS:
        return 0
    return 2 if east_asian_width(character) in "WF" else 1
