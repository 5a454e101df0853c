"""How many colours a terminal has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum

from catena.multiplexers import in_screen

_PLAIN_TERMINALS = frozenset({"linux", "dumb", "vt100", "vt220", "xterm", "ansi", ""})
_XTERM_WITH_24_BITS = 331  # the first one


class ColourDepth(Enum):
    """The colours of a terminal."""

    FULL = "truecolor"
    INDEXED = "256"  # no tints: too few of them are near
    SIXTEEN = "16"  # the terminal's own, whatever they are
    NONE = "none"  # NO_COLOR: bold, dim and underline are left


def colour_depth(environment: Mapping[str, str]) -> ColourDepth:
    """The colours that the environment promises."""
    if environment.get("NO_COLOR"):
        return ColourDepth.NONE
    if in_screen(environment):  # inherits COLORTERM; its version 4 has no 24 bits, and shows something else
        return ColourDepth.INDEXED
    if environment.get("COLORTERM", "").strip().lower() in ("truecolor", "24bit") or _is_newer_xterm(
        environment
    ):
        return ColourDepth.FULL
    term = environment.get("TERM", "")
    if term in _PLAIN_TERMINALS or term.endswith("-16color"):
        return ColourDepth.SIXTEEN
    return ColourDepth.FULL if term.endswith("-direct") else ColourDepth.INDEXED


def _is_newer_xterm(environment: Mapping[str, str]) -> bool:
    """True in an xterm of this machine that calls itself plain `xterm`, which promises 8 colours, and can do more."""
    found = re.fullmatch(r"XTerm\((\d{1,6})\)", environment.get("XTERM_VERSION", ""))
    return environment.get("TERM") == "xterm" and found is not None and int(found[1]) >= _XTERM_WITH_24_BITS
