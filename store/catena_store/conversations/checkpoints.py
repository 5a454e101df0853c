"""Checkpoints: named or automatic pointers to messages, the protocol of their stores, and how often they are made.

A checkpoint is a pointer and a few facts, never content. Once saved it is immutable but for its label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

from catena_store.database.database import Reader, Writer
from catena_store.errors import CheckpointImmutable, NotAPointer
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
