"""Hints of keys, as far as there is room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from textual.content import Content

Hint: TypeAlias = tuple[
    str, str
]  # the key (before it is drawn: a template of the keys in effect), and what it does

_BETWEEN = Content.styled(" · ", "$rule")


def hints_line(hints: Sequence[Hint], room: int) -> Content:
    """The hints in one line of at most ``room`` cells; the first ones go first."""
    for first in range(len(hints)):
        line = _BETWEEN.join(hint_words(key, does) for key, does in hints[first:])
        if line.cell_length <= room:
            return line
    return Content("")


def hint_words(key: str, does: str) -> Content:
    """A key and what it does."""
    return Content.assemble((key, "$muted"), (f" {does}", "$faint"))
