"""Hang-up, suspend and resize of the real program in a real terminal: nothing is lost, everything goes on."""

from __future__ import annotations

import asyncio
import os
import signal
import termios
from pathlib import Path

import pytest

from catena_store.conversations import conversations, messages
from catena_store.database.database import Database
from catena_store.records import Kind
from support.screen.terminal import EXECUTABLE, KEYS, Place, Terminal

REHEARSAL = ("--agent", "rehearsal")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    place.without_parking()  # what is told of the first parked fork takes the place of the hints
    return place


async def answers(place: Place) -> list[str]:
    """The agent's answers that the store has, oldest first."""
    async with Database.open(place.data / "catena.db") as db, db.read() as reader:
        (conversation,) = await conversations.page(reader)
        rows = await messages.of_conversation(reader, conversation.id)
    return [row.text for row in rows if row.kind is Kind.AGENT]


def raw(terminal: Terminal) -> bool:
    """True while the terminal does not echo and hands on every key."""
    return not termios.tcgetattr(terminal._fd)[3] & (termios.ECHO | termios.ICANON)


def test_s06_suspended_in_mid_turn_it_gives_the_terminal_back_writes_nothing_and_loses_nothing(
    place: Place,
) -> None:
    log = place.home / "agent.log"
    with place.catena(*REHEARSAL, CATENA_REHEARSAL_LOG=str(log)) as terminal:
        terminal.say("stream 100; cue go-on; stream 100 end=CURTAIN")
        terminal.wait_for(r"\n  [A-Z]\w+[\s\S]*esc stop")
        terminal.write("a draft")
        terminal.wait_for("│ a draft")
        assert raw(terminal)
        terminal.signal(signal.SIGTSTP)
        terminal.wait_for_state("T")
        terminal.wait_until_quiet(0.05)
        assert terminal.output.rstrip().rpartition(b"\x1b[?1049h")[2].count(b"\x1b[?1049l") == 1
        assert b"\x1b[?25h" in terminal.output.rpartition(b"\x1b[?1049l")[2]
        assert not raw(terminal)
        place.cue("go-on")
        terminal.wait_until(lambda: "turn ended" in log.read_text(), "the agent to have said all of it")
        assert terminal.quiet(0.05) == 0
        terminal.signal(signal.SIGCONT)
        terminal.wait_for(r"\n  [^▌│\n]*CURTAIN[\s\S]*│ a draft ")
        assert raw(terminal)
        terminal.press("ctrl+u")
        terminal.wait_for(r"ctrl\+o history")  # at rest: in mid-turn the next prompt would be queued
        terminal.say("stream 100; cue go-on; stream 100 end=FINALE")
        terminal.wait_until(lambda: place.keeps_answer("%FINALE"), "the second answer to be kept")
    suspended, undisturbed = asyncio.run(answers(place))
    assert suspended.removesuffix("CURTAIN") == undisturbed.removesuffix("FINALE")


def test_s06_ctrl_z_goes_to_the_shell_whatever_is_written_and_open_and_fg_comes_back_to_the_same_screen(
    place: Place,
) -> None:
    shell = Terminal(
        ("sh", "-im"), environment=place.environment | {"PS1": "$ "}, cwd=place.project, columns=100, rows=30
    )
    try:
        shell.wait_for(r"\$")
        shell.write(f"{EXECUTABLE} --agent rehearsal\r")
        shell.wait_for("Understudy")
        shell.say("stream 50; cue go-on; stream 50 end=CURTAIN")
        shell.wait_for(r"\n  [A-Z]\w+[\s\S]*esc stop")
        shell.write("written")
        shell.wait_for("│ written")
        shell.write(" in one go" + KEYS["ctrl+z"])
        shell.wait_for("Stopped")
        shell.write("echo the shell $((40 + 2))\r")
        shell.wait_for("the shell 42")
        place.cue("go-on")
        shell.write("fg\r")
        shell.wait_for("  .*CURTAIN")
        shell.wait_for(r"│ written in one go +│\n")
        shell.press("ctrl+o")
        shell.wait_for("f9 acts")
        shell.press("ctrl+z")
        shell.wait_for("Stopped")
        shell.write("fg\r")
        shell.wait_for("f9 acts")
        shell.press("escape")
        shell.wait_for("│ written in one go")
        shell.press("ctrl+u")
        shell.wait_for(r"ctrl\+o history")  # else it asks before it quits
        shell.press("ctrl+d")
        shell.wait_for("catena --resume")
    finally:
        shell.close()


def test_s06_where_no_shell_could_bring_it_back_it_is_not_suspended(place: Place) -> None:
    with place.catena(*REHEARSAL) as terminal:
        terminal.wait_for("Understudy")
        terminal.press("ctrl+z")
        terminal.wait_for("fg could not resume it")
        assert terminal.state != "T"


def test_s06_twenty_resizes_while_an_answer_streams_lose_nothing(place: Place) -> None:
    with place.catena(*REHEARSAL) as terminal:
        terminal.say("stream 60; cue go-on; stream 200 rate 150 end=CURTAIN")
        terminal.wait_for(r"\n  [A-Z]\w+[\s\S]*esc stop")
        terminal.write("a draft")
        terminal.wait_for("│ a draft")
        place.cue("go-on")
        for number in range(20):
            terminal.resize(40 + 7 * (number * 5 % 12), 10 + number * 3 % 25)
            terminal.pump(0.02)
        terminal.resize(100, 30)
        terminal.wait_for(r"\n  [^▌│\n]*CURTAIN[\s\S]*│ a draft ")
        terminal.press("ctrl+u")
        terminal.wait_for(r"ctrl\+o history")
        terminal.say("stream 60; cue go-on; stream 200 end=FINALE")
        terminal.wait_until(lambda: place.keeps_answer("%FINALE"), "the second answer to be kept")
    resized, undisturbed = asyncio.run(answers(place))
    assert resized.removesuffix("CURTAIN") == undisturbed.removesuffix("FINALE")


def test_s06_a_line_that_is_cut_while_it_asks_leaves_the_question_the_draft_and_the_text(
    place: Place,
) -> None:
    with place.catena(*REHEARSAL) as terminal:
        terminal.say("say before; cue edited; edit notes.txt")
        terminal.wait_for("  before")
        terminal.write("unsent words")
        terminal.wait_for("│ unsent words")
        place.cue("edited")
        terminal.wait_for("tab to answer")
        terminal.wait_until(lambda: place.keeps("unsent words"), "the draft to be kept")
        terminal.hang_up()
    with place.catena() as terminal:
        terminal.wait_for("│ unsent words")
        terminal.wait_for(r"  before[\s\S]*Catena exited during this turn")
        terminal.press("ctrl+u")
        terminal.say("say going on")
        terminal.wait_for("  going on")


@pytest.mark.parametrize("trapped", [False, True])
def test_s06_a_terminal_that_is_closed_ends_it_with_status_129_without_a_word_and_keeps_everything(
    place: Place, trapped: bool
) -> None:
    errors, status = place.home / "errors", place.home / "status"
    catena = f"{EXECUTABLE} --agent rehearsal 2>{errors}"
    # Within the second shell the end of the input may come before the signal.
    command = f"trap '' HUP; {catena}; echo $? >{status}" if trapped else f"exec {catena}"
    # Where Python does not buffer, even nothing is written at the end.
    environment = {**place.environment, "PYTHONUNBUFFERED": "1"}
    shell = Terminal(("sh", "-c", command), environment=environment, cwd=place.project, columns=100, rows=30)
    shell.wait_for("Understudy")
    shell.write("unsent words")
    shell.wait_for("unsent words")
    ended = shell.hang_up()
    assert (int(status.read_text()) if trapped else ended) == 129
    assert errors.read_text() == ""
    assert place.keeps("unsent words")


def test_s06_a_hang_up_while_it_is_suspended_ends_it_and_keeps_the_tab(place: Place) -> None:
    with place.catena(*REHEARSAL) as terminal:
        terminal.say("say kept")
        terminal.wait_for("  kept")
        terminal.signal(signal.SIGTSTP)
        terminal.wait_for_state("T")
        os.kill(terminal.pid, signal.SIGHUP)
        terminal.signal(signal.SIGCONT)
        terminal.ended()
    with place.catena() as terminal:
        terminal.wait_for("  kept")
