"""Images of one transcript: the rows of those that the terminal draws, and which it has still to be sent."""

from __future__ import annotations

from typing import Protocol

from catena.terminal.images import ImageSlot
from catena.transcript.drawing.lines import ImageRow
from catena_acp.port.images import ImageNote


class KeptImages(Protocol):
    """The images that the terminal has."""

    def slot(self, note: ImageNote, room: int) -> ImageSlot | None:
        """The place that an image takes in so many columns; None where it stays a line."""
        ...

    def number_of(self, slot: ImageSlot) -> int | None:
        """The terminal's number of an image that it has."""
        ...


class DrawnImages:
    """The images of one transcript; those that were drawn before the terminal had them are wanted, each once."""

    def __init__(self, kept: KeptImages) -> None:
        self._kept = kept
        self._wanted: dict[ImageSlot, str] = {}
        self._asked: set[ImageSlot] = set()

    @property
    def has_wanted(self) -> bool:
        return bool(self._wanted)

    def take_wanted(self) -> dict[ImageSlot, str]:
        """Take the wanted image slots, each with the id of its message."""
        wanted, self._wanted = self._wanted, {}
        self._asked.update(wanted)
        return wanted

    def forget(self) -> None:
        """Want again what is not there when it is drawn next."""
        self._wanted.clear()
        self._asked.clear()

    def rows(self, message_id: str, note: ImageNote, room: int) -> list[ImageRow]:
        """The rows of an image; none where it stays a line."""
        slot = self._kept.slot(note, room)
        if slot is None:
            return []
        number = self._kept.number_of(slot)
        if number is None and slot not in self._asked:
            self._wanted[slot] = message_id
        return [ImageRow(slot, row, number) for row in range(slot.rows)]
