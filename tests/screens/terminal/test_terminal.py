"""The real ``catena`` in a real pseudo-terminal: what it sends, what it survives, and what it leaves behind."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sqlite3
import stat
import subprocess
import sys
import termios
import time
from contextlib import closing
from pathlib import Path

import pytest

from catena.terminal.characters import terminal_encoding
from catena_store.database.database import Database
from support.screen.terminal import DEADLINE, EMPTY_BOX, Place, Terminal

REHEARSAL = ("--agent", "rehearsal")
CRASHING = """
import sys
from catena.screens.chat.prompt.prompt_area import PromptArea
def broken(self, event): raise ZeroDivisionError("not today")
PromptArea.on_composer_sent_empty = broken
from catena.cli.main import main
sys.exit(main(["--agent", "rehearsal"]))
"""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    place.without_parking()  # what is told of the first parked fork takes the place of the hints
    return place


def processes_of(place: Place) -> list[int]:
    """Every process that was started with this place's store, itself or through an agent."""
    found = []
    wanted = f"CATENA_DATA_DIR={place.data}".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                environment = (entry / "environ").read_bytes().split(b"\0")
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if wanted in environment and state != "Z":
                found.append(int(entry.name))
    return found


def wait_until_none(place: Place) -> None:
    end = time.monotonic() + DEADLINE
    while left := processes_of(place):
        assert time.monotonic() < end, f"still there: {left}"
        time.sleep(0.02)


def test_q03_the_first_frame_needs_neither_the_sdk_nor_pydantic_nor_the_store() -> None:
    code = "import sys, catena.app.startup, catena.app.app; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = set(done.stdout.split())
    late = {
        "acp",
        "pydantic",
        "aiosqlite",
        "sqlite3",
        "markdown_it",
        "catena_store.records",
        "catena_acp.port.session_events",
        "catena_acp.trouble.reset_times",
        "email.utils",
        "json",
        "tomlkit",
        # Nothing is asked and nothing completed before the first key.
        "catena.programs.status_line",
        "catena.screens.chat.area.panel_columns",
        "catena.screens.chat.commands.table",
        "catena.settings.templates",
        "catena.widgets.band",
        "catena.widgets.completion",
        "catena.widgets.row_list",
    }
    assert not late & modules
    own = {
        module for module in modules if module.partition(".")[0] in ("catena", "catena_acp", "catena_store")
    }
    assert len(own) <= 119
    assert "textual.app" in modules


def test_q03_nothing_of_openssl_is_in_memory_though_an_agent_has_answered_or_answers_in_the_next_process(
    place: Place,
) -> None:
    for word, options in (("hello", ()), ("again", ("--continue",))):
        with place.catena(*REHEARSAL, *options, anew=True) as terminal:
            terminal.say(f"say {word}")
            terminal.wait_for(rf"  {word}[\s\S]*ctrl\+o history")
            mapped = Path(f"/proc/{terminal.pid}/maps").read_text()
        assert "_sqlite3" in mapped
        assert not re.findall(r"/(?:_ssl|_hashlib|libssl|libcrypto)\b.*", mapped)


def test_what_is_typed_before_the_first_frame_is_in_the_composer(place: Place) -> None:
    with place.catena(*REHEARSAL, anew=True) as terminal:
        terminal.write("early bird")
        terminal.wait_for("│ early bird")
        terminal.press("enter")
        terminal.wait_for("rehearsal agent")


def test_w20_a_theme_that_does_not_exist_is_named_with_file_and_line(place: Place) -> None:
    settings = place.config / "config.toml"
    settings.write_text('agent = "rehearsal"\ntheme = "nosuch"\n')
    with place.catena() as terminal:
        assert terminal.ended() == 2
        said = " ".join(terminal.output.decode().split())
    ours = "catena-dark, catena-light, catena-ink, catena-dusk, catena-sepia, catena-ansi, "
    assert f"{settings}:2: `theme` must be one of {ours}" in said


def test_idle_sends_no_bytes(place: Place) -> None:
    with place.catena(*REHEARSAL, columns=120, rows=40) as terminal:
        terminal.say("say quiet now")
        terminal.wait_for(r"  quiet now[\s\S]*ctrl\+o history")
        terminal.wait_until_quiet(1.5)


def test_over_ssh_nothing_turns_and_few_bytes_are_sent_while_an_agent_works(place: Place) -> None:
    with place.catena(*REHEARSAL, SSH_TTY="/dev/pts/1") as terminal:
        terminal.say("say working; wait 30")
        terminal.wait_for(r"  working[\s\S]*esc stop")
        assert not re.search("[◓◑◒]", terminal.text)
        assert terminal.quiet(2.0) < 1_000
        assert not re.search("[◓◑◒]", terminal.text)


def test_w20_the_terminal_is_asked_for_its_background_and_a_light_one_is_honoured(place: Place) -> None:
    with place.catena(*REHEARSAL) as terminal:
        terminal.wait_for_output(b"\x1b]11;?")
        terminal.wait_for(EMPTY_BOX)
        assert b"38;2;87;97;107" not in terminal.output
        terminal.write("\x1b]11;rgb:fafa/fafa/f0f0\x1b\\")
        terminal.wait_for_output(b"38;2;87;97;107")
        assert re.search(EMPTY_BOX, terminal.text)


def test_w20_an_answer_that_is_there_before_the_first_frame_is_in_it(place: Place) -> None:
    with place.catena(*REHEARSAL) as terminal:
        terminal.write("\x1b]11;rgb:fafa/fafa/f0f0\x1b\\")
        terminal.wait_for(EMPTY_BOX)
        assert b"38;2;87;97;107" in terminal.output
        assert b"38;2;111;179;200" not in terminal.output


def test_what_is_typed_before_the_first_frame_is_taken_around_the_terminals_answer(place: Place) -> None:
    with place.catena(*REHEARSAL) as terminal:
        terminal.write("say ear\x1b]11;rgb:fafa/fafa/f0f0\x1b\\ly")
        terminal.wait_for("│ say early")


def test_s01_no_color_means_none(place: Place) -> None:
    with place.catena(*REHEARSAL, NO_COLOR="1") as terminal:
        terminal.say("code python; edit! notes.txt")
        terminal.wait_for(r"Edit    notes.txt[\s\S]*ctrl\+o history")
        colours = re.findall(rb"\x1b\[[\d;]*?(?:[34][0-7]|9[0-7]|10[0-7]|[34]8;)[\d;]*m", terminal.output)
        assert not colours


def test_s01_in_a_plain_locale_every_mark_box_and_rule_is_ascii(place: Place) -> None:
    with place.catena(LC_ALL="C", rows=40) as terminal:
        terminal.wait_for(r"o-o-o catena[\s\S]*\+-{50}[\s\S]*\| Ask Rehearsal .* - f1 help \|")
        terminal.press("enter")
        terminal.wait_for(r"Rehearsal is ready")
        terminal.write("think; fail execute x; table; todo; say é — “done”…")
        terminal.press("enter")
        text = terminal.wait_for(r"\n  e - \"done\"")
        assert "\n> Thought" in text and "\nx Run" in text
        for key, shown in (("ctrl+p", r"\+ Commands -"), ("f1", "Help"), ("ctrl+o", r"\+ History")):
            terminal.press(key)
            terminal.wait_for(shown)
            terminal.press("escape")
            terminal.wait_for(r"\| Reply to Rehearsal")
        terminal.write("say two")
        terminal.press("enter")
        terminal.wait_for(r"  two")
        terminal.press("f2")
        terminal.write("t")
        terminal.wait_for(r"\+ Tree -[\s\S]*\* think;[\s\S]*@ say two")
    assert terminal.output.isascii()


@pytest.mark.parametrize(
    ("locale", "encoding"),
    [
        ({}, "utf-8"),
        ({"LANG": "en_GB"}, "utf-8"),
        ({"LANG": "de_DE.ISO-8859-1"}, "iso8859-1"),
        ({"LANG": "C"}, "ascii"),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, "ascii"),  # as Python leaves it
        ({"LANG": "C", "LC_ALL": "C.UTF-8"}, "utf-8"),
        ({"LC_ALL": "POSIX", "LANG": "en_GB.UTF-8"}, "ascii"),
        ({"LC_CTYPE": "UTF-8"}, "utf-8"),
        ({"LANG": "x.no-such-charset"}, "utf-8"),
    ],
)
def test_s01_a_terminal_reads_utf_8_unless_its_locale_names_something_else(
    locale: dict[str, str], encoding: str
) -> None:
    assert terminal_encoding(locale) == encoding
    assert terminal_encoding(locale, "latin-1") == "iso8859-1"


def test_a_large_paste_is_taken_at_once_and_sent_whole(place: Place) -> None:
    with place.catena(*REHEARSAL) as terminal:
        terminal.wait_for("Understudy")
        lines = "\r".join(f"say line {number}" for number in range(3_000))
        terminal.write_all(f"\x1b[200~{lines}\x1b[201~")
        terminal.wait_for(r"\[pasted 3,000 lines\]")
        terminal.press("enter")
        terminal.wait_for("  line 2999")


def test_w23_a_burst_of_raw_keys_is_one_message(place: Place) -> None:
    with place.catena(*REHEARSAL) as terminal:
        terminal.wait_for("Understudy")
        terminal.write("say one\rsay two\rsay three\r")
        text = terminal.wait_for("say three")
        assert "▌" not in text
        terminal.press("enter")
        text = terminal.wait_for("  three")
        assert text.count("▌ say one") == 1


def test_w23_what_an_input_method_types_stays_whole(place: Place) -> None:
    family = "👩\u200d👩\u200d👧\u200d👦"
    flag = "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
    typed = ("say ", family, " ", flag, " 10", "\xa0", "km ", "❤\ufe0f\u200d🔥", " می", "\u200c", "خواهم")
    with place.catena(*REHEARSAL) as terminal:
        terminal.wait_for("Understudy")
        for text in typed:
            terminal.write(text)
            terminal.wait_until_read()
        terminal.press("enter")
        answer = "".join(typed).removeprefix("say ")
        terminal.wait_until(lambda: place.keeps_answer(answer), "the answer to be kept")


def test_w23_a_bracketed_paste_is_one_message_and_its_control_characters_are_seen(place: Place) -> None:
    with place.catena(*REHEARSAL) as terminal:
        terminal.wait_for("Understudy")
        terminal.write("\x1b[200~say one\rsay\x07 two\r\x1b[201~")
        text = terminal.wait_for("say␇ two")
        assert "▌" not in text


def test_w24_the_external_editor_gets_the_text_and_gives_it_back(place: Place, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed "s/draft/finished text/" "$1" > "$1.new" && mv "$1.new" "$1"\n')
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    with place.catena(*REHEARSAL, EDITOR=str(editor)) as terminal:
        terminal.wait_for("Understudy")
        terminal.write("say a draft")
        terminal.wait_for("│ say a draft")
        terminal.press("ctrl+g")
        terminal.wait_for("│ say a finished text")
        terminal.press("enter")
        terminal.wait_for("  a finished text")


def test_w24_an_editor_that_is_not_there_is_said_and_the_text_stays(place: Place) -> None:
    with place.catena(*REHEARSAL, EDITOR="no-such-editor") as terminal:
        terminal.wait_for("Understudy")
        terminal.write("keep this")
        terminal.wait_for("│ keep this")
        terminal.press("ctrl+g")
        terminal.wait_for("no-such-editor cannot be started")
        terminal.wait_for("│ keep this")


@pytest.mark.parametrize(
    ("writes", "words"),
    [
        ("printf 'say caf\\351' >\"$1\"", "│ say café"),
        ('rm "$1"', "left no readable text (No such file or directory); your text is unchanged."),
        ('rm "$1"; mkdir "$1"', "left no readable text (Is a directory); your text is unchanged."),
    ],
)
def test_w24_whatever_an_editor_leaves_the_text_is_whole(
    place: Place, tmp_path: Path, writes: str, words: str
) -> None:
    editor = tmp_path / "editor"
    editor.write_text(f"#!/bin/sh\n{writes}\n")
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    with place.catena(*REHEARSAL, EDITOR=str(editor), columns=200) as terminal:
        terminal.wait_for("Understudy")
        terminal.write("keep this")
        terminal.wait_for("│ keep this")
        terminal.press("ctrl+g")
        terminal.wait_for_words(words)
        if "café" not in words:
            terminal.wait_for("│ keep this")


def test_h10_leaving_prints_one_line_and_that_command_comes_back(place: Place) -> None:
    with place.catena(*REHEARSAL) as terminal:
        terminal.say("say remember me")
        terminal.wait_for(r"  remember me[\s\S]*ctrl\+o history")
        terminal.press("ctrl+d")
        assert terminal.ended() == 0
        found = re.search(rb"catena --resume (\w+)", terminal.output)
        assert found is not None
    with place.catena("--resume", found[1].decode()) as terminal:
        terminal.wait_for("  remember me")
    with place.catena("--continue") as terminal:
        terminal.wait_for("  remember me")


def test_m06_killing_the_client_in_the_middle_loses_no_tab_no_text_and_no_draft(place: Place) -> None:
    with place.catena(*REHEARSAL) as terminal:
        terminal.say("say the first tab")
        terminal.wait_for("  the first tab")
        terminal.press("ctrl+t")
        terminal.wait_for(" 2 new")
        terminal.say("say half of the answer; hang")
        terminal.wait_for("  half of the answer")
        terminal.write("a draft meanwhile")
        terminal.wait_for("│ a draft meanwhile")
        terminal.wait_until(lambda: place.keeps("a draft meanwhile"), "the draft to be kept")
        terminal.wait_until(lambda: place.keeps_answer("half of the answer"), "the answer to be kept")
        terminal.signal(signal.SIGKILL)
    wait_until_none(place)
    with place.catena() as terminal:
        terminal.wait_for("│ a draft meanwhile")
        terminal.wait_for(r"  half of the answer[\s\S]*Catena exited during this turn")
        terminal.wait_for("1 say the first tab")
        terminal.press("ctrl+pageup")
        terminal.wait_for("  the first tab")


def test_r04_an_agent_that_is_killed_in_the_middle_keeps_its_words_on_the_screen(place: Place) -> None:
    with place.catena(*REHEARSAL) as terminal:
        terminal.say("say said before; hang")
        terminal.wait_for("  said before")
        agents = [pid for pid in processes_of(place) if _is_rehearsal(pid)]
        assert agents
        for pid in agents:
            os.kill(pid, signal.SIGKILL)
        terminal.wait_for(r"  said before[\s\S]*killed by signal 9")
        terminal.say("say and again")
        terminal.wait_for("  and again")


def _is_rehearsal(pid: int) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:  # it has ended meanwhile
        return False
    return b"catena_acp.rehearsal" in words and b"-m" in words[:3]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_s06_a_signal_ends_it_cleanly_and_leaves_no_process(place: Place, number: int) -> None:
    with place.catena(*REHEARSAL) as terminal:
        terminal.say("say here; hang")
        terminal.wait_for("  here")
        terminal.write("still unsent")
        terminal.wait_for("│ still unsent")
        terminal.signal(number)
        assert terminal.ended() == 128 + number
        assert b"\x1b[?1049l" in terminal.output
    wait_until_none(place)
    with place.catena() as terminal:
        terminal.wait_for("│ still unsent")
        terminal.wait_for("  here")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("begun", [False, True])
def test_s06_a_signal_before_the_first_tab_is_there_prints_what_was_typed(
    place: Place, number: int, begun: bool
) -> None:
    place.data.mkdir()
    if begun:
        asyncio.run(create(place.data / "catena.db"))
    with closing(sqlite3.connect(place.data / "catena.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE" if begun else "BEGIN EXCLUSIVE")
        with place.catena(*REHEARSAL) as terminal:
            terminal.say("said early")
            terminal.wait_gone("said early")  # else the two are one paste
            terminal.write("still unsent")
            terminal.wait_for("still unsent")
            terminal.signal(number)
            terminal.wait_for_output(b"\x1b[?1049l")
            other.execute("ROLLBACK")
            assert terminal.ended() == 128 + number
            _, _, left = terminal.output.partition(b"\x1b[?1049l")
    assert b"Unsaved text:\r\nsaid early\r\nstill unsent\r\n" in left
    assert b"Traceback" not in left
    wait_until_none(place)


async def create(path: Path) -> None:
    async with Database.open(path):
        pass


def test_s06_a_terminal_that_hangs_up_in_the_middle_leaves_no_process_and_everything_resumable(
    place: Place,
) -> None:
    with place.catena(*REHEARSAL) as terminal:
        terminal.say("stream 4000 rate 100")
        terminal.wait_for(r"\n  [A-Z]\w+[\s\S]*esc stop")
        terminal.hang_up()
        wait_until_none(place)
    with place.catena() as terminal:
        terminal.wait_for("Catena exited during this turn")


@pytest.mark.parametrize("way", ["ctrl+d", "/quit", "signal"])
def test_s06_who_ended_a_turn_is_said(place: Place, way: str) -> None:
    with place.catena(*REHEARSAL) as terminal:
        terminal.say("say half of it; hang")
        terminal.wait_for("  half of it")
        match way:
            case "ctrl+d":
                terminal.press("ctrl+d", "ctrl+d")
            case "/quit":
                terminal.say("/quit")
                terminal.wait_for("/quit again stops it")
                terminal.say("/quit")
            case _:
                terminal.signal(signal.SIGTERM)
        wait_until_none(place)
    with place.catena() as terminal:
        who = "Catena exited" if way == "signal" else "You quit"
        terminal.wait_for(rf"half of it[\s\S]*{who} during this turn")


def test_s05_an_error_of_our_own_restores_the_terminal_and_is_written_down(place: Place) -> None:
    terminal = Terminal(
        (sys.executable, "-c", CRASHING),
        environment=place.environment,
        cwd=place.project,
        columns=80,
        rows=24,
    )
    try:
        terminal.wait_for("Understudy")
        assert termios.tcgetattr(terminal._fd)[3] != terminal.first_modes[3]
        terminal.press("enter")
        assert terminal.ended() == 1
        for left in (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1003l", b"\x1b[?2004l", b"\x1b[<u"):
            assert left in terminal.output
        assert b"catena: internal error (ZeroDivisionError: not today). Details:" in terminal.output
        assert b"Traceback" not in terminal.output
    finally:
        terminal.close()
    log = (place.data / "catena.log").read_text()
    assert "ZeroDivisionError: not today" in log
    assert "Traceback" in log
    wait_until_none(place)


def test_s01_the_mouse_the_wheel_and_another_size_work_in_a_real_terminal(place: Place) -> None:
    with place.catena(*REHEARSAL, columns=80, rows=24) as terminal:
        terminal.say("history 3; stream 300 end=CURTAIN")
        terminal.wait_for(r"  [^\n]*CURTAIN[\s\S]*ctrl\+o history")
        for _ in range(8):
            terminal.write("\x1b[<64;10;5M")
        terminal.wait_gone("CURTAIN")
        terminal.resize(40, 10)
        terminal.wait_gone("f1 help")
        terminal.wait_for(EMPTY_BOX)
        terminal.resize(120, 40)
        terminal.wait_for("f1 help")


def test_a_store_that_cannot_be_opened_is_said_in_one_line(place: Place) -> None:
    place.data.mkdir()
    (place.data / "catena.db").write_bytes(b"this is no database" * 100)
    with place.catena(*REHEARSAL) as terminal:
        assert terminal.ended() != 0
        assert b"catena.db" in terminal.output
        assert b"Traceback" not in terminal.output
