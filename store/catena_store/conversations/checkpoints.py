"""Checkpoints: named or automatic pointers to messages, and the protocol that every store of them speaks.

A checkpoint is a pointer and a few facts, never content. Once kept it does not change: it can be given another label,
or be removed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

from catena_store.database.database import Reader, Writer
from catena_store.errors import StoreError
from catena_store.ids import from_milliseconds, to_milliseconds

MOST_CHARACTERS = 2_000  # of one fact: a note, not a text


class Frequency(StrEnum):
    """When checkpoints are made in a conversation."""

    TURN = "turn"  # by itself at the start of every turn
    TOOL = "tool"  # … and at the end of every tool call
    MANUAL = "manual"  # only where somebody asks for one
    OFF = "off"  # none at all


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A pointer to a message of a conversation, and what is known of that moment."""

    id: str
    conversation_id: str
    message_id: str | None  # None is the root: before the first prompt
    link_id: str | None  # a parked session that holds just this much, where there is one
    label: str | None
    automatic: bool
    data: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)  # turn, agent, note …
    created_at: datetime = field(default_factory=lambda: from_milliseconds(0))


class CheckpointImmutable(StoreError):
    """A checkpoint was to be altered."""

    def __init__(self, id: str) -> None:
        super().__init__(
            f"checkpoint {id} is kept as it was made: it can be given another label, or be removed"
        )


class LabelTaken(StoreError):
    """Another checkpoint of the conversation has this label."""

    def __init__(self, label: str) -> None:
        super().__init__(f"“{label}” names another checkpoint of this conversation already")
        self.label = label


class NotAPointer(StoreError):
    """A checkpoint was to hold content."""

    def __init__(self, name: str) -> None:
        super().__init__(f"a checkpoint holds pointers and short facts, and “{name}” is more than that")


class CheckpointStore(Protocol):
    """Where checkpoints are kept. Lists are newest first; every operation is whole or not at all."""

    async def save(self, checkpoint: Checkpoint) -> Checkpoint:
        """Keep a new one, or another label of one that is kept; gives it as it is kept.

        Raises CheckpointFixed where anything but the label differs, LabelTaken, NotAPointer.
        """
        ...

    async def get(self, id: str) -> Checkpoint | None:
        """The checkpoint of this id."""
        ...

    async def get_by_label(self, conversation_id: str, label: str) -> Checkpoint | None:
        """The conversation's checkpoint of this label."""
        ...

    async def list(self, conversation_id: str) -> Sequence[Checkpoint]:
        """Every checkpoint of a conversation."""
        ...

    async def remove(self, id: str) -> bool:
        """Remove one; False where there is none of that id. The message that it pointed to stays."""
        ...

    async def remove_oldest(self, conversation_id: str, keep: int) -> Sequence[Checkpoint]:
        """Remove the oldest automatic ones without a label until ``keep`` of these are left; gives the removed."""
        ...

    async def count(self, conversation_id: str) -> int:
        """How many a conversation has."""
        ...

    async def clear(self, conversation_id: str) -> Sequence[Checkpoint]:
        """Remove every one of a conversation, labelled ones too; gives the removed."""
        ...


def validated(new: Checkpoint, kept: Checkpoint | None) -> Checkpoint:
    """What a store has to keep of ``new``, where it has ``kept`` under that id. Raises CheckpointFixed, NotAPointer."""
    new = replace(new, created_at=from_milliseconds(to_milliseconds(new.created_at)), data=_facts(new.data))
    if kept is not None and replace(new, label=kept.label) != kept:
        raise CheckpointImmutable(new.id)
    return new


def prunable(newest_first: Sequence[Checkpoint], keep: int) -> Sequence[Checkpoint]:
    """Those that go where only so many automatic ones are kept; who has a label stays."""
    return [each for each in newest_first if each.automatic and each.label is None][max(0, keep) :]


def _facts(data: Mapping[str, Any]) -> dict[str, str | int | float | bool | None]:
    for name, value in data.items():
        if not isinstance(value, str | int | float | bool | None):
            raise NotAPointer(name)
        if isinstance(value, str) and len(value) > MOST_CHARACTERS:
            raise NotAPointer(name)
    return dict(data)


async def frequency_of(r: Reader, conversation_id: str) -> Frequency | None:
    """What the person set for this conversation; None where nothing."""
    row = await r.one("SELECT frequency FROM checkpointing WHERE conversation_id = ?", (conversation_id,))
    return Frequency(row[0]) if row else None


async def set_frequency(tx: Writer, conversation_id: str, frequency: Frequency | None) -> None:
    """Set it for this conversation; None is as set for all."""
    if frequency is None:
        await tx.run("DELETE FROM checkpointing WHERE conversation_id = ?", (conversation_id,))
        return
    await tx.run(
        "INSERT INTO checkpointing (conversation_id, frequency) VALUES (?, ?)"
        " ON CONFLICT (conversation_id) DO UPDATE SET frequency = excluded.frequency",
        (conversation_id, frequency),
    )


async def parked_link_at(r: Reader, conversation_id: str, message_id: str | None) -> str | None:
    """The newest parked link of the conversation that holds the branch to this message and nothing else."""
    row = await r.one(
        "SELECT l.id FROM message m JOIN link l ON l.knows = m.id AND l.reach = m.id"
        " WHERE m.uid = ?2 AND l.conversation_id = ?1 AND l.state = 'parked'"
        " ORDER BY l.sequence DESC LIMIT 1",
        (conversation_id, message_id),
    )
    return row[0] if row else None
