"""Pruning for a client that has the store open: removal and compaction beside its own connections."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence

from catena_store.clients import leases
from catena_store.database.connection import store_error
from catena_store.database.database import Database
from catena_store.errors import StoreReadOnly
from catena_store.ids import to_milliseconds, utc_now
from catena_store.keeping import compaction, removal
from catena_store.keeping.removal import Removed
from catena_store.records import Lease


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
        free = await asyncio.to_thread(compaction.free_bytes, db.path)
        done = free > 0 and await asyncio.to_thread(compaction.compact, db.path, seconds=seconds)
    except sqlite3.Error as error:
        raise store_error(error, db.path) from error
    return free if done else 0


async def free_bytes(db: Database) -> int:
    """The bytes of the file that hold nothing. Raises StoreError."""
    try:
        return await asyncio.to_thread(compaction.free_bytes, db.path)
    except sqlite3.Error as error:
        raise store_error(error, db.path) from error
