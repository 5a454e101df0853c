"""A walk by hand: what happens is written down, and whatever the judge finds wrong with it fails the test."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

from catena_store.database.database import Database
from support.agents.model import Profile
from support.walks.client import owned_task
from support.walks.loop import VirtualTimeLoop
from support.walks.world import World

Acts = Callable[[World], Awaitable[None]]


def played(place: Path, profile: Profile, acts: Acts) -> World:
    """Play with an agent of this profile, in a time of its own."""
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


def stored(place: Path, sql: str) -> list[tuple[object, ...]]:
    """The rows of a query on the store that it left."""
    with closing(sqlite3.connect(place / "walk.db")) as file:
        return file.execute(sql).fetchall()
