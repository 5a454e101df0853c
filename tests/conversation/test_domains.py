"""What comes back on resume beside the messages, and that each of it comes back without the others."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from catena_acp.changes.reported import reported_files
from catena_acp.continuity.conversation_events import MessageAdded, Remarked, Troubled
from catena_acp.continuity.sessions.environment import GitPlace, difference, git_place
from catena_acp.conversation.inspection.file_changes import files_touched
from catena_acp.conversation.inspection.todos import left_open_on
from catena_acp.diff import line_diff
from catena_store.chains import environments, usage
from catena_store.conversations import conversations, messages
from catena_store.database.database import Database
from catena_store.database.schema import shipped
from catena_store.records import Kind, Message, MessageState, StopReason, TurnEnvironment
from support.clients.command_line import Catena, run
from support.clients.protocol import spec
from support.conversations.rehearsed import Desk, World
from support.storage.rows import new_conversation, say

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def git(directory: Path, *arguments: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=n", "-c", "user.email=e@x", "-C", directory, *arguments],
        check=True,
        capture_output=True,
        env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
    )


def in_force(desk: Desk) -> dict[str, str | bool]:
    return {option.id: option.value for option in desk.window.session.options}


def remarks(desk: Desk) -> list[str]:
    return [news.text for news in desk.told if isinstance(news, Remarked)]


def troubles(desk: Desk) -> list[str]:
    return [news.problem.text for news in desk.told if isinstance(news, Troubled)]


CHOSEN: dict[str, str | bool] = {"mode": "plan", "model": "lead", "thought": "long", "fast": True}


async def choose(desk: Desk) -> None:
    await desk.window.prepare()
    for option, value in CHOSEN.items():
        await desk.window.set_option(option, value)


# --- settings


async def test_m10_model_mode_and_every_option_come_back_after_a_restart_and_after_a_rollover(
    world: World,
) -> None:
    async with world.client() as desk:
        await choose(desk)
        await desk.say("say one")
        assert in_force(desk) == CHOSEN
        world.fail({"load": {"error": [-32002, "Resource not found"]}})
        await desk.say("crash")
        await desk.say("settings")
        assert in_force(desk) == CHOSEN
        assert len(await desk.links()) == 2
        world.fail({})
    async with world.client(resume=desk) as again:
        await again.window.prepare()
        assert in_force(again) == CHOSEN
        await again.say("settings")
        assert "plan" in (await again.branch())[-1].text and "lead" in (await again.branch())[-1].text
        assert troubles(again) == []
    sets = [entry["params"]["configId"] for entry in world.requests("session/set_config_option")]
    assert sets[4] == "model", "the model first: it may change what else there is"


async def test_m10_what_was_set_since_the_last_turn_comes_back_too(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        await desk.window.set_option("thought", "off")
        await desk.window.set_mode("code")
    async with world.client(resume=desk) as again:
        await again.window.prepare()
        assert in_force(again) == {"mode": "code", "model": "understudy", "thought": "off", "fast": False}


async def test_m10_an_option_that_the_agent_refuses_is_told_and_the_turn_goes_on(world: World) -> None:
    async with world.client() as desk:
        await choose(desk)
        await desk.say("say one")
    world.fail({"set_config_option": {"error": [-32603, "not today"], "times": 1}})
    async with world.client(resume=desk) as again:
        over = await again.say("say two")
        assert over.turn and over.turn.stop_reason is StopReason.END_TURN
        (told,) = troubles(again)
        assert "Model “Lead” (not today)" in told
        assert in_force(again) == {**CHOSEN, "model": "understudy"}


async def test_m10_an_agent_without_options_comes_back_in_its_mode(world: World) -> None:
    async with world.client("--no-options") as desk:
        await desk.window.prepare()
        await desk.window.set_mode("code")
        await desk.say("say one")
    async with world.client("--no-options", resume=desk) as again:
        await again.window.prepare()
        assert again.window.session.mode == "code"


async def test_m10_a_waiting_prompts_mode_does_not_come_back_in_place_of_the_persons(world: World) -> None:
    async with world.client() as desk:
        await desk.window.prepare()
        await desk.window.set_mode("code")
        await desk.window.say("say one; cue go-on")
        await desk.until_told(MessageAdded, lambda news: news.message.kind is Kind.AGENT)
        await desk.window.say("say two")
        await desk.window.set_mode("plan")
        world.cue("go-on")
        await desk.window.wait_idle()
        assert [turn.mode for turn in await desk.turns()] == ["plan", "code"]
        assert in_force(desk)["mode"] == "plan"
    async with world.client(resume=desk) as again:
        await again.window.prepare()
        assert in_force(again)["mode"] == "plan"


FICKLE = """
def options(agent):
    thoughts = ["short", "deep"] if agent.model == "big" else ["short"]
    def select(id, category, value, values):
        choices = [{"value": each, "name": each} for each in values]
        return {"id": id, "name": id, "category": category, "type": "select", "currentValue": value, "options": choices}
    return [
        select("effort", "thought_level", agent.effort, thoughts),
        select("engine", "model", agent.model, ["small", "big"]),
    ]

def session_new(agent, request):
    agent.model, agent.effort = "small", "short"
    agent.send(agent.result(request, {"sessionId": f"s{os.getpid()}", "configOptions": options(agent)}))

def session_set_config_option(agent, request):
    asked = request["params"]
    if asked["configId"] == "engine":
        agent.model, agent.effort = asked["value"], "short"
    else:
        agent.effort = asked["value"]
    agent.send(agent.result(request, {"configOptions": options(agent)}))
"""


async def test_m10_the_model_is_set_first_since_the_other_options_may_depend_on_it(tmp_path: Path) -> None:
    world = World(tmp_path)
    fickle = spec(tmp_path, FICKLE)
    async with world.client(specs={"scripted": fickle}, agent="scripted") as desk:
        await desk.window.prepare()
        await desk.window.set_option("engine", "big")
        await desk.window.set_option("effort", "deep")
        await desk.say("one")
    forgetful = spec(
        tmp_path,
        FICKLE
        + """
def session_load(agent, request):
    agent.send(agent.error(request, -32002, "Resource not found"))
""",
    )
    async with world.client(specs={"scripted": forgetful}, resume=desk) as again:
        await again.say("two")
        assert in_force(again) == {"effort": "deep", "engine": "big"}
        assert troubles(again) == []


# --- git


async def test_m10_a_turn_keeps_branch_worktree_and_commit_and_a_difference_is_told_once_on_resume(
    world: World,
) -> None:
    git(world.project, "init", "-b", "red")
    git(world.project, "commit", "--allow-empty", "-m", "first")
    async with world.client() as desk:
        await desk.say("say one")
        git(world.project, "checkout", "-b", "blue")
        await desk.say("say two")
        assert remarks(desk) == [], "within one life nobody has to be told what they did themselves"
        first, second = await desk.turns()
        async with desk.db.read() as reader:
            around = [await environments.of_turn(reader, turn.id) for turn in (first, second)]
        assert [each.git_branch for each in around if each] == ["red", "blue"]
        assert around[0] and around[0].git_worktree == str(world.project) and around[0].git_commit
    git(world.project, "checkout", "red")
    async with world.client(resume=desk) as again:
        await again.window.prepare()
        await again.say("say three")
        assert remarks(again) == ["The work tree was on branch blue, now on branch red."]
    async with world.client(resume=again) as unchanged:
        await unchanged.window.prepare()
        assert remarks(unchanged) == []


def test_m10_a_place_in_a_repository_is_read_without_running_git(tmp_path: Path) -> None:
    repository = tmp_path / "shop"
    (repository / "deep" / "down").mkdir(parents=True)
    git(repository, "init", "-b", "main")
    assert git_place(str(repository)) == GitPlace(str(repository), "main", None)
    git(repository, "commit", "--allow-empty", "-m", "first")
    found = git_place(str(repository / "deep" / "down"))
    assert found and (found.worktree, found.branch) == (str(repository), "main")
    assert found.commit and len(found.commit) == 40
    git(repository, "worktree", "add", "-b", "side/way", str(tmp_path / "side"))
    assert git_place(str(tmp_path / "side")) == GitPlace(str(tmp_path / "side"), "side/way", found.commit)
    git(repository, "pack-refs", "--all")
    assert git_place(str(repository)) == GitPlace(str(repository), "main", found.commit)
    git(repository, "checkout", "--detach")
    assert git_place(str(repository)) == GitPlace(str(repository), None, found.commit)


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("ref: refs/heads/../../../etc/passwd\n", GitPlace("", "../../../etc/passwd", None)),
        ("ref: refs/heads/gone\n", GitPlace("", "gone", None)),
        ("no such thing\n", None),
        ("", None),
    ],
)
def test_a_repository_that_is_out_of_order_is_no_trouble(
    tmp_path: Path, head: str, expected: GitPlace | None
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text(head)
    found = git_place(str(tmp_path))
    assert (found and (found.branch, found.commit)) == (expected and (expected.branch, expected.commit))


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        (TurnEnvironment("t"), GitPlace("/a", "x", COMMIT), None),
        (TurnEnvironment("t", git_worktree="/a", git_branch="x"), GitPlace("/a", "x", COMMIT), None),
        (
            TurnEnvironment("t", git_worktree="/a", git_branch="x"),
            GitPlace("/a", None, COMMIT),
            "The work tree was on branch x, now on commit 0123456789.",
        ),
        (
            TurnEnvironment("t", git_worktree="/a", git_branch="x"),
            GitPlace("/b", "y", COMMIT),
            "The work tree was /a on branch x, now it is /b on branch y.",
        ),
        (
            TurnEnvironment("t", git_worktree="/a", git_branch="x"),
            None,
            "The directory was in a git work tree on branch x; it no longer is.",
        ),
    ],
)
def test_m10_a_difference_is_told_in_one_line(
    before: TurnEnvironment, now: GitPlace | None, told: str | None
) -> None:
    assert difference(before, now) == told


def test_m10_run_tells_of_another_branch_on_standard_error_or_as_a_remark(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    git(catena.project, "init", "-b", "red")
    run(catena, "say one")
    git(catena.project, "symbolic-ref", "HEAD", "refs/heads/blue")
    again = run(catena, "--continue", "say two")
    assert (again.out, "The work tree was on branch red, now on branch blue.\n" in again.err) == (
        "two\n",
        True,
    )
    git(catena.project, "symbolic-ref", "HEAD", "refs/heads/red")
    told = run(catena, "--continue", "--json", "say three")
    assert told.event("remark")["text"] == "The work tree was on branch blue, now on branch red."


# --- files


def tool(data: dict[str, Any], turn: str = "t1") -> Message:
    return Message(
        id="m", conversation_id="c", parent_id=None, turn_id=turn, kind=Kind.TOOL, state=MessageState.FINAL,
        text="", data=data, link_id=None, agent_message_id=None, barrier=False, depth=0,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )  # fmt: skip


def diff(path: str, old: str | None, new: str) -> dict[str, Any]:
    return {"type": "diff", "path": path, "old": old, "new": new}


def test_m10_files_read_and_changed_are_counted_with_their_lines() -> None:
    rows = [
        tool({"status": "completed", "kind": "read", "locations": [{"path": "/p/a"}, {"path": "/p/b"}]}),
        tool({"status": "completed", "kind": "edit", "content": [diff("/p/a", "1\n2\n3", "1\nzwei\n3\n4")],
              "locations": [{"path": "/p/a", "line": 2}]}, "t2"),
        tool({"status": "completed", "kind": "edit", "content": [diff("/p/a", "1\n", "")]}, "t3"),
        tool({"status": "failed", "kind": "edit", "content": [diff("/p/b", "1", "2")]}),
        tool({"status": "unknown", "kind": "edit", "content": [diff("/p/c", None, "new")]}),
        tool({"status": "completed", "kind": "delete", "locations": [{"path": "/p/d"}]}),
        tool({"status": "completed", "kind": "execute", "locations": [{"path": "/p/e"}]}),
    ]  # fmt: skip
    by_path = {file.path: file for file in files_touched(rows)}
    assert list(by_path) == ["/p/d", "/p/c", "/p/a", "/p/b"], "the last touched comes first"
    a = by_path["/p/a"]
    assert (a.read, a.changed, a.added, a.removed) == (1, 2, 2, 2)
    assert (by_path["/p/b"].read, by_path["/p/b"].changed) == (1, 0)
    assert (by_path["/p/c"].changed, by_path["/p/c"].unsure, by_path["/p/c"].added) == (0, 1, 0)
    assert by_path["/p/d"].changed == 1


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"status": "completed", "kind": "edit", "content": "none", "locations": 7},
        {"status": "completed", "kind": "read", "locations": [{"path": 3}, "x", {"path": ""}]},
        {"status": "completed", "kind": "edit", "content": [{"type": "diff", "path": 1, "new": None}]},
        {"status": ["completed"], "kind": {}},
    ],
)
def test_tool_calls_that_make_no_sense_touch_no_files(data: dict[str, Any]) -> None:
    assert files_touched([tool(data)]) == ()


def test_w07_what_was_written_for_a_call_whose_end_is_unknown_was_written() -> None:
    change = {"type": "diff", "path": "/project/made.txt", "old": None, "new": "one\n", "by_client": True}
    row = tool({"kind": "edit", "status": "unknown", "content": [change]})
    (touched,) = files_touched([row])
    assert (touched.changed, touched.unsure, touched.added) == (1, 0, 1)
    (file,) = reported_files([row], None, ["/project"])
    assert not file.unsure


def test_changed_lines_are_counted_quickly_however_many_there_are() -> None:
    def lines_changed(old: str | None, new: str) -> tuple[int, int]:
        change = line_diff(old, new)
        return change.added, change.removed

    assert lines_changed(None, "a\nb") == (2, 0)
    assert lines_changed("a\nb\nc", "a\nc") == (0, 1)
    before = "\n".join(str(number) for number in range(100_000))
    assert lines_changed(before, "\n".join(str(-number) for number in range(100_000))) == (99_999, 99_999)


# --- one without the others

DOMAINS = {
    "surroundings": "DELETE FROM turn_surroundings",
    "the table of surroundings": "DROP TABLE turn_surroundings",
    "damaged options": "UPDATE turn_surroundings SET options = '[not json', directories = '7'",
    "git": "UPDATE turn_surroundings SET git_branch = NULL, git_worktree = NULL, git_commit = NULL",
    "the model": "UPDATE turn SET model = NULL",
    "the mode": "UPDATE turn SET mode = NULL",
    "cost": "UPDATE turn SET cost = NULL, currency = NULL, usage = NULL",
    "directories": "DELETE FROM conversation_directory",
    "the table of directories": "DROP TABLE conversation_directory",
    "the table of choices": "DROP TABLE window_choice",
    "the table of servers": "DROP TABLE conversation_mcp_server",
    "damaged servers": "UPDATE conversation_mcp_server SET server = '[not json'",
    "plans": "UPDATE message SET data = '{}' WHERE kind = 'plan'",
    "tool calls": "UPDATE message SET data = '{}' WHERE kind = 'tool'",
    "thoughts": "UPDATE message SET text = '' WHERE kind = 'thought'",
}


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str, str]]:
    """A place where a conversation was had that has something of every domain."""
    place = tmp_path_factory.mktemp("lived")
    world = World(place)
    git(world.project, "init", "-b", "red")
    (place / "lib").mkdir()

    async def live() -> tuple[str, str]:
        async with world.client() as desk:
            await desk.conversation.add_directory(str(place / "lib"))
            async with desk.db.write() as tx:
                await conversations.add_mcp_servers(
                    tx, desk.conversation.id, [{"name": "clock", "command": "/bin/true"}]
                )
            await choose(desk)
            await desk.say("think hard; plan; tool read a.txt; edit! b.txt; say one")
            return desk.conversation.id, desk.window_id

    conversation_id, window_id = asyncio.run(live())
    git(world.project, "symbolic-ref", "HEAD", "refs/heads/blue")
    yield place, conversation_id, window_id


@pytest.mark.parametrize("domain", DOMAINS)
async def test_m10_removing_one_domain_from_the_file_leaves_the_others_working(
    domain: str, lived: tuple[Path, str, str], tmp_path: Path
) -> None:
    place, conversation_id, window_id = lived
    world = World(tmp_path)
    world.project.rmdir()
    world.project = place / "project"
    world.store.parent.mkdir()
    with closing(sqlite3.connect(place / "data" / "catena.db")) as source:
        source.execute("VACUUM INTO ?", (str(world.store),))
    with closing(sqlite3.connect(world.store)) as damaged, damaged:
        damaged.execute("PRAGMA foreign_keys = OFF")
        damaged.executescript(DOMAINS[domain])
    shutil.copytree(place / "rehearsal", tmp_path / "rehearsal")
    async with world.reopened(conversation_id, window_id, tmp_path / "rehearsal") as desk:
        over = await desk.say("echo")
        assert over.turn and over.turn.stop_reason is StopReason.END_TURN, over.problem
        assert "users=2" in (await desk.branch())[-1].text, "the messages"
        leaf = (await desk.stored_window()).leaf_id
        async with desk.db.read() as reader:
            left = await left_open_on(reader, leaf)
            files = files_touched(await messages.newest_tools(reader, leaf, 100))
            spent = await usage.of_branch(reader, leaf)
        no_options = domain in ("surroundings", "the table of surroundings", "damaged options")
        state = desk.window.session
        assert (state.mode, state.model) == ("plan", "Lead")
        assert in_force(desk)["thought"] == ("brief" if no_options else "long")
        assert (left.plan is None) == (domain == "plans")
        assert [Path(file.path).name for file in files] == (
            [] if domain == "tool calls" else ["b.txt", "a.txt"]
        )
        told = [turn.cost for turn in await desk.turns() if turn.cost is not None]
        assert len(told) == (1 if domain == "cost" else 2)
        assert sum(each.cost or 0 for each in spent) == pytest.approx(sum(told))
        directories = [] if "directories" in domain else [str(place / "lib")]
        assert list(desk.conversation.directories) == directories
        no_git = domain in ("surroundings", "the table of surroundings", "git")
        assert len(remarks(desk)) == (0 if no_git else 1)
        assert desk.conversation.record.cwd == str(world.project)


# --- a file of before


async def test_r18_a_file_from_before_surroundings_were_kept_is_copied_brought_up_to_date_and_goes_on(
    tmp_path: Path,
) -> None:
    path = tmp_path / "catena.db"
    async with Database.open(path, migrations=shipped()[:1]) as db, db.write() as tx:
        await new_conversation(tx)
        await say(tx, "u1", None, "hello")
    async with Database.open(path) as db, db.write() as tx:
        assert await tx.one("PRAGMA user_version") == (shipped()[-1].version,)
        assert await environments.of_conversation(tx, "c1") == {}
        assert await usage.of_conversation(tx, "c1") == []
    with closing(sqlite3.connect(tmp_path / "catena.db.v1")) as copy:
        assert copy.execute("SELECT text FROM message").fetchone() == ("hello",)
        assert copy.execute("PRAGMA user_version").fetchone() == (1,)
        tables = {name for (name,) in copy.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        assert "turn_surroundings" not in tables
