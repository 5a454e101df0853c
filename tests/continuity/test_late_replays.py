"""Histories that come behind the answer to an opening: waited for, compared, and never rows. Time is the loop's own."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from catena_store.database.database import Database
from support.agents.model import Profile, Running
from support.walks.client import owned_task
from support.walks.loop import VirtualTimeLoop
from support.walks.world import World

BEHIND = [0.0, 0.3, 1.5]  # seconds
LOADED = Profile(resume=False, fork=False, faithful=None)
RESUMED = Profile(load=False, fork=False, faithful=None)


def played(place: Path, profile: Profile, acts: Callable[[World], Awaitable[None]]) -> World:
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


def texts(place: Path) -> list[object]:
    return [
        text for (text,) in of(place, "SELECT text FROM message WHERE kind IN ('user', 'agent') ORDER BY id")
    ]


def ways(place: Path) -> list[object]:
    return [how for (how,) in of(place, "SELECT how FROM turn ORDER BY rowid")]


async def turns_and_restarts(world: World) -> None:
    for _ in range(3):
        for _ in range(2):
            await world.turn(0, "whole", False)
            await world.settle()
        await world.kill_agent(1, "A")


@pytest.mark.parametrize("behind", BEHIND)
def test_r07_a_history_that_comes_behind_the_answer_is_waited_for_and_compared(
    tmp_path: Path, behind: float
) -> None:
    world = played(
        tmp_path, Profile(resume=False, fork=False, faithful=None, replays_late=behind), turns_and_restarts
    )
    assert ways(tmp_path) == ["fresh", "continued", "resumed", "continued", "resumed", "continued"]
    assert of(tmp_path, "SELECT state FROM link") == [("open",)]
    assert len(texts(tmp_path)) == 12
    assert world.upstreams["A"].count("close") == 0
    learnt = of(
        tmp_path,
        "SELECT name, value FROM ability WHERE agent_name = 'A' AND agent_version = '1' ORDER BY name",
    )
    assert learnt == [("replay", "faithful"), ("replays_late", "yes")]


def test_r07_an_agent_that_was_seen_to_be_late_is_resumed_if_it_can_be(tmp_path: Path) -> None:
    world = played(tmp_path, Profile(fork=False, faithful=None, replays_late=0.3), turns_and_restarts)
    assert [how for how, _ in world.upstreams["A"].requests if how in ("load", "resume")] == [
        "load",
        "resume",
    ]
    assert ways(tmp_path).count("resumed") == 2


def test_r07_nothing_is_learnt_of_an_empty_replay_before_the_session_was_silent(tmp_path: Path) -> None:
    """An agent that never replays: it costs one session, and the wait once."""
    never = Profile(resume=False, fork=False, faithful=None, replays=False)
    world = played(tmp_path, never, turns_and_restarts)
    assert [state for (state,) in of(tmp_path, "SELECT state FROM link")] == ["lost", "open"]
    assert ways(tmp_path) == ["fresh", "continued", "told", "continued", "resumed", "continued"]
    assert world.upstreams["A"].count("load") == 2


FIRST, REST = "The answer begins", " and goes on to its end."


def answering_slowly(running: Running) -> None:
    """Says the beginning of an answer at once, and the rest two seconds later."""
    answer_id = running.agent.upstream.message_id()
    running.say(FIRST, answer_id)

    def rest() -> None:
        running.say(REST, answer_id)
        running.end()

    asyncio.get_running_loop().call_later(2, rest)


@pytest.mark.parametrize("behind", [0.3, 1.5])
@pytest.mark.parametrize("how", ["load", "resume"])
def test_r07_a_history_that_comes_while_the_answer_does_is_no_part_of_it(
    tmp_path: Path, behind: float, how: str
) -> None:
    profile = Profile(
        load=how == "load",
        resume=how == "resume",
        fork=False,
        faithful=False,
        replays_late=behind,
        resume_replays=behind,
    )

    async def acts(world: World) -> None:
        for _ in range(2):
            await world.turn(0, "whole", False)
            await world.settle()
        await world.kill_agent(1, "A")
        world.upstreams["A"].scene = answering_slowly
        await world.send(0, None, "whole", False)
        for _ in range(3):
            await world.settle()

    played(tmp_path, profile, acts)
    assert texts(tmp_path)[-1] == FIRST + REST
    assert len(texts(tmp_path)) == 6


@pytest.mark.parametrize("behind", BEHIND[1:])
def test_r07_a_history_that_comes_when_the_first_turn_is_over_makes_no_rows(
    tmp_path: Path, behind: float
) -> None:
    def answering_at_once(running: Running) -> None:
        running.say("done")
        running.end()

    async def acts(world: World) -> None:
        for _ in range(2):
            await world.turn(0, "whole", False)
            await world.settle()
        await world.kill_agent(1, "A")
        world.upstreams["A"].scene = answering_at_once
        await world.send(0, None, "whole", False)
        for _ in range(3):
            await world.settle()

    played(tmp_path, Profile(load=False, fork=False, faithful=None, resume_replays=behind), acts)
    assert len(texts(tmp_path)) == 6
    assert of(tmp_path, "SELECT value FROM ability WHERE name = 'replays_late'") == [("yes",)]
