"""A third store of checkpoints for the tests of their protocol: one small file each."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from catena_store.conversations.checkpoints import Checkpoint, check_label_free, labelled, prunable, validated
from catena_store.ids import from_milliseconds, to_milliseconds

T = TypeVar("T")
CheckpointList = list[Checkpoint]  # `list` is one of the operations


class FileCheckpoints:
    """A checkpoint store of one JSON file each, below a directory: ``CONVERSATION/ID.json``.

    A file is written under another name and then renamed, so that it is complete or absent. A damaged file is skipped.
    Raises OSError.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = asyncio.Lock()

    async def save(self, checkpoint: Checkpoint) -> Checkpoint:
        return await self._do(lambda: self._save(checkpoint))

    async def get(self, id: str) -> Checkpoint | None:
        return await self._do(lambda: next((each for each, _ in self._of(id)), None))

    async def get_by_label(self, conversation_id: str, label: str) -> Checkpoint | None:
        return labelled(await self.list(conversation_id), label)

    async def list(self, conversation_id: str) -> Sequence[Checkpoint]:
        return await self._do(lambda: self._list(conversation_id))

    async def remove(self, id: str) -> bool:
        return await self._do(lambda: bool(self._removed([each for each, _ in self._of(id)])))

    async def remove_oldest(self, conversation_id: str, keep: int) -> Sequence[Checkpoint]:
        return await self._do(lambda: self._removed(prunable(self._list(conversation_id), keep)))

    async def count(self, conversation_id: str) -> int:
        return len(await self.list(conversation_id))

    async def clear(self, conversation_id: str) -> Sequence[Checkpoint]:
        return await self._do(lambda: self._removed(self._list(conversation_id)))

    async def _do(self, step: Callable[[], T]) -> T:
        async with self._lock:
            return await asyncio.to_thread(step)

    def _save(self, checkpoint: Checkpoint) -> Checkpoint:
        known = list(self._of(checkpoint.id))
        new = validated(checkpoint, known[0][0] if known else None)
        others = list(self._in(new.conversation_id))
        check_label_free(new, [each for each, _ in others])
        number = known[0][1] if known else max((number for _, number in others), default=0) + 1
        _write_file(self._path(new), json.dumps(_as_document(new, number), ensure_ascii=False))
        return new

    def _list(self, conversation_id: str) -> CheckpointList:
        found = sorted(
            self._in(conversation_id), key=lambda each: (each[0].created_at, each[1]), reverse=True
        )
        return [checkpoint for checkpoint, _ in found]

    def _removed(self, gone: Sequence[Checkpoint]) -> Sequence[Checkpoint]:
        for each in gone:
            self._path(each).unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # the directory goes with its last file
                self._path(each).parent.rmdir()
        return gone

    def _path(self, checkpoint: Checkpoint) -> Path:
        return self._directory / _name(checkpoint.conversation_id) / f"{_name(checkpoint.id)}.json"

    def _in(self, conversation_id: str) -> Iterator[tuple[Checkpoint, int]]:
        yield from _read_all((self._directory / _name(conversation_id)).glob("*.json"))

    def _of(self, id: str) -> Iterator[tuple[Checkpoint, int]]:
        yield from _read_all(
            path for path in self._directory.glob("*/*.json") if path.name == f"{_name(id)}.json"
        )


def _name(id: str) -> str:
    """An id as the name of a file: never a path."""
    return quote(id, safe="").replace(".", "%2E")


def _as_document(checkpoint: Checkpoint, number: int) -> dict[str, Any]:
    return {
        **asdict(replace(checkpoint, data=dict(checkpoint.data))),
        "created_at": to_milliseconds(checkpoint.created_at),
        "number": number,
    }


def _read_all(paths: Iterator[Path]) -> Iterator[tuple[Checkpoint, int]]:
    for path in paths:
        try:
            document = json.loads(path.read_text("utf-8"))
            number = int(document.pop("number"))
            created_at = from_milliseconds(document.pop("created_at"))
            yield Checkpoint(**document, created_at=created_at), number
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            continue  # gone meanwhile, or not ours


def _write_file(path: Path, text: str) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")  # mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(beside).replace(path)
    finally:
        Path(beside).unlink(missing_ok=True)  # there still where it was not moved
