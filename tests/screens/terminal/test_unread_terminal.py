"""A terminal that does not read: everything goes on behind it, and it sees the newest state when it reads again."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from support.screen.terminal import DEADLINE, Place, Terminal

REHEARSAL = ("--agent", "rehearsal")
FLOOD = (
    "stream 240 rate 80; cue flooded; say the rest of it; cue go-on; say done so far; stream 20 end=CURTAIN"
)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    place.without_parking()  # what is told of the first parked fork takes the place of the hints
    return place


def unread_until(true: Callable[[], bool], what: str) -> None:
    """Wait without reading the terminal."""
    end = time.monotonic() + DEADLINE
    while not true():
        assert time.monotonic() < end, f"waited for {what}"
        time.sleep(0.01)


def is_over(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def full_frames(place: Place) -> AbstractContextManager[Terminal]:
    """Catena where each frame is written whole, so that a terminal is soon full that does not read."""
    return place.catena(*REHEARSAL, columns=200, rows=60, CATENA_PAINTER="off")


def stop_reading(terminal: Terminal, place: Place) -> None:
    """Read nothing while more comes than a terminal holds."""
    terminal.wait_for("Understudy")
    terminal.say(FLOOD)
    terminal.wait_for(r"\n +[A-Z]\w+[\s\S]*esc stop")
    place.cue("flooded")
    unread_until(lambda: place.keeps_answer("%the rest of it"), "the answer to be kept")
    for _ in range(10):  # each time all of the screen is drawn: together more than may wait
        terminal.signal(signal.SIGWINCH)
        time.sleep(0.1)


def test_a_terminal_that_does_not_read_holds_up_nothing_and_sees_the_newest_state_when_it_reads(
    place: Place,
) -> None:
    with full_frames(place) as terminal:
        stop_reading(terminal, place)
        place.cue("go-on")
        unread_until(lambda: place.keeps_answer("%done so far"), "the last answer to be kept")
        terminal.wait_for(r"  .*CURTAIN[\s\S]*ctrl\+o history")
        terminal.say("say as ever")
        terminal.wait_for("  as ever")


REPORTED_TWICE = """\
import threading
from catena.terminal.driver import TerminalDriver

report = TerminalDriver._report_recovery

def twice(driver):
    report(driver)
    threading.Timer(0.3, report, (driver,)).start()

TerminalDriver._report_recovery = twice
"""


def test_a_terminal_that_was_behind_twice_before_it_was_drawn_for_is_not_left_empty(
    place: Place, tmp_path: Path
) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(REPORTED_TWICE)
    patched = str(tmp_path / "site")
    with place.catena(*REHEARSAL, columns=200, rows=60, CATENA_PAINTER="off", PYTHONPATH=patched) as terminal:
        stop_reading(terminal, place)
        place.cue("go-on")
        unread_until(lambda: place.keeps_answer("%CURTAIN"), "the end of the turn to be kept")
        terminal.wait_for(r"  .*CURTAIN[\s\S]*ctrl\+o history")
        terminal.pause(1.0)
        assert "CURTAIN" in terminal.text


def test_a_signal_ends_it_though_the_terminal_does_not_read_and_the_terminal_is_as_before(
    place: Place,
) -> None:
    with full_frames(place) as terminal:
        stop_reading(terminal, place)
        terminal.signal(signal.SIGTERM)
        unread_until(lambda: is_over(terminal.pid), "it to end")
        assert terminal.ended() == 128 + signal.SIGTERM
        assert terminal.output.rpartition(b"\x1b[?1049h")[2].count(b"\x1b[?1049l") == 1
        assert b"catena --resume" in terminal.output
