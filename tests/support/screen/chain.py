"""A conversation over two sessions on the screen."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from catena.settings.settings import Settings
from support.conversations.rehearsed import World
from support.screen.pilot import Person, at_the_screen

NOT_NOW = {"error": [-32603, "try later"]}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A world whose agent is the built-in one of the screen."""
    world = World(tmp_path)
    for name, value in world.spec().env:
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    return world


@asynccontextmanager
async def two_sessions(world: World, size: tuple[int, int] = (100, 30)) -> AsyncIterator[Person]:
    """A conversation that went over two sessions; the second agent process runs."""
    # A parked fork of the first would carry the second natively.
    async with at_the_screen(str(world.project), size=size, settings=Settings(park=False)) as person:
        await person.say("say alpha")
        await person.sees("  alpha")
        await person.idle()
        await person.say("crash")
        await person.sees("was killed")
        await person.idle()
        world.fail({"load": NOT_NOW, "resume": NOT_NOW})
        await person.say("say beta")
        await person.sees("  beta")
        await person.idle()
        world.fail({})
        yield person
