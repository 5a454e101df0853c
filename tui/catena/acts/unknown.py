"""What is said of a command that nobody has."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_LONGEST = 40  # characters of a name that are shown


def unknown_command(name: str, known: Iterable[str], done: str) -> str:
    """Why a command is not sent that is not among the ``known``; ``done`` says what became of it."""
    by_lower = {each.lower(): each for each in known}
    near = get_close_matches(name.lower(), by_lower, n=1)
    meant = f"Did you mean /{shown_name(by_lower[near[0]])}? " if near else ""
    return f"Unknown command /{shown_name(name)}. {meant}{done}; with a space before it, it is sent as text."


def shown_name(name: str) -> str:
    """A name as far as it is shown."""
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
