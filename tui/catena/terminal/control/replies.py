"""What a terminal is asked, and what it replies."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

# How many cells a line takes: it is drawn, the terminal tells where the cursor stands behind it, and it is erased. In
# the second row: what it tells of the first may be a key.
_RULE = "\u2500"
WIDTH_QUERY = f"\x1b[2H{_RULE}\x1b[6n\r\x1b[K"
# The terminal's name and version, the background's colour, and whether it has notifications (OSC 99), reports pastes
# with their types (mode 5522) and has a left and a right margin (mode 69). The first frame depends on the first ones.
QUERIES = "\x1b[>0q\x1b]11;?\x1b\\\x1b]99;i=catena:p=?;\x1b\\\x1b[?5522$p\x1b[?69$p"
PASTE_EVENTS = 5522  # the private mode in which a paste is reported, not typed
MARGINS = 69  # the private mode in which lines have margins (DECLRMM)

_OSC = r"\x1b\](\d{1,5});([^\x07\x1b]*)(?:\x07|\x1b\\)"
_VERSION = r"\x1bP>\|([^\x1b]*)\x1b\\"
_MODE = r"\x1b\[\?(5522|69);(\d)\$y"
_GRAPHICS = r"\x1b_G([^\x1b]*)\x1b\\"
_CELL = r"\x1b\[6;(\d{1,4});(\d{1,4})t"
_WIDTH = r"\x1b\[2;([23])R"
_STATUS = r"(?P<status>\x1b\[0n)"
_REPLY = re.compile(f"{_OSC}|{_VERSION}|{_MODE}|{_GRAPHICS}|{_CELL}|{_WIDTH}|{_STATUS}")
_IMAGE_NUMBER = re.compile(r"(?:^|,)i=(\d{1,10})(?:,|$)", re.ASCII)
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
class WidthReply:
    """The cells that a line takes, and with it each character whose width Unicode calls ambiguous."""

    cells: int


@dataclass(frozen=True, slots=True)
class StatusReply:
    """The terminal has drawn all that was sent before it was asked (DSR)."""


Reply = OscReply | VersionReply | ModeReply | GraphicsReply | CellSizeReply | WidthReply | StatusReply


def answers_queries(environment: Mapping[str, str]) -> bool:
    """False for terminals that would print the queries."""
    return environment.get("TERM", "") not in _SILENT_TERMINALS


def reply_of(sequence: str) -> Reply | None:
    """The terminal's reply in a whole sequence; None for any other sequence."""
    found = _REPLY.fullmatch(sequence)
    if found is None:
        return None
    code, body, version, mode, state, graphics, height, width, behind, status = found.groups()
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
    if behind is not None:
        return WidthReply(int(behind) - 1)
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
