"""Directories and files that the tests of the store look into, or may not write."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from catena_store.database.schema import Migration, shipped


@contextmanager
def as_somebody_else() -> Iterator[None]:
    """Root may write anything, so be somebody who may not."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@contextmanager
def public_directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        directory.chmod(0o755)
        yield directory


def with_one_more(directory: Path, script: str) -> tuple[Migration, ...]:
    """What a newer Catena would ship."""
    version = shipped()[-1].version + 1
    path = directory / f"{version:04}_later.sql"
    path.write_text(script)
    return (*shipped(), Migration(version, path))


def names_in(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}
