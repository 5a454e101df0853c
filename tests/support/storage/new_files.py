"""New store files without the work of every migration: one file is made by them, and then copied."""

from __future__ import annotations

import sqlite3
import tempfile
from functools import cache
from pathlib import Path

from catena_store.database.location import make_private
from catena_store.database.schema import create_schema, shipped


def put_new_store(path: Path) -> None:
    """Put a store without conversations there, unless something is there."""
    if not path.exists():
        make_private(path)
        path.write_bytes(_new_store())


@cache
def _new_store() -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "new.db"
        connection = sqlite3.connect(path, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            create_schema(connection, shipped())
        finally:
            connection.close()
        return path.read_bytes()
