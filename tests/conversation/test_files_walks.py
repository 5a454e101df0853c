"""Random walks: whatever turns, going, undo, deaths, others and the person do, files are as the documents say.

The model is `tests/support/walks/files_model.py`. ``CATENA_WALKS`` sets how many times as many walks are made.
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
from support.walks.files import FilesWalk
from support.walks.length import walks
from support.walks.loop import VirtualTimeLoop

_ACTS = 14
_WEIGHTS = {
    "say": 6,
    "edit": 5,
    "go": 4,
    "undo": 5,
    "restore": 3,
    "person": 4,
    "beside": 1,
    "killed_turn": 1,
    "killed_going": 2,
    "fork": 1,
}

Act = tuple[str, tuple[Any, ...]]


def acts_of(seed: int) -> list[Act]:
    """The acts of a walk, which begins with some turns."""
    chance = random.Random(seed)

    def number() -> int:
        return chance.randrange(1_000)

    def act(name: str) -> Act:
        talk = chance.choice([0, 0, 0, 1, number()])
        front = chance.choice(["screen", "lines", "run"])
        match name:
            case "edit":
                return name, (talk, number(), number(), front, number())
            case "go":
                return name, (talk, number(), front, number())
            case "undo":
                return name, (talk, chance.random() < 0.35)
            case "restore":
                return name, (talk, number(), chance.random() < 0.5, chance.random() < 0.7, number())
            case "killed_turn":
                return name, (talk, number(), number())
            case "killed_going":
                finished, command = chance.random() < 0.5, chance.random() < 0.5
                return name, (talk, number(), number(), number(), finished, command)
            case "beside":
                return name, (number(), number())
            case "person":
                return name, (number(),)
            case _:
                return name, (talk, number())

    names = chance.choices(list(_WEIGHTS), list(_WEIGHTS.values()), k=_ACTS)
    return [act(name) for name in ["say", "say", *names]]


def play(acts: list[Act], template: Path, directory: Path) -> tuple[int, str] | None:
    """Walk; the act after which something was wrong, and what."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    path = directory / "walk.db"
    shutil.copy(template, path)

    async def through() -> tuple[int, str] | None:
        loop = asyncio.get_running_loop()
        loop.set_task_factory(owned_task)
        loop.set_exception_handler(lambda _, __: None)  # tasks of killed clients
        with pytest.MonkeyPatch.context() as patches:
            world = FilesWalk(path, directory / "project", patches)
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
def test_g10_whatever_turns_going_undo_deaths_and_others_do_files_are_as_the_documents_say(
    template: Path, tmp_path: Path
) -> None:
    for seed in range(walks(3)):
        acts = acts_of(seed)
        if wrong := play(acts, template, tmp_path / "walk"):
            small = shrunk(acts, wrong, template, tmp_path / "walk")
            again = play(small, template, tmp_path / "walk")
            told = "\n".join(f"  {name}{arguments}" for name, arguments in small)
            pytest.fail(f"seed {seed}: {(again or wrong)[1]}\n{told}", pytrace=False)
