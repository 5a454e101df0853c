"""Catena within real tmux and GNU screen: keys, pastes and the clipboard come through both, the mouse through tmux."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rich.color import ColorSystem
from rich.style import Style

from catena.terminal.painter.cells import Looks
from support.screen.terminal import EXECUTABLE, Place, Terminal

TMUX = """set -g default-terminal tmux-256color
set -s extended-keys on
set -g allow-passthrough on
set -s set-clipboard on
set -g focus-events on
set -g mouse on
set -g status off
set -g default-command 'exec sh'
set -as terminal-features 'xterm*:clipboard:extkeys:focus:mouse:sync:RGB'
"""
SCREEN = "startup_message off\ndefutf8 on\ntermcapinfo xterm* ti@:te@\nterm screen-256color\n"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    place.without_parking()
    return place


@contextmanager
def in_tmux(place: Place) -> Iterator[Terminal]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    settings, socket = place.home / "tmux.conf", str(place.home / "tmux")
    settings.write_text(TMUX)
    server = ("tmux", "-S", socket, "-f", str(settings))
    with within((*server, "new", f"{EXECUTABLE} --agent rehearsal"), place) as terminal:
        try:
            yield terminal
        finally:
            subprocess.run((*server, "kill-server"), env=place.environment, check=False, capture_output=True)


@contextmanager
def in_screen(place: Place, *command: str) -> Iterator[Terminal]:
    """GNU screen with Catena in it, or another command that starts one."""
    if shutil.which("screen") is None:
        pytest.skip("GNU screen is not installed")
    settings, sockets = place.home / "screenrc", place.home / "screens"
    settings.write_text(SCREEN)
    sockets.mkdir(mode=0o700)
    environment = place.environment | {"SCREENDIR": str(sockets), "SCREENRC": str(settings)}
    started = command or (str(EXECUTABLE), "--agent", "rehearsal")
    with within(
        ("screen", "-S", "catena", "-U", *started), place, SCREENDIR=str(sockets), SCREENRC=str(settings)
    ) as terminal:
        try:
            yield terminal
        finally:
            subprocess.run(
                ("screen", "-S", "catena", "-X", "quit"), env=environment, check=False, capture_output=True
            )


@contextmanager
def within(command: tuple[str, ...], place: Place, **environment: str) -> Iterator[Terminal]:
    terminal = Terminal(
        command, environment=place.environment | environment, cwd=place.project, columns=100, rows=30
    )
    try:
        terminal.wait_for("Understudy")
        terminal.wait_for("f1 help")
        yield terminal
    finally:
        terminal.close()


def write_lines_and_paste(terminal: Terminal) -> None:
    """Two lines by Ctrl+J, and a paste of two lines, none of which is sent."""
    terminal.press("o", "n", "e", "ctrl+j")
    terminal.write("two ")
    terminal.wait_for(r"│ one +│\n│ two")
    terminal.write("\x1b[200~pasted\rtext\x1b[201~")
    terminal.wait_for(r"│ one +│\n│ two pasted +│\n│ text")


def open_help_and_leave(terminal: Terminal) -> None:
    terminal.press("f1")
    terminal.wait_for("While you write")
    terminal.press("escape")
    terminal.wait_gone("While you write")


def test_s02_tmux_brings_keys_pastes_the_mouse_and_the_clipboard(place: Place) -> None:
    with in_tmux(place) as terminal:
        write_lines_and_paste(terminal)
        terminal.write("\x1b[13;2u")  # Shift+Enter
        terminal.write("third")
        terminal.wait_for(r"│ text +│\n│ third")
        open_help_and_leave(terminal)
        terminal.press("ctrl+u", "ctrl+u", "ctrl+c")
        terminal.wait_gone("pasted")
        terminal.say("stream 300 end=CURTAIN")
        terminal.wait_for(r"  [^▌\n]*CURTAIN[\s\S]*ctrl\+o history")
        terminal.write("\x1b[<64;10;5M" * 8)
        terminal.wait_for(r"↓ \d+ line")
        terminal.write("\x1b[<65;10;5M" * 12)
        terminal.wait_gone(r"↓ \d+ line")
        terminal.press("f2", "y")
        terminal.wait_for("to the terminal's clipboard")
        terminal.wait_until(
            lambda: re.search(rb"\x1b\]52;[a-z]*;[A-Za-z0-9+/=]{8,}", terminal.output) is not None, "the copy"
        )
        assert {b"?1006h", b"?2004h"} <= set(re.findall(rb"\x1b\[(\?[0-9]+h)", terminal.output))


def test_s02_screen_brings_keys_pastes_and_the_clipboard_and_gets_nothing_that_it_would_print(
    place: Place,
) -> None:
    with in_screen(place) as terminal:
        write_lines_and_paste(terminal)
        terminal.press("ctrl+c")
        terminal.wait_gone("pasted")
        terminal.say("say copied word")
        text = terminal.wait_for(r"  copied word[\s\S]*ctrl\+o history")
        assert not re.search(r"52;c|\?2026|1u\b|\]1[01];", text)
        terminal.press("f2", "y")
        terminal.wait_until(
            lambda: re.search(rb"\x1b\]52;[a-z]*;[A-Za-z0-9+/=]{8,}", terminal.output) is not None, "the copy"
        )


def test_s02_in_screen_there_are_256_colours_and_no_italics_whatever_it_inherits(place: Place) -> None:
    with place.catena("--agent", "rehearsal", TERM="screen-256color", STY="1.screen") as terminal:
        terminal.wait_for("Understudy")
        terminal.write("say **heavy** and *slanted*\r")
        terminal.wait_for("  heavy and slanted")
        assert b"38;5;" in terminal.output
        assert not re.search(rb"\x1b\[[0-9;]*[34]8;2;", terminal.output)
    looks = Looks(erases_with_background=True, italics=False)
    assert looks.of_style(Style(bold=True, italic=True), ColorSystem.EIGHT_BIT).attributes == {1}


def test_s02_shift_enter_is_a_new_line_in_the_form_of_xterm_too(place: Place) -> None:
    with place.catena("--agent", "rehearsal") as terminal:
        terminal.wait_for("Understudy")
        terminal.write("one")
        terminal.wait_for("│ one")
        terminal.write("\x1b[27;2;13~")
        terminal.write("two")
        terminal.wait_for(r"│ one +│\n│ two")


def test_s02_screen_brings_the_keys_that_open_a_page_and_leave_it(place: Place) -> None:
    with in_screen(place) as terminal:
        for _ in range(3):
            open_help_and_leave(terminal)


def test_s05_screen_which_has_no_second_screen_is_left_as_if_it_had_been_empty(place: Place) -> None:
    shell = f"{EXECUTABLE} --agent rehearsal; echo the shell; read -r line"
    with in_screen(place, "sh", "-c", shell) as terminal:
        terminal.press("ctrl+d")
        text = terminal.wait_for("the shell")
        assert "Understudy" not in text and "│" not in text
