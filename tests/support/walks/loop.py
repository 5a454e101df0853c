"""An event loop without real time, and a connection without a thread: what a walk needs to be the same every time.

The clock stands still while anything can run, and jumps to the next timer when nothing can. The connection speaks to a
real SQLite file, at once instead of from a thread of its own.
"""

from __future__ import annotations

import asyncio
import selectors
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


class _Jump(selectors.SelectSelector):
    """Never waits: says for how long it was asked to."""

    loop: VirtualTimeLoop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("every task waits for something that cannot come")
        self.loop.pass_time(timeout)
        return []


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """A loop whose clock jumps."""

    def __init__(self) -> None:
        selector = _Jump()
        selector.loop = self
        self._at = 1_000.0
        super().__init__(selector)

    def time(self) -> float:
        return self._at

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:  # type: ignore[override]
        """What would be done by a thread is done at once."""
        done: asyncio.Future[T] = self.create_future()
        done.set_result(func(*args))
        return done

    def pass_time(self, seconds: float) -> None:
        """Let the clock go on."""
        self._at += max(0.0, seconds)


class StraightConnection:
    """As much of an aiosqlite connection as ``Database`` uses, without its thread.

    ``one_writer`` stands for the file's write lock, which cannot be waited for here without stopping the loop.
    """

    def __init__(self, path: Path, one_writer: asyncio.Lock) -> None:
        self._sqlite = sqlite3.connect(path, isolation_level=None, cached_statements=256)
        self._sqlite.execute("PRAGMA foreign_keys = ON")
        self._sqlite.execute("PRAGMA synchronous = NORMAL")
        self._one_writer = one_writer
        self._writing = False

    @property
    def in_transaction(self) -> bool:
        return self._sqlite.in_transaction

    async def execute(self, sql: str, parameters: Sequence[Any] = ()) -> sqlite3.Cursor:
        if sql == "BEGIN IMMEDIATE":
            await self._one_writer.acquire()
            self._writing = True
        return self._sqlite.execute(sql, parameters)

    async def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> sqlite3.Cursor:
        return self._sqlite.executemany(sql, rows)

    async def execute_fetchall(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        return self._sqlite.execute(sql, parameters).fetchall()

    async def commit(self) -> None:
        self._sqlite.commit()
        self._done()

    async def rollback(self) -> None:
        self._sqlite.rollback()
        self._done()

    async def interrupt(self) -> None:
        """Nothing is ever under way."""

    def close(self) -> None:
        self._sqlite.rollback()
        self._done()
        self._sqlite.close()

    def _done(self) -> None:
        if self._writing:
            self._writing = False
            self._one_writer.release()
