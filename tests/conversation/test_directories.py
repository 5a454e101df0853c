"""Directories beside the one that a conversation works in: given, kept, in force, taken away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from catena_acp.continuity.conversation_events import Remarked
from catena_acp.errors import FileRefused
from catena_acp.protocol.files import FileAccess
from catena_store.database.database import Database
from catena_store.records import ContextSource, Kind
from support.clients.command_line import Catena, newest, run, shown
from support.conversations.rehearsed import Desk, World


@pytest.fixture
def world(tmp_path: Path) -> World:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "note.txt").write_text("from the library\n")
    return World(tmp_path)


def given(world: World, method: str) -> list[Any]:
    """The further directories that sessions were opened with."""
    return [entry["params"].get("additionalDirectories") for entry in world.requests(method)]


async def read_beside(desk: Desk, path: Path) -> dict[str, Any]:
    """Let the agent ask us for a file; the tool call as it is kept."""
    await desk.say(f"read {path}")
    return dict(next(row for row in reversed(await desk.branch()) if row.kind is Kind.TOOL).data)


async def test_w15_a_directory_is_given_to_new_loaded_and_forked_sessions_and_kept(world: World) -> None:
    lib = str(world.place / "lib")
    async with world.client() as desk:
        assert await desk.conversation.add_directory(lib)
        assert not await desk.conversation.add_directory(lib), "it has it already"
        await desk.say("say one")
        assert given(world, "session/new") == [[lib]]
    async with world.client(resume=desk) as again:
        assert again.conversation.directories == (lib,)
        await again.say("say two")
        assert given(world, "session/load") == [[lib]]
        assert not [news for news in again.told if isinstance(news, Remarked)]


async def test_w15_a_directory_that_comes_later_is_in_force_with_the_next_prompt_and_nothing_is_told_again(
    world: World,
) -> None:
    lib = str(world.place / "lib")
    async with world.client() as desk:
        await desk.say("say one")
        await desk.conversation.add_directory(lib)
        over = await desk.say("echo")
        assert over.turn and (over.turn.how, over.turn.told) == (ContextSource.RESUMED, 0)
        assert given(world, "session/new") + given(world, "session/load") == [None, [lib]]
        assert world.prompts()[-1] == ["echo"]
        over = await desk.say("echo")
        assert over.turn and over.turn.how is ContextSource.CONTINUED
        await desk.conversation.remove_directory(lib)
        await desk.say("echo")
        assert given(world, "session/load") == [[lib], None]


async def test_w15_files_in_it_may_be_asked_for_and_no_others(world: World) -> None:
    lib = world.place / "lib"
    async with world.client() as desk:
        await desk.say("say one")
        assert (await read_beside(desk, lib / "note.txt"))["status"] == "failed"
        await desk.conversation.add_directory(str(lib))
        data = await read_beside(desk, lib / "note.txt")
        assert data["status"] == "completed" and "from the library" in str(data["content"])
        assert (await read_beside(desk, lib / ".." / "faults.json"))["status"] == "failed"
        await desk.conversation.remove_directory(str(lib))
        assert (await read_beside(desk, lib / "note.txt"))["status"] == "failed"


async def test_w15_an_agent_that_takes_no_directories_is_not_given_any_and_that_is_told_once(
    world: World,
) -> None:
    lib = world.place / "lib"
    async with world.client("--no-directories") as desk:
        await desk.conversation.add_directory(str(lib))
        data = await read_beside(desk, lib / "note.txt")
        assert data["status"] == "completed", "Catena itself still reads there for it"
        await desk.say("crash")
        await desk.say("say two")
        assert given(world, "session/new") + given(world, "session/load") == [None, None]
        (told,) = [news.text for news in desk.told if isinstance(news, Remarked)]
        assert told == (
            f"Rehearsal does not support additional directories; it can still ask Catena for files in {lib}."
        )


async def test_w15_a_directory_that_is_gone_is_left_out_and_told(world: World) -> None:
    lib = world.place / "lib"
    async with world.client() as desk:
        await desk.conversation.add_directory(str(lib))
        await desk.say("say one")
    (lib / "note.txt").unlink()
    lib.rmdir()
    async with world.client(resume=desk) as again:
        await again.say("say two")
        assert given(world, "session/load") == [None]
        (told,) = [news.text for news in again.told if isinstance(news, Remarked)]
        assert told == f"No longer exists, left out: {lib}."


def test_w15_a_further_root_is_as_confined_as_the_first(tmp_path: Path) -> None:
    for name in ("project", "lib", "secret"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(name)
    (tmp_path / "lib" / "way-out").symlink_to(tmp_path / "secret")
    files = FileAccess(roots=(tmp_path / "project",))
    wider = files.with_roots((tmp_path / "lib",))
    assert wider.read(str(tmp_path / "lib" / "a.txt")) == "lib"
    assert wider.read(str(tmp_path / "project" / "a.txt")) == "project"
    for path in ("lib/way-out/a.txt", "secret/a.txt", "lib/../secret/a.txt"):
        with pytest.raises(FileRefused):
            wider.read(str(tmp_path / path))
    with pytest.raises(FileRefused):
        files.read(str(tmp_path / "lib" / "a.txt"))


def test_w15_run_takes_add_dir_several_times_and_keeps_it_with_the_conversation(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    for name in ("lib", "docs"):
        (tmp_path / name).mkdir()
    assert run(catena, "--add-dir", "../lib", "--add-dir", str(tmp_path / "docs"), "say one").status == 0
    run(catena, "--continue", "say two")
    whole = shown(catena, newest(catena))
    assert whole["directories"] == [str(tmp_path / "lib"), str(tmp_path / "docs")]
    assert [turn["surroundings"]["directories"] for turn in whole["turns"]] == [whole["directories"]] * 2


def test_w15_a_project_of_the_settings_gives_its_directories_to_new_conversations(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    (tmp_path / "lib").mkdir()
    catena.settings(f'[projects."{catena.project}"]\ndirectories = ["../lib", "../gone"]\n')
    assert run(catena, "say one").status == 0
    assert shown(catena, newest(catena))["directories"] == [str(tmp_path / "lib")]
    catena.settings("")
    run(catena, "--continue", "say two")
    assert shown(catena, newest(catena))["directories"] == [str(tmp_path / "lib")], "it is kept"


def test_w15_run_refuses_a_directory_that_is_not_there_before_anything_is_kept(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    for refused in (run(catena, "--add-dir", "nowhere", "say one"), catena("--add-dir", "nowhere")):
        assert refused.status == 2
        assert refused.err == "catena: nowhere: No such file or directory\n"
    assert catena("list", "--json").json == []


async def test_w15_a_conversation_in_which_nothing_was_said_leaves_no_trace_of_its_directories(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.conversation.add_directory(str(world.place / "lib"))
        await desk.window.prepare()
        await desk.window.set_mode("plan")
    async with Database.open(world.store) as db, db.read() as reader:
        for table in ("conversation", "conversation_directory", "window_choice"):
            assert await reader.all(f"SELECT * FROM {table}") == [], table
