"""A disk without space for the store, for as long as a test likes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import pytest

from catena_store.database.database import Database, Writer
from catena_store.errors import StoreFull


@contextmanager
def full_disk(db: Database) -> Iterator[list[StoreFull]]:
    """Within the block no transaction of this client finds space, and each is noted; reading goes on."""
    refused: list[StoreFull] = []

    @asynccontextmanager
    async def write() -> AsyncIterator[Writer]:
        refused.append(StoreFull(db.path))
        raise refused[-1]
        yield

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(db, "write", write)
        yield refused
