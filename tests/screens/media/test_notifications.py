"""Notifications: the form that a terminal shows, what is in it, and when the person is called."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from catena.app.attention import PATIENCE, Attention, is_away
from catena.terminal.control.replies import OscReply, Reply, VersionReply
from catena.terminal.control.sequences import (
    Notification,
    NotificationForm,
    form_by_environment,
    notification_sequence,
)
from support.screen.terminal import EXECUTABLE, Place, Terminal

ANSWERED = Notification("Fix the login", "answered", "turn-1")


@pytest.mark.parametrize(
    ("environment", "form"),
    [
        ({"TERM": "xterm-kitty"}, "osc99"),
        ({"TERM_PROGRAM": "tmux", "TERM": "tmux-256color", "KITTY_WINDOW_ID": "3"}, "osc99"),
        ({"TERM_PROGRAM": "iTerm.app"}, "osc9"),
        ({"TERM_PROGRAM": "tmux", "LC_TERMINAL": "iTerm2"}, "osc9"),
        ({"TERM_PROGRAM": "WezTerm"}, "osc777"),
        ({"TERM_PROGRAM": "ghostty"}, "osc777"),
        ({"TERM": "foot-direct"}, "osc777"),
        ({"TERM": "rxvt-unicode-256color"}, "osc777"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}, "bell"),
        ({}, "bell"),
    ],
)
def test_w25_the_form_is_the_one_that_the_terminal_shows(
    environment: Mapping[str, str], form: NotificationForm
) -> None:
    assert form_by_environment(environment) is NotificationForm(form)


def test_w25_each_form_has_the_title_and_what_happened() -> None:
    def sent(form: NotificationForm, environment: Mapping[str, str] = {}) -> str:
        return notification_sequence(ANSWERED, form, environment)

    assert sent(NotificationForm.OSC9) == "\x1b]9;Fix the login: answered\x1b\\"
    assert sent(NotificationForm.OSC777) == "\x1b]777;notify;Fix the login;answered\x1b\\"
    title, body = (base64.b64encode(text).decode() for text in (b"Fix the login", b"answered"))
    assert sent(NotificationForm.OSC99) == (
        f"\x1b]99;i=turn-1:e=1:d=0;{title}\x1b\\\x1b]99;i=turn-1:e=1:p=body;{body}\x1b\\"
    )
    assert sent(NotificationForm.BELL) == "\x07"
    assert sent(NotificationForm.OFF) == ""
    assert sent(NotificationForm.AUTO, {"TERM": "foot"}) == sent(NotificationForm.OSC777)
    tmux = sent(NotificationForm.OSC9, {"TMUX": "/tmp/t"})
    assert tmux == "\x1bPtmux;\x1b\x1b]9;Fix the login: answered\x1b\x1b\\\x1b\\\x07"
    screen = sent(NotificationForm.OSC9, {"TERM": "screen"})
    assert screen == "\x1bP\x1b]9;Fix the login: answered\x07\x1b\\\x07"


@pytest.mark.parametrize("form", [NotificationForm.OSC9, NotificationForm.OSC777, NotificationForm.OSC99])
def test_w25_nothing_in_an_agents_words_is_obeyed(form: NotificationForm) -> None:
    hostile = Notification("4;1;50;\x1b]0;x\x07\x9c", "a\x1b\\b\r\n;c\u202e" + "x" * 5_000, "turn;1:\x07")
    sequence = notification_sequence(hostile, form, {})
    bodies = re.findall(r"\x1b\](.*?)\x1b\\", sequence)
    assert "".join(f"\x1b]{body}\x1b\\" for body in bodies) == sequence
    assert all(body.isprintable() and len(body) < 1_500 for body in bodies)
    if form is NotificationForm.OSC9:  # a number in the first place is a command elsewhere: 4 is progress
        assert bodies[0].startswith("9;Catena: 4;1;50;")
    if form is NotificationForm.OSC777:
        assert bodies[0].count(";") == 3


def test_w25_the_person_is_called_where_they_do_not_look_and_once_for_an_event() -> None:
    sent: list[str] = []
    attention = Attention(NotificationForm.BELL, {}, sent.append)
    attention.call(ANSWERED, 1.0)  # nobody knows where they look, and the turn was short
    assert not sent
    attention.focus_changed(True)
    attention.call(ANSWERED, 60.0)
    assert not sent
    attention.focus_changed(False)
    attention.call(ANSWERED, 1.0)
    attention.call(ANSWERED, 1.0)
    assert sent == ["\x07"]
    assert is_away(None, PATIENCE + 1) and not is_away(None, PATIENCE)


@pytest.mark.parametrize(
    ("setting", "replies", "form"),
    [
        ("auto", [VersionReply("WezTerm 20240203")], "osc777"),
        ("auto", [VersionReply("iTerm2 3.5.0")], "osc9"),
        ("auto", [OscReply(99, "i=catena:p=?;a=focus:p=title,body"), VersionReply("foot(1.20)")], "osc99"),
        ("auto", [VersionReply("XTerm(388)"), OscReply(99, "i=other;")], "bell"),
        ("osc9", [OscReply(99, "i=catena:p=?;a=focus")], "osc9"),
    ],
)
def test_w25_the_terminals_own_word_counts_unless_there_is_a_setting(
    setting: str, replies: list[Reply], form: str
) -> None:
    attention = Attention(NotificationForm(setting), {}, lambda _: None)
    for reply in replies:
        attention.replied(reply)
    assert attention.form == form


def test_w25_a_terminal_that_has_lost_the_focus_shows_one_notification_of_an_answer(tmp_path: Path) -> None:
    with Place(tmp_path).catena("--agent", "rehearsal", TERM_PROGRAM="ghostty") as terminal:
        terminal.wait_for("Understudy")
        terminal.write("\x1bP>|kitty(0.44.1)\x1b\\\x1b]99;i=catena:p=?;a=focus:p=title,body\x1b\\")
        terminal.write("say first\r")
        terminal.wait_for("  first")
        terminal.wait_for(r"ctrl\+o history")
        assert b"\x1b]99;i=catena:p=?;\x1b\\" in terminal.output
        assert b"p=body" not in terminal.output
        terminal.write("say second\r\x1b[O")
        terminal.wait_for_output(b"p=body;" + base64.b64encode(b"answered"))
        terminal.wait_for("  second")
        assert terminal.output.count(b"p=body") == 1
        assert b"\x1b]777;" not in terminal.output


def test_w25_tmux_passes_a_notification_on_to_the_terminal_around_it(tmp_path: Path) -> None:
    if shutil.which("tmux") is None:
        pytest.skip("there is no tmux here")
    place = Place(tmp_path)
    (place.config / "config.toml").write_text('notifications = "osc777"\n')
    (options := tmp_path / "tmux.conf").write_text(
        "set -g default-terminal tmux-256color\nset -g focus-events on\nset -gq allow-passthrough on\n"
    )
    with tempfile.TemporaryDirectory(prefix="catena") as sockets:  # a socket's path must be short
        environment = place.environment | {"TMUX_TMPDIR": sockets}
        tmux = ("tmux", "-f", str(options))
        command = (*tmux, "new-session", str(EXECUTABLE), "--agent", "rehearsal")
        terminal = Terminal(command, environment=environment, cwd=place.project, columns=100, rows=30)
        try:
            terminal.wait_for("Understudy")
            terminal.write("say unseen")
            terminal.wait_for("say unseen")
            terminal.write("\r\x1b[O")
            terminal.wait_for_output(b"\x1b]777;notify;say unseen;answered\x1b\\")
        finally:
            subprocess.run((*tmux, "kill-server"), env=environment, check=False, capture_output=True)
            terminal.close()
