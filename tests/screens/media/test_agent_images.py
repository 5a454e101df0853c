"""Images that agents send: kept with their message, a line on the screen, opened and saved when asked for."""

from __future__ import annotations

import base64
import os
import zlib
from collections.abc import Mapping
from itertools import count
from pathlib import Path

import pytest

from catena.desktop.files import NotOpened, OpenedFiles, open_file, opener
from catena.keys.keymap import KeyMap
from catena.settings.settings import Settings
from catena.text.call_text import image_words
from catena_acp.continuity.turns.reducer import Attach, Reducer
from catena_acp.port.images import MOST_IMAGES, ImageNote, note_of_image, pixels_of, received_image
from catena_acp.protocol.session_updates import events_of
from support.screen.pilot import at_the_screen
from support.storage.exports import AT


def png(width: int = 640, height: int = 480, more: bytes = b"") -> bytes:
    """The beginning of a PNG, which is all that anybody here reads of one."""
    size = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + size + b"\x08\x02\0\0\0" + more


def block(content: bytes, mime: str = "image/png") -> dict[str, object]:
    return {"type": "image", "mimeType": mime, "data": base64.b64encode(content).decode()}


@pytest.mark.parametrize(
    ("content", "pixels"),
    [
        (png(), (640, 480)),
        (b"GIF89a\x80\x02\xe0\x01rest", (640, 480)),
        (b"RIFF\0\0\0\0WEBPVP8X\n\0\0\0\0\0\0\0\x7f\x02\0\xdf\x01\0", (640, 480)),
        (b"\xff\xd8\xff\xe0\0\x04ab\xff\xc0\0\x0b\x08\x01\xe0\x02\x80\x01\x11\0", (640, 480)),
        (b"\xff\xd8\xff\xe0\0\0\xff\xc0", None),
        (b"\xff\xd8\xff" + b"\xff" * 100, None),
        (png()[:18], None),
        (b"GIF89a", None),
        (b"RIFF\0\0\0\0WEBP", None),
        (b"BM", None),
        (b"", None),
    ],
)
def test_w05_an_image_tells_its_size_itself(content: bytes, pixels: tuple[int, int] | None) -> None:
    assert pixels_of(content) == pixels


def test_w05_only_what_is_an_image_by_its_bytes_is_one() -> None:
    for data in ("", "????", base64.b64encode(b"<svg onload=x>").decode(), "A" * 15_000_000):
        assert received_image(data) is None
    image = received_image(base64.b64encode(png()).decode())
    assert image is not None
    assert image_words(note_of_image(image)) == "image · PNG 640×480, 29 B · Enter opens, s saves"
    bomb = received_image(base64.b64encode(png(60_000, 60_000)).decode())
    assert bomb is not None and not note_of_image(bomb).openable
    assert ImageNote.from_data(note_of_image(bomb).to_data()) == note_of_image(bomb)
    for kept in (None, {}, {"sha256": 1, "mime": "image/png"}, {"sha256": "x", "mime": "text/html"}):
        assert ImageNote.from_data(kept) is None


def _reducer() -> Reducer:
    ids = count()
    return Reducer("c", "t", "l", None, lambda: f"m{next(ids)}", lambda: AT)


def test_w05_an_image_that_is_told_again_and_again_is_stored_once_and_not_too_many_of_them() -> None:
    reducer = _reducer()

    def attached(update: Mapping[str, object]) -> int:
        ops = [op for event in events_of(update) for op in reducer.reduce(event)]
        return sum(isinstance(op, Attach) for op in ops)

    def call(*contents: bytes) -> dict[str, object]:
        blocks = [{"type": "content", "content": block(content)} for content in contents]
        return {"sessionUpdate": "tool_call_update", "toolCallId": "1", "content": blocks}

    assert attached(call(png())) == 1
    assert attached(call(png(), png(1, 1))) == 1
    assert attached(call(png(), png(1, 1))) == 0
    assert attached(call(*(png(2, height) for height in range(40)))) == MOST_IMAGES - 2
    said = {"sessionUpdate": "agent_message_chunk", "content": block(png(), "image/jpeg")}
    assert attached(said) == 1
    assert attached({"sessionUpdate": "agent_message_chunk", "content": block(b"no image")}) == 0


async def test_w05_the_image_of_an_agent_is_a_line_that_is_opened_saved_and_copied(tmp_path: Path) -> None:
    programs, project = tmp_path / "bin", tmp_path / "project"
    programs.mkdir()
    project.mkdir()
    (browser := programs / "xdg-open").write_text(
        f'#!/bin/sh\ncp "$1" {tmp_path}/seen; echo "$1" > {tmp_path}/path\n'
    )
    browser.chmod(0o755)
    environment = {"PATH": f"{programs}:{os.environ['PATH']}"}
    async with at_the_screen(str(project), environment=environment) as person:
        await person.say("screenshot")
        await person.idle()
        await person.sees(
            "image · PNG 64×48,", "Enter opens, s saves", "the page, https://example.org/page · Enter opens"
        )
        await person.browse()
        await person.press("k", "enter")
        await person.until(
            lambda: (tmp_path / "path").exists() and (tmp_path / "path").read_text().endswith("\n"),
            "the program to be started",
        )
        await person.sees("Opened.")
        await person.press("s")
        await person.sees("Saved ", "image-1.png")
        saved = (project / "image-1.png").read_bytes()
        await person.until(
            lambda: (tmp_path / "seen").exists() and (tmp_path / "seen").read_bytes() == saved, "it"
        )
        assert zlib.decompress(saved[saved.index(b"IDAT") + 4 : -16])
        await person.press("y")
        opened = (tmp_path / "path").read_text().strip()
        await person.until(lambda: person.app.clipboard == opened, "the path on the clipboard")
        await person.press("escape")
        await person.say("/save-image image-1.png")
        await person.sees("image-1.png exists; choose another name.")


async def test_w05_an_image_that_is_not_opened_is_saved_by_the_key_or_command_that_is_named(
    tmp_path: Path,
) -> None:
    settings = Settings(keys=KeyMap({"save_image": ("w",)}))
    environment = {"PATH": os.environ["PATH"], "SSH_TTY": "/dev/pts/1"}
    async with at_the_screen(str(tmp_path), environment=environment, settings=settings) as person:
        await person.say("screenshot")
        await person.idle()
        await person.say("/open-image")
        await person.sees("This terminal is on another machine. /export image saves it.")
        await person.browse()
        await person.press("k", "o")
        await person.sees("This terminal is on another machine. w saves the image.")
        await person.press("w")
        await person.sees("Saved ", "image-1.png")


def test_w05_a_file_is_not_opened_where_nobody_would_see_it(tmp_path: Path) -> None:
    with pytest.raises(NotOpened, match="another machine"):
        opener({"SSH_CONNECTION": "1 2 3 4", "PATH": os.environ["PATH"]})
    with pytest.raises(NotOpened, match="xdg-open"):
        open_file(tmp_path, {"PATH": "/nowhere"})
    files = OpenedFiles()
    assert files.write("b.png", b"").parent.stat().st_mode & 0o077 == 0
    assert files.write("a.png", b"1") == files.write("a.png", b"2")
    assert files.write("a.png", b"").read_bytes() == b"1"
