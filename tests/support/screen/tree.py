"""The tree of a conversation with branches on the screen."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from catena.screens.tree.screen import TreeScreen
from catena.widgets.row_list import RowList
from catena_store.database.database import Database
from catena_store.windows import windows
from support.conversations.rehearsed import World
from support.screen.pilot import Person, at_the_screen
from support.storage.tree import shop


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A world whose agent is the built-in one of the screen."""
    world = World(tmp_path)
    for name, value in world.spec().env:
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    return world


@asynccontextmanager
async def in_the_shop(
    world: World,
    size: tuple[int, int] = (100, 30),
    *,
    fill: Callable[[Database, Path], Awaitable[object]] = shop,
    leaf: str | None = "a2b",
) -> AsyncIterator[Person]:
    """The conversation ``c1`` in a tab that stands on ``leaf``."""
    async with Database.open(world.store) as db:
        await fill(db, world.project)
        async with db.write() as tx:
            await windows.open(tx, id="w0", conversation_id="c1", leaf_id=leaf)
            await windows.close(tx, "w0")
    async with at_the_screen(str(world.project), conversation_id="c1", size=size) as person:
        await person.until(lambda: person.tab.prepared, "the tab to be shown")
        yield person


async def open_tree(person: Person) -> TreeScreen:
    """By its key, as a person who browses does."""
    await person.browse()
    await person.press("t")
    screen = await person.sees_dialog(TreeScreen)
    await person.until(lambda: screen.query_one(RowList).rows, "its lines")
    return screen


def under_the_cursor(screen: TreeScreen) -> str:
    chosen = screen.query_one(RowList).chosen
    assert chosen is not None
    return chosen.key


def rows_of(screen: TreeScreen) -> list[str]:
    return [row.key for row in screen.query_one(RowList).rows]
