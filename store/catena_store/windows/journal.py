"""The journal: every act of a person that moved a pointer, with the state before and after it, for undo and redo.

An act belongs to one window, or to none where it was done in the history. ``before`` and ``after`` have the same keys,
of what the act changed:

* ``conversation_id`` and ``leaf_id``: what its window shows,
* ``files``: a directory (``root``) and its files as a tree, where these went along, from when (``began_at``) until when
  (``moved_at``), and the leaves where they ``stood``; where ``only`` some paths were restored, these,
* ``windows``: those of the windows that it opened or closed which are open,
* ``agent`` and ``profile``, ``cwd``, ``title``, ``archived``, ``deleted``: of the conversation,
* ``conversations``: the same and ``pinned``, by conversation, of an act on any number of them.
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
from catena_store.ids import from_milliseconds, to_milliseconds

_COLUMNS = "j.id, j.workspace_id, j.window_id, j.conversation_id, j.act, j.before, j.after, j.undone, j.at"
# ?1 is the window, ?2 the workspace. An act on a closed tab can be undone from any tab of the workspace, but not an act
# on a tab without a workspace (of a second client in one directory): nobody can tell whose that was.
_SEEN = (
    "(j.window_id = ?1 OR (j.workspace_id = ?2 AND (j.window_id IS NULL OR ("
    "     (j.act IN ('close', 'delete', 'archive', 'pin') OR (j.act = 'fork' AND j.workspace_id IS NOT NULL))"
    " AND EXISTS (SELECT 1 FROM window w WHERE w.id = j.window_id AND w.closed_at IS NOT NULL)))))"
)
_FOR_GOOD = 2  # undone, and another act came after it


class Act(StrEnum):
    """A kind of act that can be undone."""

    EDIT = "edit"
    RETRY = "retry"
    FORK = "fork"
    REWIND = "rewind"
    SIBLING = "sibling"
    GO_TO = "go_to"
    FILES = "files"  # went where the window stands, or some of them were restored
    CLEAR = "clear"
    PICK = "pick"  # an older link to go on from
    AGENT = "agent"
    DIRECTORY = "directory"
    RENAME = "rename"
    DELETE = "delete"
    ARCHIVE = "archive"
    PIN = "pin"
    CLOSE = "close"


@dataclass(frozen=True, slots=True)
class WindowPlace:
    """The conversation and the leaf that a window shows."""

    conversation_id: str
    leaf_id: str | None

    def as_mapping(self) -> dict[str, str | None]:
        """The place as a journal entry stores it."""
        return {"conversation_id": self.conversation_id, "leaf_id": self.leaf_id}


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One act in the journal."""

    id: int  # counts up over the journal
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
    """Add an act to the journal, unless it changed nothing; what was undone before it is not done again."""
    if before == after:
        return
    await tx.run(
        f"UPDATE journal AS j SET undone = {_FOR_GOOD} WHERE {_SEEN} AND j.undone = 1",
        (window_id, workspace_id),
    )
    await tx.run(
        "INSERT INTO journal (workspace_id, window_id, conversation_id, act, before, after, at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            workspace_id,
            window_id,
            conversation_id,
            act,
            _written(before),
            _written(after),
            tx.now(),
        ),
    )


async def note_files(
    tx: Writer, conversation_id: str, root: str, before: str, after: str, began_at: datetime
) -> None:
    """Note that files went along with no window: nothing undoes that, but it tells whose changes they are not."""
    files = {"root": root, "tree": before, "began_at": to_milliseconds(began_at), "moved_at": tx.now()}
    await record(
        tx,
        workspace_id=None,
        window_id=None,
        conversation_id=conversation_id,
        act=Act.FILES,
        before={"files": files},
        after={"files": {**files, "tree": after}},
    )


async def newest(r: Reader, window_id: str | None, workspace_id: str | None = None) -> JournalEntry | None:
    """The act to undo next: the newest of the window, or on a closed tab of the workspace."""
    row = await r.one(
        f"SELECT {_COLUMNS} FROM journal j WHERE {_SEEN} AND j.undone = 0 ORDER BY j.id DESC LIMIT 1",
        (window_id, workspace_id),
    )
    return None if row is None else _entry(row)


async def newest_undone(
    r: Reader, window_id: str | None, workspace_id: str | None = None
) -> JournalEntry | None:
    """The act to redo next; None where another act came after the undo."""
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
    """The acts of the window and on closed tabs of the workspace, undone ones too, newest first."""
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
    """Mark an act as undone or redone, with the state ``before`` or ``after`` where that changed. Raises NotFound."""
    changed = await tx.run(
        "UPDATE journal SET undone = ?, before = coalesce(?, before), after = coalesce(?, after) WHERE id = ?",
        (
            int(undone),
            None if before is None else _written(before),
            None if after is None else _written(after),
            id,
        ),
    )
    if not changed:
        raise NotFound("journal", str(id))


async def add_files(
    tx: Writer, entry: JournalEntry, before: Mapping[str, Any], after: Mapping[str, Any]
) -> None:
    """Note that files went along with an act afterwards. Raises NotFound."""
    await mark_undone(
        tx,
        entry.id,
        entry.undone,
        before={**entry.before, "files": before},
        after={**entry.after, "files": after},
    )


def _written(values: Mapping[str, Any]) -> str:
    return json.dumps(values, separators=(",", ":"))  # ASCII keeps names that are not UTF-8


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
