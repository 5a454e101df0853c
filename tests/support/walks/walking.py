"""Random walks through a world, in virtual time: what goes wrong in one, in as few acts as show it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pytest

from catena_store.database.database import Database
from support.walks.client import owned_task
from support.walks.loop import VirtualTimeLoop

Act = tuple[str, tuple[Any, ...]]  # the name of a method of the world, and its arguments


class Wrong(NamedTuple):
    """What was wrong, and after which act."""

    at: int
    words: str


class Walked(Protocol):
    """A world that is walked through."""

    @property
    def wrong(self) -> Sequence[str]:
        """What was found wrong."""

    async def start(self) -> None:
        """Begin."""

    async def check(self) -> None:
        """Compare everything with the model."""

    async def close(self) -> None:
        """End all that runs."""


MakeWorld = Callable[[], AbstractContextManager[Walked]]  # another one for each walk


def empty_store(directory: Path) -> Path:
    """A store without anything in it, to be copied."""
    path = directory / "empty.db"

    async def make() -> None:
        async with Database.open(path):
            pass

    asyncio.run(make())
    return path


def play(acts: Sequence[Act], make: MakeWorld) -> Wrong | None:
    """Walk; the act after which something was wrong, and what."""

    async def through() -> Wrong | None:
        asyncio.get_running_loop().set_task_factory(owned_task)
        with make() as world:
            await world.start()
            try:
                for at, (name, arguments) in enumerate(acts):
                    await getattr(world, name)(*arguments)
                    await world.check()
                    if world.wrong:
                        return Wrong(at, world.wrong[0])
            finally:
                await world.close()
        return None

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(through())


def shrunk(acts: Sequence[Act], wrong: Wrong, make: MakeWorld) -> Sequence[Act]:
    """A shorter walk that goes wrong, too."""
    acts = acts[: wrong.at + 1]
    for at in reversed(range(len(acts))):
        tried = [*acts[:at], *acts[at + 1 :]]
        if play(tried, make) is not None:
            acts = tried
    return acts


def walk_all(seeds: Iterable[int], acts_of: Callable[[int], Sequence[Act]], make: MakeWorld) -> None:
    """Walk once for each seed; the first walk that goes wrong fails the test, with its shortest form."""
    for seed in seeds:
        acts = acts_of(seed)
        if (wrong := play(acts, make)) is not None:
            small = shrunk(acts, wrong, make)
            again = play(small, make)
            told = "\n".join(f"  {name}{arguments}" for name, arguments in small)
            pytest.fail(f"seed {seed}: {(again or wrong).words}\n{told}", pytrace=False)
