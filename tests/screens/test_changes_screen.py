"""The review of changes on the screen: the real app over a real store and real files."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.geometry import Region

from catena.screens.changes import review as review_of_changes
from catena.screens.changes.screen import ChangesScreen
from catena.terminal.programs import at_line
from catena_acp.changes.changed_file import ChangedFile, FileDiff, diff_of_file
from catena_store.conversations import conversations, messages
from catena_store.database.database import Database
from catena_store.records import Kind, NewMessage
from support.screen.pilot import Person, at_the_screen

BEFORE = "".join(f"line {number}\n" for number in range(1, 61))
AFTER = BEFORE.replace("line 5\n", "line five\n").replace("line 50\n", "line fifty\n")
NEW = "import os\n\nprint(os.name)\n"


@pytest.fixture
async def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with two changed files, and the conversation in whose second turn they were changed."""
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    root = tmp_path / "p"
    root.mkdir()
    (root / "long.txt").write_text(AFTER)
    (root / "new.py").write_text(NEW)

    def row(id: str, parent: str | None, kind: Kind, *diff: str | None) -> NewMessage:
        data: dict[str, object] = {}
        if diff:
            content = {"type": "diff", "path": diff[0], "old": diff[1], "new": diff[2]}
            data = {"kind": "edit", "status": "completed", "title": "Edit", "content": [content]}
        return NewMessage(id=id, conversation_id="c", parent_id=parent, kind=kind, text=id, data=data)

    async with Database.open(tmp_path / "data" / "catena.db") as db, db.write() as tx:
        await conversations.create(tx, id="c", agent="rehearsal", cwd=str(root), title="Two files")
        rows = [
            row("Say hello.", None, Kind.USER),
            row("Hello.", "Say hello.", Kind.AGENT),
            row("Change them.", "Hello.", Kind.USER),
            row("x1", "Change them.", Kind.TOOL, "long.txt", BEFORE, AFTER),
            row("x2", "x1", Kind.TOOL, "new.py", None, NEW),
            row("All changed.", "x2", Kind.AGENT),
        ]
        await messages.insert_many(tx, rows)
    return root


@asynccontextmanager
async def reviewing(
    project: Path, command: str = "/changes", *, size: tuple[int, int] = (120, 40)
) -> AsyncIterator[tuple[Person, ChangesScreen]]:
    async with at_the_screen(str(project), size=size, conversation_id="c") as person:
        await person.sees("All changed.")
        await person.say(command)
        review = await person.sees_dialog(ChangesScreen)
        await compared(person, review)
        yield person, review


async def compared(person: Person, review: ChangesScreen) -> None:
    await person.until(
        lambda: all(review._review.diff(path) is not None for path in review._review.paths),
        "every file to be compared",
    )
    await person.taken_in()


@pytest.mark.parametrize("size", [(40, 10), (80, 24), (120, 40), (200, 60)])
async def test_w29_files_and_their_hunks_are_shown_at_every_size(
    project: Path, size: tuple[int, int]
) -> None:
    async with reviewing(project, size=size) as (person, review):
        # In a narrower row the name of the screen comes first.
        counted = ("2 files",) if size[0] >= 60 else ()
        text = await person.sees("long.txt", "+2 −2", "new.py", "+3", *counted)
        assert ("▾ line 5" in text) == (size[0] >= 140), "beside the files only where there is room"
        await person.press("enter")
        await person.sees("▾ line 5", "− line 5", "+ line five", "1/2")
        await person.press("n")
        await person.sees("+ line fifty")
        await person.until(lambda: review._panes.hunks.current == 1, "the second hunk")
        await person.press("n")
        await person.sees("new.py  +3  new", "+ import os")
        await person.press("escape", "escape")
        await person.back()


async def test_a_row_of_a_hunk_that_only_moved_and_the_rows_of_the_scroll_bar_are_not_drawn_again(
    project: Path,
) -> None:
    async with reviewing(project, size=(60, 14)) as (person, review):
        await person.press("enter")
        await person.sees("▾ line 5")
        view = review._panes.hunks
        rows = Region(0, 0, view.region.width, view.size.height)
        before = view.render_lines(rows)
        view.scroll_to(y=2, animate=False, immediate=True)
        moved = view.render_lines(rows)
        assert all(now is then for now, then in zip(moved, before[2:], strict=False))
        assert {strip.cell_length for strip in moved} == {view.region.width}
        bar = view.vertical_scrollbar
        assert bar.display
        assert len({id(strip) for strip in bar.render_lines(Region(0, 0, 1, view.size.height))}) <= 3


async def test_w29_the_help_names_keys_and_both_versions_are_offered_only_where_there_is_room(
    project: Path,
) -> None:
    async with reviewing(project, size=(118, 40)) as (person, _):
        await person.press("f1")
        text = await person.sees("Help: Changes", "copy patch")
        assert "{" not in text
        await person.press("escape", "enter")
        text = await person.sees("ask to undo")
        assert "side by side" not in text


async def test_w29_hunks_are_quoted_into_the_draft_and_esc_returns_to_where_one_was(project: Path) -> None:
    async with at_the_screen(str(project), conversation_id="c") as person:
        await person.sees("All changed.")
        await person.writing()
        await person.type("Please")
        await person.browse()
        await person.press("d")
        review = await person.sees_dialog(ChangesScreen)
        await person.sees("Changes in this turn")
        await compared(person, review)
        await person.press("enter", "q", "j", "u")
        await person.sees("Quoted line 50 of long.txt (2 in your prompt).")
        await person.press("escape", "escape")
        await person.back()
        draft = person.draft
        assert draft.startswith("Please\n\nlong.txt, line 5:\n```diff\n line 2\n")
        assert "-line 5\n+line five\n" in draft
        assert "Undo this change:\n\nlong.txt, line 50:\n```diff\n" in draft


async def test_w29_keys_that_come_with_the_command_go_to_the_review(project: Path) -> None:
    async with at_the_screen(str(project), conversation_id="c") as person:
        await person.sees("All changed.")
        await person.writing()
        await person.type_at_once("/changes turn\nj\nq")
        await person.sees_dialog(ChangesScreen)
        await person.sees("Quoted lines 1–3 of new.py (1 in your prompt).")
        assert person.draft.startswith("new.py, lines 1–3:")


async def test_w29_a_mark_is_kept_although_the_review_is_closed_at_once(project: Path) -> None:
    async with reviewing(project) as (person, review):
        await person.sees("2 not seen")
        async with person.store_held(on_a_sheet=True):
            await person.press("space", "escape")
            await person.back()
            await person.until(
                lambda: not any(worker.node is review for worker in person.app.workers), "its end"
            )
        await person.until(lambda: not person.app._outgoing._steps, "the write to end")
        await person.say("/changes")
        await person.sees("1 not seen")
        assert person.app._exception is None


async def test_w29_what_was_seen_stays_seen_and_the_next_look_begins_with_the_rest(project: Path) -> None:
    async with reviewing(project) as (person, _):
        await person.press("enter", "space")
        await person.sees("✓ seen")
        await person.press("space", "escape", "escape")
        await person.back()
        await person.say("/changes look")
        await person.sees_dialog(ChangesScreen)
        await person.sees("Changes since your last look", "No changes.")
    async with reviewing(project) as (person, review):
        await person.sees("1 not seen")
        assert review._review.paths == [str(project / "new.py"), str(project / "long.txt")]
        await person.press("j", "space")
        await person.sees("2 not seen")
        await person.press("tab", "tab", "tab", "r")
        await person.sees("Changes on this branch", "2 files")


async def test_w29_the_patch_of_all_and_of_a_hunk_is_copied_for_git(project: Path) -> None:
    async with reviewing(project) as (person, _):
        await person.press("Y")
        await person.sees("Copied a patch of 2 files.")
        git_back(project, person.app.clipboard)
        assert (project / "long.txt").read_text() == BEFORE and not (project / "new.py").exists()
        await person.press("enter", "n", "y")
        await person.sees("Copied the hunk as a patch.")
        assert "+line fifty\n" in person.app.clipboard and "+line five\n" not in person.app.clipboard


def git_back(project: Path, patch: str) -> None:
    subprocess.run(
        ["git", "apply", "-R", "-"],
        input=patch.encode(),
        cwd=project,
        check=True,
        env=os.environ | {"GIT_CEILING_DIRECTORIES": str(project.parent)},
    )


async def test_g04_a_file_of_which_no_snapshot_was_kept_is_not_restored(project: Path) -> None:
    async with reviewing(project) as (person, _):
        await person.press("x")
        await person.sees("long.txt stays as it is: no snapshots were kept of these changes.")
        assert (project / "long.txt").read_text() == AFTER


async def test_w29_files_are_filtered_and_a_text_is_found_in_all_of_them(project: Path) -> None:
    async with reviewing(project) as (person, review):
        await person.press("slash")
        await person.type("new")
        await person.press("enter")
        await person.sees("1 file ")
        assert [row.label for row in review._panes.row_list.rows] == ["new.py"]
        await person.press("escape", "ctrl+f")
        await person.type("line 5")
        await person.sees("1 of ", "long.txt")
        await person.type("0")
        await person.sees("1 of 1 lines, long.txt", "− line 50")
        assert review._panes.hunks.current == 1
        await person.press("escape", "s")
        await person.until(lambda: review._panes.hunks.side_by_side, "both versions side by side")
        await person.press("enter")
        await person.sees("▸ line 50")


def test_w29_an_editor_opens_the_file_at_the_line_where_it_is_known_how() -> None:
    assert at_line(["vim", "-p"], "/p/a b", 7) == ["vim", "-p", "+7", "/p/a b"]
    assert at_line(["/usr/bin/hx"], "/p/a", 7) == ["/usr/bin/hx", "/p/a:7"]
    assert at_line(["code", "--wait"], "/p/a", 7) == ["code", "--wait", "--goto", "/p/a:7"]
    assert at_line(["my-editor"], "/p/a", 7) == ["my-editor", "/p/a"]


async def test_w29_a_sum_and_a_count_of_hits_are_called_whole_only_once_all_files_are_compared(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    going_on = threading.Event()

    def compared_later(changed: ChangedFile) -> FileDiff:
        if changed.path.endswith("new.py"):
            going_on.wait(60)
        return diff_of_file(changed)

    monkeypatch.setattr(review_of_changes, "diff_of_file", compared_later)
    try:
        async with at_the_screen(str(project), size=(120, 40), conversation_id="c") as person:
            await person.sees("All changed.")
            await person.say("/changes")
            review = await person.sees_dialog(ChangesScreen)
            text = await person.sees("2 files · counting lines…")
            assert "not seen" not in text and "+2 −2" in text, "of the first file"
            await person.press("ctrl+f", *"five")
            await person.sees("1 of 1 lines so far, long.txt")
            await person.press(*["backspace"] * 4, *"print")
            await person.sees("Not found so far.")
            going_on.set()
            await compared(person, review)
            await person.sees("1 of 1 lines, new.py", "2 files · +5 −2 · 2 not seen")
    finally:
        going_on.set()
