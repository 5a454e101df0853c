"""Work that is counted, not timed: it is the same however fast a machine is, and whatever else it does meanwhile."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from types import FrameType
from typing import Any

from catena_store.database.database import Database

_STEPS = 100  # of SQLite's machine between two calls of ours


class Calls:
    """The calls of functions, ours and the interpreter's, that one thread makes."""

    def __init__(self) -> None:
        self.made = 0

    def note(self, frame: FrameType, event: str, _: object) -> None:
        """Take in one event of ``sys.setprofile``."""
        if event in ("call", "c_call"):
            self.made += 1


@contextmanager
def calls_counted() -> Iterator[Calls]:
    """Count the calls of this thread within the block."""
    calls = Calls()
    sys.setprofile(calls.note)
    try:
        yield calls
    finally:
        sys.setprofile(None)


class Turns:
    """The calls that the busiest turn of a loop made: while a turn lasts, no key is heard."""

    def __init__(self) -> None:
        self.busiest = 0


@contextmanager
def turns_counted() -> Iterator[Turns]:
    """Count the calls in each turn of the running loop within the block."""
    turns, loop = Turns(), asyncio.get_running_loop()
    turn = loop._run_once  # type: ignore[attr-defined]
    with calls_counted() as calls:

        def counted() -> None:
            before = calls.made
            turn()
            turns.busiest = max(turns.busiest, calls.made - before)

        loop._run_once = counted  # type: ignore[attr-defined]
        try:
            yield turns
        finally:
            loop._run_once = turn  # type: ignore[attr-defined]


@contextmanager
def waits_counted() -> Iterator[list[float]]:
    """The seconds of every timer of the running loop that was set within the block and waited for to its end."""
    waits: list[float] = []
    loop = asyncio.get_running_loop()
    call_at = loop.call_at

    def counted(
        when: float, callback: Callable[..., object], *args: Any, **named: Any
    ) -> asyncio.TimerHandle:
        seconds = when - loop.time()

        def over(*args: object) -> object:
            waits.append(seconds)
            return callback(*args)

        return call_at(when, over, *args, **named)

    loop.call_at = counted  # type: ignore[assignment, method-assign]
    try:
        yield waits
    finally:
        loop.call_at = call_at  # type: ignore[method-assign]


class Queries:
    """What a store was asked, and how many steps SQLite's machine took for it, to the next hundred."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.steps = 0

    def step(self) -> int:
        """Take in a hundred steps; SQLite goes on."""
        self.steps += _STEPS
        return 0


@asynccontextmanager
async def queries_counted(db: Database) -> AsyncIterator[Queries]:
    """Count what is asked of a store within the block."""
    queries = Queries()
    await db._connection.set_progress_handler(queries.step, _STEPS)
    await db._connection.set_trace_callback(queries.asked.append)
    try:
        yield queries
    finally:
        await db._connection.set_trace_callback(None)  # type: ignore[arg-type]
        await db._connection.set_progress_handler(lambda: 0, 0)
