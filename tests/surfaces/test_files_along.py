"""Files that go back or along: what became of them is said once, and in the same words on every surface."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from catena.screens.chat.actions import surface
from catena.settings.settings import load_settings
from support.clients.command_line import Catena, newest, shown
from support.clients.conversing import converse, furnish
from support.screen.pilot import at_the_screen

SAID = "other.txt was deleted. Changed since by someone else, so left: notes.txt."


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project where files follow, with a checkpoint before two files that an agent wrote."""
    with furnish(tmp_path, monkeypatch, "files_follow = true\n") as project:
        yield project


async def written(project: Path) -> str:
    """Tell the agent to write the files; returns the id of the conversation."""
    await converse(
        ("▸say Before.", "▸/checkpoint first", "▸write notes.txt one", "▸write other.txt two"), project
    )
    return newest(Catena(project.parent))


def texts(project: Path) -> list[Path]:
    return list(project.glob("*.txt"))


async def on_the_screen(project: Path, id: str, typed: str, *seen: str) -> str:
    async with at_the_screen(str(project), settings=load_settings(), conversation_id=id) as person:
        await person.first_tab()
        await person.idle()
        await person.say(typed)
        await person.sees(*seen)
        await person.idle()
        return " ".join(person.text.split())


async def test_g04_a_rewind_by_a_label_takes_files_along_where_they_follow_and_says_so_on_every_surface(
    project: Path,
) -> None:
    id = await written(project)
    said = await on_the_screen(project, id, "/rewind first", "2 files were deleted.")
    assert "Files stay as they are." not in said
    assert not texts(project)
    told = await converse(("▸/undo", "▸/rewind first", "▸"), project, conversation_id=id)
    assert told.count("2 files were deleted.") == told.count("2 files were restored.") == 1, told
    assert "Files stay as they are." not in told
    assert not texts(project)


async def test_a_rewind_says_before_which_prompt_it_went_back_and_which_keys_restore_the_files(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Seconds: a slow machine compares for longer than one.
    monkeypatch.setattr(surface, "_COMPARED_FOR", 60.0)
    settings = project.parent / "config" / "config.toml"
    settings.write_text(settings.read_text().replace("files_follow = true", "files_follow = false"))
    await converse(("▸say Before.", "▸write notes.txt one"), project)
    id = newest(Catena(project.parent))
    went = "Went back to before “write notes.txt one”. Your next prompt:"
    said = await on_the_screen(
        project, id, "/rewind", went, "Files stay as they are: F4 deletes notes.txt, F3 shows it."
    )
    assert "Later messages are kept; /undo returns to them." in said
    told = await converse(("▸/undo", "▸/rewind", "▸"), project, conversation_id=id)
    assert went in told and "Files stay as they are. Later messages are kept" in told
    assert texts(project)


async def test_g04_what_is_left_is_said_once_and_alike_on_every_surface(project: Path) -> None:
    id, catena = await written(project), Catena(project.parent)
    (project / "notes.txt").write_text("mine\n")
    said = await on_the_screen(project, id, "/rewind first", SAID)
    assert said.count("so left") == 1
    told = await converse(("▸/undo", "▸/rewind first", "▸"), project, conversation_id=id)
    assert told.count(SAID) == told.count("so left") == 1
    told = await converse(("▸/undo", "▸/tree", "▸/open 1", "▸"), project, conversation_id=id)
    assert told.count(SAID) == told.count("so left") == 1
    await converse(("▸/undo",), project, conversation_id=id)
    answer = next(each["id"] for each in shown(catena, id)["messages"] if each["kind"] == "agent")
    told = catena("run", "--resume", id, "--at", answer, "say After.").err
    assert told.count("Changed since by someone else, so left: notes.txt.") == 1, told


async def test_g04_files_that_go_back_before_an_edit_or_a_retry_are_said_where_nobody_is_asked(
    project: Path,
) -> None:
    id, catena = await written(project), Catena(project.parent)
    said = catena("--linear", "--resume", id, stdin="/edit 6\nsay Otherwise.\n/undo\n/retry 6\ny\n").out
    assert said.count("eletes other.txt.") == 2, said
