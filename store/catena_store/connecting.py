"""Connections to the file: to write, and only to read."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import aiosqlite

from catena_store.place import on_network
from catena_store.schema import Migration, check, migrate
from catena_store.sqlite_errors import primary

_LOG_BYTES = 8 * 1024 * 1024  # what the write-ahead log is cut back to once it was written home


def connect(path: Path, busy_seconds: float) -> aiosqlite.Connection:
    """The connection, with the file open already.

    A file that aiosqlite's own thread cannot open leaves that thread reporting to nobody, and perhaps to a loop
    that is closed by then; so a refusal must come before there is a thread.
    """
    # Statements that begin and end transactions are ours alone, hence no isolation level.
    opened = sqlite3.connect(
        path, timeout=busy_seconds, isolation_level=None, cached_statements=256, check_same_thread=False
    )
    return aiosqlite.Connection(lambda: opened, iter_chunk_size=64)


def connect_to_read(path: Path) -> aiosqlite.Connection:
    """A connection that writes nothing, not even beside the file, unless another process has made room there."""
    where = path.absolute().as_uri()
    opened = _opened_to_read(f"{where}?mode=ro")
    try:
        opened.execute("SELECT 1 FROM sqlite_schema").fetchone()
    except sqlite3.OperationalError:
        opened.close()
        log = path.with_name(path.name + "-wal")
        if log.exists() and log.stat().st_size:
            raise
        # Nobody can write beside the file, so there is nothing that a lock would tell.
        opened = _opened_to_read(f"{where}?mode=ro&immutable=1")
    return aiosqlite.Connection(lambda: opened, iter_chunk_size=64)


def _opened_to_read(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(
        uri, uri=True, isolation_level=None, cached_statements=256, check_same_thread=False
    )


async def prepare_to_read(
    connection: aiosqlite.Connection, path: Path, migrations: tuple[Migration, ...], busy_seconds: float
) -> None:
    await connection
    for pragma in ("query_only = ON", "temp_store = MEMORY", f"busy_timeout = {busy_seconds * 1000:.0f}"):
        await connection.execute_fetchall(f"PRAGMA {pragma}")
    await check(connection, path, migrations)


async def prepare(
    connection: aiosqlite.Connection, path: Path, migrations: tuple[Migration, ...], busy_seconds: float
) -> None:
    await connection
    journal = await _choose_journal(connection, path, busy_seconds)
    for pragma in (
        "foreign_keys = ON",
        # With a log, NORMAL loses nothing when a process dies; without one, a power cut could tear the file.
        f"synchronous = {'NORMAL' if journal == 'wal' else 'FULL'}",
        "temp_store = MEMORY",
        f"journal_size_limit = {_LOG_BYTES}",
    ):
        await connection.execute_fetchall(f"PRAGMA {pragma}")
    await migrate(connection, path, migrations)


async def _choose_journal(connection: aiosqlite.Connection, path: Path, busy_seconds: float) -> str:
    """Set the journal mode; gives the one in force: not `wal` where the file system cannot carry it."""
    wanted = "delete" if on_network(path.parent) else "wal"
    mode = await _journal_mode(connection, "PRAGMA journal_mode")
    deadline = asyncio.get_running_loop().time() + busy_seconds
    while mode != wanted:
        try:
            return await _journal_mode(connection, f"PRAGMA journal_mode = {wanted}")
        except sqlite3.OperationalError as error:
            # SQLite does not wait here by itself when two processes make the same file.
            if primary(error) != sqlite3.SQLITE_BUSY or asyncio.get_running_loop().time() > deadline:
                raise
        await asyncio.sleep(0.01)
        mode = await _journal_mode(connection, "PRAGMA journal_mode")
    return mode


async def _journal_mode(connection: aiosqlite.Connection, pragma: str) -> str:
    rows = list(await connection.execute_fetchall(pragma))
    return str(rows[0][0])
