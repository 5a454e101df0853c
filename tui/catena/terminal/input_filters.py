"""Filters of terminal input: bracketed pastes, and replies to queries for the background colour."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_BEGIN = "\x1b[200~"
_END = "\x1b[201~"


@dataclass(frozen=True, slots=True)
class PastedText:
    """A complete bracketed paste."""

    text: str


class BracketedPastes:
    """Separates typed from pasted text; each character is searched once, so that large pastes are cheap."""

    def __init__(self) -> None:
        self._held = ""
        self._pieces: list[str] | None = None  # of a paste that has not ended
        self._tail = ""  # of these pieces: the mark of the end may be cut as well

    @property
    def open(self) -> bool:
        """True within an unfinished paste."""
        return self._pieces is not None

    def feed(self, data: str) -> Iterator[str | PastedText]:
        """Yield typed and pasted text in order.

        A partial marker at the end is held back until more arrives or ``release`` is called.
        """
        data, self._held = self._held + data, ""
        key = not data.strip(_BEGIN[0])  # an escape that comes alone, or twice
        while data:
            if self._pieces is not None:
                text, data = self._gather(data)
                if text is not None:
                    yield PastedText(text)
            else:
                typed, begins, data = data.partition(_BEGIN)
                if begins:
                    self._pieces, self._tail = [], ""
                elif not key:
                    typed, self._held = _split_partial_marker(typed)
                if typed:
                    yield typed

    def release(self) -> str:
        """Return the held-back beginning of a marker as typed text."""
        held, self._held = self._held, ""
        return held

    def _gather(self, data: str) -> tuple[str | None, str]:
        """The text of the paste if it ends in ``data``, and the rest after it."""
        assert self._pieces is not None
        self._pieces.append(data)
        end = (self._tail + data).find(_END)
        if end < 0:
            self._tail = (self._tail + data)[1 - len(_END) :]
            return None, ""
        after = len(self._tail) + len(data) - end - len(_END)
        whole = "".join(self._pieces)
        self._pieces = None
        return whole[: len(whole) - after - len(_END)], data[len(data) - after :]


def _split_partial_marker(typed: str) -> tuple[str, str]:
    """Typed text, and the partial marker at its end."""
    for length in range(len(_BEGIN) - 1, 0, -1):
        if typed.endswith(_BEGIN[:length]):
            return typed[:-length], typed[-length:]
    return typed, ""


QUERY = "\x1b]11;?\x1b\\"
_REPLY = re.compile(r"\x1b\]11;rgba?:([0-9a-fA-F/]+)(?:\x07|\x1b\\)")
_BEGUN = re.compile(r"\x1b(?:\](?:1(?:1(?:;[^\x07\x1b]*\x1b?)?)?)?)?\Z")
_SILENT_TERMINALS = frozenset({"linux", "dumb", ""})


def answers_queries(environment: Mapping[str, str]) -> bool:
    """False for terminals that would print the query."""
    return environment.get("TERM", "") not in _SILENT_TERMINALS


def dark_by_environment(environment: Mapping[str, str]) -> bool:
    """The background by ``COLORFGBG``; dark without it."""
    background = environment.get("COLORFGBG", "").rpartition(";")[2]
    return background not in ("7", "15")


class ReplyFilter:
    """Removes the terminal's reply from its input, so that no part of it counts as typed."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, data: str) -> tuple[str, str | None]:
        """The input without the reply, and the background's colour (``#rrggbb``) by the reply; None without one.

        A partial reply is held back until its end arrives or ``release`` is called.
        """
        data = self._held + data
        self._held = ""
        background: str | None = None
        if found := _REPLY.search(data):
            background = _color(found[1])
            data = data[: found.start()] + data[found.end() :]
        elif (begun := _BEGUN.search(data)) and len(begun[0]) > 1:  # a lone escape is a key press
            self._held = begun[0]
            data = data[: begun.start()]
        return data, background

    def release(self) -> str:
        """Return the held-back beginning of a reply as typed text."""
        held, self._held = self._held, ""
        return held


def _color(channels: str) -> str | None:
    """The colour (``#rrggbb``) of channels such as ``1e1e/1e1e/1e1e``; None if they are invalid."""
    parts = channels.split("/")[:3]
    if len(parts) != 3 or not all(parts):
        return None
    return "#" + "".join(f"{round(int(part, 16) / (16 ** len(part) - 1) * 255):02x}" for part in parts)


def is_dark(color: str) -> bool:
    """True for a colour (``#rrggbb``) that is dark by perceived brightness."""
    red, green, blue = bytes.fromhex(color.removeprefix("#"))
    return 0.299 * red + 0.587 * green + 0.114 * blue < 0.5 * 255
