"""Rewind requests: rewinds that an agent asked for through its tools, each until the person answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from catena_store.database.database import Reader, Writer
from catena_store.ids import from_milliseconds

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


async def ask(tx: Writer, *, id: str, conversation_id: str, window_id: str, checkpoint_id: str) -> None:
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


async def answer(tx: Writer, id: str, what: RewindAnswer) -> bool:
    """Answer an open request, or mark a granted one as failed; False where it is neither."""
    before = "answer = 'granted'" if what is RewindAnswer.FAILED else "answer IS NULL"
    return await tx.run(f"UPDATE rewind_request SET answer = ? WHERE id = ? AND {before}", (what, id)) == 1


async def open_in(r: Reader, conversation_id: str) -> list[RewindRequest]:
    """The open requests of a conversation, oldest first."""
    found = await r.all(
        f"SELECT {_COLUMNS} FROM rewind_request q WHERE q.conversation_id = ? AND q.answer IS NULL"
        " ORDER BY q.asked_at, q.rowid",
        (conversation_id,),
    )
    return [_request(row) for row in found]


async def get(r: Reader, id: str) -> RewindRequest | None:
    """The request of an id."""
    row = await r.one(f"SELECT {_COLUMNS} FROM rewind_request q WHERE q.id = ?", (id,))
    return None if row is None else _request(row)


def _request(row: tuple[str, str, str, str, str | None, int]) -> RewindRequest:
    id, conversation_id, window_id, checkpoint_id, answer, asked_at = row
    said = RewindAnswer(answer) if answer else None
    return RewindRequest(id, conversation_id, window_id, checkpoint_id, said, from_milliseconds(asked_at))
