"""Checkpoint stores: in the conversations' own file, and in memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager

from catena_store.conversations.checkpoints import Checkpoint, prunable, validated
from catena_store.database import rows
from catena_store.database.database import Reader, Writer
from catena_store.errors import LabelTaken
from catena_store.ids import from_milliseconds, to_milliseconds

CheckpointList = list[Checkpoint]  # `list` is one of the operations

_SELECT = (
    "SELECT k.id, k.conversation_id, (SELECT uid FROM message WHERE message.id = k.message_id), k.link_id,"
    " k.label, k.automatic, k.data, k.created_at FROM checkpoint k"
)
_NEWEST_FIRST = " ORDER BY k.created_at DESC, k.rowid DESC"


class SqliteCheckpoints:
    """A checkpoint store in the file of the conversations; each operation is a transaction of its own."""

    def __init__(
        self,
        reading: Callable[[], AbstractAsyncContextManager[Reader]],
        writing: Callable[[], AbstractAsyncContextManager[Writer]],
    ) -> None:
        """``writing`` gives the transactions to write in: those of a lease, where there is one."""
        self._reading = reading
        self._writing = writing

    async def save(self, checkpoint: Checkpoint) -> Checkpoint:
        async with self._writing() as tx:
            kept = await _one(tx, "k.id = ?", checkpoint.id)
            new = validated(checkpoint, kept)
            named = "k.conversation_id = ? AND k.label = ? AND k.id <> ?"
            if new.label and await _one(tx, named, new.conversation_id, new.label, new.id):
                raise LabelTaken(new.label)
            if kept is not None:
                await tx.run("UPDATE checkpoint SET label = ? WHERE id = ?", (new.label, new.id))
                return new
            await tx.run(
                "INSERT INTO checkpoint (id, conversation_id, message_id, link_id, label, automatic, data,"
                " created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    new.id,
                    new.conversation_id,
                    (await rows.rowids(tx, [new.message_id]))[new.message_id],
                    new.link_id,
                    new.label,
                    int(new.automatic),
                    rows.as_json(new.data),
                    to_milliseconds(new.created_at),
                ),
            )
        return new

    async def get(self, id: str) -> Checkpoint | None:
        async with self._reading() as reader:
            return await _one(reader, "k.id = ?", id)

    async def get_by_label(self, conversation_id: str, label: str) -> Checkpoint | None:
        async with self._reading() as reader:
            return await _one(reader, "k.conversation_id = ? AND k.label = ?", conversation_id, label)

    async def list(self, conversation_id: str) -> Sequence[Checkpoint]:
        async with self._reading() as reader:
            return await _all(reader, conversation_id)

    async def remove(self, id: str) -> bool:
        async with self._writing() as tx:
            return await tx.run("DELETE FROM checkpoint WHERE id = ?", (id,)) == 1

    async def remove_oldest(self, conversation_id: str, keep: int) -> Sequence[Checkpoint]:
        async with self._writing() as tx:
            gone = prunable(await _all(tx, conversation_id), keep)
            await tx.run_many("DELETE FROM checkpoint WHERE id = ?", [(each.id,) for each in gone])
        return gone

    async def count(self, conversation_id: str) -> int:
        async with self._reading() as reader:
            row = await reader.one(
                "SELECT count(*) FROM checkpoint WHERE conversation_id = ?", (conversation_id,)
            )
        return int(row[0]) if row else 0

    async def clear(self, conversation_id: str) -> Sequence[Checkpoint]:
        async with self._writing() as tx:
            gone = await _all(tx, conversation_id)
            await tx.run("DELETE FROM checkpoint WHERE conversation_id = ?", (conversation_id,))
        return gone


class MemoryCheckpoints:
    """A checkpoint store in memory; it ends with the process."""

    def __init__(self) -> None:
        self._kept: dict[str, Checkpoint] = {}  # oldest first

    async def save(self, checkpoint: Checkpoint) -> Checkpoint:
        new = validated(checkpoint, self._kept.get(checkpoint.id))
        check_label_free(new, self._kept.values())
        self._kept[new.id] = new
        return new

    async def get(self, id: str) -> Checkpoint | None:
        return self._kept.get(id)

    async def get_by_label(self, conversation_id: str, label: str) -> Checkpoint | None:
        return labelled(await self.list(conversation_id), label)

    async def list(self, conversation_id: str) -> Sequence[Checkpoint]:
        mine = [each for each in self._kept.values() if each.conversation_id == conversation_id]
        return sorted(mine, key=lambda each: each.created_at)[::-1]

    async def remove(self, id: str) -> bool:
        return self._kept.pop(id, None) is not None

    async def remove_oldest(self, conversation_id: str, keep: int) -> Sequence[Checkpoint]:
        return self._without(prunable(await self.list(conversation_id), keep))

    async def count(self, conversation_id: str) -> int:
        return len(await self.list(conversation_id))

    async def clear(self, conversation_id: str) -> Sequence[Checkpoint]:
        return self._without(await self.list(conversation_id))

    def _without(self, gone: Sequence[Checkpoint]) -> Sequence[Checkpoint]:
        for each in gone:
            del self._kept[each.id]
        return gone


async def _one(r: Reader, where: str, *parameters: object) -> Checkpoint | None:
    row = await r.one(f"{_SELECT} WHERE {where}", parameters)
    return None if row is None else _checkpoint(row)


async def _all(r: Reader, conversation_id: str) -> CheckpointList:
    found = await r.all(f"{_SELECT} WHERE k.conversation_id = ?{_NEWEST_FIRST}", (conversation_id,))
    return [_checkpoint(row) for row in found]


def _checkpoint(row: rows.Row) -> Checkpoint:
    id, conversation_id, message_id, link_id, label, automatic, data, created_at = row
    created = from_milliseconds(created_at)
    return Checkpoint(
        id, conversation_id, message_id, link_id, label, bool(automatic), json.loads(data), created
    )


def check_label_free(new: Checkpoint, others: Iterable[Checkpoint]) -> None:
    """Raise LabelTaken if another checkpoint of the conversation has the label."""
    for each in others:
        same = each.conversation_id == new.conversation_id and each.id != new.id
        if new.label and same and each.label == new.label:
            raise LabelTaken(new.label)


def labelled(found: Sequence[Checkpoint], label: str) -> Checkpoint | None:
    """The checkpoint that has a label."""
    return next((each for each in found if each.label == label), None)
