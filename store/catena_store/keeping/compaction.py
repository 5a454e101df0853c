"""Compaction: the space of what was removed is given back to the disk."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path

_STEPS = 20_000  # of SQLite's machine between two looks at the time


def free_bytes(path: Path) -> int:
    """The bytes of the file that hold nothing. Raises sqlite3.Error."""
    with closing(_connected(path)) as file:
        ((pages,),), ((size,),) = (
            file.execute(f"PRAGMA {name}").fetchall() for name in ("freelist_count", "page_size")
        )
        return int(pages) * int(size)


def compact(path: Path, *, seconds: float | None) -> bool:
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
