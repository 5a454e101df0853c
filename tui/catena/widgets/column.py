"""The column that everything of a screen stands in."""

from __future__ import annotations

from textual.containers import Vertical


class Centred(Vertical):
    """A part of the screen's one column: what is in it is centred, and no wider than the column may be."""

    DEFAULT_CSS = """
    Centred { height: auto; align-horizontal: center; & > * { max-width: $column; } }
    """
