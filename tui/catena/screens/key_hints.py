"""A line of keys and what they do, each of which can be clicked as well."""

from __future__ import annotations

from textual.content import Content


def key_hints(*hints: tuple[str, str]) -> Content:
    """Words such as `p look`, each with the action of its screen that a click does."""
    return Content.from_markup(" · ".join(f"[@click='screen.{action}']{words}[/]" for words, action in hints))
