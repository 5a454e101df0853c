"""Files that follow the branch, on the screen: the real app over a real store with real snapshots."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from catena.screens.changes.screen import ChangesScreen
from catena.screens.checkpoints.screen import CheckpointsScreen
from catena.screens.tree.screen import TreeScreen
from catena.settings.settings import Settings
from catena_acp.continuity.sessions.agent_pool import Agents
from catena_acp.conversation.branches import files as branch_files
from catena_acp.conversation.branches.files import BranchFiles
from catena_acp.port.port import AgentPort
from catena_acp.snapshots import restoring as bringing
from catena_acp.snapshots.restoring import RestorePlan, plan_restore
from catena_store.conversations import messages
from catena_store.database.database import Database, default_path
from catena_store.errors import SnapshotFailed
from catena_store.ids import utc_now
from catena_store.snapshots import restoring, unfinished
from catena_store.snapshots.repository import SnapshotRepository, snapshots_beside
from support.screen.pilot import Person, at_the_screen
from support.storage.work_trees import GIT
from support.storage.written_files import WrittenFiles, written_files

AFTER = {"a": "one\ntwo\n", "b": "new\n"}
BEFORE = {"a": "one\n"}
PRICE = "restores 2 files, 1 deleted"  # beside that of the prompt, where it may be said shortly


@pytest.fixture
async def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The first turn wrote ``a``, the second a line more, and ``b``."""
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path))
    async with written_files(tmp_path) as files:
        await two_turns(files)
    return files.root


async def two_turns(files: WrittenFiles) -> None:
    for prompt, texts in (("say first", {"a": "one\n"}), ("say second", AFTER)):
        turn = await files.begin("shop", prompt)
        for name, text in texts.items():
            (files / name).write_text(text)
        await files.end(turn)


@asynccontextmanager
async def at_shop(
    project: Path, *, size: tuple[int, int] = (100, 30), settings: Settings | None = None
) -> AsyncIterator[Person]:
    async with at_the_screen(str(project), size=size, conversation_id="shop", settings=settings) as person:
        await person.sees("say second")
        yield person


async def edits_the_second(person: Person) -> None:
    await person.browse()
    await person.press("e")
    await person.sees("Edit ", PRICE)
    await person.writing()


def files(project: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(project.iterdir()) if path.is_file()}


async def test_g04_without_the_key_an_edit_says_its_price_and_leaves_files_alone(project: Path) -> None:
    async with at_shop(project) as person:
        await edits_the_second(person)
        await person.answered("say instead")
        await person.sees("say instead")
        assert files(project) == AFTER


async def test_g04_files_chosen_with_the_key_go_back_before_the_edit_is_sent_and_undo_brings_both(
    project: Path,
) -> None:
    async with at_shop(project) as person:
        await edits_the_second(person)
        await person.type(" and more")
        await person.press("f4", "f3")
        await person.sees_dialog(ChangesScreen)
        await person.sees("Changes if files are restored", "2 files")
        await person.press("escape")
        await person.back()
        await person.sees("restores 2 files (1 deleted)")
        assert (person.draft, files(project)) == ("say second and more", AFTER)
        await person.answered("say instead")
        assert files(project) == BEFORE
        await person.sees("say instead")
        await person.browse()
        await person.press("u")
        await person.is_asked()
        await person.press("enter")
        await person.sees("Undone: ", "say second", "2 files were restored.")
        await person.done()
        assert files(project) == AFTER


async def test_g04_a_conflict_is_named_and_left_and_the_price_of_the_prompt_stays(
    project: Path,
) -> None:
    (project / "b").write_text("mine\n")
    async with at_shop(project, size=(80, 24)) as person:
        await person.browse()
        await person.press("e")
        await person.sees("1 message replayed", "f4 restores 1 file; 1 stays")
        await person.writing()
        await person.press("f4")
        await person.sees("1 message replayed", "restores 1 file; 1 stays")
        await person.answered("say instead")
        await person.sees("Changed since by someone else, so left: b")
        assert files(project) == {"a": "one\n", "b": "mine\n"}


async def test_g10_where_all_files_are_the_persons_the_price_names_them_with_and_without_the_key(
    project: Path,
) -> None:
    mine = {"a": "mine\n", "b": "mine, too\n"}
    for name, text in mine.items():
        (project / name).write_text(text)
    async with at_shop(project, size=(120, 40)) as person:
        await person.browse()
        await person.press("r")
        await person.is_asked()
        await person.apart()
        await person.sees(
            "Files too: would restore 2 files (1 deleted), +1 −2 lines; a, b changed since by someone",
            "else: stay unless you choose otherwise",
        )
        await person.press("f4")
        await person.sees("✓ Files too: restores 2 files (1 deleted), +1 −2 lines; a, b changed")
        await person.press("escape")
        await person.browse()
        await person.press("e")
        await person.sees("f4 restores 2 files, 1 deleted, 2 of others")
        await person.writing()
        await person.press("f4")
        await person.sees("restores 2 files (1 deleted), 2 of others")
        await person.press("f4")
        await person.answered("say instead")
        assert files(project) == mine


async def test_p11_the_price_of_an_edit_is_a_question_until_the_agent_is_ready(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, running = asyncio.Event(), Agents.running

    async def later(self: Agents, *arguments: Any, **options: Any) -> AgentPort:
        await started.wait()
        return await running(self, *arguments, **options)

    monkeypatch.setattr(Agents, "running", later)
    async with at_shop(project, size=(80, 24)) as person:
        await person.browse()
        await person.press("e")
        await person.sees("1 message replayed? · f4 restores 2 files, 1 deleted")
        started.set()
        await person.sees("1 message replayed · f4 restores 2 files, 1 deleted")


async def test_g04_a_key_that_comes_before_files_are_compared_is_told_so(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared, plan = asyncio.Event(), BranchFiles.plan

    async def later(self: BranchFiles, window_id: str, target: str | None) -> RestorePlan | None:
        await compared.wait()
        return await plan(self, window_id, target)

    monkeypatch.setattr(BranchFiles, "plan", later)
    async with at_shop(project) as person:
        await person.browse()
        await person.press("e")
        await person.sees("Edit ")
        await person.writing()
        await person.press("f4")
        await person.sees("Files are still being compared: press again.")
        compared.set()
        await person.sees("f4 ", PRICE)
        await person.press("f4")
        await person.sees("restores 2 files (1 deleted)")


async def test_g04_what_others_changed_is_said_once_where_the_changes_are_shown(project: Path) -> None:
    (project / "a").write_text("theirs\n")
    async with at_shop(project) as person:
        await person.browse()
        await person.press("e")
        await person.sees("1 stays")
        await person.writing()
        await person.press("f3")
        await person.sees_dialog(ChangesScreen)
        await person.sees("Changed since by someone else: a.", "2 files")
        await person.press("space")
        await person.sees("1 not seen")
        assert person.text.count("Changed since by someone else") == 1


async def test_g04_where_one_row_is_all_there_is_the_key_stands_beside_the_edit(project: Path) -> None:
    async with at_shop(project, size=(40, 10)) as person:
        await person.browse()
        await person.press("e")
        await person.sees("f4 restores 2 files")


async def test_g04_where_files_were_not_kept_the_edit_says_that_they_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path))
    async with written_files(tmp_path) as tree:
        await tree.turn("shop", ("a", "one\n"))
        turn = await tree.begin("shop", "say second", kept=False)
        await tree.end(turn, kept=False)
    async with at_shop(tree.root, size=(120, 40)) as person:
        await person.browse()
        await person.press("e")
        await person.sees("Edit ", "files stay as they are")
        assert "f3" not in person.text
        await person.press("escape")
        await person.browse()
        await person.press("r")
        await person.is_asked()
        await person.apart()
        await person.sees("Files stay as they are.")


async def test_g04_the_setting_takes_files_along_and_the_key_leaves_them(project: Path) -> None:
    async with at_shop(project, settings=Settings(files_follow=True)) as person:
        await person.browse()
        await person.press("e")
        await person.sees("restores 2 files (1 deleted)")
        await person.writing()
        await person.press("f4")
        await person.sees(PRICE)
        await person.answered("say instead")
        assert files(project) == AFTER


async def test_g04_where_files_cannot_be_written_the_edited_prompt_is_kept(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise SnapshotFailed(project, "no space left on device")

    async with at_shop(project) as person:
        await edits_the_second(person)
        await person.press("f4")
        await person.sees("restores 2 files (1 deleted)")
        monkeypatch.setattr(bringing, "restore", full)
        await person.say("say instead")
        await person.sees("no space left on device", "Edit ")
        await person.done()
        assert (person.draft, files(project)) == ("say instead", AFTER)


async def test_g04_a_retry_offers_files_and_shows_them(project: Path) -> None:
    async with at_shop(project) as person:
        await person.browse()
        await person.press("r")
        await person.is_asked()
        await person.apart()
        await person.sees("Files too: would restore 2 files (1 deleted), −2 lines")
        await person.press("f3")
        await person.sees_dialog(ChangesScreen)
        await person.press("escape")
        await person.back()
        await person.is_asked()
        await person.press("z", "f4")  # in one burst: a function key is no part of a word
        await person.sees("✓ Files too: restores 2 files (1 deleted), −2 lines")
        before = person.tab.leaf_id
        await person.apart()
        await person.press("enter")
        await person.until(lambda: person.tab.leaf_id != before, "the retry")
        await person.idle()
        assert files(project) == BEFORE


async def test_g04_after_going_back_without_files_they_are_offered_and_undo_takes_both(
    project: Path,
) -> None:
    async with at_shop(project) as person:
        await person.say("/tree")
        await person.sees_dialog(TreeScreen)
        await person.press("up")
        await person.sees("would restore 2 files (1 deleted), −2 lines", "f4 files too", "f3 show them")
        await person.press("f4")
        await person.sees("restores 2 files (1 deleted), −2 lines")
        await person.press("f4")
        await person.sees("would restore 2 files (1 deleted), −2 lines")
        await person.press("enter")
        await person.back()
        await person.sees("f4 restores 2 files (1 deleted), −2 lines")
        assert files(project) == AFTER
        await person.press("f4")
        await person.sees("2 files were restored (1 deleted).")
        await person.done()
        assert files(project) == BEFORE
        await person.say("/undo")
        await person.sees("say second")
        await person.done()
        assert files(project) == AFTER
        await person.say("/tree")
        await person.sees_dialog(TreeScreen)
        await person.press("up")
        await person.sees("would restore 2 files (1 deleted), −2 lines")
        await person.press("f4", "enter")
        await person.back()
        await person.sees("Now at “say first”. 2 files were restored (1 deleted).")
        await person.done()
        assert files(project) == BEFORE


async def test_g04_the_tree_says_once_what_becomes_of_files_whatever_its_size_becomes(project: Path) -> None:
    async with at_shop(project, size=(40, 10)) as person:
        await person.say("/tree")
        await person.sees_dialog(TreeScreen)
        await person.press("up")
        await person.sees("f4 restores 2 files (1 deleted), −2 lines")
        await person.pilot.resize_terminal(80, 24)
        await person.sees("Your next prompt here:", "would restore 2 files (1 deleted), −2 lines")
        await person.sees_no("f4 restores")
        await person.pilot.resize_terminal(40, 10)
        await person.sees("f4 restores 2 files (1 deleted), −2 lines")


async def test_g04_of_a_deletion_the_key_says_what_it_deletes_and_not_that_it_brings_a_file_back(
    project: Path,
) -> None:
    (project / "a").write_text("one\n")  # as it was: the new file alone is left to go
    async with at_shop(project) as person:
        await person.say("/tree")
        await person.sees_dialog(TreeScreen)
        await person.press("up")
        await person.sees("would delete b")
        await person.press("enter")
        await person.back()
        await person.sees("F4 also deletes b")
        await person.press("f4")
        await person.sees("b was deleted.")
        await person.done()
        assert files(project) == BEFORE


async def test_g04_a_checkpoint_says_what_becomes_of_files(project: Path) -> None:
    async with at_shop(project) as person:
        tab = person.tab
        async with Database.open(default_path()) as db, db.read() as reader:
            second = await messages.get(reader, str(tab.leaf_id))
        assert second is not None
        await tab.window.go_to(str(second.parent_id))
        await person.sees_no("say second")
        await person.say("/checkpoint early")
        await person.sees("Saved checkpoint “early”")
        await person.say("/undo")
        await person.sees("say second")
        await person.done()
        await person.say("/checkpoints")
        await person.sees_dialog(CheckpointsScreen)
        await person.sees("would restore 2 files (1 deleted), −2 lines", "f4 files too")
        await person.press("f4")
        await person.sees("restores 2 files (1 deleted), −2 lines")
        (project / "b").write_text("mine\n")  # after the price was said
        await person.press("enter")
        await person.back()
        await person.sees(
            "Went back to “early”", "1 file was restored. Changed since by someone else, so left: b."
        )
        await person.sees_no("say second")
        await person.done()
        assert files(project) == {**BEFORE, "b": "mine\n"}


async def test_files_that_are_compared_at_last_change_no_other_question_than_that_of_their_retry(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def slow(*args: Any, **kwargs: Any) -> RestorePlan:
        begun.set()
        await go.wait()
        try:
            return await plan_restore(*args, **kwargs)
        finally:
            ended.set()

    async with at_shop(project, size=(120, 40)) as person:
        await person.done()
        monkeypatch.setattr(branch_files, "plan_restore", slow)
        await person.browse()
        await person.press("r")
        await person.is_asked()
        await asyncio.wait_for(begun.wait(), 60)
        await person.press("escape")
        await person.browse()
        await person.press("f")
        await person.is_asked()
        asked = person.area.panels.fork._question
        assert asked is not None and "Retry" not in asked.title
        go.set()
        await asyncio.wait_for(ended.wait(), 60)
        await person.taken_in()
        assert person.area.panels.fork._question is asked


async def test_a_review_that_is_closed_while_a_file_of_it_is_restored_ends_there(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()
    bring = bringing.bring

    async def slow(*args: Any, **kwargs: Any) -> Any:
        begun.set()
        await go.wait()
        try:
            return await bring(*args, **kwargs)
        finally:
            ended.set()

    monkeypatch.setattr(branch_files, "bring", slow)
    async with at_shop(project) as person:
        await person.say("/files changes")
        review = await person.sees_dialog(ChangesScreen)
        await person.until(lambda: review._panes.path, "the file")
        await person.press("x")
        await person.sees("Delete a?")
        await person.press("enter")
        await asyncio.wait_for(begun.wait(), 60)
        await person.press("escape")
        await person.back()
        await person.until(lambda: not review.is_attached or not review.query("*"), "the review to be gone")
        go.set()
        await asyncio.wait_for(ended.wait(), 60)
        await person.until(
            lambda: not any(worker.group == "edit" for worker in person.app.workers), "its work to be over"
        )
        assert person.app._exception is None
        assert files(project) == {"b": "new\n"}


@pytest.mark.parametrize(("key", "left"), [("f", "finished"), ("u", "undone")])
async def test_g06_a_change_of_files_that_was_cut_off_asks_at_the_start(
    project: Path, key: str, left: str
) -> None:
    async with Database.open(default_path()) as db:
        repository = SnapshotRepository(GIT, snapshots_beside(db.path), project)
        plan = await plan_restore(db, repository, ("prompt2",), "prompt1", day=1, now=utc_now())
        async with db.write() as tx:
            await unfinished.begin(tx, "note", project, "shop", plan.steps, trees=(plan.now, plan.wanted))
        restoring.restore(repository, plan.steps[:1])
    assert files(project) not in (BEFORE, AFTER)
    async with at_shop(project) as person:
        await person.is_asked()
        await person.apart()
        await person.sees("Restoring 2 files was interrupted after 1.", "Finish it", "Undo it", "esc cancel")
        await person.sees_no("enter confirm")  # there is nothing that Enter decides
        await person.press(key)
        await person.sees("Finished." if left == "finished" else "Undone: the files are as they were before.")
        await person.done()
        assert files(project) == (BEFORE if left == "finished" else AFTER)
