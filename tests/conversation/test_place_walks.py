"""Random walks: wherever prompts, moves, runs and deaths lead, the conversation goes on where its last act was.

The model is `tests/support/walks/place_model.py`. ``CATENA_WALKS`` sets how many times as many walks are made.
"""

from __future__ import annotations

import asyncio
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from catena_store.database.database import Database
from support.walks.client import owned_task
from support.walks.length import walks
from support.walks.loop import VirtualTimeLoop
from support.walks.places import Places

_ACTS = 40
_WEIGHTS = {
    "say": 6,
    "edit": 2,
    "refused": 1,
    "clear": 1,
    "go": 4,
    "go_to_place": 1,
    "undo": 3,
    "write": 2,
    "queue": 1,
    "open": 2,
    "open_beside": 2,
    "close_tab": 1,
    "quit": 4,
    "kill": 2,
    "start_client": 6,
    "run": 6,
    "killed_run": 2,
    "killed_saying": 2,
}

Act = tuple[str, tuple[Any, ...]]


def acts_of(seed: int) -> list[Act]:
    """The acts of a walk."""
    chance = random.Random(seed)

    def number() -> int:
        return chance.randrange(1_000)

    def act(name: str) -> Act:
        match name:
            case "edit":
                return name, (number(), number())
            case "go":
                return name, (number(), number(), chance.choice(["rewind", "tree"]))
            case "undo":
                return name, (number(), chance.random() < 0.4)
            case "run":
                return name, (number(), number(), chance.choice(["continue", "continue", "edit", "at"]))
            case "killed_run":
                return name, (number(), chance.randrange(40))
            case "killed_saying":
                return name, (number(), chance.randrange(20), chance.choice([None, number()]))
            case _:
                return name, (number(),)

    names = chance.choices(list(_WEIGHTS), list(_WEIGHTS.values()), k=_ACTS)
    return [act(name) for name in names]


def play(acts: list[Act], template: Path, directory: Path) -> tuple[int, str] | None:
    """Walk; the act after which something was wrong, and what."""
    path = directory / "walk.db"
    for old in directory.glob("walk.db*"):
        old.unlink()
    shutil.copy(template, path)

    async def through() -> tuple[int, str] | None:
        asyncio.get_running_loop().set_task_factory(owned_task)
        world = Places(path)
        await world.start()
        try:
            for at, (name, arguments) in enumerate(acts):
                await getattr(world, name)(*arguments)
                await world.check()
                if world.wrong:
                    return at, world.wrong[0]
        finally:
            await world.close()
        return None

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(through())


def shrunk(acts: list[Act], wrong: tuple[int, str], template: Path, directory: Path) -> list[Act]:
    """A shorter walk that goes wrong, too."""
    acts = acts[: wrong[0] + 1]
    for at in reversed(range(len(acts))):
        tried = acts[:at] + acts[at + 1 :]
        if play(tried, template, directory) is not None:
            acts = tried
    return acts


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "empty.db"

    async def make() -> None:
        async with Database.open(path):
            pass

    asyncio.run(make())
    return path


@pytest.mark.timeout(0)
def test_m16_whatever_tabs_runs_and_deaths_do_the_conversation_goes_on_where_the_last_act_was(
    template: Path, tmp_path: Path
) -> None:
    for seed in range(walks(12)):
        acts = acts_of(seed)
        if wrong := play(acts, template, tmp_path):
            small = shrunk(acts, wrong, template, tmp_path)
            again = play(small, template, tmp_path)
            told = "\n".join(f"  {name}{arguments}" for name, arguments in small)
            pytest.fail(f"seed {seed}: {(again or wrong)[1]}\n{told}", pytrace=False)
