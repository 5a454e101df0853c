"""Another process that is writing to the store, and was stopped within its transaction."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path

_PROGRAM = """
import os, signal, sqlite3, sys
store = sqlite3.connect(sys.argv[1], isolation_level=None)
store.execute("BEGIN IMMEDIATE")
os.kill(os.getpid(), signal.SIGSTOP)
store.execute("ROLLBACK")
"""


@asynccontextmanager
async def stopped_writer(store: Path) -> AsyncIterator[int]:
    """The id of a process that holds the store's lock, and is stopped until it gets SIGCONT."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", _PROGRAM, str(store))
    try:
        _, status = await asyncio.to_thread(os.waitpid, process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        yield process.pid
    finally:
        with suppress(ProcessLookupError):  # it was let go on
            os.kill(process.pid, signal.SIGCONT)
        await process.wait()


def can_write(store: Path) -> bool:
    """True if no process is within a transaction that writes."""
    with closing(sqlite3.connect(store, isolation_level=None, timeout=0)) as other:
        try:
            other.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        other.execute("ROLLBACK")
        return True
