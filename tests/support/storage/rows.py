"""What the tests of the store are made of: a file, a clock that stands still, and short ways to fill both."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from catena_store.chains import links
from catena_store.conversations import conversations, messages
from catena_store.database import rows
from catena_store.database.database import Database, Reader, Writer
from catena_store.records import (
    Cause,
    ContextSource,
    Kind,
    Link,
    LinkEvent,
    Message,
    MessageState,
    NewLink,
    NewMessage,
    Owner,
    Turn,
)

START = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


class Clock:
    """A clock that goes on only when told."""

    def __init__(self) -> None:
        self.time = START

    def __call__(self) -> datetime:
        return self.time

    def forward(self, seconds: float = 1) -> None:
        self.time += timedelta(seconds=seconds)


@asynccontextmanager
async def store(directory: Path, clock: Clock | None = None) -> AsyncIterator[Database]:
    """An open store in the directory."""
    async with Database.open(directory / "catena.db", clock=clock or Clock()) as db:
        yield db


async def new_conversation(tx: Writer, id: str = "c1", **fields: Any) -> None:
    await conversations.create(tx, id=id, **{"agent": "rehearsal", "cwd": "/home/ada/shop", **fields})


async def say(
    tx: Writer,
    id: str,
    parent: str | None,
    text: str = "",
    *,
    kind: Kind = Kind.USER,
    conversation: str = "c1",
    state: MessageState = MessageState.FINAL,
    **fields: Any,
) -> Message:
    new = NewMessage(
        id=id, conversation_id=conversation, parent_id=parent, kind=kind, text=text, state=state, **fields
    )
    return await messages.insert(tx, new)


async def say_much(tx: Writer, count: int, *, conversation: str = "c1", prefix: str = "m") -> str:
    """A branch of so many rows, prompts and answers in turn; gives its leaf."""
    kinds = (Kind.USER, Kind.AGENT)
    await messages.insert_many(
        tx,
        [
            NewMessage(
                f"{prefix}{i}",
                conversation,
                f"{prefix}{i - 1}" if i else None,
                kinds[i % 2],
                f"row number {i}",
            )
            for i in range(count)
        ],
    )
    return f"{prefix}{count - 1}"


async def new_link(tx: Writer, id: str, conversation: str = "c1", **fields: Any) -> Link:
    given: dict[str, Any] = {
        "agent": "rehearsal",
        "profile": "",
        "session_id": f"session-{id}",
        "cwd": "/home/ada/shop",
        "cause": Cause.NEW,
        **fields,
    }
    return await links.add(tx, NewLink(id=id, conversation_id=conversation, **given))


def a_turn(id: str, prompt: str, link: str, **fields: Any) -> Turn:
    given: dict[str, Any] = {
        "conversation_id": "c1",
        "base_link_id": None,
        "window_id": None,
        "last_id": prompt,
        "how": ContextSource.CONTINUED,
        "cause": None,
        "told_from": None,
        "told_to": None,
        "told": 0,
        "told_total": 0,
        "tools_listed": 0,
        "tools_left_out": 0,
        "left_out": 0,
        "shortened": 0,
        "masked": 0,
        "unabridged_from": None,
        "prior_context": None,
        "stop_reason": None,
        "error": None,
        "usage": None,
        "cost": None,
        "currency": None,
        "model": None,
        "mode": None,
        "started_at": START,
        "ended_at": None,
        **fields,
    }
    return Turn(id=id, prompt_id=prompt, link_id=link, **given)


async def every_prompt_carried(tx: Writer, conversation: str, link: str) -> None:
    """A clean turn on the link for every prompt of the conversation, which ends with the row after it."""
    await tx.run(
        "INSERT INTO turn (id, conversation_id, prompt_id, link_id, last_id, how, told, told_total,"
        " tools_listed, left_out, stop_reason, started_at, ended_at)"
        " SELECT 'turn of ' || uid, ?1, id, ?2, id + 1, 'continued', 0, 0, 0, 0, 'end_turn', id, id"
        "   FROM message WHERE conversation_id = ?1 AND kind = 'user'",
        (conversation, link),
    )


def an_owner(id: str = "ours") -> Owner:
    return Owner(id=id, host="desk", pid=4711, started="12:00")


class Explained(Writer):
    """A transaction that also writes down how SQLite goes about each statement."""

    def __init__(self, tx: Writer) -> None:
        self.steps: list[str] = []
        self._tx = tx

    async def all_of(self, *queries: tuple[str, Sequence[object]]) -> list[list[tuple[Any, ...]]]:
        for sql, parameters in queries:
            await self._explain(sql, parameters)
        return await self._tx.all_of(*queries)

    async def run(self, sql: str, parameters: Sequence[object] = ()) -> int:
        await self._explain(sql, parameters)
        return await self._tx.run(sql, parameters)

    async def run_many(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        for row in rows:
            await self.run(sql, row)

    def now(self) -> int:
        return self._tx.now()

    async def _explain(self, sql: str, parameters: Sequence[object]) -> None:
        plan = await self._tx.all(f"EXPLAIN QUERY PLAN {sql}", parameters)
        self.steps += [step for *_, step in plan]

    def scans(self, *tables: str) -> list[str]:
        """The steps that go through a whole table, by its name or its alias in the statement."""
        return [step for step in self.steps if step.startswith("SCAN ") and step.split()[1] in tables]


async def everything(r: Reader, table: str) -> list[tuple[Any, ...]]:
    """The whole table, for comparing before with after."""
    return await r.all(f"SELECT * FROM {table} ORDER BY 1, 2")


async def link_events(r: Reader, conversation_id: str) -> list[LinkEvent]:
    """What happened to all links of a conversation, oldest first."""
    found = await r.all(
        f"SELECT {rows.LINK_EVENT} FROM link_event e WHERE e.conversation_id = ? ORDER BY e.id",
        (conversation_id,),
    )
    return [rows.link_event(row) for row in found]
