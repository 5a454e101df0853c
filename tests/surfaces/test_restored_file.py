"""One file restored as it was before the changes of a branch, on every surface: the conversation stays where it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from catena.screens.changes.screen import ChangesScreen
from catena.settings.settings import load_settings
from support.clients.command_line import Catena, newest
from support.clients.conversing import converse, furnish
from support.screen.pilot import at_the_screen

LINES = "".join(f"{number}\n" for number in range(1, 21))
CHANGED = LINES.replace("3\n", "three\n", 1)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project with a file that a command of the agent changes in one line."""
    with furnish(tmp_path, monkeypatch) as project:
        (project / "a.txt").write_text(LINES)
        (project / "theirs").write_text(CHANGED)
        (project / "mine").write_text(CHANGED.replace("18\n", "mine\n"))
        (project / "b.txt").write_text("1\n")
        yield project


_TURN = "▸terminal sh -c 'cat theirs > a.txt && echo 2 > b.txt && echo 3 > new.txt'"


async def test_g04_one_file_is_restored_and_undo_and_redo_take_it_and_no_other(project: Path) -> None:
    script = (
        _TURN,
        "▸/files restore a.txt",
        "▸n",
        "§ cat a.txt > first.txt",
        "▸/files restore a.txt",
        "▸y",
        "§ cat a.txt b.txt > second.txt",
        "▸/files restore a.txt",
        "▸/undo",
        "§ cat a.txt b.txt > third.txt",
        "▸/undo redo",
    )
    told = await converse(script, project)
    assert (project / "first.txt").read_text() == CHANGED
    assert (project / "second.txt").read_text() == f"{LINES}2\n"
    assert (project / "third.txt").read_text() == f"{CHANGED}2\n"
    assert (project / "a.txt").read_text() == LINES
    assert (project / "b.txt").read_text() == "2\n"
    assert "Restore a.txt" in told and "+1 −1 lines" in told
    assert "Catena: 1 file was restored." in told
    assert "a.txt is as it was before." in told
    assert "Undone: restoring a.txt." in told and "Redone: restoring a.txt." in told
    assert "Your next prompt" not in told, "nothing went back in the conversation"


async def test_g04_a_restored_file_keeps_lines_of_others_and_is_left_where_they_changed_the_same(
    project: Path,
) -> None:
    script = (
        _TURN,
        "§ cat mine > a.txt; echo mine > b.txt; rm new.txt",
        "▸/files restore a.txt",
        "▸y",
        "▸/files restore b.txt",
        "▸/files restore new.txt",
        "▸/files restore nowhere.txt",
        "▸/files restore ../elsewhere.txt",
        "▸/files restore",
    )
    told = await converse(script, project)
    assert (project / "a.txt").read_text() == LINES.replace("18\n", "mine\n")
    assert (project / "b.txt").read_text() == "mine\n"
    assert "b.txt stays as it is: changed since in the same lines." in told
    assert "nowhere.txt: no changes on this branch;" in told
    assert not (project / "new.txt").exists()


async def test_g04_undo_leaves_a_restored_file_that_was_changed_since_and_says_so(project: Path) -> None:
    script = (
        _TURN,
        "▸/rename before",
        "▸/files restore b.txt",
        "▸y",
        "§ echo mine > b.txt",
        "▸/undo",
    )
    told = await converse(script, project)
    assert (project / "b.txt").read_text() == "mine\n"
    assert "Changed since by someone else, so left: b.txt." in told
    assert "Undone: the title" not in told, "it does not take an older act instead"


async def test_g10_files_of_a_later_rewind_are_right_after_one_was_restored(project: Path) -> None:
    script = (
        "▸/checkpoint start",
        _TURN,
        "▸/files restore b.txt",
        "▸y",
        "▸/rewind start",
        "▸2",
        "▸/undo",
        "§ cat a.txt b.txt new.txt > all.txt",
    )
    await converse(script, project)
    assert (project / "all.txt").read_text() == f"{CHANGED}1\n3\n"


async def test_g04_a_key_of_the_review_restores_the_file_and_asks_first(project: Path) -> None:
    await converse((_TURN,), project)
    id = newest(Catena(project.parent))
    async with at_the_screen(str(project), settings=load_settings(), conversation_id=id) as person:
        await person.first_tab()
        await person.say("/files changes")
        review = await person.sees_dialog(ChangesScreen)
        await person.until(lambda: review._panes.path is not None, "a file")
        await person.press("x")
        await person.sees("Restore a.txt?", "+1 −1 lines", "restore", "cancel")
        assert (project / "a.txt").read_text() == CHANGED
        await person.press("escape")
        await person.sees_dialog(ChangesScreen)
        assert (project / "a.txt").read_text() == CHANGED
        await person.press("x")
        await person.sees("Restore a.txt?")
        await person.press("enter")
        await person.sees("1 file was restored.")
        assert (project / "a.txt").read_text() == LINES
        await person.press("x")
        await person.sees("a.txt is as it was before.")
        await person.press("escape")
        await person.say("/undo")
        await person.sees("Undone: restoring a.txt.")
        assert (project / "a.txt").read_text() == CHANGED
