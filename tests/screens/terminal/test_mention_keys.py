"""Mentions and shell commands at the end of a real pty: keys that come at once mean what they mean apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from catena_acp.process_group import process_start_time
from support.clients.command_line import wait_until
from support.screen.terminal import EMPTY_BOX, Place, Terminal

REHEARSAL = ("--agent", "rehearsal")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    place.without_parking()
    (place.project / "src").mkdir()
    (place.project / "src/application.py").write_text("print('hello')\n")
    (place.project / "README.md").write_text("# Shop\n")
    return place


def ready(terminal: Terminal) -> None:
    terminal.wait_for("Understudy")
    terminal.wait_for(EMPTY_BOX + r"[^\n]*@ files")


@pytest.mark.parametrize("key", ["\r", "\t"])
def test_w04_a_mention_and_the_key_that_takes_it_in_one_write(place: Place, key: str) -> None:
    with place.catena(*REHEARSAL) as terminal:
        ready(terminal)
        terminal.write(f"@app{key}")
        terminal.wait_for(r"│ @src/application\.py ")
        terminal.write("say so")
        terminal.wait_for(r"│ @src/application\.py say so")


def test_w04_what_no_file_fits_is_sent_by_its_enter(place: Place) -> None:
    with place.catena(*REHEARSAL) as terminal:
        ready(terminal)
        terminal.write("say to @nobodyatall\r")
        terminal.wait_for(r"▌ say to @nobodyatall")
        terminal.wait_for("  to @nobodyatall")


def test_w05_raw_keys_that_end_with_enter_run_no_command_until_enter_is_pressed(place: Place) -> None:
    made = place.project / "made"
    with place.catena(*REHEARSAL, SHELL="/bin/sh") as terminal:
        ready(terminal)
        terminal.write("!touch made; echo done\r")
        terminal.wait_for("Press Enter again to run")
        terminal.wait_until_quiet(0.2)
        assert not made.exists()
        terminal.press("enter")
        terminal.wait_for(r"\$ touch made; echo done")
        wait_until(made.exists)  # the row of a command is drawn when it starts


def test_w05_a_command_ends_with_catena(place: Place) -> None:
    with place.catena(*REHEARSAL, SHELL="/bin/sh") as terminal:
        ready(terminal)
        terminal.write("!echo $$ > pid; echo begun; exec sleep 1000")
        terminal.wait_for("shell command")
        terminal.wait_until_quiet(0.2)
        terminal.press("enter")
        terminal.wait_for("  begun")
        pid = int((place.project / "pid").read_text())
        terminal.press("ctrl+d")
        assert terminal.ended() == 0
    wait_until(lambda: process_start_time(pid) is None)  # who buries it is a matter of the system
