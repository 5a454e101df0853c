"""What the screen shows of files, cost, directories, open work and the repository."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from textual.content import Content

from catena.screens.common.page import noted_page
from catena.settings.settings import Settings
from catena.settings.tables import AgentSetting
from catena.text.changes_text import shown_path, touched_words
from catena_acp.conversation.inspection.file_changes import FileTouched
from support.screen.pilot import Person, at_the_screen


def files_page(files: Sequence[FileTouched]) -> Callable[[int], Content]:
    """The sheet of files, as /files shows it."""
    return noted_page("", [(shown_path(each.path, "/p"), " · ".join(touched_words(each))) for each in files])


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CATENA_REHEARSAL_HOME", str(tmp_path / "rehearsal"))


async def said(person: Person, text: str) -> None:
    await person.say(text)
    await person.idle()


async def test_m10_files_shows_what_was_read_and_changed(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("/files")
        await person.sees("No files read or changed")
        await person.press("escape")
        await said(person, "tool read README.md; edit! notes.txt; say done")
        await person.sees("  done")
        await person.say("/files")
        text = await person.sees("Files on this branch", "changed 1 time", "read 1 time")
        rows = [line.split()[:2] for line in text.splitlines()]
        assert rows.index(["notes.txt", "changed"]) < rows.index(["README.md", "read"]), "the latest first"
        assert "/files changes shows what changed" in text
        await person.press("escape")


def test_m10_a_path_that_would_steer_the_terminal_is_only_shown() -> None:
    nasty = "/p/\x1b[31m\n[bold]a\u202eb"
    file = FileTouched(nasty, changed=1)
    text = files_page([file])(60).plain
    assert not set("\x1b\x07\u202e") & set(text)
    assert "[bold]a" in text


def test_what_was_done_to_files_ends_on_one_edge_and_stands_below_a_path_that_leaves_no_room() -> None:
    files = [FileTouched("/p/a.py", changed=2, added=3), FileTouched(f"/p/{'deep/' * 11}b.py", read=1)]
    rows = files_page(files)(70).plain.splitlines()[-3:]
    assert rows[0] == f"a.py{'changed 2 times, +3':>66}"
    assert rows[1].startswith("deep/deep/") and rows[-1] == "  read 1 time"


async def test_m13_usage_shows_the_turn_the_branch_and_all_branches(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("/usage")
        await person.sees("No usage yet.")
        await person.press("escape")
        await said(person, "say one")
        await said(person, "say two")
        await person.say("/usage")
        text = await person.sees(
            "Cost of this conversation", "last turn", "this branch", "all branches", "of 200,000 tokens"
        )
        assert "1 turn · $0.00" in text and "2 turns · $0.00" in text
        assert "rehearsal · Understudy: 2 turns" in text
        await person.press("escape")


def directories(person: Person) -> tuple[str, ...]:
    return person.tab.conversation.directories


async def test_w15_add_dir_gives_lists_and_takes_away(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "lib").mkdir()
    async with at_the_screen(str(tmp_path / "shop")) as person:
        await person.say("/add-dir")
        await person.sees("No additional directories; add one with /cd add DIR.")
        await person.say("/add-dir ../nowhere")
        await person.sees("../nowhere: No such file or directory")
        await person.say("/add-dir ../lib")
        await person.sees("From the next prompt on, the agent also works in")
        await person.done()
        assert directories(person) == (str(tmp_path / "lib"),)
        await person.say("/add-dir ../lib")
        await person.sees("The agent already works in")
        await person.say("/add-dir")
        await person.sees("Additional directories", "enter remove")
        await person.press("enter")
        await person.sees("From the next prompt on, the agent no longer works in")
        await person.done()
        assert directories(person) == ()


async def test_w15_directories_of_the_command_line_are_those_of_its_conversations(tmp_path: Path) -> None:
    lib = str(tmp_path / "lib")
    async with at_the_screen(str(tmp_path), further_directories=(lib,)) as person:
        await person.until(lambda: person.tab.conversation.directories == (lib,), "the directory")
        await said(person, "say one")
        await person.new_tab()
        await person.until(lambda: person.tab.conversation.directories == (lib,), "the directory")


async def test_m11_open_todos_of_the_last_answers_are_pinned_after_reopening_and_go_when_ticked(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "say - [ ] write the test")
        await said(person, "say - [ ] ship it")
        conversation_id = person.tab.conversation.id
        assert "from its last answer" not in person.text
    async with at_the_screen(str(tmp_path), conversation_id=conversation_id) as person:
        text = await person.sees("0 of 2 steps done · from its last answer")
        assert "○ write the test" in text and "○ ship it" in text
        await said(person, "say - [x] Write the test.")
        await person.sees("1 of 2 steps done · from its last answer", "● write the test")
        await said(person, "say - [x] ship it")
        await person.sees_no("from its last answer")


async def test_m11_a_plan_is_pinned_again_after_reopening_however_far_up_it_stands(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "plan")
        for _ in range(4):
            await said(person, "; ".join(["say a", "tool read b"] * 10))
        conversation_id = person.tab.conversation.id
    entries = [{"text": "Read", "status": "completed"}, {"text": "Bow", "status": "pending"}]
    with closing(sqlite3.connect(tmp_path / "data" / "catena.db")) as kept, kept:
        kept.execute("UPDATE message SET data = ? WHERE kind = 'plan'", (json.dumps({"entries": entries}),))
    async with at_the_screen(str(tmp_path), conversation_id=conversation_id) as person:
        await person.sees("1 of 2 steps done", "● Read", "○ Bow")


async def test_m10_another_branch_of_the_repository_is_told_on_resume_in_one_line(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/red\n")
    async with at_the_screen(str(tmp_path)) as person:
        await said(person, "say one")
        conversation_id = person.tab.conversation.id
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/blue\n")
    async with at_the_screen(str(tmp_path), conversation_id=conversation_id) as person:
        await person.sees("The work tree was on branch red, now on branch blue.")


async def test_m14_agent_switches_to_a_profile_and_says_which_answers(tmp_path: Path) -> None:
    work = AgentSetting(
        "work", agent="rehearsal", profile="work", env=(("CATENA_REHEARSAL_HOME", str(tmp_path / "work")),)
    )
    async with at_the_screen(str(tmp_path), settings=Settings(agents={"work": work})) as person:
        await said(person, "say one")
        await person.say("/agent work")
        await person.sees("Switched to Rehearsal (work).")
        await person.say("/agent work")
        await person.sees("Rehearsal (work) is already in use here.")
        await said(person, "say two")
        await person.sees("switched from Rehearsal to Rehearsal (work)")
        assert list((tmp_path / "work" / "sessions").iterdir())
