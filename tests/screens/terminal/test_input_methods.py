"""The terminal's own cursor stands where text is typed, since an input method composes there."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.screen.terminal import EMPTY_BOX, Place, Terminal

REHEARSAL = ("--agent", "rehearsal")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    place.without_parking()
    return place


def _stands_behind(terminal: Terminal, box: str, cells: int) -> None:
    """Wait until the cursor is so many cells behind the beginning of a text on the screen."""

    def stands() -> bool:
        rows = [(line.index(box), row) for row, line in enumerate(terminal.text.split("\n")) if box in line]
        return [(column + cells, row) for column, row in rows] == [terminal.cursor]

    terminal.wait_until(stands, f"the cursor to be {cells} cells behind {box!r}")


@pytest.mark.parametrize("painter", ["on", "off"])
def test_w33_the_cursor_is_behind_what_is_composed_and_goes_along_with_its_field(
    place: Place, painter: str
) -> None:
    with place.catena(*REHEARSAL, CATENA_PAINTER=painter) as terminal:
        terminal.wait_for("Understudy")
        terminal.wait_for(EMPTY_BOX)
        composed = "漢字かな".encode()
        terminal.send(composed[:4])  # within a character
        terminal.send(composed[4:])
        terminal.wait_for("漢")
        _stands_behind(terminal, "│ 漢", 2 + 8)
        terminal.write("x\x1b[D\x1b[D")
        _stands_behind(terminal, "│ 漢", 2 + 6)
        terminal.press("ctrl+e", "ctrl+j")  # the box grows, and all of it moves up
        terminal.write("second e\u0301")
        _stands_behind(terminal, "│ second", 2 + 8)
        terminal.press("ctrl+j")
        terminal.write("w" * 100 + "z")  # more than a row
        terminal.wait_for("z  *│")
        column = terminal.at("z  ")[0] + 1
        terminal.wait_until(lambda: terminal.cursor[0] == column, "the cursor in the wrapped row")
        terminal.press("ctrl+o")  # the filter of the history
        terminal.wait_for("History")
        terminal.write("字x")
        _stands_behind(terminal, "│ 字", 2 + 3)
        terminal.press("escape")
        terminal.wait_gone("History")
        terminal.wait_until(lambda: terminal.cursor[0] == column, "the cursor back in the draft")
