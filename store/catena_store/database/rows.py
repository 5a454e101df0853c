"""Rows of the tables as records: each column described once, conditions that queries share, JSON and ids as parameters.

A record's fields are the columns of its table. Only those that are not stored as they are need a description here,
beside `schema.sql`, which says what SQLite keeps. The integers of the tree stay inside the store: a pointer is read as
the text id of its row.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, Generic, TypeVar

from catena_store.database.database import Reader, Writer
from catena_store.errors import NotFound
from catena_store.ids import from_milliseconds, to_milliseconds
from catena_store.records import (
    AgentGroup,
    Cause,
    ContextSource,
    ConversationRecord,
    Kind,
    Lease,
    Link,
    LinkEvent,
    LinkState,
    Message,
    MessageState,
    Owner,
    QueueItem,
    StopReason,
    Turn,
    WindowRecord,
    Workspace,
)

_BEGIN, _END, _PLAIN = "\ufdd0", "\ufdd1", "\ufdd2"
_SIGN = re.compile(f"[{_BEGIN}{_END}{_PLAIN}]")
_PIECE = re.compile(f"{_BEGIN}([^{_END}]*){_END}")


def stored_draft(*parts: str) -> str:
    """A draft to be stored, of what is no piece, a piece, what is none, and so on."""
    if any(map(_SIGN.search, parts)):
        return _PLAIN + "".join(parts)
    return "".join(f"{_BEGIN}{part}{_END}" if at % 2 else part for at, part in enumerate(parts))


def draft_text(stored: str) -> str:
    """The whole text of a stored draft."""
    return stored[1:] if stored.startswith(_PLAIN) else _PIECE.sub(r"\1", stored)


def draft_pieces(stored: str) -> tuple[str, ...]:
    """The pieces of a stored draft, in their order."""
    return () if stored.startswith(_PLAIN) else tuple(_PIECE.findall(stored))


Row = tuple[Any, ...]
_Record = TypeVar("_Record")
_MISSING = object()


def as_json(data: Mapping[str, Any]) -> str:
    """A mapping as the tables store it."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def _object(text: str) -> Any:
    return {} if text == "{}" else json.loads(text)


@dataclass(frozen=True, slots=True)
class RecordColumn:
    """How a field of a record is stored; by default as it is, in a column of its name. NULL is None in every field."""

    name: str = ""
    read: Callable[[Any], Any] | None = None
    store: Callable[[Any], Any] | None = None
    points: bool = False  # the integer of a message
    sql: str = ""  # an expression of the query that is no column of the table


FLAG = RecordColumn(read=bool)
JSON = RecordColumn(read=_object, store=as_json)
POINTER = RecordColumn(points=True)
TIME = RecordColumn(read=from_milliseconds, store=to_milliseconds)


def words(kind: type[StrEnum]) -> RecordColumn:
    """A column that has the words of an enumeration."""
    return RecordColumn(read={each.value: each for each in kind}.__getitem__)


class RecordTable(Generic[_Record]):
    """A table whose rows are records: what a SELECT lists under its ``alias``, and a record of what that yields."""

    def __init__(self, name: str, alias: str, record: type[_Record], **columns: RecordColumn) -> None:
        self.name, self.of = name, record
        described: Any = record
        self.described = {each.name: columns.get(each.name, RecordColumn()) for each in fields(described)}
        self._read = [(at, each.read) for at, each in enumerate(self.described.values()) if each.read]
        self.columns = ", ".join(self._selected(alias, *each) for each in self.described.items())

    def _selected(self, alias: str, field: str, column: RecordColumn) -> str:
        name = f"{alias}.{column.name or field}"
        return column.sql or (
            f"(SELECT uid FROM message WHERE message.id = {name})" if column.points else name
        )

    def record(self, row: Row) -> _Record:
        """The record of a row of ``columns``."""
        values = list(row)
        for at, read in self._read:
            if values[at] is not None:
                values[at] = read(values[at])
        return self.of(*values)

    def stored(self, new: object, at: Mapping[str | None, int | None], **more: object) -> dict[str, object]:
        """The columns of the fields that a record has, with the integers of its pointers, and ``more`` columns."""
        values: dict[str, object] = {}
        for field, column in self.described.items():
            value: Any = getattr(new, field, _MISSING)
            if value is not _MISSING and not column.sql:
                if column.points:
                    value = at[value]
                elif column.store is not None and value is not None:
                    value = column.store(value)
                values[column.name or field] = value
        return values | more

    async def insert(self, tx: Writer, new: object, **more: object) -> None:
        """Add a row of a record, or of what is known of one before, and ``more`` columns. Raises NotFound."""
        pointers = [field for field, column in self.described.items() if column.points]
        at = await rowids(tx, [getattr(new, field) for field in pointers])
        await self.insert_many(tx, [self.stored(new, at, **more)])

    async def insert_many(self, tx: Writer, rows: Sequence[Mapping[str, object]]) -> None:
        """Add rows that have the same columns."""
        names, places = ", ".join(rows[0]), ", ".join("?" * len(rows[0]))
        sql = f"INSERT INTO {self.name} ({names}) VALUES ({places})"
        await tx.run_many(sql, [tuple(row.values()) for row in rows])


CONVERSATIONS = RecordTable(
    "conversation", "c", ConversationRecord, fork_point_id=POINTER, created_at=TIME, updated_at=TIME
)
MESSAGES = RecordTable(
    "message",
    "m",
    Message,
    id=RecordColumn("uid"),
    parent_id=POINTER,
    kind=words(Kind),
    state=words(MessageState),
    data=JSON,
    barrier=FLAG,
    created_at=TIME,
    took=RecordColumn(
        sql="(SELECT max(0, t.ended_at - t.started_at - t.waited) FROM turn t WHERE t.id = m.turn_id"
        " AND t.last_id = m.id AND t.stop_reason NOT IN ('interrupted', 'not_sent'))",
        read=lambda milliseconds: milliseconds / 1000,
    ),
)
TURNS = RecordTable(
    "turn",
    "t",
    Turn,
    prompt_id=POINTER,
    last_id=POINTER,
    how=words(ContextSource),
    told_from=POINTER,
    told_to=POINTER,
    unabridged_from=RecordColumn("whole_id", points=True),
    stop_reason=words(StopReason),
    usage=JSON,
    started_at=TIME,
    ended_at=TIME,
)
LINKS = RecordTable(
    "link",
    "l",
    Link,
    cause=words(Cause),
    base=POINTER,
    knows=POINTER,
    reach=POINTER,
    unabridged_from=RecordColumn("whole", points=True),
    state=words(LinkState),
    created_at=TIME,
)
LINK_EVENTS = RecordTable("link_event", "e", LinkEvent, at=TIME)
WINDOWS = RecordTable(  # `f` is its window_leaf
    "window",
    "w",
    WindowRecord,
    leaf_id=POINTER,
    draft=RecordColumn(sql="coalesce(f.draft, '')", read=draft_text),
    pieces=RecordColumn(sql="coalesce(f.draft, '')", read=draft_pieces),
    scroll=RecordColumn(sql="f.scroll"),
)
QUEUE_ITEMS = RecordTable("queue_item", "queue_item", QueueItem, held=FLAG, data=JSON, created_at=TIME)

CONVERSATION, conversation = CONVERSATIONS.columns, CONVERSATIONS.record
MESSAGE, message = MESSAGES.columns, MESSAGES.record
TURN, turn = TURNS.columns, TURNS.record
LINK, link = LINKS.columns, LINKS.record
LINK_EVENT, link_event = LINK_EVENTS.columns, LINK_EVENTS.record
WINDOW, window = WINDOWS.columns, WINDOWS.record
QUEUE_ITEM, queue_item = QUEUE_ITEMS.columns, QUEUE_ITEMS.record
LEASE = "conversation_id, owner, host, pid, started, epoch, heartbeat_at, agents"
WORKSPACE = "id, directory, active_window_id, owner, host, pid, started, heartbeat_at"

# True of a prompt that began a turn, not of a text that was steered into a running one.
IS_PROMPT = "(m.kind = 'user' AND NOT coalesce(json_extract(m.data, '$.steered'), 0))"


def begins_with(column: str) -> str:
    """A condition that the column begins with parameter ?1, in a form that an index serves."""
    return f"{column} >= ?1 AND {column} < ?1 || char(1114111)"


def lease(row: Row) -> Lease:
    conversation_id, owner, host, pid, started, epoch, heartbeat_at, agents = row
    return Lease(
        conversation_id=conversation_id,
        owner=Owner(owner, host, pid, started),
        epoch=epoch,
        heartbeat_at=from_milliseconds(heartbeat_at),
        agents=tuple(AgentGroup(pid, started) for pid, started in json.loads(agents)),
    )


def workspace(row: Row) -> Workspace:
    id, directory, active_window_id, owner, host, pid, started, heartbeat_at = row
    return Workspace(
        id=id,
        directory=directory,
        active_window_id=active_window_id,
        owner=None if owner is None else Owner(owner, host, pid, started),
        heartbeat_at=None if heartbeat_at is None else from_milliseconds(heartbeat_at),
    )


def from_json(text: str) -> Any:
    """The value of a JSON text, None where the text is not JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def as_list(ids: Iterable[str]) -> str:
    """Ids as one parameter, for ``IN (SELECT value FROM json_each(?))``."""
    return json.dumps(list(ids))


async def rowids(r: Reader, ids: Iterable[str | None]) -> dict[str | None, int | None]:
    """The integers of messages; None, the root, is itself. Raises NotFound.

    Looked up in SQL, a pointer to a missing message would become NULL, that is, the root.
    """
    found: dict[str | None, int | None] = {None: None}
    wanted = {id for id in ids if id is not None}
    if wanted:
        sql = "SELECT uid, id FROM message WHERE uid IN (SELECT value FROM json_each(?))"
        found.update(await r.all(sql, (as_list(wanted),)))
    for id in wanted:
        if id not in found:
            raise NotFound("message", id)
    return found
