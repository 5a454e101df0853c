"""Whatever an agent sends, only newlines, tabs and the bell reach the terminal."""

from __future__ import annotations

from pathlib import Path

from support.clients.command_line import Catena
from support.clients.listening import told

STORY = (
    "escape",
    "/read 1",
    "/show 2",
    "/plan",
    "/files",
    "/changes",
    "/tree",
    "/options",
    "",
    "/context",
    "say \x1b]0;mine\x07 a title; title \x1b[2Jtitle",
    "/tabs",
    "/rename \x1b[31mred",
    "/history",
    "/inputs",
    "/chain",
    "/nosuch\x1b[2J",
    "/open \x1b[2J",
    "/checkpoint \x07\x08label",
    "/checkpoints",
    "garbage; say It goes on.",
)


def test_s04_no_byte_below_a_space_but_newline_tab_and_bell_is_written(tmp_path: Path) -> None:
    said = told(Catena(tmp_path), *STORY, level="verbose")
    allowed = {*b"\n\t\a"}
    assert {byte for byte in said if byte < 0x20 or byte == 0x7F} <= allowed
    text = said.decode()  # nor one that counts as such in other encodings
    assert not [each for each in text if 0x80 <= ord(each) < 0xA0 or 0x202A <= ord(each) <= 0x202E]
    assert "Done: " in text and "It goes on." in text
