"""The modes that a program has left a terminal in, by what it wrote."""

from __future__ import annotations

import re

_MODE = re.compile(rb"\x1b\[\?([0-9;]+)([hl])")
_PUSHED_KEYS = re.compile(rb"\x1b\[>[0-9]+u")
_ON_BY_DEFAULT = {7: "wraps at the right edge", 25: "shows the cursor"}


def changed_modes(output: bytes) -> set[str]:
    """The private modes that are not as a terminal begins with, and key codes that were pushed and not popped."""
    on = set(_ON_BY_DEFAULT)
    for numbers, switch in _MODE.findall(output):
        for number in map(int, numbers.split(b";")):
            (on.add if switch == b"h" else on.discard)(number)
    changed = {f"?{number}" for number in on ^ set(_ON_BY_DEFAULT)}
    return changed | ({"keys"} if len(_PUSHED_KEYS.findall(output)) > output.count(b"\x1b[<u") else set())
