"""Who wrote a file, on the screen: the real app over a real store with real snapshots."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from catena.screens.blame.screen import BlameScreen
from catena.screens.changes.screen import ChangesScreen
from support.screen.pilot import Person, at_the_screen
from support.storage.written_files import written_files


@pytest.fixture
async def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that two conversations and a person wrote: ``shop`` in two turns, ``garden`` in one."""
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path))
    async with written_files(tmp_path) as files:
        await files.conversation("garden")
        (files / "a").write_text("old\n")
        texts = (
            ("shop", "Write one and two", "old\none\ntwo\n"),
            ("garden", "Write three", "old\none\ntwo\nthree\n"),
            ("shop", "Mend two", "old\none\ntwo, mended\nthree\n"),
        )
        for conversation, prompt, text in texts:
            turn = await files.begin(conversation, prompt)
            (files / "a").write_text(text)
            if prompt == "Mend two":
                await files.report(turn, "a", "two\n", "two, mended\n")
            await files.end(turn)
        (files / "a").write_text(texts[-1][2] + "mine \x1b[2J\n")
    return files.root


@asynccontextmanager
async def blaming(
    project: Path, command: str = "/blame a", *, size: tuple[int, int] = (120, 40)
) -> AsyncIterator[tuple[Person, BlameScreen]]:
    async with at_the_screen(str(project), size=size, conversation_id="shop") as person:
        await person.sees("Mend two")
        await person.say(command)
        screen = await person.sees_dialog(BlameScreen)
        await person.sees("two, mended")
        yield person, screen


@pytest.mark.parametrize("size", [(40, 10), (80, 24), (120, 40), (200, 60)])
async def test_g08_lines_stand_beside_their_prompts_at_every_size(
    project: Path, size: tuple[int, int]
) -> None:
    async with blaming(project, "/blame a:3", size=size) as (person, screen):
        await person.sees("unknown", "● Write", "● Mend two", "mine")
        assert screen._view.cursor == 2
        await person.sees("Mend two · ", "· turn 2 of")
        await person.press("k", "k")
        await person.sees("Unknown: older than the first")
        await person.press("G")
        await person.sees("Not written in a turn: after")
        assert "\x1b" not in person.text
        await person.press("escape")
        await person.back()


async def test_g08_enter_opens_the_conversation_at_the_prompt_also_another_one(project: Path) -> None:
    async with blaming(project) as (person, screen):
        await person.press("enter")
        await person.sees("It is not known who wrote these lines.")
        await person.press("n", "n", "n", "n")
        await person.sees("No turn below wrote a line.")
        assert screen._view.cursor == 3
        await person.press("enter")
        await person.back()
        await person.until(lambda: person.tab.conversation.id == "garden", "the other conversation")
        await person.sees("Write three")


async def test_g08_keys_that_come_with_the_command_go_to_the_sheet_and_lines_are_quoted(
    project: Path,
) -> None:
    async with at_the_screen(str(project), conversation_id="shop") as person:
        await person.sees("Mend two")
        await person.writing()
        await person.type_at_once("/blame @a\n")
        await person.sees_dialog(BlameScreen)
        await person.sees("two, mended")
        await person.press("N")
        await person.sees("No turn above wrote a line.")
        await person.press("n", "q")
        await person.sees("Quoted line 2 into your prompt.")
        await person.press("escape")
        await person.back()
        assert person.draft.strip() == "a, line 2:\n```\none\n```"


async def test_g08_a_click_chooses_a_line_and_another_one_opens_its_turn(project: Path) -> None:
    async with blaming(project) as (person, screen):
        view = screen._view
        await person.pilot.click(view, offset=(60, 3))
        await person.until(lambda: view.cursor == 3, "the clicked line")
        await person.pilot.click(view, offset=(60, 3))
        await person.until(lambda: person.tab.conversation.id == "garden", "the other conversation")


async def test_g08_what_cannot_be_read_is_said(project: Path) -> None:
    async with at_the_screen(str(project), conversation_id="shop") as person:
        await person.sees("Mend two")
        await person.say("/blame missing")
        await person.sees_dialog(BlameScreen)
        await person.sees("No such file")
        await person.press("enter", "q", "n", "j", "G", "escape")
        await person.back()


async def test_g08_the_review_of_changes_shows_who_wrote_a_hunk(project: Path) -> None:
    async with at_the_screen(str(project), conversation_id="shop") as person:
        await person.sees("Mend two")
        await person.say("/changes turn")
        await person.sees_dialog(ChangesScreen)
        await person.sees("1 not seen")
        await person.press("enter", "n", "b")
        screen = await person.sees_dialog(BlameScreen)
        await person.sees("● Mend two")
        assert screen._view.cursor == 2
        await person.press("escape")
        await person.sees_dialog(ChangesScreen)
        await person.press("b")
        await person.sees_dialog(BlameScreen)
        await person.sees("● Mend two")
        await person.press("n", "enter")
        await person.back()
        await person.until(lambda: person.tab.conversation.id == "garden", "the other conversation")
