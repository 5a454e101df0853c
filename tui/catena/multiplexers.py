"""Which multiplexer stands between Catena and the terminal, by what the environment says of it."""

from __future__ import annotations

from collections.abc import Mapping


def in_tmux(environment: Mapping[str, str]) -> bool:
    """True within tmux, unless GNU screen runs in it: that inherits the variable of tmux."""
    term = environment.get("TERM", "")
    screen_is_nearer = "STY" in environment and (term == "screen" or term.startswith("screen."))
    return bool(environment.get("TMUX")) and not screen_is_nearer


def in_screen(environment: Mapping[str, str]) -> bool:
    """True within GNU screen, as far as ``TERM`` tells; tmux may use the same name."""
    return not in_tmux(environment) and environment.get("TERM", "").startswith("screen")
