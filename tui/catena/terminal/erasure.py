"""Background colour erase: whether a terminal gives cells that it erases the background that is set."""

from __future__ import annotations

from collections.abc import Mapping

# Terminals that do, for hosts where nobody installed their descriptions.
_KNOWN = frozenset({"alacritty", "foot", "ghostty", "wezterm", "xterm-256color", "xterm-ghostty"})


def erases_with_background(environment: Mapping[str, str]) -> bool:
    """True where what is erased gets the background that is set; False in doubt."""
    name = environment.get("TERM", "")
    in_screen = "STY" in environment  # GNU screen does not, and may say that it is another terminal
    if name.startswith("tmux"):  # does, though its description does not say so
        return True
    if name.startswith("screen"):
        return _is_described(name) or (environment.get("TERM_PROGRAM") == "tmux" and not in_screen)
    return _is_described(name) and not in_screen


def _is_described(name: str) -> bool:
    try:
        import curses  # takes a millisecond, and some builds of Python have none
    except ImportError:
        return name in _KNOWN
    try:
        curses.setupterm(name, 1)  # once in a process
    except curses.error:
        return name in _KNOWN
    return curses.tigetflag("bce") > 0 and curses.tigetstr("ech") is not None
