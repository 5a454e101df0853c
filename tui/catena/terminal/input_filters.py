"""Filter of terminal input: bracketed pastes, however they are cut up on their way."""

from __future__ import annotations

from collections.abc import Iterator
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
