"""Changes of files that were begun: one that a killed process left is finished, or undone, by its steps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from catena_store.database.database import Reader, Writer
from catena_store.ids import from_milliseconds
from catena_store.snapshots.restoring import RestoreStep
from catena_store.snapshots.trees import TreeEntry


@dataclass(frozen=True, slots=True)
class UnfinishedRestore:
    """A change of files that was begun and not ended."""

    id: str
    root: Path
    conversation_id: str | None
    steps: tuple[RestoreStep, ...]
    begun_at: datetime


async def begin(
    tx: Writer, id: str, root: Path, conversation_id: str | None, steps: Sequence[RestoreStep]
) -> None:
    """Note the steps, before the first of them."""
    # ASCII keeps names that are not UTF-8.
    written = json.dumps([[step.path, _written(step.now), _written(step.wanted)] for step in steps])
    await tx.run(
        "INSERT INTO file_restore (id, root, conversation_id, steps, begun_at) VALUES (?, ?, ?, ?, ?)",
        (id, str(root), conversation_id, written, tx.now()),
    )


async def end(tx: Writer, id: str) -> None:
    """Note that it is done, undone, or given up."""
    await tx.run("DELETE FROM file_restore WHERE id = ?", (id,))


async def every(r: Reader) -> list[UnfinishedRestore]:
    """Those that were begun, oldest first; also one that another process is at."""
    return [
        UnfinishedRestore(
            id,
            Path(root),
            conversation_id,
            tuple(RestoreStep(path, _read(now), _read(wanted)) for path, now, wanted in json.loads(steps)),
            from_milliseconds(begun_at),
        )
        for id, root, conversation_id, steps, begun_at in await r.all(
            "SELECT id, root, conversation_id, steps, begun_at FROM file_restore ORDER BY begun_at, id"
        )
    ]


def _written(entry: TreeEntry | None) -> list[object] | None:
    return [entry.mode, entry.blob] if entry else None


def _read(entry: tuple[int, str] | None) -> TreeEntry | None:
    return TreeEntry(*entry) if entry else None
