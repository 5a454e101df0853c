"""What SQLite's errors mean for a person."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from catena_store.errors import StoreBusy, StoreDamaged, StoreError, StoreFull, StoreReadOnly, StoreUnusable

_UNDECODED = "Could not decode to UTF-8"  # comes from Python, without a code
# What is said of a write that found no room for another reason than a full disk: a quota, or a limit of the process.
_NO_ROOM = frozenset(
    {sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_TRUNCATE}
)


def primary(error: sqlite3.Error) -> int:
    """The kind of error, without its finer distinctions."""
    # Errors of the Python module itself carry no code.
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE) & 0xFF


def translated(error: sqlite3.Error, path: Path) -> StoreError:
    """What an error means while the store is used."""
    if _UNDECODED in str(error):
        return StoreDamaged(path, "a text in it is none")
    match primary(error):
        case sqlite3.SQLITE_FULL:
            return StoreFull(path)
        case sqlite3.SQLITE_READONLY:
            return StoreReadOnly(path)
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreBusy(path)
        case sqlite3.SQLITE_NOTADB:
            return StoreUnusable(
                path,
                "is not a Catena file; if it was one, `catena doctor --salvage` saves what can be read",
                may_be_damaged=True,
            )
        case sqlite3.SQLITE_CORRUPT:
            return StoreDamaged(path, str(error))
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return StoreUnusable(path, f"cannot be opened ({error})")
        case sqlite3.SQLITE_IOERR if getattr(error, "sqlite_errorcode", 0) in _NO_ROOM:
            return StoreFull(path, f"the disk or a quota is full, or failing ({error})")
        case sqlite3.SQLITE_IOERR:
            return StoreUnusable(path, f"cannot be read or written ({error})")
        case _:
            return StoreError(f"{path}: {error}")


def refusal(error: sqlite3.Error, path: Path) -> StoreError:
    """What an error means while the store is being opened."""
    match translated(error, path):
        case StoreUnusable() | StoreBusy() as refusal:
            return refusal
        case StoreFull():
            return StoreUnusable(path, "cannot be opened: the disk is full, or a quota of it")
        case StoreReadOnly():
            return StoreUnusable(path, "cannot be opened: the file or its directory is read-only")
        case _:
            return StoreUnusable(path, f"cannot be opened ({error})")
