"""The journal: every act of a person that moved a pointer, with what was before and after it, so that it can be undone.

An act is of one window, or of none where it was done in the history. ``before`` and ``after`` say the same things of
it, only those that the act changed:

* ``conversation_id`` and ``leaf_id``: where its window stands,
* ``windows``: which of the windows that it opened or closed are open,
* ``agent`` and ``profile``, ``title``, ``archived``, ``deleted``: of the conversation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from catena_store.database import rows
from catena_store.database.database import Reader, Writer
from catena_store.errors import NotFound
from catena_store.ids import from_milliseconds

_COLUMNS = "j.id, j.workspace_id, j.window_id, j.conversation_id, j.act, j.before, j.after, j.undone, j.at"
# ?1 is the window, ?2 the workspace. What was done to a tab that is gone can be undone from any tab of the workspace;
# of tabs without one (a second client in one directory) nobody else knows whose they were.
_SEEN = (
    "(j.window_id = ?1 OR (j.workspace_id = ?2 AND (j.window_id IS NULL OR ("
    "     (j.act IN ('close', 'delete', 'archive') OR (j.act = 'fork' AND j.workspace_id IS NOT NULL))"
    " AND EXISTS (SELECT 1 FROM window w WHERE w.id = j.window_id AND w.closed_at IS NOT NULL)))))"
)


class Act(StrEnum):
    """What a person did."""

    EDIT = "edit"
    RETRY = "retry"
    FORK = "fork"
    REWIND = "rewind"
    SIBLING = "sibling"
    GO_TO = "go_to"
    PICK = "pick"  # an older link to go on from
    AGENT = "agent"
    RENAME = "rename"
    DELETE = "delete"
    ARCHIVE = "archive"
    CLOSE = "close"


@dataclass(frozen=True, slots=True)
class WindowPlace:
    """Where a window stands."""

    conversation_id: str
    leaf_id: str | None

    def as_mapping(self) -> dict[str, str | None]:
        """As an entry of the journal has it."""
        return {"conversation_id": self.conversation_id, "leaf_id": self.leaf_id}


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One line of the journal."""

    id: int  # its place in the journal
    workspace_id: str | None
    window_id: str | None  # None for an act in the history
    conversation_id: str  # the one that the window showed before the act
    act: Act
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    undone: bool
    at: datetime


async def record(
    tx: Writer,
    *,
    workspace_id: str | None,
    window_id: str | None,
    conversation_id: str,
    act: Act,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
) -> None:
    """Write down an act. Where nothing was changed, nothing is written."""
    if before == after:
        return
    await tx.run(
        "INSERT INTO journal (workspace_id, window_id, conversation_id, act, before, after, at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            workspace_id,
            window_id,
            conversation_id,
            act,
            rows.as_json(before),
            rows.as_json(after),
            tx.now(),
        ),
    )


async def newest(r: Reader, window_id: str | None, workspace_id: str | None = None) -> JournalEntry | None:
    """What would be undone next: the newest act of a window, or on a tab of the workspace that is gone."""
    row = await r.one(
        f"SELECT {_COLUMNS} FROM journal j WHERE {_SEEN} AND j.undone = 0 ORDER BY j.id DESC LIMIT 1",
        (window_id, workspace_id),
    )
    return None if row is None else _entry(row)


async def newest_undone(
    r: Reader, window_id: str | None, workspace_id: str | None = None
) -> JournalEntry | None:
    """What would be done again next; None where something else was done since it was undone."""
    row = await r.one(
        f"SELECT {_COLUMNS} FROM journal j WHERE {_SEEN} AND j.undone = 1 AND j.id >"
        f" (SELECT coalesce(max(j.id), 0) FROM journal j WHERE {_SEEN} AND j.undone = 0)"
        " ORDER BY j.id LIMIT 1",
        (window_id, workspace_id),
    )
    return None if row is None else _entry(row)


async def entries(
    r: Reader, window_id: str | None, workspace_id: str | None = None, *, limit: int = 200
) -> list[JournalEntry]:
    """The acts of a window and on tabs of the workspace that are gone, undone ones too, newest first."""
    found = await r.all(
        f"SELECT {_COLUMNS} FROM journal j WHERE {_SEEN} ORDER BY j.id DESC LIMIT ?3",
        (window_id, workspace_id, limit),
    )
    return [_entry(row) for row in found]


async def mark_undone(
    tx: Writer,
    id: int,
    undone: bool = True,
    *,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> None:
    """The act was undone, or done again; ``before`` or ``after`` is what was left by that. Raises NotFound."""
    changed = await tx.run(
        "UPDATE journal SET undone = ?, before = coalesce(?, before), after = coalesce(?, after) WHERE id = ?",
        (
            int(undone),
            None if before is None else rows.as_json(before),
            None if after is None else rows.as_json(after),
            id,
        ),
    )
    if not changed:
        raise NotFound("journal", str(id))


def _entry(row: rows.Row) -> JournalEntry:
    id, workspace_id, window_id, conversation_id, act, before, after, undone, at = row
    return JournalEntry(
        id=id,
        workspace_id=workspace_id,
        window_id=window_id,
        conversation_id=conversation_id,
        act=Act(act),
        before=json.loads(before),
        after=json.loads(after),
        undone=bool(undone),
        at=from_milliseconds(at),
    )
