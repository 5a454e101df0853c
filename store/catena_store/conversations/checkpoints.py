"""Checkpoints: named or automatic pointers to messages, where they are kept, and rewinds that an agent asked for.

A checkpoint is a pointer and a few facts, never content. Once saved it is immutable but for its label.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

from catena_store.database import rows
from catena_store.database.database import Reader, Writer
from catena_store.errors import CheckpointImmutable, LabelTaken, NotAPointer
from catena_store.ids import from_milliseconds, to_milliseconds

MOST_CHARACTERS = 2_000  # of one fact: a note, not a text


class Frequency(StrEnum):
    """When a conversation makes checkpoints."""

    TURN = "turn"  # at the start of every turn
    TOOL = "tool"  # … and at the end of every tool call
    MANUAL = "manual"  # on request only
    OFF = "off"  # none at all


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A pointer to a message of a conversation, and a few facts of that moment."""

    id: str
    conversation_id: str
    message_id: str | None  # None is the root: before the first prompt
    link_id: str | None  # a parked link that holds the branch to the message and nothing else
    label: str | None
    automatic: bool
    data: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)  # turn, agent, note …
    created_at: datetime = field(default_factory=lambda: from_milliseconds(0))


class CheckpointStore(Protocol):
    """A place to keep checkpoints. Lists are newest first; every operation is atomic."""

    async def save(self, checkpoint: Checkpoint) -> Checkpoint:
        """Save a new checkpoint, or a saved one under another label; return it as stored.

        Raises CheckpointImmutable where anything but the label differs, LabelTaken, NotAPointer.
        """
        ...

    async def get(self, id: str) -> Checkpoint | None:
        """The checkpoint of an id."""
        ...

    async def get_by_label(self, conversation_id: str, label: str) -> Checkpoint | None:
        """The conversation's checkpoint of a label."""
        ...

    async def list(self, conversation_id: str) -> Sequence[Checkpoint]:
        """Every checkpoint of a conversation."""
        ...

    async def remove(self, id: str) -> bool:
        """Remove a checkpoint, not its message; False where no checkpoint has the id."""
        ...

    async def remove_oldest(self, conversation_id: str, keep: int) -> Sequence[Checkpoint]:
        """Remove the oldest automatic, unlabelled checkpoints down to ``keep``; return the removed."""
        ...

    async def count(self, conversation_id: str) -> int:
        """The number of a conversation's checkpoints."""
        ...

    async def clear(self, conversation_id: str) -> Sequence[Checkpoint]:
        """Remove every checkpoint of a conversation, labelled ones too; return the removed."""
        ...


def validated(new: Checkpoint, kept: Checkpoint | None) -> Checkpoint:
    """The checkpoint to store; ``kept`` is what is stored under its id. Raises CheckpointImmutable, NotAPointer."""
    new = replace(new, created_at=from_milliseconds(to_milliseconds(new.created_at)), data=_facts(new.data))
    if kept is not None and replace(new, label=kept.label) != kept:
        raise CheckpointImmutable(new.id)
    return new


def prunable(newest_first: Sequence[Checkpoint], keep: int) -> Sequence[Checkpoint]:
    """The automatic, unlabelled checkpoints beyond the newest ``keep``."""
    return [each for each in newest_first if each.automatic and each.label is None][max(0, keep) :]


def _facts(data: Mapping[str, Any]) -> dict[str, str | int | float | bool | None]:
    for name, value in data.items():
        if not isinstance(value, str | int | float | bool | None):
            raise NotAPointer(name)
        if isinstance(value, str) and len(value) > MOST_CHARACTERS:
            raise NotAPointer(name)
    return dict(data)


async def frequency_of(r: Reader, conversation_id: str) -> Frequency | None:
    """The frequency set for a conversation, None where none was."""
    row = await r.one("SELECT frequency FROM checkpointing WHERE conversation_id = ?", (conversation_id,))
    return Frequency(row[0]) if row else None


async def set_frequency(tx: Writer, conversation_id: str, frequency: Frequency | None) -> None:
    """Set the frequency of a conversation; None removes the conversation's own setting."""
    if frequency is None:
        await tx.run("DELETE FROM checkpointing WHERE conversation_id = ?", (conversation_id,))
        return
    await tx.run(
        "INSERT INTO checkpointing (conversation_id, frequency) VALUES (?, ?)"
        " ON CONFLICT (conversation_id) DO UPDATE SET frequency = excluded.frequency",
        (conversation_id, frequency),
    )


async def parked_link_at(r: Reader, conversation_id: str, message_id: str | None) -> str | None:
    """The id of the newest parked link that holds the branch to a message and nothing else."""
    row = await r.one(
        "SELECT l.id FROM message m JOIN link l ON l.knows = m.id AND l.reach = m.id"
        " WHERE m.uid = ?2 AND l.conversation_id = ?1 AND l.state = 'parked'"
        " ORDER BY l.sequence DESC LIMIT 1",
        (conversation_id, message_id),
    )
    return row[0] if row else None


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


_COLUMNS = "q.id, q.conversation_id, q.window_id, q.checkpoint_id, q.answer, q.asked_at"


class RewindAnswer(StrEnum):
    """The answer to a request, or that the rewind failed."""

    GRANTED = "granted"
    REFUSED = "refused"
    FAILED = "failed"  # granted, and then it could not be done


@dataclass(frozen=True, slots=True)
class RewindRequest:
    """An agent's request to rewind a window to a checkpoint, open while ``answer`` is None."""

    id: str
    conversation_id: str
    window_id: str
    checkpoint_id: str
    answer: RewindAnswer | None
    asked_at: datetime


async def ask_for_rewind(
    tx: Writer, *, id: str, conversation_id: str, window_id: str, checkpoint_id: str
) -> None:
    """Add a request; an open one for the same window is refused by that."""
    await tx.run(
        "UPDATE rewind_request SET answer = 'refused'"
        " WHERE conversation_id = ? AND window_id = ? AND answer IS NULL",
        (conversation_id, window_id),
    )
    await tx.run(
        "INSERT INTO rewind_request (id, conversation_id, window_id, checkpoint_id, asked_at) VALUES (?, ?, ?, ?, ?)",
        (id, conversation_id, window_id, checkpoint_id, tx.now()),
    )


async def answer_rewind(tx: Writer, id: str, what: RewindAnswer) -> bool:
    """Answer an open request, or mark a granted one as failed; False where it is neither."""
    before = "answer = 'granted'" if what is RewindAnswer.FAILED else "answer IS NULL"
    return await tx.run(f"UPDATE rewind_request SET answer = ? WHERE id = ? AND {before}", (what, id)) == 1


async def open_rewinds(r: Reader, conversation_id: str) -> list[RewindRequest]:
    """The open requests of a conversation, oldest first."""
    found = await r.all(
        f"SELECT {_COLUMNS} FROM rewind_request q WHERE q.conversation_id = ? AND q.answer IS NULL"
        " ORDER BY q.asked_at, q.rowid",
        (conversation_id,),
    )
    return [_request(row) for row in found]


async def rewind_request(r: Reader, id: str) -> RewindRequest | None:
    """The request of an id."""
    row = await r.one(f"SELECT {_COLUMNS} FROM rewind_request q WHERE q.id = ?", (id,))
    return None if row is None else _request(row)


def _request(row: tuple[str, str, str, str, str | None, int]) -> RewindRequest:
    id, conversation_id, window_id, checkpoint_id, answer, asked_at = row
    said = RewindAnswer(answer) if answer else None
    return RewindRequest(id, conversation_id, window_id, checkpoint_id, said, from_milliseconds(asked_at))
