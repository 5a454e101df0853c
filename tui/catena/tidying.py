"""Tidying the search index while nobody waits."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from catena_store.conversations import search
from catena_store.database.database import Database
from catena_store.errors import StoreError

LOOK_SECONDS = 2.0
_BREATH_SECONDS = 0.02  # between two steps, for whoever wants to write


async def tidy(db: Database, busy: Callable[[], bool], *, look_seconds: float = LOOK_SECONDS) -> None:
    """After every time of work, and once at the beginning, merge the index in small steps; never while it is busy."""
    due = not db.read_only
    while True:
        await asyncio.sleep(look_seconds)
        if busy():
            due = True
            continue
        with contextlib.suppress(StoreError):  # no room for it now: after the next work, then
            while due and not busy():
                due = await search.merge(db)
                await asyncio.sleep(_BREATH_SECONDS)
        due = False
