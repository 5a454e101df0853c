"""Lost rows: a notice takes the place of each lost message that other rows refer to."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

LOST_NOTICE = "Lost here: the file was damaged, and messages in this place could not be read."
CUT_MARK = "\n[the rest was lost]"

# The messages that branches need, each with its conversation.
_POINTERS = """
    SELECT parent_id AS id, conversation_id FROM message WHERE parent_id IS NOT NULL
    UNION SELECT leaf_id, conversation_id FROM window WHERE leaf_id IS NOT NULL
    UNION SELECT fork_point_id, id FROM conversation WHERE fork_point_id IS NOT NULL
"""


@dataclass(slots=True)
class IndexedMessages:
    """What indexes still tell of messages, lost ones too, by rowid."""

    uids: dict[int, str] = field(default_factory=dict)
    parents: dict[int, int] = field(default_factory=dict)
    conversations: dict[int, str] = field(default_factory=dict)


def insert_notices(
    new: sqlite3.Connection, known: IndexedMessages, now: int, make_id: Callable[[], str]
) -> int:
    """Insert a notice in the place of each lost message that a row refers to; return the number of lost messages.

    The parent of a notice is the nearest row that is certain to be above it: a guess could put one branch below
    another. Foreign keys must be off.
    """
    # A parent is older than its children; a pointer that says otherwise leads nowhere or in a circle.
    new.execute("UPDATE message SET parent_id = NULL WHERE parent_id >= id")
    taken = {uid for (uid,) in new.execute("SELECT uid FROM message")}
    saved = {row for (row,) in new.execute("SELECT id FROM message")}
    pointed: dict[int, str] = {}
    for row, conversation in new.execute(_POINTERS):
        if row not in saved:
            pointed[row] = known.conversations.get(row, pointed.get(row, conversation))
    _repoint_turns(new, pointed, saved)
    for row in sorted(pointed):
        above = _nearest_parent(new, known, row, saved, pointed.keys())
        uid = known.uids.get(row)
        if uid is None or uid in taken:
            uid = make_id()
        taken.add(uid)
        new.execute(
            "INSERT INTO message (id, uid, conversation_id, parent_id, kind, state, depth, created_at, text, data)"
            " VALUES (?, ?, ?, ?, 'notice', 'final', 0, ?, ?, '{\"trouble\": \"lost\"}')",
            (row, uid, pointed[row], above, now, LOST_NOTICE),
        )
    _set_depths(new)
    return len((known.uids.keys() | known.parents.keys() | pointed.keys()) - saved)


def _repoint_turns(new: sqlite3.Connection, pointed: dict[int, str], saved: set[int]) -> None:
    """Let turns whose rows are lost refer to the notice of that gap, adding one where there is none."""
    turns = new.execute(
        "SELECT id, conversation_id, prompt_id, last_id FROM turn ORDER BY last_id DESC"
    ).fetchall()
    for turn, conversation, prompt, last in turns:
        for column, row in (("last_id", last), ("prompt_id", prompt)):
            if row in saved:
                continue
            notice = min(
                (mark for mark, where in pointed.items() if mark >= row and where == conversation),
                default=None,
            )
            between = new.execute(
                "SELECT 1 FROM message WHERE conversation_id = ? AND id > ? AND id < ? LIMIT 1",
                (conversation, row, notice or 2**62),
            ).fetchone()
            if notice is None or between is not None:
                pointed[row] = conversation
            elif notice != row:
                new.execute(f"UPDATE turn SET {column} = ? WHERE id = ?", (notice, turn))


def _nearest_parent(
    new: sqlite3.Connection, known: IndexedMessages, row: int, saved: set[int], marked: Collection[int]
) -> int | None:
    """The nearest readable row above a lost one, by an index or by its turn; None is the root."""
    step = known.parents.get(row)
    while step is not None and step < row:
        if step in saved or step in marked:
            return step
        following = known.parents.get(step)
        if following is None:
            row = step
            break
        step = following
    # The rows of a turn form a line: the row before is the one above.
    found = new.execute(
        "SELECT max(m.id) FROM message m WHERE m.id < ?1 AND m.turn_id IN ("
        "   SELECT id FROM turn WHERE last_id = ?1"
        "   UNION SELECT turn_id FROM message WHERE parent_id = ?1 AND kind <> 'user')",
        (row,),
    ).fetchone()
    return None if found is None else found[0]


def _set_depths(new: sqlite3.Connection) -> None:
    depths: dict[int, int] = {}
    for row, parent in new.execute("SELECT id, parent_id FROM message ORDER BY id"):
        depths[row] = depths.get(parent, -1) + 1
    new.executemany(
        "UPDATE message SET depth = ?1 WHERE id = ?2 AND depth <> ?1",
        [(at, row) for row, at in depths.items()],
    )
