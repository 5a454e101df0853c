"""Is the terminal light or dark? Its environment is asked first, then the terminal itself, without waiting for it."""

from __future__ import annotations

import re
from collections.abc import Mapping

QUERY = "\x1b]11;?\x1b\\"
_REPLY = re.compile(r"\x1b\]11;rgba?:([0-9a-fA-F/]+)(?:\x07|\x1b\\)")
_BEGUN = re.compile(r"\x1b(?:\](?:1(?:1(?:;[^\x07\x1b]*\x1b?)?)?)?)?\Z")
_SILENT_TERMINALS = frozenset({"linux", "dumb", ""})


def answers_queries(environment: Mapping[str, str]) -> bool:
    """False where asking could leave litter on the screen."""
    return environment.get("TERM", "") not in _SILENT_TERMINALS


def dark_by_environment(environment: Mapping[str, str]) -> bool:
    """What ``COLORFGBG`` says; dark where it says nothing."""
    background = environment.get("COLORFGBG", "").rpartition(";")[2]
    return background not in ("7", "15")


class ReplyFilter:
    """Takes the terminal's answer out of what it sends, so that no part of it is taken for typing."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, data: str) -> tuple[str, bool | None]:
        """What is left of ``data``, and whether the terminal just said that it is dark (None: it said nothing).

        The beginning of an answer is held back until its end arrives; ``release`` gives it up.
        """
        data = self._held + data
        self._held = ""
        dark: bool | None = None
        if found := _REPLY.search(data):
            dark = _is_dark(found[1])
            data = data[: found.start()] + data[found.end() :]
        elif (begun := _BEGUN.search(data)) and len(begun[0]) > 1:  # a lone escape is a key press
            self._held = begun[0]
            data = data[: begun.start()]
        return data, dark

    def release(self) -> str:
        """What was held back for an answer that does not come."""
        held, self._held = self._held, ""
        return held


def _is_dark(channels: str) -> bool | None:
    """``1e1e/1e1e/1e1e`` and shorter forms, by perceived brightness."""
    parts = channels.split("/")[:3]
    if len(parts) != 3 or not all(parts):
        return None
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in parts)
    return bool(0.299 * red + 0.587 * green + 0.114 * blue < 0.5)
