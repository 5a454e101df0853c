"""Pruning for a client that has the store open: removal and compaction beside its own connections."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path

from catena_store.clients import leases
from catena_store.database.connection import store_error
from catena_store.database.database import Database
from catena_store.errors import StoreReadOnly
from catena_store.ids import to_milliseconds, utc_now
from catena_store.keeping import removal
from catena_store.keeping.removal import Removed
from catena_store.records import Lease

_STEPS = 20_000  # of SQLite's machine between two looks at the time


async def prune(
    db: Database, ids: Sequence[str], is_dead: Callable[[Lease], bool], *, alone: bool = False
) -> Removed:
    """Remove conversations for good, and what an earlier removal left; cannot be undone.

    Whichever is in use by now stays: pinned, with a labelled checkpoint, in a tab, with a draft or a queued prompt, or
    with a lease whose owner is not dead. ``alone``: nobody else uses the file. Raises StoreError.
    """
    if db.read_only:
        raise StoreReadOnly(db.path)
    db.check_in_place()
    async with db.read() as reader:
        dead = {lease.owner.id for lease in await leases.every(reader) if is_dead(lease)}
    now = to_milliseconds(utc_now())
    try:
        return await asyncio.to_thread(
            removal.remove, db.path, ids, now=now, is_free=dead.__contains__, alone=alone
        )
    except sqlite3.Error as error:
        raise store_error(error, db.path) from error


async def give_back(db: Database, *, seconds: float | None) -> int:
    """Give the free pages of the file back to the disk, and return their bytes; 0 where it would take longer.

    Without ``seconds`` it takes as long as it takes, and whoever wants to write meanwhile fails. Raises StoreError.
    """
    db.check_in_place()
    try:
        free = await asyncio.to_thread(_free_bytes, db.path)
        done = free > 0 and await asyncio.to_thread(_compact, db.path, seconds=seconds)
    except sqlite3.Error as error:
        raise store_error(error, db.path) from error
    return free if done else 0


async def free_bytes(db: Database) -> int:
    """The bytes of the file that hold nothing. Raises StoreError."""
    try:
        return await asyncio.to_thread(_free_bytes, db.path)
    except sqlite3.Error as error:
        raise store_error(error, db.path) from error


def _free_bytes(path: Path) -> int:
    """The bytes of the file that hold nothing. Raises sqlite3.Error."""
    with closing(_connected(path)) as file:
        ((pages,),), ((size,),) = (
            file.execute(f"PRAGMA {name}").fetchall() for name in ("freelist_count", "page_size")
        )
        return int(pages) * int(size)


def _compact(path: Path, *, seconds: float | None) -> bool:
    """Write the file anew without its free pages; False where that takes longer than ``seconds``, or there is no space.

    Nobody else can write meanwhile, which is why the time is bounded while others are there. It is one transaction of
    SQLite's: whoever has the file open goes on with it, and a kill leaves it as it was. Raises sqlite3.Error.
    """
    with closing(_connected(path)) as file:
        if seconds is not None:
            end = time.monotonic() + seconds
            file.set_progress_handler(lambda: int(time.monotonic() > end), _STEPS)
        try:
            file.execute("VACUUM")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF in (
                sqlite3.SQLITE_INTERRUPT,
                sqlite3.SQLITE_BUSY,
                sqlite3.SQLITE_FULL,
                sqlite3.SQLITE_IOERR,
            ):
                return False
            raise
        file.set_progress_handler(None, 0)
        # The new file is in the log until a checkpoint; where somebody reads the old one, the next checkpoint does it.
        with suppress(sqlite3.OperationalError):
            file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return True


def _connected(path: Path) -> sqlite3.Connection:
    where = f"{path.absolute().as_uri()}?mode=rw"
    return sqlite3.connect(where, uri=True, timeout=2.0, isolation_level=None)
