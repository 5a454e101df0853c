"""Removal: conversations go for good, in small steps that hold up nobody, each of which leaves a whole file.

First the conversations are marked in one transaction: from then on nobody can open them. Then their rows go, the
newest first, a few hundred in a transaction. A row stays while another row or a pointer of a conversation that stays
leads to it; what stays keeps its conversation's own row, and goes with a later removal once nothing leads to it. A
process that is killed leaves marked conversations, which the next removal goes on with.

It works on a connection of its own, in the caller's thread, without SQLite's check of foreign keys: for each row that
check would read every table that may refer to it.

A client that has the store open prunes beside its own connections, and gives free pages back to the disk.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from catena_store.clients import leases
from catena_store.database.connection import store_error
from catena_store.database.database import Database
from catena_store.errors import StoreReadOnly
from catena_store.ids import to_milliseconds, utc_now
from catena_store.keeping.selection import POINTED_TO, REACHED, SPARED
from catena_store.records import Lease

_STEPS = 20_000  # of SQLite's machine between two looks at the time
_PATIENCE = 2.0  # seconds, beside those who use the file
_BUSY_SECONDS = 30.0  # that a step waits for others; it holds them up for some milliseconds
_ROWS = 400  # of a step
_BREAK_AFTER = 0.02  # seconds of work
_BREAK_SECONDS = 0.005  # at least
# Of the index, after a step: else SQLite merges many at once some day, in somebody's transaction.
_MERGE_PAGES = 16
_TIDY_SECONDS = 1.0  # at most that others wait while the index is merged into one part at the end
_ENDED = "the messages that it carried were pruned"


@dataclass(frozen=True, slots=True)
class Removed:
    """What a removal did."""

    conversations: int  # nothing is left of them
    reduced: int  # of them the rows are left that forks reach
    rows: int


def remove(
    path: Path, ids: Sequence[str], *, now: int, is_free: Callable[[str], bool], alone: bool = False
) -> Removed:
    """Remove conversations, and what earlier removals left; spare those that are to be spared by now.

    ``is_free`` is asked with the id of the owner of a lease whether that owner is gone; ``now`` is the time in
    milliseconds. ``alone``: nobody waits for the file, so that its index is tidied however long that takes. Raises
    sqlite3.Error.
    """
    with closing(_connected(path)) as file:
        steps = _Transactions(file)
        _mark(steps, ids, now, is_free)
        gone = reduced = count = 0
        # A fork is younger than its source: what hangs from a row goes before the row.
        for id, family in file.execute(
            "SELECT id, family FROM conversation WHERE pruned_at IS NOT NULL ORDER BY created_at DESC, rowid DESC"
        ).fetchall():
            before = _rows_of(file, id)
            _lose_links(steps, id, family)
            _remove_rows(steps, id, family)
            left = _rows_of(file, id)
            _finish(steps, id, left)
            count += before - left
            gone += not left
            reduced += bool(left) and left < before
        _tidy_index(steps, None if alone else _TIDY_SECONDS)
        return Removed(gone, reduced, count)


def _connected(path: Path) -> sqlite3.Connection:
    file = _opened(path, _BUSY_SECONDS)
    file.execute("PRAGMA foreign_keys = OFF")
    file.execute("PRAGMA temp_store = MEMORY")
    ((journal,),) = file.execute("PRAGMA journal_mode")
    file.execute(f"PRAGMA synchronous = {'NORMAL' if journal == 'wal' else 'FULL'}")
    return file


class _Transactions:
    """Transactions on a connection, with breaks between them in which others can write."""

    def __init__(self, file: sqlite3.Connection) -> None:
        self.file = file
        self._worked = 0.0  # seconds since the last break

    @contextmanager
    def step(self) -> Iterator[sqlite3.Connection]:
        """One transaction."""
        self.file.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        try:
            yield self.file
            self.file.execute("COMMIT")
        finally:
            if self.file.in_transaction:
                self.file.execute("ROLLBACK")
        self._worked += time.monotonic() - began
        if self._worked >= _BREAK_AFTER:
            # Whoever waits looks again after some milliseconds, and has to find the file free then.
            time.sleep(max(_BREAK_SECONDS, self._worked / 2))
            self._worked = 0.0


def _mark(steps: _Transactions, ids: Sequence[str], now: int, is_free: Callable[[str], bool]) -> None:
    """Mark the conversations, with their windows and what points at them; one that is in use by now stays."""
    with steps.step() as file:
        held = {
            id
            for id, owner in file.execute("SELECT conversation_id, owner FROM lease WHERE owner IS NOT NULL")
            if not is_free(owner)
        }
        wanted = json.dumps([id for id in ids if id not in held])
        going = json.dumps(
            [
                id
                for (id,) in file.execute(
                    "SELECT c.id FROM json_each(?) CROSS JOIN conversation c ON c.id = value"
                    f" WHERE c.pruned_at IS NULL AND CASE {SPARED} END IS NULL",
                    (wanted,),
                )
            ]
        )
        chosen = "(SELECT value FROM json_each(?1))"
        windows = f"(SELECT id FROM window WHERE conversation_id IN {chosen})"
        for statement in (
            f"UPDATE workspace SET active_window_id = NULL WHERE active_window_id IN {windows}",
            # An act on several conversations can still be undone for the others.
            "DELETE FROM journal WHERE CASE WHEN json_extract(before, '$.conversations') IS NOT NULL"
            f" THEN NOT EXISTS (SELECT 1 FROM json_each(before, '$.conversations') WHERE key NOT IN {chosen})"
            f" ELSE conversation_id IN {chosen} OR window_id IN {windows}"
            f" OR json_extract(before, '$.conversation_id') IN {chosen}"
            f" OR json_extract(after, '$.conversation_id') IN {chosen} END",
            f"DELETE FROM permission_rule WHERE conversation_id IN {chosen}",
            f"DELETE FROM checkpoint WHERE conversation_id IN {chosen}",
            f"DELETE FROM lease WHERE conversation_id IN {chosen}",
        ):
            file.execute(statement, (going,))
        _remove_with(file, "window", "conversation_id", going)
        file.execute(
            f"UPDATE conversation SET pruned_at = ?2, deleted_at = coalesce(deleted_at, ?2) WHERE id IN {chosen}",
            (going, now),
        )


def _lose_links(steps: _Transactions, id: str, family: str) -> None:
    """Lose the links that lead to a row that is to go: a pointer into nothing would be taken for the root."""
    with steps.step() as file:
        file.execute(
            f"{REACHED} UPDATE link SET base = NULL, knows = NULL, reach = NULL, whole = NULL, state = 'lost',"
            " owner = NULL, version = version + 1, ended = coalesce(ended, ?4)"
            " WHERE conversation_id = ?3 AND EXISTS ("
            "   SELECT 1 FROM (SELECT base AS row UNION SELECT knows UNION SELECT reach UNION SELECT whole)"
            "    WHERE row IS NOT NULL AND row NOT IN (SELECT id FROM reached))",
            (family, "[]", id, _ENDED),
        )


def _remove_rows(steps: _Transactions, id: str, family: str) -> None:
    below = 1 << 62
    while True:
        with steps.step() as file:
            rows = file.execute(
                "SELECT id, parent_id FROM message WHERE conversation_id = ? AND id < ? ORDER BY id DESC LIMIT ?",
                (id, below, _ROWS),
            ).fetchall()
            if not rows:
                return
            needed = _needed(file, id, family, [row for row, _ in rows])
            going = []
            for row, parent in rows:  # children before their parents
                if row in needed:
                    needed.add(parent)
                else:
                    going.append(row)
            _forget_rows(file, json.dumps(going))
            below = rows[-1][0]
        if len(rows) < _ROWS:
            return
        with steps.step() as file:
            file.execute("INSERT INTO message_fts (message_fts, rank) VALUES ('merge', ?)", (_MERGE_PAGES,))


def _needed(file: sqlite3.Connection, id: str, family: str, rows: Sequence[int]) -> set[int | None]:
    """Those of the rows that a row outside of them hangs from, or that a conversation which stays points to."""
    found = file.execute(
        f"""
        WITH own (id) AS (SELECT value FROM json_each(?1)),
        kin (id) AS (SELECT id FROM conversation WHERE family = ?3 AND id <> ?2 AND pruned_at IS NULL)
        SELECT m.parent_id FROM own CROSS JOIN message m ON m.parent_id = own.id WHERE m.id NOT IN (SELECT id FROM own)
        UNION {POINTED_TO}
        """,
        (json.dumps(rows), id, family),
    )
    return {row for (row,) in found}


def _forget_rows(file: sqlite3.Connection, going: str) -> None:
    """Remove rows, a JSON array, with all that is only there for them."""
    chosen = "(SELECT value FROM json_each(?1))"
    file.execute(
        "INSERT INTO message_fts (message_fts, rowid, text)"
        f" SELECT 'delete', id, text FROM message_indexed WHERE id IN {chosen}",
        (going,),
    )
    # The turns that began with them go; of those that began above them the beginning stays.
    turns = json.dumps(
        [id for (id,) in file.execute(f"SELECT id FROM turn WHERE prompt_id IN {chosen}", (going,))]
    )
    file.execute(f"UPDATE message SET turn_id = NULL WHERE turn_id IN {chosen}", (turns,))
    _remove_with(file, "turn", "id", turns)
    begun = json.dumps(
        [
            id
            for (id,) in file.execute(
                f"SELECT DISTINCT turn_id FROM message WHERE id IN {chosen} AND turn_id IS NOT NULL", (going,)
            )
        ]
    )
    file.execute(
        f"UPDATE turn SET last_id = CASE WHEN last_id IN {chosen} THEN prompt_id ELSE last_id END,"
        f" told_from = CASE WHEN told_from IN {chosen} THEN NULL ELSE told_from END,"
        f" told_to = CASE WHEN told_to IN {chosen} THEN NULL ELSE told_to END,"
        f" whole_id = CASE WHEN whole_id IN {chosen} THEN NULL ELSE whole_id END"
        " WHERE id IN (SELECT value FROM json_each(?2))",
        (going, begun),
    )
    file.execute(f"DELETE FROM attachment WHERE message_id IN {chosen}", (going,))
    # What is gone for good is not to be found among the prompts that were typed either.
    file.execute(
        f"DELETE FROM input WHERE text IN (SELECT text FROM message WHERE id IN {chosen} AND kind = 'user')",
        (going,),
    )
    _remove_with(file, "message", "id", going)


def _finish(steps: _Transactions, id: str, left: int) -> None:
    with steps.step() as file:
        if left:
            # Where its branches end is derived from the rows that it has.
            file.execute("DELETE FROM branch_end WHERE conversation_id = ?", (id,))
            file.execute(
                "INSERT INTO branch_end (conversation_id, message_id) SELECT m.conversation_id, m.id FROM message m"
                " WHERE m.conversation_id = ?1 AND NOT EXISTS ("
                "   SELECT 1 FROM message c WHERE c.parent_id = m.id AND c.conversation_id = ?1)",
                (id,),
            )
            rows = "(SELECT id FROM message)"
            file.execute(
                f"UPDATE turn SET last_id = CASE WHEN last_id IN {rows} THEN last_id ELSE prompt_id END,"
                f" told_from = CASE WHEN told_from IN {rows} THEN told_from END,"
                f" told_to = CASE WHEN told_to IN {rows} THEN told_to END,"
                f" whole_id = CASE WHEN whole_id IN {rows} THEN whole_id END WHERE conversation_id = ?",
                (id,),
            )
            return
        links = "(SELECT id FROM link WHERE conversation_id = ?1)"
        for statement in (
            f"UPDATE link SET source_id = NULL WHERE source_id IN {links}",
            f"UPDATE turn SET base_link_id = NULL WHERE base_link_id IN {links}",
            f"UPDATE checkpoint SET link_id = NULL WHERE link_id IN {links}",
            # Forks that we made for ourselves are nobody's conversations, also when nothing of ours refers to them.
            "INSERT OR IGNORE INTO deleted_session (agent, profile, session_id, deleted_at)"
            " SELECT l.agent, l.profile, l.session_id, c.pruned_at FROM link l JOIN conversation c ON c.id = ?1"
            " WHERE l.conversation_id = ?1 AND l.cause IN ('park', 'aside', 'probe')",
            "DELETE FROM link_event WHERE conversation_id = ?1",
            "DELETE FROM link WHERE conversation_id = ?1",
        ):
            file.execute(statement, (id,))
        _remove_with(file, "conversation", "id", json.dumps([id]))


def _remove_with(file: sqlite3.Connection, table: str, column: str, values: str) -> None:
    """Remove rows of a table by a JSON array, and from every table what the schema says goes with them."""
    keys = json.dumps(
        [
            key
            for (key,) in file.execute(
                f"SELECT id FROM {table} WHERE {column} IN (SELECT value FROM json_each(?))", (values,)
            )
        ]
    )
    for child, by in file.execute(
        'SELECT t.name, f."from" FROM sqlite_schema t JOIN pragma_foreign_key_list(t.name) f'
        " WHERE t.type = 'table' AND f.\"table\" = ?1 AND (f.on_delete = 'CASCADE' OR t.name IN"
        "   ('window_leaf', 'queue_item') AND ?1 = 'window')",
        (table,),
    ).fetchall():
        file.execute(f"DELETE FROM {child} WHERE {by} IN (SELECT value FROM json_each(?))", (keys,))
    file.execute(f"DELETE FROM {table} WHERE id IN (SELECT value FROM json_each(?))", (keys,))


def _rows_of(file: sqlite3.Connection, id: str) -> int:
    ((count,),) = file.execute("SELECT count(*) FROM message WHERE conversation_id = ?", (id,))
    return int(count)


def _tidy_index(steps: _Transactions, seconds: float | None) -> None:
    """Merge the full-text index into one part, if that is soon done: only then it gives back what was removed."""
    file = steps.file
    if seconds is not None:
        end = time.monotonic() + seconds
        file.set_progress_handler(lambda: int(time.monotonic() > end), _STEPS)
    try:
        with steps.step():
            file.execute("INSERT INTO message_fts (message_fts) VALUES ('optimize')")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
            raise
    finally:
        file.set_progress_handler(None, 0)


async def prune(
    db: Database, ids: Sequence[str], is_dead: Callable[[Lease], bool], *, alone: bool = False
) -> Removed:
    """Remove conversations for good, and what an earlier removal left; cannot be undone.

    Whichever is in use by now stays: pinned, with a labelled checkpoint, in a tab, with a draft or a queued prompt, or
    with a lease whose owner is not dead. ``alone``: nobody else uses the file. Raises StoreError.
    """
    if db.read_only:
        raise StoreReadOnly(db.path)
    db.check_in_place()
    async with db.read() as reader:
        dead = {lease.owner.id for lease in await leases.every(reader) if is_dead(lease)}
    now = to_milliseconds(utc_now())
    try:
        return await asyncio.to_thread(remove, db.path, ids, now=now, is_free=dead.__contains__, alone=alone)
    except sqlite3.Error as error:
        raise store_error(error, db.path) from error


async def give_back(db: Database, *, seconds: float | None) -> int:
    """Give the free pages of the file back to the disk, and return their bytes; 0 where it would take longer.

    Without ``seconds`` it takes as long as it takes, and whoever wants to write meanwhile fails. Raises StoreError.
    """
    db.check_in_place()
    try:
        free = await asyncio.to_thread(_free_bytes, db.path)
        done = free > 0 and await asyncio.to_thread(_compact, db.path, seconds=seconds)
    except sqlite3.Error as error:
        raise store_error(error, db.path) from error
    return free if done else 0


async def free_bytes(db: Database) -> int:
    """The bytes of the file that hold nothing. Raises StoreError."""
    try:
        return await asyncio.to_thread(_free_bytes, db.path)
    except sqlite3.Error as error:
        raise store_error(error, db.path) from error


def _free_bytes(path: Path) -> int:
    """The bytes of the file that hold nothing. Raises sqlite3.Error."""
    with closing(_opened(path, _PATIENCE)) as file:
        ((pages,),), ((size,),) = (
            file.execute(f"PRAGMA {name}").fetchall() for name in ("freelist_count", "page_size")
        )
        return int(pages) * int(size)


def _compact(path: Path, *, seconds: float | None) -> bool:
    """Write the file anew without its free pages; False where that takes longer than ``seconds``, or there is no space.

    Nobody else can write meanwhile, which is why the time is bounded while others are there. It is one transaction of
    SQLite's: whoever has the file open goes on with it, and a kill leaves it as it was. Raises sqlite3.Error.
    """
    with closing(_opened(path, _PATIENCE)) as file:
        if seconds is not None:
            end = time.monotonic() + seconds
            file.set_progress_handler(lambda: int(time.monotonic() > end), _STEPS)
        try:
            file.execute("VACUUM")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF in (
                sqlite3.SQLITE_INTERRUPT,
                sqlite3.SQLITE_BUSY,
                sqlite3.SQLITE_FULL,
                sqlite3.SQLITE_IOERR,
            ):
                return False
            raise
        file.set_progress_handler(None, 0)
        # The new file is in the log until a checkpoint; where somebody reads the old one, the next checkpoint does it.
        with suppress(sqlite3.OperationalError):
            file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return True


def _opened(path: Path, patience: float) -> sqlite3.Connection:
    # As a URI, so that a file that is not there is not created.
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=patience, isolation_level=None
    )
