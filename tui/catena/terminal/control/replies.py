"""Replies of the terminal, taken out of its input: what it replies late, or in pieces, is never typed as text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

# The background's colour, the terminal's name and version, and whether it has notifications (OSC 99), reports pastes
# with their types (mode 5522) and has a left and a right margin (mode 69). The background is asked for first: the
# first frame waits a moment for it.
QUERIES = "\x1b]11;?\x1b\\\x1b[>0q\x1b]99;i=catena:p=?;\x1b\\\x1b[?5522$p\x1b[?69$p"
PASTE_EVENTS = 5522  # the private mode in which a paste is reported, not typed
MARGINS = 69  # the private mode in which lines have margins (DECLRMM)

_OSC = r"\x1b\](\d{1,5});([^\x07\x1b]*)(?:\x07|\x1b\\)"
_VERSION = r"\x1bP>\|([^\x1b]*)\x1b\\"
_MODE = r"\x1b\[\?(5522|69);(\d)\$y"
_GRAPHICS = r"\x1b_G([^\x1b]*)\x1b\\"
_CELL = r"\x1b\[6;(\d{1,4});(\d{1,4})t"
_STATUS = r"(?P<status>\x1b\[0n)"
# Another sequence began within it: what has come of it is dropped.
_CUT = r"(?P<cut>\x1b(?:\]\d{1,5};[^\x07\x1b]*|P>\|[^\x1b]*|_G[^\x1b]*)(?=\x1b[^\\]))"
_REPLY = re.compile(f"{_OSC}|{_VERSION}|{_MODE}|{_GRAPHICS}|{_CELL}|{_STATUS}|{_CUT}")
# The beginning of one at the end of what was read. What has come of it says that no person typed it (`certain`), or
# may be Alt+], Alt+P, Alt+_, Alt+[ or Page Down.
_BEGUN = re.compile(
    r"(?P<certain>\x1b(?:\]\d{1,5};[^\x07\x1b]*\x1b?|P>\|[^\x1b]*\x1b?|_G[^\x1b]*\x1b?))\Z"
    r"|\x1b(?:\](?:\d{0,5})|P>?|_|\[(?:0|6(?:;(?:\d{1,4}(?:;\d{0,4})?)?)?|\?(?:5(?:5(?:2(?:2(?:;(?:\d\$?)?)?)?)?)?|6(?:9(?:;(?:\d\$?)?)?)?)?)?)\Z"
)
_REST = re.compile(r"[^\x07\x1b]*(?:\x07|\x1b\\|(?=\x1b[^\\]))")
_IMAGE_NUMBER = re.compile(r"(?:^|,)i=(\d{1,10})(?:,|$)", re.ASCII)
_LONGEST = 64 * 1024  # characters of one reply; terminals send the clipboard in pieces of some 6,000
_SILENT_TERMINALS = frozenset({"linux", "dumb", ""})


@dataclass(frozen=True, slots=True)
class OscReply:
    """An operating system command: its number, and what follows it."""

    code: int
    body: str


@dataclass(frozen=True, slots=True)
class VersionReply:
    """Name and version of the terminal, as it tells them (XTVERSION)."""

    text: str


@dataclass(frozen=True, slots=True)
class ModeReply:
    """Whether the terminal knows a private mode (DECRPM)."""

    mode: int
    known: bool


@dataclass(frozen=True, slots=True)
class GraphicsReply:
    """Whether the terminal took what it was sent of an image (APC G of kitty's graphics protocol)."""

    number: int  # 0 where it names none
    ok: bool


@dataclass(frozen=True, slots=True)
class CellSizeReply:
    """The size of a cell in pixels."""

    width: int
    height: int


@dataclass(frozen=True, slots=True)
class StatusReply:
    """The terminal has drawn all that was sent before it was asked (DSR)."""


Reply = OscReply | VersionReply | ModeReply | GraphicsReply | CellSizeReply | StatusReply


def answers_queries(environment: Mapping[str, str]) -> bool:
    """False for terminals that would print the queries."""
    return environment.get("TERM", "") not in _SILENT_TERMINALS


class TerminalReplies:
    """Separates what is typed from what the terminal replies."""

    def __init__(self) -> None:
        self._held = ""
        self._certain = False  # what is held was not typed
        self._dropping = False  # the rest of a reply that was too long, up to its end

    @property
    def holds(self) -> bool:
        """True while the beginning of a reply is held back."""
        return bool(self._held) or self._dropping

    def feed(self, data: str) -> Iterator[str | Reply]:
        """Yield typed text and replies in order; the beginning of a reply is held back."""
        data, self._held = self._held + data, ""
        if self._dropping:
            rest = _REST.match(data)
            if rest is None:
                self._held = "\x1b" if data.endswith("\x1b") else ""
                return
            self._dropping, data = False, data[rest.end() :]
        if "\x1b" not in data:
            if data:
                yield data
            return
        at = 0
        for found in _REPLY.finditer(data):
            if found.start() > at:
                yield data[at : found.start()]
            if found["cut"] is None:
                yield _reply(found)
            at = found.end()
        begun = _BEGUN.search(data, at)
        typed = data[at : begun.start()] if begun else data[at:]
        if begun:
            self._held, self._certain = begun[0], begun["certain"] is not None
            if len(self._held) > _LONGEST:
                self._held, self._dropping = "", True
        if typed:
            yield typed

    def release(self) -> str:
        """What is held back and may have been typed, such as Alt+], after a moment in which nothing followed."""
        if self._certain:
            return ""
        held, self._held = self._held, ""
        return held

    def forget(self) -> None:
        """Drop the beginning of a reply whose end does not come."""
        self._held, self._certain, self._dropping = "", False, False


def _reply(found: re.Match[str]) -> Reply:
    code, body, version, mode, state, graphics, height, width, status, _ = found.groups()
    if status is not None:
        return StatusReply()
    if code is not None:
        return OscReply(int(code), body)
    if version is not None:
        return VersionReply(version)
    if graphics is not None:
        keys, _, words = graphics.partition(";")
        number = _IMAGE_NUMBER.search(keys)
        return GraphicsReply(int(number[1]) if number else 0, words == "OK")
    if height is not None:
        return CellSizeReply(int(width), int(height))
    return ModeReply(int(mode), state in "123")  # 0: unknown, 4: never set


def background_of(reply: Reply) -> str | None:
    """The background's colour (``#rrggbb``) where the reply tells it."""
    if not isinstance(reply, OscReply) or reply.code != 11:
        return None
    found = re.fullmatch(r"rgba?:([0-9a-fA-F/]+)", reply.body)
    return _color(found[1]) if found else None


def dark_by_environment(environment: Mapping[str, str]) -> bool:
    """The background by ``COLORFGBG``; dark without it."""
    background = environment.get("COLORFGBG", "").rpartition(";")[2]
    return background not in ("7", "15")


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
