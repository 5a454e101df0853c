"""Connections to the file, to write or only to read, the meaning of SQLite's errors, and who holds a lock."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import aiosqlite

from catena_store.database.location import lock_refusal, on_network
from catena_store.database.schema import Migration, check_version, migrate
from catena_store.errors import (
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnlockable,
    StoreUnusable,
)

_UNDECODED = "Could not decode to UTF-8"  # comes from Python, without a code

# Codes of a write that found no room, by a quota or a limit of the process rather than a full disk.
_NO_ROOM = frozenset(
    {sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_TRUNCATE}
)

_OF_LOCKS = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CANTOPEN,
    }
)

# Bytes that SQLite's writers lock: with a log, one of the shared memory; without one, two of the file.
_WITH_LOG = range(120, 121)
_WITHOUT_LOG = range(0x40000000, 0x40000002)


def primary_code(error: sqlite3.Error) -> int:
    """The primary result code of an error."""
    # An error of the Python module itself has no code.
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE) & 0xFF


def store_error(error: sqlite3.Error, path: Path) -> StoreError:
    """The store's error for one of SQLite while the store is in use."""
    if _UNDECODED in str(error):
        return StoreDamaged(path, "a text in it is not UTF-8")
    code = primary_code(error)
    # SQLite calls a lock that is refused one that somebody holds, or a failure to read.
    if code in _OF_LOCKS and (refusal := lock_refusal(path.parent)) is not None:
        return StoreUnlockable(path, refusal)
    match code:
        case sqlite3.SQLITE_FULL:
            return StoreFull(path)
        case sqlite3.SQLITE_READONLY:
            return StoreReadOnly(path)
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED | sqlite3.SQLITE_PROTOCOL:
            owner = _lock_owner(path)
            return StoreBusy(path) if owner is None else StoreBusy(path, owner.pid, stopped=owner.stopped)
        case sqlite3.SQLITE_NOTADB:
            return StoreUnusable(
                path,
                "is not a Catena database; if it was one, recover it with `catena doctor salvage`",
                may_be_damaged=True,
            )
        case sqlite3.SQLITE_CORRUPT:
            return StoreDamaged(path, str(error))
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return StoreUnusable(path, f"cannot be opened ({error})")
        case sqlite3.SQLITE_IOERR if getattr(error, "sqlite_errorcode", 0) in _NO_ROOM:
            return StoreFull(path, f"the disk is full or failing, or a quota is exceeded ({error})")
        case sqlite3.SQLITE_IOERR:
            return StoreUnusable(path, f"cannot be read or written ({error})")
        case _:
            return StoreError(f"{path}: {error}")


def opening_error(error: sqlite3.Error, path: Path) -> StoreError:
    """The store's error for one of SQLite while the store is being opened."""
    match store_error(error, path):
        case StoreUnusable() | StoreBusy() as opening_error:
            return opening_error
        case StoreFull():
            return StoreUnusable(path, "cannot be opened: the disk or a quota is full")
        case StoreReadOnly():
            return StoreUnusable(path, "cannot be opened: the file or its directory is read-only")
        case _:
            return StoreUnusable(path, f"cannot be opened ({error})")


_TRY_SECONDS = 0.1  # that one try to begin a transaction may take, in which the connection does nothing else

_LOG_BYTES = 8 * 1024 * 1024  # that the write-ahead log is truncated to after a checkpoint


def connect_to_write(path: Path, busy_seconds: float) -> aiosqlite.Connection:
    """A connection to write, with the file open already.

    Where aiosqlite's own thread fails to open a file, it reports to nobody, perhaps to a loop that is closed by then;
    so the file is opened before there is a thread.
    """
    # Only we begin and end transactions, hence no isolation level.
    opened = sqlite3.connect(
        path, timeout=busy_seconds, isolation_level=None, cached_statements=256, check_same_thread=False
    )
    return aiosqlite.Connection(lambda: opened, iter_chunk_size=64)


def connect_to_read(path: Path) -> aiosqlite.Connection:
    """A read-only connection, which creates nothing beside the file either."""
    where = path.absolute().as_uri()
    opened = _opened_to_read(f"{where}?mode=ro")
    try:
        opened.execute("SELECT 1 FROM sqlite_schema").fetchone()
    except sqlite3.OperationalError:
        opened.close()
        log = path.with_name(path.name + "-wal")
        if log.exists() and log.stat().st_size:
            raise
        # Nobody can write beside the file, so no lock is needed.
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
    await check_version(connection, path, migrations)


async def prepare_to_write(
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
    # Then only the beginning of a transaction waits for other writers, and is tried again.
    if journal == "wal":
        waits = min(busy_seconds, _TRY_SECONDS) * 1000
        await connection.execute_fetchall(f"PRAGMA busy_timeout = {waits:.0f}")


async def _choose_journal(connection: aiosqlite.Connection, path: Path, busy_seconds: float) -> str:
    """Set the journal mode and return it: `delete` where the file system cannot carry a write-ahead log."""
    wanted = "delete" if on_network(path.parent) else "wal"
    mode = await _journal_mode(connection, "PRAGMA journal_mode")
    deadline = asyncio.get_running_loop().time() + busy_seconds
    while mode != wanted:
        try:
            return await _journal_mode(connection, f"PRAGMA journal_mode = {wanted}")
        except sqlite3.OperationalError as error:
            # SQLite itself does not wait here when two processes create the same file.
            if primary_code(error) != sqlite3.SQLITE_BUSY or asyncio.get_running_loop().time() > deadline:
                raise
        await asyncio.sleep(0.01)
        mode = await _journal_mode(connection, "PRAGMA journal_mode")
    return mode


async def _journal_mode(connection: aiosqlite.Connection, pragma: str) -> str:
    rows = list(await connection.execute_fetchall(pragma))
    return str(rows[0][0])


@dataclass(frozen=True, slots=True)
class _LockOwner:
    """A process that has the lock, or had it a moment ago."""

    pid: int
    stopped: bool  # by a signal, such as Ctrl+Z: until somebody lets it go on, it keeps the lock


def _lock_owner(path: Path) -> _LockOwner | None:
    """The other process that is writing to the file; None if there is none, or if the system does not tell."""
    with suppress(OSError):
        locks = Path("/proc/locks").read_text("ascii", "replace")
        for file, writing in ((path.with_name(f"{path.name}-shm"), _WITH_LOG), (path, _WITHOUT_LOG)):
            with suppress(FileNotFoundError):
                told = file.stat()
                for pid in _writers(locks, told.st_ino, writing):
                    if _has_open(pid, told):
                        return _LockOwner(pid, _is_stopped(pid))
    return None


def _writers(locks: str, inode: int, writing: range) -> Iterator[int]:
    """The processes that have a lock to write on these bytes of a file with this inode, on any device."""
    for line in locks.splitlines():
        match line.split():
            case [_, "POSIX", _, "WRITE", pid, where, first, last] if where.endswith(f":{inode}"):
                end = writing.stop if last == "EOF" else int(last)
                if int(first) < writing.stop and end >= writing.start and 0 < int(pid) != os.getpid():
                    yield int(pid)


def _has_open(pid: int, file: os.stat_result) -> bool:
    """True if a process has the file open: on some file systems the table of locks names another device."""
    with suppress(OSError):
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                if os.path.samestat(descriptor.stat(), file):
                    return True
    return False


def _is_stopped(pid: int) -> bool:
    with suppress(OSError):
        # The name of the program, in parentheses, may have anything in it.
        _, _, behind = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")
        return behind.split()[:1] == ["T"]
    return False
