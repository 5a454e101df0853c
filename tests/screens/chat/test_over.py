"""What waits says so, and what is over is not said any more."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from catena.mentions.index import FileIndex
from catena.screens.chat.bars.tabs import TabBar
from catena_acp.continuity.wording.problems import quiet_words
from support.screen.pilot import at_the_screen


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CATENA_REHEARSAL_HOME", str(tmp_path / "rehearsal"))


async def test_u06_a_notice_goes_with_its_tab_and_with_what_it_speaks_of(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.idle()
        person.chat.context.say("No prompts here yet.")
        await person.sees("No prompts here yet.")
        await person.new_tab()
        assert "No prompts here yet." not in person.text
        await person.answered("say first")
        await person.say("/fork")
        await person.sees("Fork this branch in this tab?")
        await person.press("enter")
        await person.sees("Your next prompt:")
        await person.tab.window.say("say second")
        await person.sees("  second")
        await person.idle()
        assert "Your next prompt:" not in person.text


async def test_u06_that_another_command_runs_is_not_said_any_more_when_it_has_ended(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), environment=os.environ) as person:
        await person.idle()
        await person.say("!sleep 1000")
        await person.until(lambda: person.area.prompt.shell.running, "the command to run")
        await person.type("!echo two")
        await person.apart()
        await person.press("enter")
        await person.sees("Another command is running")
        running = person.area.prompt.shell.running
        assert running is not None
        running.stop()  # without a key
        await person.sees_no("Another command is running")


async def test_u06_what_was_said_of_a_draft_goes_with_its_tab(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.idle()
        await person.new_tab()
        await person.type("some words")
        await person.press("ctrl+c")
        await person.sees("Cleared.")
        await person.pilot.click(TabBar, offset=(4, 0))  # without a key
        await person.looks_at(person.tabs[0])
        assert "Cleared." not in person.text


async def test_u06_what_was_said_during_a_turn_goes_when_the_next_one_begins(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("say busy; ask Go on?")
        await person.sees("Go on?")
        await person.tab.window.say("say second; hang")
        person.chat.do("pin")
        await person.sees("Pinned: first")
        await person.press("tab")
        await person.until(lambda: person.area.place == "question", "the keys to go to the question")
        await person.apart()
        await person.press("y")
        await person.sees("  second")
        assert "Pinned: first" not in person.text


async def test_u06_what_waits_between_two_turns_does_not_wait_for_the_person(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.idle()
        edges = person.area.prompt.edges
        edges.show_queued(113, held=0)
        await person.taken_in()
        assert "113 waiting" not in person.text
        edges.show_queued(113, held=113)
        await person.sees("113 waiting: Enter sends")


async def test_u06_a_long_silence_says_for_how_long_but_not_while_a_tool_runs(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("say busy; hang")
        await person.sees("  busy")
        assert "no word for" not in person.text
        person.tab.heard_at = person.tab.since = time.monotonic() - 130
        person.chat.context.presenter.refresh()
        await person.sees(f"{quiet_words(130)} · esc stops")
        await person.pilot.resize_terminal(40, 10)
        await person.sees("· esc stops · no word")  # the end is cut off
        await person.pilot.resize_terminal(100, 30)
        await person.sees(f"{quiet_words(130)} · esc stops")
        person.tab.heard_at = time.monotonic()
        await person.sees_no("no word for")
        await person.press("escape")
        await person.idle()
        await person.say("begin execute waiting; hang")
        await person.sees("Run     waiting")  # and not the prompt, which has the word before its turn begins
        person.tab.heard_at = person.tab.since = time.monotonic() - 130
        person.chat.context.presenter.refresh()
        await person.sees("2 min 1")
        assert "no word for" not in person.text


async def test_u06_what_concerns_no_tab_stays_when_another_one_is_shown(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.idle()
        await person.new_tab()
        person.chat.context.panes.say("catena.db was damaged.")
        await person.pilot.click(TabBar, offset=(4, 0))  # without a key
        await person.looks_at(person.tabs[0])
        await person.sees("catena.db was damaged.")


async def test_u06_that_files_take_long_to_list_is_not_said_any_more_when_they_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed, scan = threading.Event(), FileIndex._scan

    def slow(*args: Any) -> Any:
        listed.wait()
        return scan(*args)

    monkeypatch.setattr(FileIndex, "_scan", slow)
    async with at_the_screen(str(tmp_path)) as person:
        await person.idle()
        try:
            await person.type("@nosuch")
            await person.apart()
            await person.press("enter")
            await person.sees("Listing your files is slow.")
        finally:
            listed.set()
        await person.sees_no("Listing your files is slow.")
