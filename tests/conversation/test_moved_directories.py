"""The directory of a conversation: continued in another one, gone, and found again."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from catena.workspace.directories import moved_directories
from catena_acp.continuity.conversation_events import MessageAdded, PromptReturned
from catena_acp.conversation.conversations.undo import ConversationUndo, Scope
from catena_acp.errors import StillAtWork
from catena_store.records import ContextSource, Kind, TurnEnvironment
from catena_store.windows import queue
from support.clients.command_line import Catena, newest, run, shown
from support.conversations.modelled import another_window
from support.conversations.rehearsed import Desk, World
from support.screen.pilot import at_the_screen


@pytest.fixture
def world(tmp_path: Path) -> World:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "note.txt").write_text("from elsewhere\n")
    return World(tmp_path)


def git(directory: Path, *arguments: str) -> str:
    who = {
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b",
    }
    done = subprocess.run(
        ["git", "-C", directory, *arguments], check=True, capture_output=True, text=True, env=os.environ | who
    )
    return done.stdout.strip()


async def read_there(desk: Desk, path: Path) -> dict[str, Any]:
    """Let the agent ask us for a file; the tool call as it is kept."""
    await desk.say(f"read {path}")
    return dict(next(row for row in reversed(await desk.branch()) if row.kind is Kind.TOOL).data)


async def test_h12_a_conversation_continues_in_another_directory_which_has_a_history(world: World) -> None:
    there = world.place / "elsewhere"
    async with world.client() as desk:
        await desk.say("say one")
        assert (await read_there(desk, there / "note.txt"))["status"] == "failed"

        await desk.conversation.change_directory(str(there), by=desk.window_id)

        over = await desk.say("say two")
        assert over.turn and (over.turn.how, over.turn.told) == (ContextSource.TOLD, 4)
        assert [entry["params"]["cwd"] for entry in world.requests("session/new")] == [
            str(world.project),
            str(there),
        ]
        assert (await read_there(desk, there / "note.txt"))["status"] == "completed"
        assert [link.cwd for link in await desk.links()] == [str(world.project), str(there)]
        async with desk.db.read() as reader:
            former = await reader.all(
                "SELECT cwd FROM former_directory WHERE conversation_id = ?", (desk.conversation.id,)
            )
        assert former == [(str(world.project),)]
        undo = ConversationUndo(desk.db, desk.conversations)
        step = await undo.undo(Scope(desk.window_id, None))
        assert step and desk.conversation.record.cwd == str(world.project)
        await desk.say("say three")
        assert (await desk.turns())[-1].link_id == (await desk.links())[0].id


async def test_h12_where_the_directory_is_gone_nothing_is_sent_and_the_text_comes_back(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        rows = len(await desk.branch())
        shutil.move(world.project, world.place / "moved")
        over = await desk.say("say two")
        assert over.turn is None and over.problem
        assert (
            over.problem.text
            == f"The directory {world.project} is gone. Use /cd DIR to continue in another one."
        )
        (back,) = [news for news in desk.told if isinstance(news, PromptReturned)]
        assert back.text == "say two" and len(await desk.branch()) == rows
        await desk.conversation.change_directory(str(world.place / "moved"))
        over = await desk.say("say two")
        assert over.turn and over.turn.clean


async def test_h12_while_a_turn_runs_the_directory_stays_and_what_waits_goes_along_after_it(
    world: World,
) -> None:
    there = str(world.place / "elsewhere")
    async with world.client() as desk:
        await desk.say("say one")
        await desk.window.say("wait 60")
        await desk.window.say("say later")
        with pytest.raises(StillAtWork):
            await desk.conversation.change_directory(there)
        await desk.window.stop()
        await desk.window.wait_idle()
        await desk.conversation.change_directory(there)
        async with desk.db.read() as reader:
            assert [item.cwd for item in await queue.items(reader, desk.window_id)] == [there]


@pytest.mark.parametrize("change", ["undone", "made once its tab is closed"])
async def test_h12_a_turn_in_another_tab_comes_to_its_end_where_it_began(world: World, change: str) -> None:
    there = str(world.place / "elsewhere")
    async with world.client() as desk:
        await desk.say("say one")
        if change == "undone":
            await desk.conversation.change_directory(there, by=desk.window_id)
        beside = await another_window(desk, (await desk.stored_window()).leaf_id)
        await beside.window.say("say begun; cue go-on; say ended")
        await beside.until_told(MessageAdded, lambda news: news.message.text == "begun")

        if change == "undone":
            assert await ConversationUndo(desk.db, desk.conversations).undo(Scope(desk.window_id, None))
        else:
            beside.conversation.leave(beside.window_id)
            await desk.conversation.change_directory(there, by=desk.window_id)

        world.cue("go-on")
        await beside.window.wait_idle()
        assert (await beside.branch())[-1].text.endswith("ended")
        over = await desk.say("echo")
        assert over.turn is not None and over.turn.how is not ContextSource.CONTINUED


def test_h12_a_work_tree_that_git_moved_is_found_by_its_old_name(tmp_path: Path) -> None:
    main, old, new = tmp_path / "main", tmp_path / "feature", tmp_path / "away" / "renamed"
    main.mkdir()
    new.parent.mkdir()
    git(main, "init", "-b", "main")
    git(main, "commit", "--allow-empty", "-m", "first")
    git(main, "worktree", "add", str(old))
    (old / "sub").mkdir()
    last = TurnEnvironment("t", git_worktree=str(old), git_commit=git(old, "rev-parse", "HEAD"))
    git(main, "worktree", "move", str(old), str(new))
    (new / "sub").mkdir(exist_ok=True)
    found = moved_directories(str(old / "sub"), last, [str(main)], str(tmp_path))
    assert (found[0].path, found[0].why) == (str(new / "sub"), "git moved the work tree there")


def test_h12_a_repository_that_was_moved_whole_is_found_by_the_commit_that_was_checked_out(
    tmp_path: Path,
) -> None:
    old, new, other = tmp_path / "shop", tmp_path / "store", tmp_path / "other"
    for each in (old, other):
        each.mkdir()
        git(each, "init")
        git(each, "commit", "--allow-empty", "-m", each.name)
    commit = git(old, "rev-parse", "HEAD")
    old.rename(new)
    last = TurnEnvironment("t", git_worktree=str(old), git_commit=commit)
    (found, here) = moved_directories(str(old), last, [str(other), str(new), "/no/such"], str(other))
    assert (found.path, found.why) == (str(new), f"its repository has commit {commit[:10]}")
    assert (here.path, here.why) == (str(other), "where Catena was started")
    assert moved_directories(str(old), None, [str(new)], "/no/such") == []
    # It went to another directory since its last turn, which was moved again.
    (again, *_) = moved_directories(str(tmp_path / "between"), last, [str(new)])
    assert again.path == str(new)


def test_h12_run_continues_elsewhere_only_if_told_where(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    run(catena, "say one")
    id = newest(catena)
    catena.project.rename(tmp_path / "moved")
    catena.project.mkdir()
    catena.project.rmdir()
    catena.project = tmp_path / "moved"
    refused = run(catena, "--resume", id, "say two")
    assert refused.status == 2
    assert f"is gone: {tmp_path / 'project'}. --cwd DIR continues in another one" in refused.err
    moved = run(catena, "--resume", id, "--cwd", ".", "say two")
    assert (moved.status, moved.out) == (0, "two\n") and "continues in" in moved.err
    assert shown(catena, id)["conversation"]["cwd"] == str(tmp_path / "moved")
    assert run(catena, "--continue", "say three").out == "three\n"


def test_h12_continue_finds_the_conversation_of_a_directory_that_was_moved_here(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    git(catena.project, "init")
    git(catena.project, "commit", "--allow-empty", "-m", "first")
    run(catena, "say one")
    id = newest(catena)
    catena.project = catena.project.rename(tmp_path / "moved")
    assert "is gone" in run(catena, "--continue", "say two").err
    moved = run(catena, "--continue", "--cwd", ".", "say two")
    assert (moved.status, moved.out) == (0, "two\n")
    assert shown(catena, id)["conversation"]["cwd"] == str(tmp_path / "moved")
    catena.project = tmp_path / "elsewhere"
    catena.project.mkdir()
    git(catena.project, "init")
    assert "no conversations in" in run(catena, "--continue", "say three").err


async def test_h12_a_person_is_asked_where_a_conversation_continues_whose_directory_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATENA_REHEARSAL_HOME", str(tmp_path / "rehearsal"))
    old, new = tmp_path / "shop", tmp_path / "store"
    old.mkdir()
    git(old, "init")
    git(old, "commit", "--allow-empty", "-m", "first")
    async with at_the_screen(str(old)) as person:
        await person.say("say one")
        await person.sees("  one")
        await person.idle()
        id = person.tab.conversation.id
    old.rename(new)
    async with at_the_screen(str(new), conversation_id=id, size=(160, 30)) as person:
        await person.sees("Where to continue?", "/shop is gone", "its repository h")
        await person.press("escape")
        await person.sees("you can read, and /cd DIR continues elsewhere", "  one")
        await person.say("say two")
        await person.sees("Use /cd DIR to continue")
        assert person.draft == "say two"
        await person.press("ctrl+c")
        await person.say("/cd")
        await person.sees("Where to continue?")
        await person.press("enter")
        await person.sees("Continues in")
        assert person.tab.conversation.record.cwd == str(new)
        await person.say("say two")
        await person.sees("  two")
        await person.idle()
