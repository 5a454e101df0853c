"""The open store: its connections, the transactions on them, its health, and repair where a transaction needs it.

A transaction is an ``async with`` that has the connection for itself, so it must neither wait for a person, an agent or
a work tree's disk, nor open another transaction. Leaving the block commits; an exception, also a cancellation, rolls
back.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
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
from catena_store.database.location import (
    data_directory,
    default_path,
    identity,
    lock_refusal,
    make_private,
    may_write,
    on_network,
)
from catena_store.database.repair import repair
from catena_store.database.schema import Migration, shipped
from catena_store.errors import (
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreGone,
    StoreReadOnly,
    StoreUnlockable,
    StoreUnusable,
)
from catena_store.ids import to_milliseconds, utc_now

__all__ = ["Database", "Health", "Reader", "Reading", "Writer", "check", "data_directory", "default_path"]

T = TypeVar("T")
Parameters = Sequence[object]
Reading = Callable[[], AbstractAsyncContextManager["Reader"]]  # begins a transaction to read in

_OLDEST_SQLITE = (3, 37)  # the first that keeps to the types of a table's columns
_BUSY_SECONDS = 5.0
_TOLD_AFTER = 0.2  # of that time
# Seconds since another process was waited for in vain: who comes then does not wait as long again.
_TRIED_ONCE = 2.0
_PAUSE = 0.02  # seconds between tries to begin, in which reads have the connection
_MOST_REPAIRS = 3  # in one life: a disk that keeps failing cannot be repaired


class Reader:
    """A transaction to read in: queries within one snapshot."""

    __slots__ = ("_connection", "_failed", "_path", "_repair", "_written_steps")

    _begin = "BEGIN"

    def __init__(
        self,
        connection: aiosqlite.Connection,
        path: Path,
        repair_file: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        self._connection: aiosqlite.Connection | None = connection
        self._path = path
        self._failed: StoreError | None = None  # what a statement failed with last
        self._repair = repair_file
        self._written_steps: list[Callable[[aiosqlite.Connection], Awaitable[object]]] = []

    async def all(self, sql: str, parameters: Parameters = ()) -> list[tuple[Any, ...]]:
        """Every row of a query."""
        (found,) = await self.all_of((sql, parameters))
        return found

    async def all_of(self, *queries: tuple[str, Parameters]) -> list[list[tuple[Any, ...]]]:
        """Every row of each query; they go to the connection's thread together, which takes a while to answer."""
        storable = [(sql, _storable(parameters)) for sql, parameters in queries]
        gives_up: float | None = None
        while True:
            try:
                return await self._stated(lambda connection: _fetch(connection, storable))
            except StoreBusy:  # only while a log is put in order that a dead process left
                gives_up = gives_up or _now() + _BUSY_SECONDS
                if _now() >= gives_up:
                    raise

    async def one(self, sql: str, parameters: Parameters = ()) -> tuple[Any, ...] | None:
        """The first row of a query, None if there is none."""
        rows = await self.all(sql, parameters)
        return rows[0] if rows else None

    def refuse_undone(self) -> None:
        """Raise what a statement failed with, if SQLite then undid the whole transaction, as where the disk fails.

        Whoever suppressed that cannot go on: the next statement would be committed by itself.
        """
        if self._connection is not None and not self._connection.in_transaction:
            raise self._failed or StoreError(f"{self._path}: the transaction was undone")

    async def _stated(self, step: Callable[[aiosqlite.Connection], Awaitable[T]]) -> T:
        self.refuse_undone()
        try:
            return await self._do(step)
        except StoreError as error:
            self._failed = error
            raise

    async def _do(self, step: Callable[[aiosqlite.Connection], Awaitable[T]]) -> T:
        connection = self._connection
        if connection is None:
            raise StoreError("the transaction has ended")
        try:
            return await step(connection)
        except sqlite3.Error as error:
            if primary_code(error) != sqlite3.SQLITE_CORRUPT or not await self._restarted(connection):
                raise store_error(error, self._path) from error
        except asyncio.CancelledError:
            await _interrupt(connection)
            raise
        try:
            return await step(connection)
        except sqlite3.Error as error:
            raise store_error(error, self._path) from error

    async def _restarted(self, connection: aiosqlite.Connection) -> bool:
        """Repair the file and replay the transaction so far; False where the file cannot be repaired."""
        repair_file, self._repair = self._repair, None
        if repair_file is None:
            return False
        await connection.rollback()
        if not await repair_file():
            return False
        try:
            await connection.execute(self._begin)
            for step in self._written_steps:
                await step(connection)
        except sqlite3.Error as error:
            raise store_error(error, self._path) from error
        return True

    def _end(self) -> None:
        self._connection = None


class Writer(Reader):
    """A transaction to write in: queries and statements."""

    __slots__ = ("_clock", "_now")

    _begin = "BEGIN IMMEDIATE"

    def __init__(
        self,
        connection: aiosqlite.Connection,
        path: Path,
        clock: Callable[[], datetime],
        repair_file: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        super().__init__(connection, path, repair_file)
        self._clock = clock
        self._now: int | None = None

    async def run(self, sql: str, parameters: Parameters = ()) -> int:
        """Run a statement; return the number of rows that it changed."""
        storable = _storable(parameters)
        return (await self._written(lambda connection: _execute(connection, sql, storable))).rowcount

    async def run_many(self, sql: str, rows: Sequence[Parameters]) -> None:
        """Run a statement once for each of the rows."""
        storable = [_storable(row) for row in rows]
        await self._written(lambda connection: _execute_many(connection, sql, storable))

    async def _written(
        self, step: Callable[[aiosqlite.Connection], Awaitable[aiosqlite.Cursor]]
    ) -> aiosqlite.Cursor:
        cursor = await self._stated(step)
        if self._repair is not None:  # else nothing will ever write them again
            self._written_steps.append(step)
        return cursor

    def now(self) -> int:
        """The time of the transaction in milliseconds, the same for every row that it writes."""
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
        busy_seconds: float = _BUSY_SECONDS,
    ) -> None:
        self.path = path
        self.read_only = read_only  # the file may not be written
        self._connection = connection
        self._clock = clock
        self._lock = asyncio.Lock()
        self._writers = asyncio.Lock()  # they begin in their order, also if one waits for another process
        self._busy_seconds = busy_seconds
        self._gave_up: float | None = None  # when the last writer did that waited for another process
        self._told_of_wait = False
        self._second: aiosqlite.Connection | None = None
        self._second_lock = asyncio.Lock()
        self._holder: asyncio.Task[Any] | None = None
        self._closed = False
        self._repairs_left = _MOST_REPAIRS
        self._identity = identity(path)
        self._unreported: list[str] = []
        self._tell: Callable[[str], None] | None = None
        self.requested = 0  # transactions so far, those that wait for others included; not concurrent reads

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
        """Open the store for the length of the block, creating the file if there is none.

        A file that may not be written is opened read-only. Raises StoreUnusable and StoreBusy.
        """
        if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
            raise StoreUnusable(
                path,
                f"needs SQLite {'.'.join(map(str, _OLDEST_SQLITE))} or later; found {sqlite3.sqlite_version}",
            )
        read_only = not may_write(path)
        try:
            if not read_only:
                make_private(path)
        except OSError as error:
            raise StoreUnusable(path, f"cannot be opened: {error.strerror}") from error
        # SQLite would wait for a lock that is refused as for one that somebody holds.
        if not read_only and on_network(path.parent) and (refusal := lock_refusal(path.parent)):
            raise StoreUnlockable(path, refusal)
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
            db = cls(connection, path, clock, read_only=read_only, busy_seconds=busy_seconds)
            try:
                yield db
            finally:
                db._closed = True
                await _shielded(db._come_to_rest())
        finally:
            # The connection has a thread, which would keep the process from ending.
            await _shielded(connection.close())

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Reader]:
        """A transaction to read in, in one snapshot of the file."""
        reader = Reader(self._connection, self.path, self._repair_file)
        async with self._transaction(reader):
            yield reader

    @asynccontextmanager
    async def read_concurrently(self) -> AsyncIterator[Reader]:
        """A transaction to read in that neither waits for our other transactions nor delays them.

        It has a connection of its own, opened at its first use; for long queries such as a search.
        """
        async with self._second_lock:
            if self._closed:
                raise StoreError(f"{self.path} was closed")
            try:
                if self._second is None:
                    # A connection cancelled half-way could never be opened again.
                    await _shielded(self._open_second())
                assert self._second is not None
            except sqlite3.Error as error:
                raise opening_error(error, self.path) from error
            reader = Reader(self._second, self.path)
            try:
                await reader._do(lambda connection: _execute(connection, reader._begin))
                yield reader
            finally:
                reader._end()
                await self._finish(self._second.rollback())

    @asynccontextmanager
    async def write(self) -> AsyncIterator[Writer]:
        """A transaction to write in.

        Raises StoreBusy, StoreFull, StoreGone or StoreReadOnly, at any statement and at the end of the block.
        """
        async with self._writing(self._repair_file) as writer:
            yield writer

    @asynccontextmanager
    async def write_much(self) -> AsyncIterator[Writer]:
        """A transaction to write in that holds nothing in memory of what it wrote; damage ends it.

        Raises what ``write`` raises.
        """
        async with self._writing(None) as writer:
            yield writer

    @asynccontextmanager
    async def _writing(self, repair_file: Callable[[], Awaitable[bool]] | None) -> AsyncIterator[Writer]:
        if self.read_only:
            raise StoreReadOnly(self.path)
        self.check_in_place()
        writer = Writer(self._connection, self.path, self._clock, repair_file)
        self._refuse_within()
        # A transaction that begins by reading may fail when it first writes; one that begins as a writer waits.
        async with self._writers, self._transaction(writer):
            yield writer

    def check_in_place(self) -> None:
        """Raise StoreGone unless the open file is still the one at its path."""
        if identity(self.path) != self._identity:
            raise StoreGone(self.path)

    async def copy_to(self, target: Path) -> None:
        """Write what is committed into a new file. Raises StoreUnusable."""
        async with self._exclusively():
            try:
                make_private(target)
                await self._connection.execute("VACUUM INTO ?", (str(target),))
            except sqlite3.Error as error:
                raise opening_error(error, target) from error
            except OSError as error:
                raise StoreUnusable(target, f"cannot be written: {error.strerror}") from error

    async def data_version(self) -> int:
        """A number that changes when another process writes."""
        async with self._exclusively():
            try:
                rows = list(await self._connection.execute_fetchall("PRAGMA data_version"))
            except sqlite3.Error as error:
                raise store_error(error, self.path) from error
            return int(rows[0][0])

    def tell_by(self, tell: Callable[[str], None]) -> None:
        """Call ``tell`` with a line for the person at each repair, and when another process is waited for.

        At once for repairs before this call.
        """
        self._tell = tell
        unreported, self._unreported = self._unreported, []
        for words in unreported:
            tell(words)

    async def _repair_file(self) -> bool:
        """Repair indexes and auxiliary tables, with no transaction of ours open; False where that fails."""
        if self.read_only or not self._repairs_left or identity(self.path) != self._identity:
            return False
        self._repairs_left -= 1
        try:
            damaged = await _shielded(asyncio.to_thread(repair, self.path, to_milliseconds(self._clock())))
        except sqlite3.Error:
            return False
        if not damaged:
            return True  # another process has repaired it
        what = ", ".join(damaged)
        words = f"{self.path.name} was damaged and has been repaired ({what}); no messages were lost."
        if self._tell:
            self._tell(words)
        else:
            self._unreported.append(words)
        return True

    async def _open_second(self) -> None:
        self.check_in_place()
        second = connect_to_read(self.path)
        await second
        self._second = second

    async def _come_to_rest(self) -> None:
        """Close the second connection, before the first: the last to close writes the log into the file.

        A transaction that is open is waited for: those who were cancelled in it roll back.
        """
        async with self._second_lock, self._lock:
            if self._second is not None:
                await self._second.close()

    @asynccontextmanager
    async def between_transactions(self) -> AsyncIterator[None]:
        """A block in which no transaction of ours is open: whoever is stopped here keeps nobody from writing."""
        async with self._exclusively():
            yield

    @asynccontextmanager
    async def _exclusively(self) -> AsyncIterator[None]:
        self._refuse_within()
        async with self._lock:
            if self._closed:
                raise StoreError(f"{self.path} was closed")
            self._holder = asyncio.current_task()
            try:
                yield
            finally:
                self._holder = None

    def _refuse_within(self) -> None:
        task = asyncio.current_task()
        if task is not None and task is self._holder:
            raise RuntimeError("a transaction within a transaction would wait for itself")

    @asynccontextmanager
    async def _transaction(self, reader: Reader) -> AsyncIterator[None]:
        self.requested += 1
        waits_since: float | None = None
        try:
            while True:
                async with self._exclusively():
                    committed = False
                    try:
                        if busy := await self._begin(reader):
                            waits_since = waits_since or _now()
                            self._wait_for_owner(busy, _now() - waits_since)
                        else:
                            yield
                            reader.refuse_undone()
                            await self._finish(self._connection.commit())
                            committed = True
                            return
                    finally:
                        if not committed:
                            # Does nothing where no transaction is open. Statements run in their order, so this also
                            # undoes one that was running when the task was cancelled.
                            await self._finish(self._connection.rollback())
                await asyncio.sleep(_PAUSE)
        finally:
            reader._end()

    async def _begin(self, reader: Reader) -> StoreBusy | None:
        """Begin a transaction; returns why not, if another process is writing."""
        try:
            await reader._do(lambda connection: _execute(connection, reader._begin))
        except StoreBusy as error:
            return error
        if isinstance(reader, Writer):
            self._gave_up, self._told_of_wait = None, False
        return None

    def _wait_for_owner(self, busy: StoreBusy, waited: float) -> None:
        """Let a writer wait on for another process, of which the person is told. Raises StoreBusy after some time."""
        # On a busy machine the first look may come when the time is over.
        if waited >= _TOLD_AFTER * self._busy_seconds and not self._told_of_wait and self._tell:
            self._told_of_wait = True
            self._tell(f"Waiting while {busy}.")
        in_vain = self._gave_up is not None and _now() - self._gave_up < _TRIED_ONCE
        if in_vain or waited >= self._busy_seconds:
            self._gave_up = _now()
            raise busy

    async def _finish(self, step: Coroutine[Any, Any, None]) -> None:
        try:
            await _shielded(step)
        except sqlite3.Error as error:
            raise store_error(error, self.path) from error


def _now() -> float:
    return asyncio.get_running_loop().time()


async def _shielded(step: Coroutine[Any, Any, T]) -> T:
    """Run a step to completion; a cancellation takes effect after it."""
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
    """Interrupt the running statement, which the rollback would wait for."""
    # An interrupt does nothing to a statement that the thread has not begun, so it is repeated until the thread has
    # reached a later step.
    later = asyncio.ensure_future(connection.set_progress_handler(lambda: None, 0))
    while not later.done():
        await connection.interrupt()
        with suppress(asyncio.CancelledError):  # this task is being cancelled already
            await asyncio.wait((later,), timeout=0.01)


async def _execute(
    connection: aiosqlite.Connection, sql: str, parameters: Parameters = ()
) -> aiosqlite.Cursor:
    return await connection.execute(sql, parameters)


async def _fetch(
    connection: aiosqlite.Connection, queries: Sequence[tuple[str, Parameters]]
) -> list[list[Any]]:
    if len(queries) == 1:
        return [list(await connection.execute_fetchall(*queries[0]))]
    return [
        list(found)
        for found in await asyncio.gather(*(connection.execute_fetchall(*each) for each in queries))
    ]


async def _execute_many(
    connection: aiosqlite.Connection, sql: str, rows: Sequence[Parameters]
) -> aiosqlite.Cursor:
    return await connection.executemany(sql, rows)


def _storable(parameters: Parameters) -> Parameters:
    """The parameters with everything replaced that UTF-8 cannot encode: an agent may send half a surrogate pair."""
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


_MOST_COMPLAINTS = 20


@dataclass(frozen=True, slots=True)
class Health:
    """The findings of a check of the whole file."""

    complaints: tuple[str, ...]  # in SQLite's words; none where the file is sound
    conversations: int
    messages: int


async def check(r: Reader, *, compare_indexes: bool = False) -> Health:
    """Check the whole file; comparing indexes with their tables takes longer. Raises StoreUnusable."""
    pragma = "integrity_check" if compare_indexes else "quick_check"
    complaints = await r.all(f"PRAGMA {pragma}({_MOST_COMPLAINTS})")
    conversations = await r.one("SELECT count(*) FROM conversation")
    messages = await r.one("SELECT count(*) FROM message")
    return Health(
        complaints=tuple(words for (words,) in complaints if words != "ok"),
        conversations=conversations[0] if conversations else 0,
        messages=messages[0] if messages else 0,
    )
