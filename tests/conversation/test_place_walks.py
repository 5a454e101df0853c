"""Random walks: wherever prompts, moves, runs and deaths lead, the conversation goes on where its last act was.

The model is `tests/support/walks/place_model.py`. ``CATENA_WALKS`` sets how many times as many walks are made.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.walks.length import walks
from support.walks.places import Places
from support.walks.walking import Act, empty_store, walk_all

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


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return empty_store(tmp_path_factory.mktemp("template"))


@pytest.mark.timeout(0)
def test_m16_whatever_tabs_runs_and_deaths_do_the_conversation_goes_on_where_the_last_act_was(
    template: Path, tmp_path: Path
) -> None:
    @contextmanager
    def world() -> Iterator[Places]:
        for old in tmp_path.glob("walk.db*"):
            old.unlink()
        path = tmp_path / "walk.db"
        shutil.copy(template, path)
        yield Places(path)

    walk_all(range(walks(12)), acts_of, world)
