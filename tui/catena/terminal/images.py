"""Images that the terminal keeps for us: which it has, which it is sent, and when they are deleted."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from catena.multiplexers import in_screen, in_tmux
from catena.terminal.control.graphics import (
    ABANDON,
    CELL,
    QUERIES,
    QUERY_ID,
    ImageDrawing,
    deletion,
    draws_placeholders,
    fitting,
    transmission,
)
from catena.terminal.control.replies import CellSizeReply, GraphicsReply, Reply, VersionReply

if TYPE_CHECKING:
    from catena_acp.port.images import ImageNote

MOST_IMAGES = 20
MOST_BYTES = 32 * 1024 * 1024  # of all of them, as PNG
_MOST_OF_ONE = 4 * 1024 * 1024
_MOST_FROM_FAR = 50 * 1000  # bytes of an image that is sent over SSH
_LONGEST_SIDE = 10_000  # pixels; kitty takes no more
_MOST_PIXELS = 16_000_000  # which a terminal unpacks to 64 MB
_FIRST = 0xCA0001  # numbers are colours of 24 bits


@dataclass(frozen=True, slots=True)
class ImageSlot:
    """An image in a size; another size of it is another image to the terminal."""

    sha256: str
    pixels: tuple[int, int]
    columns: int
    rows: int


class ImageViewer(Protocol):
    """A widget that images are drawn in."""

    def seen_images(self) -> Collection[ImageSlot]:
        """The images on the screen."""
        ...

    def redraw_images(self) -> None:
        """Draw all images anew: the terminal has others than before."""
        ...


class TerminalImages:
    """The images that the terminal has: at most 20 and 32 MB, of which those that were not seen for longest go first.

    Nothing is sent before the terminal has said that it can draw them. After each ``parting`` it has to say so again.
    """

    def __init__(
        self,
        setting: ImageDrawing,
        environment: Mapping[str, str],
        *,
        possible: bool,
        send: Callable[[str], None],
        room: Callable[[], Awaitable[bool]],
    ) -> None:
        """``possible``: cells have 24-bit colours; ``room`` waits a moment for the terminal to read."""
        within = in_tmux(environment) or in_screen(environment) or bool(environment.get("STY"))
        self._possible = possible and setting is ImageDrawing.AUTO and not within
        far = bool(environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"))
        self._most_of_one = _MOST_FROM_FAR if far else _MOST_OF_ONE
        self._send = send
        self._room = room
        self._cell = CELL
        self._ready = False
        self._life = 0  # of the terminal's memory
        self._known: OrderedDict[ImageSlot, tuple[int, int]] = OrderedDict()  # number and bytes
        self._refused: set[ImageSlot] = set()
        self._crowded: set[ImageSlot] = set()  # for which there was no room, until another is sent
        self._unfinished: int | None = None
        self._next = _FIRST
        self._sending = asyncio.Lock()
        self._viewers: list[ImageViewer] = []

    def watch(self, viewer: ImageViewer) -> None:
        """Let a widget draw images."""
        self._viewers.append(viewer)

    def unwatch(self, viewer: ImageViewer) -> None:
        """Let a widget go."""
        if viewer in self._viewers:
            self._viewers.remove(viewer)

    def replied(self, reply: Reply) -> None:
        """Note what the terminal says of itself; one that may draw images is asked whether it does."""
        match reply:
            case VersionReply(text=name) if self._possible and draws_placeholders(name):
                self._send(QUERIES)
            case CellSizeReply(width=width, height=height) if self._possible and width and height:
                self._cell = width, height
            case GraphicsReply(number=number, ok=True) if self._possible and number == QUERY_ID:
                if kept := self.parting():  # it was asked again without having been left
                    self._send(kept)
                self._ready = True
                self._redraw()

    def slot(self, note: ImageNote, room: int) -> ImageSlot | None:
        """The place that an image takes in so many columns; None where it stays a line."""
        if not self._ready or note.mime != "image/png" or not 0 < note.size <= self._most_of_one:
            return None
        sides = note.width, note.height
        if not 0 < min(sides) <= max(sides) <= _LONGEST_SIDE or note.width * note.height > _MOST_PIXELS:
            return None
        slot = ImageSlot(note.sha256, sides, *fitting(sides, self._cell, room))
        return None if slot in self._refused or slot in self._crowded else slot

    def number_of(self, slot: ImageSlot) -> int | None:
        """The terminal's number of an image that it has."""
        if slot not in self._known:
            return None
        self._known.move_to_end(slot)
        return self._known[slot][0]

    async def keep(self, slot: ImageSlot, png: bytes | None) -> None:
        """Send an image that the terminal does not have, while it reads; one that cannot be drawn stays a line."""
        from catena_acp.port.images import pixels_of  # the first frame does without

        async with self._sending:
            if not self._ready or slot in self._known or slot in self._refused:
                return
            if png is None or len(png) > self._most_of_one or pixels_of(png) != slot.pixels:
                self._refused.add(slot)
            elif not self._make_room(len(png)):
                self._crowded.add(slot)
            elif not await self._transmit(slot, png):
                return
            self._redraw()

    def parting(self) -> str:
        """What takes all images from the terminal before another program gets it."""
        numbers = [number for number, _ in self._known.values()]
        abandoned = ""
        if self._unfinished is not None:
            abandoned, numbers = ABANDON, [*numbers, self._unfinished]
        self._forget()
        return abandoned + "".join(map(deletion, numbers))

    async def _transmit(self, slot: ImageSlot, png: bytes) -> bool:
        """Send an image piece by piece; False if the terminal was left meanwhile."""
        life, number = self._life, self._next
        self._next += 1
        self._unfinished = number
        try:
            for piece in transmission(number, png, slot.columns, slot.rows):
                while not await self._room():
                    if life != self._life:
                        return False
                if life != self._life:
                    return False
                self._send(piece)
            self._known[slot] = number, len(png)
            self._crowded.clear()
        finally:
            if life == self._life:
                if slot not in self._known:
                    self._send(ABANDON + deletion(number))
                self._unfinished = None
        return True

    def _make_room(self, size: int) -> bool:
        """Delete what is not seen; False where that is not enough."""
        seen = {slot for viewer in self._viewers for slot in viewer.seen_images()}
        unseen = [slot for slot in self._known if slot not in seen]
        while (
            len(self._known) >= MOST_IMAGES
            or size + sum(kept for _, kept in self._known.values()) > MOST_BYTES
        ):
            if not unseen:
                return False
            number, _ = self._known.pop(unseen.pop(0))
            self._send(deletion(number))
        return True

    def _forget(self) -> None:
        self._ready = False
        self._life += 1
        self._known.clear()
        self._refused.clear()
        self._crowded.clear()
        self._unfinished = None

    def _redraw(self) -> None:
        for viewer in tuple(self._viewers):
            viewer.redraw_images()
