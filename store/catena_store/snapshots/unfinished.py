"""Changes of files that were begun: one that a killed process left is finished, or undone, by its steps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from catena_store.database.database import Reader, Writer
from catena_store.ids import from_milliseconds
from catena_store.records import Owner
from catena_store.snapshots.files_place import FilesPlace
from catena_store.snapshots.restoring import RestoreStep
from catena_store.snapshots.trees import TreeEntry


@dataclass(frozen=True, slots=True)
class WindowMove:
    """Where a window goes once the files are there, and by which act."""

    window_id: str
    conversation_id: str
    leaf_id: str | None
    act: str


@dataclass(frozen=True, slots=True)
class UnfinishedRestore:
    """A change of files that was begun and not ended."""

    id: str
    root: Path
    conversation_id: str | None
    steps: tuple[RestoreStep, ...]
    begun_at: datetime
    owner: Owner | None = None  # the process that is at it, or was
    before: str | None = None  # the tree of before the first step
    after: str | None = None  # and of after the last one
    move: WindowMove | None = None
    stands: FilesPlace | None = None  # where the files stand after the last one


async def begin(
    tx: Writer,
    id: str,
    root: Path,
    conversation_id: str | None,
    steps: Sequence[RestoreStep],
    *,
    owner: Owner | None = None,
    trees: tuple[str, str] | None = None,
    move: WindowMove | None = None,
    stands: FilesPlace | None = None,
) -> None:
    """Note the steps, before the first of them; ``trees`` of before and after, and where files stand after them."""
    # ASCII keeps names that are not UTF-8.
    written = json.dumps([[step.path, _written(step.now), _written(step.wanted)] for step in steps])
    before, after = trees or (None, None)
    await tx.run(
        "INSERT INTO file_restore (id, root, conversation_id, steps, begun_at, owner, before, after, move, stands)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            id,
            str(root),
            conversation_id,
            written,
            tx.now(),
            _owner_text(owner),
            before,
            after,
            json.dumps(asdict(move)) if move else None,
            json.dumps(asdict(stands)) if stands else None,
        ),
    )


async def take_over(tx: Writer, begun: UnfinishedRestore, owner: Owner) -> bool:
    """Note that another process goes on with it; False if one did so already, or ended it."""
    return bool(
        await tx.run(
            "UPDATE file_restore SET owner = ? WHERE id = ? AND owner IS ?",
            (_owner_text(owner), begun.id, _owner_text(begun.owner)),
        )
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
            Owner(**json.loads(owner)) if owner else None,
            before,
            after,
            WindowMove(**json.loads(move)) if move else None,
            _files_place(stands) if stands else None,
        )
        for id, root, conversation_id, steps, begun_at, owner, before, after, move, stands in await r.all(
            "SELECT id, root, conversation_id, steps, begun_at, owner, before, after, move, stands"
            " FROM file_restore ORDER BY begun_at, id"
        )
    ]


def _files_place(written: str) -> FilesPlace:
    values = json.loads(written)
    return FilesPlace(values["conversation_id"], values["window_id"], tuple(values["leaves"]))


def _owner_text(owner: Owner | None) -> str | None:
    return json.dumps(asdict(owner), sort_keys=True) if owner else None


def _written(entry: TreeEntry | None) -> list[object] | None:
    return [entry.mode, entry.blob] if entry else None


def _read(entry: tuple[int, str] | None) -> TreeEntry | None:
    return TreeEntry(*entry) if entry else None
