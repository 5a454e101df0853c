"""Images of agents that the terminal draws: sent once, drawn in cells like text, and deleted at the end."""

from __future__ import annotations

import asyncio
import base64
import re
import signal
from collections.abc import Collection
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from rich.cells import cell_len

from catena.terminal.control.graphics import (
    MOST_CELLS,
    MOST_ROWS,
    PLACEHOLDER,
    QUERIES,
    ImageDrawing,
    draws_placeholders,
    fitting,
    is_placeholder,
    placeholder_row,
    transmission,
)
from catena.terminal.control.replies import (
    CellSizeReply,
    GraphicsReply,
    Reply,
    VersionReply,
)
from catena.terminal.images import MOST_IMAGES, ImageSlot, TerminalImages
from catena.terminal.input_sequences import TerminalInput
from catena.text.safe_text import safe, safe_cells
from catena_acp.port.images import ImageNote, note_of_image, received_image
from support.screen.terminal import EMPTY_BOX, Place, Terminal

KITTY = VersionReply("kitty(0.44.1)")
TAKEN = GraphicsReply(31, True)


def png(width: int, height: int, size: int = 0) -> bytes:
    """The beginning of a PNG, and so many bytes behind it."""
    sides = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + sides + b"\x08\x02\0\0\0" + b"\x1b\\\x9c" * (size // 3)


def note_of(content: bytes) -> ImageNote:
    image = received_image(base64.b64encode(content).decode())
    assert image is not None
    return note_of_image(image)


class Viewer:
    """What has some images on the screen."""

    def __init__(self) -> None:
        self.seen: set[ImageSlot] = set()
        self.redrawn = 0

    def seen_images(self) -> Collection[ImageSlot]:
        return self.seen

    def redraw_images(self) -> None:
        self.redrawn += 1


class Kept:
    """Images of a terminal that reads all that it is sent."""

    def __init__(
        self, *replies: Reply, setting: ImageDrawing = ImageDrawing.AUTO, **environment: str
    ) -> None:
        self.sent: list[str] = []
        self.reads = True
        self.sent_four = asyncio.Event()

        async def room() -> bool:
            if len(self.sent) >= 4:
                self.sent_four.set()
            await asyncio.sleep(0)
            return self.reads

        self.images = TerminalImages(setting, environment, possible=True, send=self.sent.append, room=room)
        self.viewer = Viewer()
        self.images.watch(self.viewer)
        for reply in replies:
            self.images.replied(reply)


@pytest.mark.parametrize(
    ("pixels", "room", "cells"),
    [
        ((64, 48), 80, (8, 3)),
        ((1, 1), 80, (1, 1)),
        ((800, 160), 50, (50, 5)),
        ((640, 640), 80, (40, 20)),
        ((10_000, 1), 80, (80, 1)),
        ((1, 10_000), 80, (1, 20)),
    ],
)
def test_w05_an_image_keeps_its_ratio_and_fits(
    pixels: tuple[int, int], room: int, cells: tuple[int, int]
) -> None:
    assert fitting(pixels, (8, 16), room) == cells


def test_w05_each_cell_of_an_image_tells_its_row_and_column_in_one_cell() -> None:
    rows = [placeholder_row(row, MOST_CELLS) for row in range(MOST_ROWS)]
    assert all(cell_len(row) == MOST_CELLS for row in rows)
    cells = [row[at : at + 3] for row in rows for at in range(0, len(row), 3)]
    assert all(map(is_placeholder, cells)) and len(set(cells)) == MOST_CELLS * MOST_ROWS


def test_w05_nobody_elses_text_is_the_cell_of_an_image() -> None:
    assert PLACEHOLDER not in safe(placeholder_row(0, 3))
    assert PLACEHOLDER not in safe_cells(placeholder_row(0, 3))


def test_w05_only_a_terminal_that_draws_in_place_of_characters_is_asked_and_only_one_that_agrees_is_sent_any() -> (
    None
):
    assert draws_placeholders("kitty(0.28.0)") and draws_placeholders("ghostty 1.2.0")
    assert not any(map(draws_placeholders, ("kitty(0.27.1)", "WezTerm 2024", "Konsole 24", "tmux 3.5", "")))
    note = note_of(png(64, 48))
    for kept in (
        Kept(),
        Kept(VersionReply("WezTerm 2024"), GraphicsReply(7, True)),
        Kept(KITTY, TAKEN, setting=ImageDrawing.OFF),
        Kept(KITTY, TAKEN, TMUX="/tmp/t"),
        Kept(KITTY, TAKEN, TERM="screen"),
    ):
        assert kept.sent == [] and kept.images.slot(note, 80) is None
    kept = Kept(KITTY, GraphicsReply(31, False))
    assert kept.sent == [QUERIES] and kept.images.slot(note, 80) is None
    kept = Kept(KITTY, CellSizeReply(16, 32), TAKEN)
    slot = kept.images.slot(note, 80)
    assert slot is not None and (slot.columns, slot.rows) == (4, 2) and kept.viewer.redrawn == 1


def test_w05_what_is_too_large_or_no_png_stays_a_line() -> None:
    kept = Kept(KITTY, TAKEN)
    note = note_of(png(64, 48))
    for other in (
        replace(note, mime="image/jpeg"),
        replace(note, width=10_001),
        replace(note, width=9_000, height=9_000),
        replace(note, width=0),
        replace(note, size=5_000_000),
    ):
        assert kept.images.slot(other, 80) is None
    far = Kept(KITTY, TAKEN, SSH_TTY="/dev/pts/1")
    assert far.images.slot(replace(note, size=50_000), 80) is not None
    assert far.images.slot(replace(note, size=50_001), 80) is None


async def test_w05_an_image_is_sent_once_as_base64_of_its_bytes_whatever_they_are() -> None:
    kept, content = Kept(KITTY, TAKEN), png(64, 48, 9_000)
    slot = kept.images.slot(note_of(content), 80)
    assert slot is not None and kept.images.number_of(slot) is None
    await asyncio.gather(kept.images.keep(slot, content), kept.images.keep(slot, content))
    number = kept.images.number_of(slot)
    assert number is not None
    sent = kept.sent[1:]
    assert sent == list(transmission(number, content, 8, 3))
    commands = [
        re.fullmatch(r"\x1b_G([a-zA-Z0-9=,]+)(?:;([A-Za-z0-9+/=]{1,4096}))?\x1b\\", each) for each in sent
    ]
    assert base64.b64decode("".join(each[2] or "" for each in commands if each)) == content
    assert kept.images.parting() == f"\x1b_Ga=d,d=I,i={number},q=2\x1b\\"
    assert kept.images.parting() == "" and kept.images.slot(note_of(content), 80) is None


async def test_w05_bytes_that_are_not_what_was_told_of_them_are_not_sent() -> None:
    kept, note = Kept(KITTY, TAKEN), note_of(png(64, 48))
    slot = kept.images.slot(note, 80)
    assert slot is not None
    await kept.images.keep(slot, png(9_000, 9_000))
    assert kept.sent == [QUERIES] and kept.images.slot(note, 80) is None


async def test_w05_the_terminal_has_no_more_than_twenty_and_loses_none_that_is_seen() -> None:
    kept = Kept(KITTY, TAKEN)

    async def keep(number: int) -> ImageSlot:
        content = png(8, 16, 3 * number)
        slot = kept.images.slot(replace(note_of(content), sha256=sha256(content).hexdigest()), 80)
        assert slot is not None
        await kept.images.keep(slot, content)
        return slot

    slots = [await keep(number) for number in range(MOST_IMAGES)]
    kept.viewer.seen = {slots[0]}
    newest = await keep(MOST_IMAGES)
    assert kept.images.number_of(slots[0]) is not None
    assert kept.images.number_of(slots[1]) is None
    assert sum("a=d" in each for each in kept.sent) == 1
    kept.viewer.seen = {slot for slot in (*slots, newest) if kept.images.number_of(slot)}
    before = len(kept.sent)
    assert kept.images.number_of(await keep(MOST_IMAGES + 1)) is None
    assert len(kept.sent) == before


async def test_w05_an_image_that_is_being_sent_when_the_terminal_is_left_is_ended_and_deleted() -> None:
    kept, content = Kept(KITTY, TAKEN), png(64, 48, 90_000)
    slot = kept.images.slot(note_of(content), 80)
    assert slot is not None
    sending = asyncio.create_task(kept.images.keep(slot, content))
    await kept.sent_four.wait()
    kept.reads = False  # it waits for room from now on
    last = kept.images.parting()
    assert last.startswith("\x1b_Gm=0") and "a=d,d=I" in last
    sent = len(kept.sent)
    await sending
    assert len(kept.sent) == sent and kept.images.number_of(slot) is None


def test_w05_replies_about_images_are_never_typed() -> None:
    terminal = TerminalInput()
    text = "a\x1b_Gi=31;OK\x1b\\b\x1b[6;16;8tc\x1b[6~d"
    for at in range(1, len(text)):
        parts = [*terminal.feed(text[:at], 0.0), *terminal.feed(text[at:], 0.0)]
        assert "".join(each for each in parts if isinstance(each, str)) == "abc\x1b[6~d", at
        assert [each for each in parts if not isinstance(each, str)] == [TAKEN, CellSizeReply(8, 16)]


def _images_on(terminal: Terminal) -> list[tuple[int, int, int]]:
    """Column, row and number of cells of each row of an image on the screen."""
    return [
        (line.index(PLACEHOLDER), y, line.count(PLACEHOLDER))
        for y, line in enumerate(terminal.text.split("\n"))
        if PLACEHOLDER in line
    ]


def test_w05_kitty_draws_an_image_below_its_line_through_scrolling_and_resizing(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with place.catena("--agent", "rehearsal") as terminal:
        terminal.wait_for(EMPTY_BOX)
        terminal.write("\x1bP>|kitty(0.44.1)\x1b\\")
        terminal.wait_for_output(QUERIES.encode())
        terminal.write("\x1b[6;16;8t\x1b_Gi=31;OK\x1b\\")
        terminal.say("screenshot")
        terminal.wait_until(lambda: len(_images_on(terminal)) == 6, "two images of three rows")
        assert [count for _, _, count in _images_on(terminal)] == [8] * 6
        assert terminal.output.count(b"\x1b_Ga=t") == 1
        assert b"a=p,U=1,i=13238273,c=8,r=3" in terminal.output
        assert b"38;2;202;0;1" in terminal.output
        at = terminal.output.index(b"\x1b_Ga=t")
        assert terminal.output.index(PLACEHOLDER.encode()) > at
        terminal.say("stream 300 rate 3000")
        terminal.wait_until(lambda: not _images_on(terminal), "the images to scroll away")
        terminal.press("pageup", "pageup", "pageup")
        terminal.wait_until(lambda: len(_images_on(terminal)) == 6, "them to come back")
        terminal.resize(120, 44)
        terminal.wait_until(lambda: len(_images_on(terminal)) >= 3, "them where they are now")
        terminal.resize(50, 20)
        terminal.wait_until(lambda: not _images_on(terminal), "lines alone")
        terminal.signal(signal.SIGTERM)
        assert terminal.ended() == 128 + signal.SIGTERM
        assert b"a=d,d=I,i=13238273" in terminal.output
        assert terminal.output.count(b"\x1b_Ga=t") == 1
