"""What a session kept of a turn that did not end well: told again only if it was not seen to be kept."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from catena_store.database.database import Database
from support.agents.model import Profile
from support.walks.client import owned_task
from support.walks.loop import VirtualTimeLoop
from support.walks.world import World

PLAIN = Profile(fork=False)
Acts = Callable[[World], Awaitable[None]]


def played(place: Path, profile: Profile, acts: Acts) -> World:
    """What happens with an agent of this profile; whatever is wrong with it fails the test."""
    path = place / "walk.db"

    async def make() -> None:
        async with Database.open(path):
            pass

    async def play() -> World:
        asyncio.get_running_loop().set_task_factory(owned_task)
        world = World(path, {"A": profile, "B": Profile()})
        await world.start()
        try:
            await acts(world)
            await world.settle()
            await world.finish()
        finally:
            await world.close()
        return world

    asyncio.run(make())
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        world = runner.run(play())
    assert world.wrong == []
    return world


def of(place: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(place / "walk.db")) as file:
        return file.execute(sql).fetchall()


def told(place: Path) -> list[object]:
    """How many messages went out with each prompt, beside it."""
    return [count for (count,) in of(place, "SELECT told FROM turn ORDER BY rowid")]


async def turn(world: World) -> None:
    await world.turn(0, "whole", False)
    await world.settle()


async def badly_ended_turn(world: World, end: str, *, says: bool = True) -> None:
    await world.send(0, None, "whole", False)
    await world.settle()
    if says:
        await world.stream(0, "text", False, False)
    if end == "killed":
        await world.kill_agent(1, "A")
    else:
        await world.end(0, "cancelled" if end == "stopped" else end)
    await world.settle()


async def another_session(world: World) -> None:
    """The session is lost, and the next prompt tells a new one."""
    await world.lie("A", "open", "gone")
    await world.kill_agent(1, "A")
    await turn(world)


async def seen_to_keep(world: World, end: str) -> None:
    """Two sessions, opened again, show what they kept of a turn that ended so."""
    for _ in range(2):
        await badly_ended_turn(world, end)
        await world.kill_agent(1, "A")
        await turn(world)
        await another_session(world)


ENDS = ("stopped", "error", "killed")


def keeping(end: str, keeps: str) -> Profile:
    """An agent that keeps so much of turns that end so."""
    match end:
        case "stopped":
            return replace(PLAIN, cancel_keeps=keeps)
        case "error":
            return replace(PLAIN, error_keeps=keeps)
        case _:
            return replace(PLAIN, kill_keeps=keeps)


@pytest.mark.parametrize(("keeps", "missing"), [("partial", 0), ("user", 1), ("nothing", 2)])
@pytest.mark.parametrize("end", ENDS)
def test_r07_a_replay_proves_what_its_session_kept_of_a_turn_that_ended_badly(
    tmp_path: Path, end: str, keeps: str, missing: int
) -> None:
    async def acts(world: World) -> None:
        await turn(world)
        await badly_ended_turn(world, end)
        await world.kill_agent(1, "A")
        await turn(world)

    played(tmp_path, keeping(end, keeps), acts)
    assert told(tmp_path) == [0, 0, missing]
    assert len(of(tmp_path, "SELECT id FROM link")) == 1


@pytest.mark.parametrize(("keeps", "missing"), [("partial", 0), ("user", 1), ("nothing", 2)])
@pytest.mark.parametrize("end", ["stopped", "error"])
def test_r07_what_two_sessions_showed_is_believed_of_a_session_that_is_open(
    tmp_path: Path, end: str, keeps: str, missing: int
) -> None:
    async def acts(world: World) -> None:
        await turn(world)
        await badly_ended_turn(world, end)
        await turn(world)  # nothing is known of it yet
        await seen_to_keep(world, end)
        await badly_ended_turn(world, end)
        await turn(world)

    played(tmp_path, keeping(end, keeps), acts)
    assert told(tmp_path)[2] == 2
    assert told(tmp_path)[-1] == missing
    kept = {"partial": "all", "user": "prompt", "nothing": None}[keeps]
    assert of(tmp_path, "SELECT kept FROM turn ORDER BY rowid")[-2:] == [(kept,), (None,)]


def test_r07_of_one_kind_of_end_nothing_follows_for_another(tmp_path: Path) -> None:
    async def acts(world: World) -> None:
        await turn(world)
        await seen_to_keep(world, "stopped")
        await badly_ended_turn(world, "error")
        await turn(world)

    played(tmp_path, replace(PLAIN, cancel_keeps="partial", error_keeps="partial"), acts)
    assert told(tmp_path)[-1] == 2


def test_r07_a_prompt_that_was_kept_and_came_to_nothing_is_sent_again_as_it_is(tmp_path: Path) -> None:
    async def acts(world: World) -> None:
        await turn(world)
        await seen_to_keep(world, "error")
        await badly_ended_turn(world, "limit", says=False)
        await world.retry(0, None)
        await world.settle()
        await world.end(0, "end_turn")
        await world.settle()

    world = played(tmp_path, replace(PLAIN, error_keeps="user"), acts)
    ways = [how for (how,) in of(tmp_path, "SELECT how FROM turn ORDER BY rowid")]
    assert ways[-1] == "continued"
    assert world.upstreams["A"].count("new") == 3


def test_r07_an_agent_that_shows_less_than_was_believed_is_believed_no_more(tmp_path: Path) -> None:
    async def acts(world: World) -> None:
        await turn(world)
        await seen_to_keep(world, "stopped")
        await badly_ended_turn(world, "stopped")  # believed, and not kept any more
        await turn(world)
        await world.kill_agent(1, "A")
        await turn(world)  # the replay shows it
        await badly_ended_turn(world, "stopped")
        await turn(world)

    played(tmp_path, replace(PLAIN, cancel_keeps="partial", changes_mind=2), acts)
    assert of(tmp_path, "SELECT value FROM ability WHERE name = 'kept'") == [("inconsistent",)]
    believed = [turn for (turn,) in of(tmp_path, "SELECT kept FROM turn WHERE kept IS NOT NULL")]
    assert believed == ["all"], "once"
    assert told(tmp_path)[-1] == 2
    assert of(tmp_path, "SELECT count(*) FROM link WHERE state = 'lost'") == [(3,)]
