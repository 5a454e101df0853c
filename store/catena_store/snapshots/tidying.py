"""What snapshots take on the disk, and how it is given back. All of it blocks."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Set
from contextlib import suppress
from pathlib import Path

from catena_store.errors import SnapshotFailed
from catena_store.snapshots.git import executable
from catena_store.snapshots.repository import SnapshotRepository, snapshots_beside

_KEPT_DAYS = 1  # of snapshots that no turn refers to: their turn may not be written yet


def repositories(store: Path) -> Iterator[SnapshotRepository]:
    """The repositories beside a store, also of directories that are gone."""
    program = executable()
    if program is None:
        return
    for path in sorted(snapshots_beside(store).glob("*/HEAD")):
        yield SnapshotRepository.at(program, path.parent)


def measure(store: Path, kept: Set[str], *, day: int) -> int:
    """The bytes that `tidy` would give back, about."""
    total = 0
    for repository in repositories(store):
        with suppress(SnapshotFailed):  # it is told where it is used
            total += repository.exclusive(kept, before=day - _KEPT_DAYS)
    return total


def measure_roots(store: Path, roots: Iterable[str], kept: Set[str], *, seconds: float) -> int:
    """The bytes that the snapshots of some roots take which are not among the kept, about; 0 where it takes longer."""
    program, total = executable(), 0
    for root in roots:
        with suppress(SnapshotFailed):
            if program is not None:
                repository = SnapshotRepository(program, snapshots_beside(store), Path(root))
                total += repository.exclusive(kept, seconds=seconds)
    return total


def tidy(store: Path, kept: Set[str], *, day: int) -> int:
    """Let go of the snapshots that are not among the kept; return the bytes that this gave back."""
    given_back = 0
    for repository in repositories(store):
        size = repository.size()
        with suppress(SnapshotFailed):  # the next time
            repository.forget(kept, before=day - _KEPT_DAYS)
            if not repository.days():
                shutil.rmtree(repository.path, ignore_errors=True)
        given_back += size - repository.size()
    return given_back
