"""The column that everything of a screen stands in, and the classes that screens get from the size of the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from textual.app import App
from textual.containers import Vertical


class Centred(Vertical):
    """A part of the screen's one column: what is in it is centred, and no wider than the column may be."""

    DEFAULT_CSS = """
    Centred { height: auto; align-horizontal: center; & > * { max-width: $column; } }
    """


def size_classes(app: App[Any]) -> Iterator[str]:
    """The classes that a screen gets as soon as it is laid out: given them before, it is not styled and drawn twice."""
    for cells, breakpoints in (
        (app.size.width, app.HORIZONTAL_BREAKPOINTS),
        (app.size.height, app.VERTICAL_BREAKPOINTS),
    ):
        yield max((least, name) for least, name in breakpoints or [(0, "")] if least <= cells)[1]
