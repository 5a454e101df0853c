"""The one connection to the store: opening it, and the transactions on it.

A transaction is an ``async with``; the connection is its own until it ends, so it must neither wait for a
person or an agent nor open another one. Leaving the block commits; an exception, a cancellation among them,
leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import aiosqlite

from catena_store.errors import StoreBusy, StoreError, StoreFull, StoreReadOnly, StoreUnusable
from catena_store.ids import to_milliseconds, utc_now
from catena_store.place import data_directory, default_path, make_private, on_network
from catena_store.schema import Migration, migrate, shipped

__all__ = ["Database", "Reader", "Writer", "data_directory", "default_path"]

T = TypeVar("T")
Parameters = Sequence[object]

_OLDEST_SQLITE = (3, 37)  # the first that keeps to the types of a table's columns
_BUSY_SECONDS = 5.0
_LOG_BYTES = 8 * 1024 * 1024  # what the write-ahead log is cut back to once it was written home


class Reader:
    """What can be asked within one snapshot."""

    __slots__ = ("_connection", "_path")

    def __init__(self, connection: aiosqlite.Connection, path: Path) -> None:
        self._connection: aiosqlite.Connection | None = connection
        self._path = path

    async def all(self, sql: str, parameters: Parameters = ()) -> list[tuple[Any, ...]]:
        """Every row that the query gives."""
        found: Iterable[Any] = await self._do(
            lambda connection: connection.execute_fetchall(sql, _storable(parameters))
        )
        return list(found)

    async def one(self, sql: str, parameters: Parameters = ()) -> tuple[Any, ...] | None:
        """The first row that the query gives, None where it gives none."""
        rows = await self.all(sql, parameters)
        return rows[0] if rows else None

    async def _do(self, step: Callable[[aiosqlite.Connection], Awaitable[T]]) -> T:
        connection = self._connection
        if connection is None:
            raise StoreError("the transaction has ended")
        try:
            return await step(connection)
        except sqlite3.Error as error:
            raise _translated(error, self._path) from error
        except asyncio.CancelledError:
            await _cut_short(connection)
            raise

    def _end(self) -> None:
        self._connection = None


class Writer(Reader):
    """What can be asked and changed within one transaction."""

    __slots__ = ("_clock", "_now")

    def __init__(self, connection: aiosqlite.Connection, path: Path, clock: Callable[[], datetime]) -> None:
        super().__init__(connection, path)
        self._clock = clock
        self._now: int | None = None

    async def run(self, sql: str, parameters: Parameters = ()) -> int:
        """Run one statement; gives the number of rows that it changed."""
        cursor = await self._do(lambda connection: _execute(connection, sql, _storable(parameters)))
        return cursor.rowcount

    async def run_many(self, sql: str, rows: Sequence[Parameters]) -> None:
        """Run one statement for each of the rows."""
        storable = [_storable(row) for row in rows]
        await self._do(lambda connection: _execute_many(connection, sql, storable))

    def now(self) -> int:
        """The time of this transaction, in milliseconds: the same for all that is written in it."""
        if self._now is None:
            self._now = to_milliseconds(self._clock())
        return self._now


class Database:
    """The open store."""

    def __init__(self, connection: aiosqlite.Connection, path: Path, clock: Callable[[], datetime]) -> None:
        self.path = path
        self._connection = connection
        self._clock = clock
        self._lock = asyncio.Lock()
        self._holder: asyncio.Task[Any] | None = None
        self._closed = False

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        path: Path,
        *,
        clock: Callable[[], datetime] = utc_now,
        migrations: tuple[Migration, ...] | None = None,
        busy_seconds: float = _BUSY_SECONDS,
    ) -> AsyncIterator[Database]:
        """Open the store for the length of the block, making it first where there is none.

        Raises StoreUnusable where that cannot be, and StoreBusy.
        """
        if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
            raise StoreUnusable(
                path, f"needs SQLite {'.'.join(map(str, _OLDEST_SQLITE))}; here is {sqlite3.sqlite_version}"
            )
        try:
            make_private(path)
        except OSError as error:
            raise StoreUnusable(path, f"cannot be opened: {error.strerror}") from error
        try:
            connection = _connect(path, busy_seconds)
        except sqlite3.Error as error:
            raise _refusal(error, path) from error
        try:
            try:
                await _to_the_end(_prepare(connection, path, migrations or shipped(), busy_seconds))
            except sqlite3.Error as error:
                raise _refusal(error, path) from error
            except OSError as error:
                raise StoreUnusable(path, f"cannot be opened: {error.strerror}") from error
            db = cls(connection, path, clock)
            try:
                yield db
            finally:
                db._closed = True
        finally:
            # The connection's thread ends with it; one left open would keep the process from ending.
            await _to_the_end(connection.close())

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Reader]:
        """One snapshot to read from: what others write meanwhile is not in it."""
        reader = Reader(self._connection, self.path)
        async with self._transaction("BEGIN", reader):
            yield reader

    @asynccontextmanager
    async def write(self) -> AsyncIterator[Writer]:
        """One transaction to write in.

        Raises StoreBusy, StoreFull or StoreReadOnly, at any statement and at the end of the block.
        """
        writer = Writer(self._connection, self.path, self._clock)
        # A transaction that starts by reading can find that it may not write: only one that starts as writer
        # waits.
        async with self._transaction("BEGIN IMMEDIATE", writer):
            yield writer

    async def data_version(self) -> int:
        """A number that changes when another process has written."""
        async with self._alone():
            try:
                rows = list(await self._connection.execute_fetchall("PRAGMA data_version"))
            except sqlite3.Error as error:
                raise _translated(error, self.path) from error
            return int(rows[0][0])

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        task = asyncio.current_task()
        if task is not None and task is self._holder:
            raise RuntimeError("a transaction within a transaction would wait for itself")
        if self._closed:
            raise StoreError(f"{self.path} was closed")
        async with self._lock:
            self._holder = task
            try:
                yield
            finally:
                self._holder = None

    @asynccontextmanager
    async def _transaction(self, begin: str, reader: Reader) -> AsyncIterator[None]:
        async with self._alone():
            committed = False
            try:
                await reader._do(lambda connection: _execute(connection, begin))
                yield
                await self._finish(self._connection.commit())
                committed = True
            finally:
                reader._end()
                if not committed:
                    # Does nothing where no transaction is open. Statements run in the order in which they are
                    # handed over, so this undoes one that was under way when the task was cancelled, too.
                    await self._finish(self._connection.rollback())

    async def _finish(self, step: Coroutine[Any, Any, None]) -> None:
        try:
            await _to_the_end(step)
        except sqlite3.Error as error:
            raise _translated(error, self.path) from error


async def _to_the_end(step: Coroutine[Any, Any, T]) -> T:
    """Await a step that must not be left half done: a cancellation takes effect when it is finished."""
    task = asyncio.ensure_future(step)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        if not task.cancelled():
            task.exception()
        raise cancelled
    return task.result()


async def _cut_short(connection: aiosqlite.Connection) -> None:
    """End the statement that is under way: nobody wants its answer, and the rollback would wait for it."""
    # An interrupt does nothing to a statement that the thread has yet to begin, so it is repeated until the thread
    # has come to something that was handed over later.
    later = asyncio.ensure_future(connection.set_progress_handler(lambda: None, 0))
    while not later.done():
        await connection.interrupt()
        with suppress(asyncio.CancelledError):  # we are on our way out already
            await asyncio.wait((later,), timeout=0.01)


def _connect(path: Path, busy_seconds: float) -> aiosqlite.Connection:
    """The connection, with the file open already.

    A file that aiosqlite's own thread cannot open leaves that thread reporting to nobody, and perhaps to a loop
    that is closed by then; so a refusal must come before there is a thread.
    """
    # Statements that begin and end transactions are ours alone, hence no isolation level.
    opened = sqlite3.connect(
        path, timeout=busy_seconds, isolation_level=None, cached_statements=256, check_same_thread=False
    )
    return aiosqlite.Connection(lambda: opened, iter_chunk_size=64)


async def _prepare(
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
            if _primary(error) != sqlite3.SQLITE_BUSY or asyncio.get_running_loop().time() > deadline:
                raise
        await asyncio.sleep(0.01)
        mode = await _journal_mode(connection, "PRAGMA journal_mode")
    return mode


async def _journal_mode(connection: aiosqlite.Connection, pragma: str) -> str:
    rows = list(await connection.execute_fetchall(pragma))
    return str(rows[0][0])


async def _execute(
    connection: aiosqlite.Connection, sql: str, parameters: Parameters = ()
) -> aiosqlite.Cursor:
    return await connection.execute(sql, parameters)


async def _execute_many(
    connection: aiosqlite.Connection, sql: str, rows: Sequence[Parameters]
) -> aiosqlite.Cursor:
    return await connection.executemany(sql, rows)


def _storable(parameters: Parameters) -> Parameters:
    """The parameters with what UTF-8 cannot hold replaced: an agent may send half a surrogate pair."""
    if all(not isinstance(value, str) or value.isascii() or _is_sound(value) for value in parameters):
        return parameters
    return [_sound(value) if isinstance(value, str) else value for value in parameters]


def _sound(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _is_sound(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _primary(error: sqlite3.Error) -> int:
    # Errors of the Python module itself carry no code.
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE) & 0xFF


def _translated(error: sqlite3.Error, path: Path) -> StoreError:
    match _primary(error):
        case sqlite3.SQLITE_FULL:
            return StoreFull(path)
        case sqlite3.SQLITE_READONLY:
            return StoreReadOnly(path)
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreBusy(path)
        case sqlite3.SQLITE_NOTADB:
            return StoreUnusable(path, "is not a Catena file")
        case sqlite3.SQLITE_CORRUPT:
            return StoreUnusable(path, f"is damaged ({error})")
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return StoreUnusable(path, f"cannot be opened ({error})")
        case sqlite3.SQLITE_IOERR:
            return StoreUnusable(path, f"cannot be read or written ({error})")
        case _:
            return StoreError(f"{path}: {error}")


def _refusal(error: sqlite3.Error, path: Path) -> StoreError:
    """What an error means while the store is being opened."""
    match _translated(error, path):
        case StoreUnusable() | StoreBusy() as refusal:
            return refusal
        case StoreFull():
            return StoreUnusable(path, "cannot be opened: the disk is full")
        case StoreReadOnly():
            return StoreUnusable(path, "cannot be opened: the file or its directory is read-only")
        case _:
            return StoreUnusable(path, f"cannot be opened ({error})")
