"""Lineage: the source of a conversation, and its forks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from catena_store.database import rows
from catena_store.database.database import Reader
from catena_store.ids import from_milliseconds

_PREVIEW = 200  # characters of a first prompt that stand for a title
_KIN = (
    "c.id, c.title, coalesce((SELECT substr(text, 1, ?2) FROM message WHERE conversation_id = c.id"
    " AND kind = 'user' ORDER BY id LIMIT 1), ''), c.agent, c.created_at, p.uid"
)
_EXISTS = (
    "c.deleted_at IS NULL AND (EXISTS (SELECT 1 FROM message WHERE conversation_id = c.id)"
    " OR EXISTS (SELECT 1 FROM window w WHERE w.conversation_id = c.id AND w.closed_at IS NULL))"
)


@dataclass(frozen=True, slots=True)
class Kin:
    """The source or a fork of a conversation, as a list shows it."""

    id: str
    title: str | None
    preview: str  # the beginning of its own first prompt
    agent: str
    created_at: datetime
    fork_point_id: str | None  # the row of its source that it begins below; None at the root


@dataclass(frozen=True, slots=True)
class Lineage:
    """The source and the forks of a conversation."""

    source: Kin | None  # the conversation that its fork point was born in; None where it is no fork
    fork_point_id: str | None
    forks: tuple[Kin, ...]  # oldest first


async def of_conversation(r: Reader, id: str) -> Lineage:
    """The lineage of a conversation."""
    own = await r.one(
        "SELECT c.family, p.uid, p.conversation_id FROM conversation c"
        " LEFT JOIN message p ON p.id = c.fork_point_id WHERE c.id = ?",
        (id,),
    )
    if own is None:
        return Lineage(None, None, ())
    family, point, born_in = own
    source_id = born_in or (family if family != id else None)
    found = await r.all(
        f"SELECT {_KIN} FROM conversation c LEFT JOIN message p ON p.id = c.fork_point_id"
        f" WHERE c.family = ?3 AND c.id <> ?1 AND c.family <> c.id AND coalesce(p.conversation_id, c.family) = ?1"
        f" AND {_EXISTS} ORDER BY c.created_at, c.id",
        (id, _PREVIEW, family),
    )
    return Lineage(await _kin(r, source_id) if source_id else None, point, tuple(map(_kin_of_row, found)))


async def _kin(r: Reader, id: str) -> Kin | None:
    row = await r.one(
        f"SELECT {_KIN} FROM conversation c LEFT JOIN message p ON p.id = c.fork_point_id WHERE c.id = ?1",
        (id, _PREVIEW),
    )
    return None if row is None else _kin_of_row(row)


def _kin_of_row(row: rows.Row) -> Kin:
    id, title, preview, agent, created_at, point = row
    return Kin(id, title, preview, agent, from_milliseconds(created_at), point)
