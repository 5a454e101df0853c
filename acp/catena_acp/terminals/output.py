"""Output of a terminal: its newest bytes, cut where characters begin, as the agent and the person get them."""

from __future__ import annotations

from catena_acp.terminals.screen_text import screen_text, without_colours

DEFAULT_LIMIT = 256 * 1024  # bytes for the agent where it names no limit
MAX_LIMIT = 1024 * 1024
SHOWN = 64 * 1024  # bytes of which the person sees what they leave on the screen
_SHOWN_WHILE_RUNNING = 16 * 1024


class KeptOutput:
    """The newest bytes of an output: as many as the agent asked for, and those that are shown."""

    def __init__(self, limit: int | None) -> None:
        """``limit`` is the agent's, in bytes; above a megabyte it gets a megabyte."""
        self._limit = DEFAULT_LIMIT if limit is None else min(limit, MAX_LIMIT)
        self._kept = bytearray()
        self._most = max(self._limit, SHOWN)
        self._total = 0
        self._dropped_lines = 0

    def add(self, data: bytes) -> None:
        """Add what came next; the oldest goes where that is too much."""
        self._total += len(data)
        self._kept += data
        if len(self._kept) > 2 * self._most:  # seldom: it moves all that is kept
            over = len(self._kept) - self._most
            self._dropped_lines += self._kept.count(b"\n", 0, over)
            del self._kept[:over]

    @property
    def truncated(self) -> bool:
        """True if the agent gets the end of it alone."""
        return self._total > self._limit

    def newest(self) -> tuple[bytes, int]:
        """A copy of what the agent gets, and its limit, as ``text_of`` takes them."""
        return bytes(self._kept[max(0, len(self._kept) - self._limit) :]), self._limit

    def shown(self, *, running: bool) -> tuple[bytes, int]:
        """A copy of what is shown, from the beginning of a line on, and how many lines are above it."""
        size = _SHOWN_WHILE_RUNNING if running else SHOWN
        start = max(0, len(self._kept) - size)
        if start or self._dropped_lines:
            newline = self._kept.find(b"\n", start)
            start = newline + 1 if newline >= 0 else start
        return bytes(self._kept[start:]), self._dropped_lines + self._kept.count(b"\n", 0, start)


def text_of(data: bytes, limit: int) -> str:
    """Output as text for an agent: without colours, at most ``limit`` bytes of UTF-8, cut from its start."""
    text = without_colours(screen_text(_decoded(data)))
    if data.endswith(b"\n") and text:
        text += "\n"
    encoded = text.encode()  # longer than the data where that is no UTF-8
    return text if len(encoded) <= limit else _decoded(encoded[len(encoded) - limit :])


def shown_text(data: bytes) -> str:
    """Output as lines for a person, with colours."""
    return screen_text(_decoded(data))


def _decoded(data: bytes) -> str:
    """Text of bytes that may begin and end within a character."""
    start = next((at for at, byte in enumerate(data[:3]) if byte & 0xC0 != 0x80), len(data[:3]))
    for size in range(1, min(4, len(data) - start) + 1):
        byte = data[-size]
        if byte & 0xC0 == 0x80:
            continue
        if byte >= 0xC0 and size < (2 if byte < 0xE0 else 3 if byte < 0xF0 else 4):
            data = data[:-size]  # the rest of the character is not there yet
        break
    return data[start:].decode("utf-8", "replace")
