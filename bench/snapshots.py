"""A scenario of snapshots of files: the first and a later one of very many, and the way back of a thousand."""

from __future__ import annotations

import shutil
import statistics
import time
from pathlib import Path

from bench.streaming import Figures
from bench.subject import Subject
from catena_store.snapshots.repository import SnapshotRepository
from catena_store.snapshots.restoring import TurnSnapshots, plan, restore

FOLDERS, FILES_OF_EACH = 500, 100
CHANGED = 1_000


def kept_files(subject: Subject, folder: Path) -> Figures:
    """Snapshots of 50,000 files, cold and warm, and 1,000 changed files brought back."""
    root = folder / "project"
    for number in range(FOLDERS):
        place = root / f"folder_{number:03d}"
        place.mkdir(parents=True)
        for file in range(FILES_OF_EACH):
            (place / f"file_{file:02d}.py").write_text(f"# {number} {file}\n" * 20)
    program = shutil.which("git")
    assert program is not None, "snapshots need git"
    repository = SnapshotRepository(program, folder / "snapshots", root)
    cold, first = _timed(repository)
    warm = statistics.median(_timed(repository)[0] for _ in range(5))
    changed = sorted(root.rglob("*.py"))[: CHANGED * 20 : 20]
    for path in changed:
        path.write_text("# changed\n")
    after_change, second = _timed(repository)
    began = time.perf_counter()
    steps = plan(repository, [TurnSnapshots(first, second)], second)
    refused = restore(repository, steps)
    restored = time.perf_counter() - began
    assert len(steps) == CHANGED and not refused
    return {
        "cold_s": cold,
        "warm_ms": warm * 1e3,
        "changed_ms": after_change * 1e3,
        "restore_s": restored,
    }


def _timed(repository: SnapshotRepository) -> tuple[float, str]:
    began = time.perf_counter()
    tree = repository.capture(day=1).tree
    return time.perf_counter() - began, tree
