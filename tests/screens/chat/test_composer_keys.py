"""The keys of the composer: clear, undo, the end of the transcript, quitting, and commands that nobody knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.screen.pilot import at_the_screen
from support.screen.terminal import KEYS, Place


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))


def written(*keys: str) -> str:
    """Keys as a terminal sends them, in one write."""
    return "".join(KEYS.get(key, key) for key in keys)


@pytest.mark.parametrize("key", ["\x1f", "\x1b[45;6u"], ids=["legacy", "kitty"])
def test_ctrl_underscore_undoes_typing_and_never_suspends(tmp_path: Path, key: str) -> None:
    with Place(tmp_path).catena("--agent", "rehearsal") as terminal:
        terminal.wait_for("Understudy")
        terminal.write(f"one\x1b[D{key}")
        terminal.wait_for("> Message")
        terminal.write(f"{key}two")
        terminal.wait_for("> two")


def test_ctrl_c_clears_the_draft_and_the_arrow_up_in_the_same_write_brings_it_back(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.without_parking()
    with place.catena("--agent", "rehearsal") as terminal:
        terminal.wait_for("Understudy")
        terminal.say("say a beginning")
        terminal.wait_for(r"│ a beginning[\s\S]*ctrl\+o history")
        terminal.write(written(*"say a thought", "ctrl+c"))
        terminal.wait_for(r"> Message\n[\s\S]*Cleared")
        terminal.press("up")
        terminal.wait_for("> say a thought")
        terminal.write(written("ctrl+c", "up", "up", "down", "enter"))
        terminal.wait_for(r"▌ say a thought[\s\S]*│ a thought[\s\S]*ctrl\+o history")
    with place.catena() as terminal:
        terminal.wait_for(r"│ a thought")
        terminal.press("up")
        terminal.wait_for("> say a thought")


async def test_ctrl_c_clears_before_it_stops_and_a_cleared_draft_comes_back_before_what_waits(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.idle()
        await person.press("ctrl+c")
        await person.sees("Press Ctrl+D or type /quit to quit.")
        await person.say("say busy; hang")
        await person.sees("│ busy")
        await person.say("say later")
        await person.sees("next  say later")
        await person.type("half a thought")
        await person.press("ctrl+c")
        assert (person.draft, person.tab.busy) == ("", True)
        await person.press("up")
        await person.until(lambda: person.draft == "half a thought", "the draft to be back")
        await person.press("ctrl+c", "ctrl+underscore")
        assert person.draft == "half a thought", "undo brings it back, too"
        await person.press("ctrl+c", "ctrl+c")
        await person.sees("1 waiting: Enter sends, Ctrl+N opens it")
        assert [item.held for item in person.tab.queue] == [True]


async def test_ctrl_c_copies_what_is_selected_in_the_composer_and_leaves_it_there(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.type("half a thought")
        await person.press("shift+home", "ctrl+c")
        await person.sees("Sent 14 characters to the terminal for its clipboard")
        assert person.draft == "half a thought"


async def test_a_draft_that_is_cleared_while_an_earlier_input_is_shown_is_not_lost(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.answered("say one")
        await person.type("my draft")
        await person.press("up", "ctrl+c", "up")
        await person.until(lambda: person.draft == "say one", "what was cleared")
        await person.press("up")
        await person.until(lambda: person.draft == "my draft", "the draft that it was shown instead of")


def test_escape_holds_what_waits_and_enter_sends_it_also_in_one_write(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.without_parking()
    with place.catena("--agent", "rehearsal") as terminal:
        terminal.wait_for("Understudy")
        terminal.say("say busy; hang")
        terminal.wait_for("│ busy")
        for text in ("say one", "say two"):
            terminal.say(text)
            terminal.wait_for(f"next  {text}")
        terminal.press("escape")
        terminal.wait_for("2 waiting: Enter sends, Ctrl\\+N opens them")
        terminal.wait_until_quiet(0.2)
        assert "held  say one" in terminal.text
        terminal.write(written("x", "ctrl+c", "enter"))
        terminal.wait_for(r"│ one[\s\S]*│ two[\s\S]*ctrl\+o history")
