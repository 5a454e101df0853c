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

from catena_store.database.connection import (
    connect_to_read,
    connect_to_write,
    opening_error,
    prepare_to_read,
    prepare_to_write,
    primary_code,
    store_error,
)
from catena_store.database.location import data_directory, default_path, make_private, may_write
from catena_store.database.repair import repair
from catena_store.database.schema import Migration, shipped
from catena_store.errors import StoreDamaged, StoreError, StoreReadOnly, StoreUnusable
from catena_store.ids import to_milliseconds, utc_now

__all__ = ["Database", "Reader", "Writer", "data_directory", "default_path"]

T = TypeVar("T")
Parameters = Sequence[object]

_OLDEST_SQLITE = (3, 37)  # the first that keeps to the types of a table's columns
_BUSY_SECONDS = 5.0
_MOST_REPAIRS = 3  # in one life: a disk that goes on failing is not mended


class Reader:
    """What can be asked within one snapshot."""

    __slots__ = ("_connection", "_done", "_mended", "_path")

    _begin = "BEGIN"

    def __init__(
        self,
        connection: aiosqlite.Connection,
        path: Path,
        mended: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        self._connection: aiosqlite.Connection | None = connection
        self._path = path
        self._mended = mended
        self._done: list[Callable[[aiosqlite.Connection], Awaitable[object]]] = []  # what this has written

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
            if primary_code(error) != sqlite3.SQLITE_CORRUPT or not await self._begun_again(connection):
                raise store_error(error, self._path) from error
        except asyncio.CancelledError:
            await _interrupt(connection)
            raise
        try:
            return await step(connection)
        except sqlite3.Error as error:
            raise store_error(error, self._path) from error

    async def _begun_again(self, connection: aiosqlite.Connection) -> bool:
        """Mend the file, and bring the transaction to where it was; False where it cannot be mended."""
        mended, self._mended = self._mended, None
        if mended is None:
            return False
        await connection.rollback()
        if not await mended():
            return False
        try:
            await connection.execute(self._begin)
            for step in self._done:
                await step(connection)
        except sqlite3.Error as error:
            raise store_error(error, self._path) from error
        return True

    def _end(self) -> None:
        self._connection = None


class Writer(Reader):
    """What can be asked and changed within one transaction."""

    __slots__ = ("_clock", "_now")

    _begin = "BEGIN IMMEDIATE"

    def __init__(
        self,
        connection: aiosqlite.Connection,
        path: Path,
        clock: Callable[[], datetime],
        mended: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        super().__init__(connection, path, mended)
        self._clock = clock
        self._now: int | None = None

    async def run(self, sql: str, parameters: Parameters = ()) -> int:
        """Run one statement; gives the number of rows that it changed."""
        storable = _storable(parameters)
        return (await self._written(lambda connection: _execute(connection, sql, storable))).rowcount

    async def run_many(self, sql: str, rows: Sequence[Parameters]) -> None:
        """Run one statement for each of the rows."""
        storable = [_storable(row) for row in rows]
        await self._written(lambda connection: _execute_many(connection, sql, storable))

    async def _written(
        self, step: Callable[[aiosqlite.Connection], Awaitable[aiosqlite.Cursor]]
    ) -> aiosqlite.Cursor:
        cursor = await self._do(step)
        self._done.append(step)
        return cursor

    def now(self) -> int:
        """The time of this transaction, in milliseconds: the same for all that is written in it."""
        if self._now is None:
            self._now = to_milliseconds(self._clock())
        return self._now


class Database:
    """The open store."""

    def __init__(
        self,
        connection: aiosqlite.Connection,
        path: Path,
        clock: Callable[[], datetime],
        *,
        read_only: bool = False,
    ) -> None:
        self.path = path
        self.read_only = read_only  # the file may not be written: what is there can be read
        self._connection = connection
        self._clock = clock
        self._lock = asyncio.Lock()
        self._aside: aiosqlite.Connection | None = None
        self._aside_lock = asyncio.Lock()
        self._holder: asyncio.Task[Any] | None = None
        self._closed = False
        self._mendings_left = _MOST_REPAIRS
        self._unsaid: list[str] = []
        self._tell_mended: Callable[[str], None] | None = None

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

        One that may not be written is opened to be read. Raises StoreUnusable where that cannot be, and StoreBusy.
        """
        if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
            raise StoreUnusable(
                path, f"needs SQLite {'.'.join(map(str, _OLDEST_SQLITE))}; here is {sqlite3.sqlite_version}"
            )
        read_only = not may_write(path)
        try:
            if not read_only:
                make_private(path)
        except OSError as error:
            raise StoreUnusable(path, f"cannot be opened: {error.strerror}") from error
        try:
            connection = connect_to_read(path) if read_only else connect_to_write(path, busy_seconds)
        except sqlite3.Error as error:
            raise opening_error(error, path) from error
        preparing = prepare_to_read if read_only else prepare_to_write
        try:
            try:
                await _shielded(preparing(connection, path, migrations or shipped(), busy_seconds))
            except sqlite3.Error as error:
                raise opening_error(error, path) from error
            except UnicodeDecodeError as error:  # of SQLite's own complaint, which quotes what it read
                raise StoreDamaged(path, "its list of tables cannot be read") from error
            except OSError as error:
                raise StoreUnusable(path, f"cannot be opened: {error.strerror}") from error
            db = cls(connection, path, clock, read_only=read_only)
            try:
                yield db
            finally:
                db._closed = True
                await _shielded(db._close_aside())
        finally:
            # The connection's thread ends with it; one left open would keep the process from ending.
            await _shielded(connection.close())

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Reader]:
        """One snapshot to read from: what others write meanwhile is not in it."""
        reader = Reader(self._connection, self.path, self._mend)
        async with self._transaction(reader):
            yield reader

    @asynccontextmanager
    async def read_concurrently(self) -> AsyncIterator[Reader]:
        """One snapshot to read from that waits for none of our own transactions, and holds none up.

        On a connection of its own, opened when it is first asked for: for what takes long, such as a search.
        """
        async with self._aside_lock:
            if self._closed:
                raise StoreError(f"{self.path} was closed")
            try:
                if self._aside is None:
                    # Cancelled half-way, it would never be opened again.
                    await _shielded(self._open_aside())
                assert self._aside is not None
            except sqlite3.Error as error:
                raise opening_error(error, self.path) from error
            reader = Reader(self._aside, self.path)
            try:
                await reader._do(lambda connection: _execute(connection, reader._begin))
                yield reader
            finally:
                reader._end()
                await self._finish(self._aside.rollback())

    @asynccontextmanager
    async def write(self) -> AsyncIterator[Writer]:
        """One transaction to write in.

        Raises StoreBusy, StoreFull or StoreReadOnly, at any statement and at the end of the block.
        """
        if self.read_only:
            raise StoreReadOnly(self.path)
        writer = Writer(self._connection, self.path, self._clock, self._mend)
        # A transaction that starts by reading can find that it may not write: only one that starts as writer
        # waits.
        async with self._transaction(writer):
            yield writer

    async def copy_to(self, target: Path) -> None:
        """Write a sound copy of what is committed into a new file. Raises StoreUnusable where that cannot be."""
        async with self._alone():
            try:
                make_private(target)
                await self._connection.execute("VACUUM INTO ?", (str(target),))
            except sqlite3.Error as error:
                raise opening_error(error, target) from error
            except OSError as error:
                raise StoreUnusable(target, f"cannot be written: {error.strerror}") from error

    async def data_version(self) -> int:
        """A number that changes when another process has written."""
        async with self._alone():
            try:
                rows = list(await self._connection.execute_fetchall("PRAGMA data_version"))
            except sqlite3.Error as error:
                raise store_error(error, self.path) from error
            return int(rows[0][0])

    def on_repair(self, tell: Callable[[str], None]) -> None:
        """Tell, in a line for the person, of each time that damage was mended; also of what was before now."""
        self._tell_mended = tell
        unsaid, self._unsaid = self._unsaid, []
        for words in unsaid:
            tell(words)

    async def _mend(self) -> bool:
        """Mend indexes and auxiliary tables, with no transaction of ours open; False where that does not help."""
        if self.read_only or not self._mendings_left:
            return False
        self._mendings_left -= 1
        try:
            damaged = await _shielded(asyncio.to_thread(repair, self.path, to_milliseconds(self._clock())))
        except sqlite3.Error:
            return False
        if not damaged:
            return True  # another process was faster
        what = ", ".join(damaged)
        words = f"A part of {self.path.name} was damaged and is mended ({what}); every message is there."
        if self._tell_mended:
            self._tell_mended(words)
        else:
            self._unsaid.append(words)
        return True

    async def _open_aside(self) -> None:
        aside = connect_to_read(self.path)
        await aside
        self._aside = aside

    async def _close_aside(self) -> None:
        """Before the other one: the last to be closed writes the log home."""
        async with self._aside_lock:
            if self._aside is not None:
                await self._aside.close()

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
    async def _transaction(self, reader: Reader) -> AsyncIterator[None]:
        async with self._alone():
            committed = False
            try:
                await reader._do(lambda connection: _execute(connection, reader._begin))
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
            await _shielded(step)
        except sqlite3.Error as error:
            raise store_error(error, self.path) from error


async def _shielded(step: Coroutine[Any, Any, T]) -> T:
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


async def _interrupt(connection: aiosqlite.Connection) -> None:
    """End the statement that is under way: nobody wants its answer, and the rollback would wait for it."""
    # An interrupt does nothing to a statement that the thread has yet to begin, so it is repeated until the thread
    # has come to something that was handed over later.
    later = asyncio.ensure_future(connection.set_progress_handler(lambda: None, 0))
    while not later.done():
        await connection.interrupt()
        with suppress(asyncio.CancelledError):  # we are on our way out already
            await asyncio.wait((later,), timeout=0.01)


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
