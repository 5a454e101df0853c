"""Link history: the turns that links carried, and the first and last message of each."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from catena_store.database import rows
from catena_store.database.database import Reader
from catena_store.ids import from_milliseconds
from catena_store.records import Kind, LinkEvent, StopReason

_PREVIEW_CHARACTERS = 240  # characters
_COLUMNS = f"m.uid, m.kind, substr(m.text, 1, {_PREVIEW_CHARACTERS}), m.created_at"


@dataclass(frozen=True, slots=True)
class MessagePreview:
    """The beginning of a message."""

    id: str
    kind: Kind
    text: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class CarriedTurns:
    """The turns that a link carried, those that were not sent left out; ``newest`` orders links by use."""

    count: int
    newest: int
    first_turn: str
    last_turn: str


@dataclass(frozen=True, slots=True)
class LinkExtent:
    """The first and last message that a link carried, and how its newest turn ended."""

    first: MessagePreview | None
    last: MessagePreview | None
    cause: str | None  # in words, why context began to go over this link
    stop_reason: StopReason | None  # of its newest turn; None while that is open
    error: str | None


async def turns_by_link(r: Reader, link_ids: Collection[str]) -> dict[str, CarriedTurns]:
    """The turns that each of the links carried, of those that carried any."""
    found = await r.all(
        "SELECT c.link_id, c.turns, c.newest, f.id, l.id FROM ("
        "  SELECT t.link_id, count(*) AS turns, min(t.rowid) AS oldest, max(t.rowid) AS newest"
        "    FROM json_each(?) CROSS JOIN turn t ON t.link_id = value"
        "   WHERE t.stop_reason IS NOT 'not_sent' GROUP BY t.link_id"
        ") AS c CROSS JOIN turn f ON f.rowid = c.oldest CROSS JOIN turn l ON l.rowid = c.newest",
        (rows.as_list(list(link_ids)),),
    )
    return {
        link_id: CarriedTurns(turns, newest, first, last) for link_id, turns, newest, first, last in found
    }


async def extent(r: Reader, link_id: str, load: CarriedTurns) -> LinkExtent:
    """The extent of a link, given the turns that it carried."""
    first = await r.one(
        f"SELECT {_COLUMNS}, t.cause FROM turn t JOIN message m ON m.id = t.prompt_id WHERE t.id = ?",
        (load.first_turn,),
    )
    last = await r.one(
        f"SELECT {_COLUMNS} FROM message m WHERE m.link_id = ? AND m.kind IN ('user', 'agent')"
        " AND NOT EXISTS (SELECT 1 FROM turn t WHERE t.id = m.turn_id AND t.stop_reason = 'not_sent')"
        " ORDER BY m.id DESC LIMIT 1",
        (link_id,),
    )
    ended = await r.one("SELECT stop_reason, error FROM turn WHERE id = ?", (load.last_turn,))
    stop, error = ended or (None, None)
    return LinkExtent(
        first=_preview(first[:4]) if first else None,
        last=_preview(last) if last else None,
        cause=first[4] if first else None,
        stop_reason=StopReason(stop) if stop else None,
        error=error,
    )


async def previews(r: Reader, message_ids: Collection[str]) -> dict[str, MessagePreview]:
    """Previews of messages, by id."""
    found = await r.all(
        f"SELECT {_COLUMNS} FROM json_each(?) CROSS JOIN message m ON m.uid = value",
        (rows.as_list(list(message_ids)),),
    )
    return {row[0]: _preview(row) for row in found}


async def events(r: Reader, link_id: str) -> list[LinkEvent]:
    """The events of one link, oldest first."""
    found = await r.all(
        f"SELECT {rows.LINK_EVENT} FROM link_event e WHERE e.link_id = ? ORDER BY e.id", (link_id,)
    )
    return [rows.link_event(row) for row in found]


def _preview(row: tuple[Any, ...]) -> MessagePreview:
    id, kind, text, created_at = row
    return MessagePreview(id, Kind(kind), text, from_milliseconds(created_at))
