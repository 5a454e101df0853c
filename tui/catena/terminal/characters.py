"""What a terminal draws: which characters, how its lines and half blocks, and which ground where it erases."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, replace

from catena.multiplexers import in_screen, in_tmux
from catena.terminal.control.replies import Reply, VersionReply, WidthReply

_UTF_8 = "utf-8"
_PLAIN = frozenset({"C", "POSIX"})
# Python sets this for itself where the locale is plain.
_SET_BY_PYTHON = "C.UTF-8"


def terminal_encoding(environment: Mapping[str, str], stream: str = _UTF_8) -> str:
    """The encoding that the terminal of the environment reads: UTF-8 unless the locale or the stream names another.

    A locale without a character set is taken for UTF-8: that is what terminals speak, and few say it.
    """
    if _name(stream) != _UTF_8:
        return _name(stream)
    locale = _locale(environment)
    if locale in _PLAIN:
        return "ascii"
    charset = locale.partition(".")[2].partition("@")[0]
    return _name(charset) if charset else _UTF_8


@dataclass(frozen=True, slots=True)
class Glyphs:
    """How half blocks and lines look, as far as the terminal has told."""

    # Characters whose width Unicode calls ambiguous take two cells, lines among them.
    ambiguous_wide: bool = False
    gaps: bool = False  # half blocks are the font's, and leave a line of one pixel at one of their edges

    @property
    def half_rows(self) -> bool:
        """True where half blocks fill their half of a cell."""
        return not (self.ambiguous_wide or self.gaps)

    def told(self, reply: Reply) -> Glyphs:
        """The same, with what a reply of the terminal tells."""
        match reply:
            case VersionReply(text):
                return replace(self, gaps=text.startswith("XTerm("))
            case WidthReply(cells):
                return replace(self, ambiguous_wide=cells > 1)
        return self


def glyphs_by_environment(environment: Mapping[str, str]) -> Glyphs:
    """The glyphs that the environment suggests, before the terminal has replied."""
    nearer = in_tmux(environment) or in_screen(environment)
    return Glyphs(gaps="XTERM_VERSION" in environment and not nearer)


def _locale(environment: Mapping[str, str]) -> str:
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        value = environment.get(name, "")
        if value and not (name == "LC_CTYPE" and value == _SET_BY_PYTHON):
            return value
    return ""


def _name(encoding: str) -> str:
    try:
        return codecs.lookup(encoding).name
    except LookupError:
        return _UTF_8


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
