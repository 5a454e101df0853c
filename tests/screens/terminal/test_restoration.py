"""The terminal as it is when the program is gone, suspended or resized: every mode that was set is set back."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import termios
from pathlib import Path

import pytest

from support.screen.modes import changed_modes
from support.screen.terminal import EXECUTABLE, KEYS, Place, Terminal

REHEARSAL = ("--agent", "rehearsal")
MODERN = "\x1b[?2048;2$y\x1b[?2026;2$y\x1b[?5522;2$y"  # replies: resizes, whole frames and pastes by types can be had


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    place.without_parking()
    return place


def use_all(terminal: Terminal) -> None:
    """Let the terminal be one that has every mode that is asked for, and all of them be set."""
    terminal.wait_for("Understudy")
    terminal.write(MODERN)
    for mode in (b"2048", b"1016", b"5522"):
        terminal.wait_for_output(b"\x1b[?" + mode + b"h")
    assert {"?1049", "?25", "?2004", "?1004", "keys"} <= changed_modes(terminal.output)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1])
def test_s05_a_signal_that_would_kill_it_restores_every_mode_and_keeps_the_draft(
    place: Place, number: int
) -> None:
    with place.catena(*REHEARSAL) as terminal:
        use_all(terminal)
        terminal.write("still unsent")
        terminal.wait_for("│ still unsent")
        terminal.signal(number)
        assert terminal.ended() == 128 + number
        assert changed_modes(terminal.output) == set()
        assert termios.tcgetattr(terminal._fd) == terminal.first_modes
    assert place.keeps("still unsent")


def test_s05_in_the_terminal_of_a_killed_catena_letters_and_enter_are_still_themselves(place: Place) -> None:
    with place.catena(*REHEARSAL) as terminal:
        use_all(terminal)
        terminal.signal(signal.SIGKILL)
        assert terminal.ended() == -signal.SIGKILL
        # Flags of kitty's protocol: 8 would make sequences of all keys, so that no command could be typed.
        assert re.findall(rb"\x1b\[[>=]([0-9]+)[;0-9]*u", terminal.output) == [b"5"]


def test_s05_while_it_is_suspended_no_mode_is_left_and_afterwards_each_is_back(place: Place) -> None:
    shell = Terminal(
        ("sh", "-im"), environment=place.environment | {"PS1": "$ "}, cwd=place.project, columns=100, rows=30
    )
    try:
        shell.wait_for(r"\$")
        shell.write(f"{EXECUTABLE} --agent rehearsal\r")
        use_all(shell)
        before = changed_modes(shell.output) - {"?2026"}
        shell.write(KEYS["ctrl+z"])
        shell.wait_for("Stopped")
        assert changed_modes(shell.output) == set()
        shell.write("fg\r")
        shell.wait_for("Understudy")
        shell.write(MODERN)
        shell.wait_until(lambda: before <= changed_modes(shell.output), "every mode to be set again")
        shell.press("ctrl+d")
        shell.wait_until(lambda: changed_modes(shell.output) == set(), "every mode to be set back")
    finally:
        shell.close()


@pytest.mark.skipif(
    shutil.which("bash") is None, reason="takes a shell that sets the terminal back by itself"
)
def test_s06_stopped_without_a_word_it_takes_the_terminal_back_from_the_shell_by_fg(place: Place) -> None:
    environment = place.environment | {"PS1": "$ "}
    shell = Terminal(
        ("bash", "--norc", "-i"), environment=environment, cwd=place.project, columns=100, rows=30
    )
    try:
        shell.wait_for(r"\$")
        shell.write(f"{EXECUTABLE} --agent rehearsal\r")
        shell.wait_for("Understudy")
        shell.write("a draft")
        shell.wait_for("│ a draft")
        raw = termios.tcgetattr(shell._fd)[:4]
        (catena,) = Path(f"/proc/{shell.pid}/task/{shell.pid}/children").read_text().split()
        os.kill(int(catena), signal.SIGSTOP)
        shell.wait_for(r"Stopped[\s\S]*\$")
        shell.write("fg\r")
        shell.wait_gone("Stopped")
        shell.write(" and more")
        shell.wait_for("│ a draft and more")
        assert termios.tcgetattr(shell._fd)[:4] == raw
    finally:
        shell.close()


def test_s05_what_ctrl_c_and_ctrl_backslash_send_within_the_editor_is_not_for_us(
    place: Place, tmp_path: Path
) -> None:
    editor = tmp_path / "editor"
    # It stands for one that takes the keys itself: the terminal sends the signals to all of its programs.
    editor.write_text(
        "#!/bin/sh\ntrap '' INT QUIT\nkill -INT $PPID; kill -QUIT $PPID\nprintf 'edited' > \"$1\"\n"
    )
    editor.chmod(0o700)
    with place.catena(*REHEARSAL, EDITOR=str(editor), VISUAL=str(editor)) as terminal:
        terminal.wait_for("Understudy")
        terminal.press("ctrl+g")
        terminal.wait_for("│ edited")
        terminal.write(" and on")
        terminal.wait_for("│ edited and on")


def test_s06_a_storm_of_five_hundred_sizes_down_to_one_cell_loses_nothing(place: Place) -> None:
    chance = random.Random(6)
    widths, heights = (1, 1, 2, 3, 5, 10, 40, 80, 200), (1, 1, 2, 3, 5, 10, 24, 60)
    with place.catena(*REHEARSAL) as terminal:
        terminal.say("stream 100 rate 100; cue calm; say CURTAIN")
        terminal.wait_for(r"\n  [A-Z]\w+[\s\S]*esc stop")
        terminal.write("a draft")
        terminal.wait_for("│ a draft")
        for _ in range(500):
            terminal.resize(chance.choice(widths), chance.choice(heights))
            terminal.pump(0)
        terminal.resize(1, 1)
        terminal.write(" that goes on")
        terminal.wait_until_read()
        place.cue("calm")
        terminal.wait_until(lambda: place.keeps_answer("%CURTAIN"), "the answer to be kept")
        terminal.resize(100, 30)
        terminal.wait_for(r"  .*CURTAIN[\s\S]*│ a draft that goes on ")
