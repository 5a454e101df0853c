"""Random walks: whatever turns, going, undo, deaths, others and the person do, files are as the documents say.

The model is `tests/support/walks/files_model.py`. ``CATENA_WALKS`` sets how many times as many walks are made.
"""

from __future__ import annotations

import asyncio
import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.walks.files import FilesWalk
from support.walks.length import walks
from support.walks.walking import Act, empty_store, walk_all

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


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return empty_store(tmp_path_factory.mktemp("template"))


@pytest.mark.timeout(0)
def test_g10_whatever_turns_going_undo_deaths_and_others_do_files_are_as_the_documents_say(
    template: Path, tmp_path: Path
) -> None:
    directory = tmp_path / "walk"

    @contextmanager
    def world() -> Iterator[FilesWalk]:
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        path = directory / "walk.db"
        shutil.copy(template, path)
        asyncio.get_running_loop().set_exception_handler(lambda _, __: None)  # tasks of killed clients
        with pytest.MonkeyPatch.context() as patches:
            yield FilesWalk(path, directory / "project", patches)

    walk_all(range(walks(3)), acts_of, world)
