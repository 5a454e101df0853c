"""What may stand behind a command is the same on the screen and in linear mode."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from catena.acts.table import ACTS
from catena.screens.commands.help import HelpScreen
from catena.screens.history.picker import HistoryScreen
from catena.settings.settings import load_settings
from support.clients.command_line import Catena, newest
from support.clients.conversing import converse, furnish
from support.screen.pilot import at_the_screen

_UNDO = (
    ("/undo", "undo the last edit, fork, rename or close"),
    ("/undo redo", "redo what was undone"),
    ("/undo list", "list what can be undone"),
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with furnish(tmp_path, monkeypatch) as project:
        yield project


async def test_u06_a_question_of_another_tab_takes_nothing_from_the_time_of_a_turn(project: Path) -> None:
    works = ("▸begin execute make; cue go; say Over.", *["▹/queue"] * 4, "¶give go")
    told = await converse(("▸say Before.", "▸/new", "▸ask May I?", "▸/tabs go 1", *works, "▸"), project)
    assert "Done: 2 seconds, 1 tool" in told, told


def test_words_are_taken_behind_a_command_on_both_fronts_or_on_neither() -> None:
    """A number apart: messages have one in linear mode alone."""
    for act in ACTS:
        if act.screen is not None and act.lines is not None and act.by_name:
            screen, lines = (front.argument.replace("[N]", "").strip() for front in (act.screen, act.lines))
            assert bool(screen) is bool(lines), act.name


async def test_the_help_of_one_command_is_the_same_on_every_surface(project: Path) -> None:
    told = await converse(("▸/help undo", "▸/help /", "▸/help nosuch"), project)
    for usage, does in _UNDO:
        assert f"{usage}: {does}" in told
    missing = "There is no command nosuch; /help all lists them."
    assert missing in told
    async with at_the_screen(str(project), settings=load_settings()) as person:
        await person.first_tab()
        await person.idle()
        await person.say("/help nosuch")
        await person.sees(missing)
        await person.say("/help undo")
        shown = await person.sees_dialog(HelpScreen)
        text = await person.sees(*(does for _, does in _UNDO))
        assert "/undo redo" in text and "all keys and commands" in text and "/fork" not in text
        assert not shown.subject.conversation
        await person.press("a")
        await person.sees("While you write")
        await person.press("a")
        await person.sees_no("While you write")
        await person.press("escape")
        await person.say("/help all")
        await person.sees("While you write", "less")
        await person.press("a")
        await person.sees("all keys and commands", "history; all commands")


async def test_words_behind_history_tree_and_inputs_are_looked_for_on_every_surface(project: Path) -> None:
    script = ("▸say One.", "▸/edit", "▸say Two.", "▸/resume one", "▸/tree two", "▸/history inputs one")
    told = await converse(script, project)
    assert "History: 1 conversation." in told and "Prompt history: 1 text." in told
    assert "Tree: 1 prompt, 2 branches." in told
    id = newest(Catena(project.parent))
    async with at_the_screen(str(project), settings=load_settings(), conversation_id=id) as person:
        await person.first_tab()
        await person.idle()
        await person.say("/resume nosuch")
        await person.sees("╭ History", "no match")
        await person.press("ctrl+c")
        await person.say("/resume one")
        screen = await person.sees_dialog(HistoryScreen)
        await person.until(lambda: len(screen.row_list.content) == 1, "what was found")
        assert screen.scope.name == "EVERYWHERE"
        await person.press("ctrl+c")
        await person.say("/history here all-sources one")
        screen = await person.sees_dialog(HistoryScreen)
        await person.sees('in:"', '" one')
        assert screen.scope.name == "ALL_SOURCES"
        await person.press("ctrl+c")
        await person.say("/resume go from here")  # a scope is named first; behind a word it is a word
        screen = await person.sees_dialog(HistoryScreen)
        await person.sees("go from here", "no match")
        assert screen.scope.name == "EVERYWHERE"
        await person.press("ctrl+c")
        await person.say("/tree two")
        await person.sees("Tree", "│ two", "◉ say Two.")
        assert "◉ say One." not in person.text
        await person.press("ctrl+c")
        await person.sees("say One.", "say Two.", "2 prompts")
        await person.press("ctrl+c")
        await person.say("/history inputs one")
        await person.sees("Prompt history", "say One.")
        assert "say Two." not in person.text.partition("Prompt history")[2]
