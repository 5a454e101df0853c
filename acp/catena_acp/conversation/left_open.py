"""What a branch leaves to be done: its agent's last plan, or what its last answers leave open."""

from __future__ import annotations

from dataclasses import dataclass

from catena_acp.conversation.todos import Todo, left_open
from catena_store.conversations import branches
from catena_store.database.database import Reader
from catena_store.records import Kind, Message

_ANSWERS = 8  # the newest, that are looked through where the agent sends no plan
_ROWS = 3000  # among which they are looked for


@dataclass(frozen=True, slots=True)
class LeftOpen:
    """One of the two: the row of a plan, which may be done, or todos that were drawn from answers."""

    plan: Message | None
    todos: tuple[Todo, ...] = ()


async def left_open_on(reader: Reader, leaf_id: str | None) -> LeftOpen:
    """What the branch with this leaf leaves to be done."""
    plans = await branches.newest_of(reader, leaf_id, Kind.PLAN, limit=1, within=_ROWS)
    if plan := next((row for row in reversed(plans) if _entries(row)), None):
        return LeftOpen(plan)
    answers = await branches.newest_answers(reader, leaf_id, limit=_ANSWERS, within=_ROWS)
    return LeftOpen(None, left_open([answer.text for answer in answers]))


def _entries(row: Message) -> bool:
    entries = row.data.get("entries")
    return isinstance(entries, list) and bool(entries)
