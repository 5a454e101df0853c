"""Lines and half blocks are drawn as this terminal can: it is asked once, as the program starts."""

from __future__ import annotations

import re
from pathlib import Path
from unicodedata import east_asian_width

import pytest
from pyte.screens import wcwidth

from catena.terminal.characters import glyphs_by_environment
from catena.terminal.control.replies import WidthReply, reply_of
from support.screen import terminal as terminals
from support.screen.terminal import EMPTY_BOX, Place, Terminal

HALF_ROWS = re.compile("[▄▀]")
ASCII_BOX = r"\| (?:Message|Ask \S|Reply to \S)"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A home and a project of their own."""
    return Place(tmp_path)


def cells_with_wide_ambiguous(character: str) -> int:
    """The cells of a character where the terminal is set for East Asian text."""
    cells: int = wcwidth(character)
    return 2 if cells == 1 and east_asian_width(character) == "A" else cells


def replied(terminal: Terminal, reply: str) -> None:
    """The terminal replies before the program has drawn anything."""
    terminal.wait_for_output(b"\x1b[6n")
    terminal.write(reply)


def test_s09_a_line_of_two_cells_is_told_from_a_key() -> None:
    assert reply_of("\x1b[2;3R") == WidthReply(2)
    assert reply_of("\x1b[2;2R") == WidthReply(1)
    assert reply_of("\x1b[1;2R") is None  # Shift+F3


def test_s09_where_ambiguous_characters_take_two_cells_lines_are_plain_and_all_letters_are_seen(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyte.screens.wcwidth", cells_with_wide_ambiguous)
    monkeypatch.setattr(terminals, "wcwidth", cells_with_wide_ambiguous)
    with place.catena("--agent", "rehearsal") as terminal:
        replied(terminal, "\x1b[2;3R")
        terminal.wait_for(ASCII_BOX)
        terminal.write("Привет, “мир” ×2")
        terminal.wait_for(r"\| Привет, \"мир\" x2 {60,}\|")
        terminal.press("enter")
        # Once the last row is whole, so is the screen: rows are drawn from the top.
        text = terminal.wait_for(r"(?s)Привет, \"мир\" x2.*Reply to.*\n\+[^\n]*\+\s*\Z")
        assert not HALF_ROWS.search(text)
        assert re.search(r"\+.*-{20,}\+", text)


def test_s09_xterm_whose_half_blocks_leave_a_line_has_none(place: Place) -> None:
    with place.catena("--agent", "rehearsal") as terminal:
        replied(terminal, "\x1bP>|XTerm(379)\x1b\\")
        terminal.wait_for(EMPTY_BOX)
        terminal.say("first")
        assert not HALF_ROWS.search(terminal.wait_for("Reply to"))
    assert glyphs_by_environment({"XTERM_VERSION": "XTerm(379)", "TERM": "xterm"}).half_rows is False
    within = {"XTERM_VERSION": "XTerm(379)", "TERM": "tmux-256color", "TMUX": "/tmp/x,1,0"}
    assert glyphs_by_environment(within).half_rows is True


def test_s09_other_terminals_have_half_rows(place: Place) -> None:
    with place.catena("--agent", "rehearsal") as terminal:
        replied(terminal, "\x1b[2;2R\x1bP>|kitty(0.44.1)\x1b\\")
        terminal.wait_for(EMPTY_BOX)
        terminal.say("first")
        assert HALF_ROWS.search(terminal.wait_for("Reply to"))
