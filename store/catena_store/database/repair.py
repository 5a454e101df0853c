"""Repair of a damaged file: indexes and auxiliary tables in place, and rows that damage made invalid or dangling.

An index is rebuilt from its table, the full-text index from the messages; every readable row of an auxiliary table
moves to a new one. No message is touched: damage to the core tables is left to ``salvage``, which shares the reset of
invalid values and the removal of dangling references.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

from catena_store.database.connection import primary_code

_LINK_ENDED = "the file was damaged, and the record of this session is lost"

_MOST_ROUNDS = 10  # a row that refers to a removed one is removed in the next round
_DATES = "BETWEEN 0 AND 4102444800000"  # up to the year 2100
_RESETS = (
    # Values that damage within a row made invalid.
    "UPDATE message SET data = '{}' WHERE NOT json_valid(data)",
    "UPDATE turn SET usage = NULL WHERE NOT json_valid(usage)",
    "UPDATE queue_item SET data = '{}' WHERE NOT json_valid(data)",
    "UPDATE turn SET stop_reason = 'interrupted' WHERE stop_reason NOT IN ('end_turn', 'max_tokens',"
    " 'max_turn_requests', 'refusal', 'cancelled', 'error', 'agent_gone', 'interrupted', 'not_sent')",
    "UPDATE link SET cause = 'new' WHERE cause NOT IN"
    " ('new', 'fork', 'fork_at', 'park', 'aside', 'probe', 'import', 'copy')",
    *(
        f"UPDATE {table} SET {column} = ?1 WHERE {column} NOT {_DATES}"
        for table, column in (
            ("message", "created_at"),
            ("turn", "started_at"),
            ("turn", "ended_at"),
            ("link", "created_at"),
            ("conversation", "created_at"),
            ("conversation", "updated_at"),
        )
    ),
)
_PARENTS = (
    # A conversation whose own row is lost gets a new one.
    """
    INSERT INTO conversation (id, family, agent, profile, cwd, created_at, updated_at)
    SELECT m.conversation_id, m.conversation_id,
           coalesce((SELECT agent FROM link WHERE conversation_id = m.conversation_id ORDER BY sequence DESC LIMIT 1),
                    (SELECT agent FROM conversation ORDER BY updated_at DESC LIMIT 1), 'rehearsal'),
           coalesce((SELECT profile FROM link WHERE conversation_id = m.conversation_id
                      ORDER BY sequence DESC LIMIT 1), ''),
           coalesce((SELECT cwd FROM link WHERE conversation_id = m.conversation_id ORDER BY sequence DESC LIMIT 1),
                    (SELECT cwd FROM conversation ORDER BY updated_at DESC LIMIT 1), '/'),
           min(m.created_at), max(m.created_at)
      FROM message m WHERE m.conversation_id NOT IN (SELECT id FROM conversation) GROUP BY m.conversation_id
    """,
    # So does a link that carried turns.
    f"""
    INSERT INTO link (id, conversation_id, agent, profile, session_id, cwd, cause, state, ended, created_at, sequence)
    SELECT t.link_id, t.conversation_id, c.agent, c.profile, 'lost-' || t.link_id, c.cwd, 'new', 'lost',
           '{_LINK_ENDED}', min(t.started_at), 0
      FROM turn t JOIN conversation c ON c.id = t.conversation_id
     WHERE t.link_id NOT IN (SELECT id FROM link) GROUP BY t.link_id
    """,
    "DELETE FROM window WHERE conversation_id NOT IN (SELECT id FROM conversation)",
    # Windows find their workspace by its directory.
    """
    INSERT OR IGNORE INTO workspace (id, directory)
    SELECT w.workspace_id, min(c.cwd) FROM window w JOIN conversation c ON c.id = w.conversation_id
     WHERE w.workspace_id NOT IN (SELECT id FROM workspace) GROUP BY w.workspace_id
    """,
    """
    UPDATE window SET workspace_id = (SELECT s.id FROM workspace s JOIN conversation c ON c.cwd = s.directory
                                       WHERE c.id = window.conversation_id)
     WHERE workspace_id NOT IN (SELECT id FROM workspace)
    """,
    # Typed text outlives its window.
    """
    INSERT INTO input (text, cwd, created_at)
    SELECT replace(replace(draft, char(0xFDD0), ''), char(0xFDD1), ''), '', ?1 FROM window_leaf
     WHERE trim(draft) <> '' AND window_id NOT IN (SELECT id FROM window)
    UNION ALL
    SELECT text, '', ?1 FROM queue_item WHERE window_id NOT IN (SELECT id FROM window)
    """,
)


def reset_invalid_values(connection: sqlite3.Connection, now: int) -> None:
    """Reset values that cannot be valid. Within the caller's transaction."""
    for step in _RESETS:
        connection.execute(step, (now,) if "?1" in step else ())


def remove_dangling_references(
    connection: sqlite3.Connection, now: int, *, leave: Collection[str] = ()
) -> None:
    """Add missing parents, and remove the references, or rows, that still dangle; within the caller's transaction.

    No message is removed, and the rows of the tables to ``leave`` stay as they are. Raises sqlite3.Error.
    """
    for step in _PARENTS:
        connection.execute(step, (now,) if "?1" in step else ())
    triggers = connection.execute(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'link_event'"
    ).fetchall()
    for name, _ in triggers:  # they forbid to change events, also those of lost links
        connection.execute(f"DROP TRIGGER {name}")
    for _ in range(_MOST_ROUNDS):
        found = connection.execute("PRAGMA foreign_key_check").fetchall()
        violations = [violation for violation in found if violation[0] not in leave]
        if not violations:
            break
        for table, rowid, parent, number in violations:
            _remove_reference(connection, table, rowid, parent, number)
    else:
        raise sqlite3.DatabaseError("some rows refer to what is not there")
    for _, sql in triggers:
        connection.execute(sql)


def _remove_reference(
    connection: sqlite3.Connection, table: str, rowid: int | None, parent: str, number: int
) -> None:
    column, referred, optional = connection.execute(
        f'SELECT f."from", f."to", NOT t."notnull" AND NOT t.pk FROM pragma_foreign_key_list(\'{table}\') f'
        f" JOIN pragma_table_info('{table}') t ON t.name = f.\"from\" WHERE f.id = ?",
        (number,),
    ).fetchone()
    parameters: tuple[int, ...]
    if rowid is None:
        where, parameters = f"{column} NOT IN (SELECT {referred} FROM {parent})", ()
    else:
        where, parameters = "rowid = ?", (rowid,)
    if optional:
        connection.execute(f"UPDATE {table} SET {column} = NULL WHERE {where}", parameters)
    elif table == "message":
        # Unreachable: those were made first.
        raise sqlite3.DatabaseError(f"message {rowid} leads to no {parent}")
    else:
        connection.execute(f"DELETE FROM {table} WHERE {where}", parameters)


CORE = frozenset({"message", "conversation", "turn", "link"})
ANCESTRY = ("ancestry", "branch_end")  # tables that are derived from the messages, in 0006_ancestry.sql
FILES = "conversation_file"  # derived from tool calls, in 0008_history.sql
_FTS = "message_fts"
_REBUILT = "rebuilt"
_BUSY_SECONDS = 5.0
_MOST_VACUUM_BYTES = 32 * 1024 * 1024  # larger files keep the damaged pages, unused
_MOST_HALVINGS = 12
_UNREADABLE_PAGE = re.compile(r"unable to get the page\. error code=(\d+)")
_NO_DAMAGE = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
    }
)

Row = tuple[object, ...]


def repair(path: Path, now: int) -> tuple[str, ...]:
    """Repair indexes and auxiliary tables on connections of its own; return the names of the damaged tables.

    Raises sqlite3.Error, with nothing changed, where a core table cannot be read or the file not be written.
    """
    with closing(_connect(path)) as look, closing(_connect(path)) as file:
        # A connection that met damage can write no more in its transaction: so one reads, and the other writes.
        searches = _is_search_sound(look)
        file.execute("BEGIN IMMEDIATE")
        try:
            damaged = [table for table in _tables(file) if not _is_sound(look, table)]
            for table in damaged:
                if table in CORE:
                    _check_rows(look, table)
                elif not table.startswith(_FTS):
                    _rebuild_table(file, look, table)
            for table in damaged:
                if not table.startswith(_FTS):
                    _rebuild_indexes(file, table)
            if any(table in ANCESTRY for table in damaged):
                derive_ancestry(file)
            if FILES in damaged:
                derive_files(file)
            if not searches or any(table.startswith(_FTS) for table in damaged):
                damaged = [*(table for table in damaged if not table.startswith(_FTS)), _FTS]
                _rebuild_search(file)
            if any(table not in CORE and table != _FTS for table in damaged):
                remove_dangling_references(file, now, leave=CORE)
            file.execute("COMMIT")
        finally:
            if file.in_transaction:
                file.execute("ROLLBACK")
        if damaged and path.stat().st_size <= _MOST_VACUUM_BYTES:
            with suppress(sqlite3.Error):  # another process reads; unused pages do no harm
                file.execute("VACUUM")
        return tuple(damaged)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    connection.execute("PRAGMA temp_store = MEMORY")
    return connection


def _tables(file: sqlite3.Connection) -> list[str]:
    listed = file.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0")
    return [name for (name,) in listed if not name.startswith("sqlite_")]


def _is_sound(file: sqlite3.Connection, table: str) -> bool:
    """True where the table and its indexes are sound and agree."""
    try:
        said = file.execute(f"PRAGMA integrity_check('{table}')").fetchall()
    except sqlite3.DatabaseError as error:
        _raise_unless_damage(error)
        return False
    for (line,) in said:
        # SQLite also reports here that a page could not be read for the moment.
        if (unread := _UNREADABLE_PAGE.search(str(line))) and int(unread[1]) & 0xFF in _NO_DAMAGE:
            raise sqlite3.OperationalError(line)
    return said == [("ok",)]


def _raise_unless_damage(error: sqlite3.DatabaseError) -> None:
    """Raise an error that is no proof of damage: a lock, no memory, a disk that fails for the moment."""
    if primary_code(error) in _NO_DAMAGE:
        raise error


def _is_search_sound(file: sqlite3.Connection) -> bool:
    try:
        file.execute(f"INSERT INTO {_FTS} ({_FTS}) VALUES ('integrity-check')")
    except sqlite3.DatabaseError as error:
        _raise_unless_damage(error)
        return False
    return True


def _check_rows(file: sqlite3.Connection, table: str) -> None:
    rows = sum(1 for _ in file.execute(f"SELECT * FROM {table} NOT INDEXED"))
    known: list[int] = []
    for (index,) in file.execute(
        f"SELECT name FROM pragma_index_list('{table}') WHERE NOT partial"
    ).fetchall():
        try:
            ((count,),) = file.execute(f"SELECT count(*) FROM {table} INDEXED BY {index}")
        except sqlite3.DatabaseError as error:
            _raise_unless_damage(error)
        else:
            known.append(count)
    if known and min(known) > rows:
        # A page that fell back to an older version is sound by itself; only the indexes know of the lost rows.
        raise sqlite3.DatabaseError(f"{table} has {rows} rows of {min(known)}")


def _rebuild_table(file: sqlite3.Connection, look: sqlite3.Connection, table: str) -> None:
    """Move the readable rows of a table into a new b-tree under the old name."""
    ((sql,),) = file.execute("SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?", (table,))
    file.execute(sql.replace(table, _REBUILT, 1))
    for row in _readable_rows(look, table):
        with suppress(sqlite3.IntegrityError):
            file.execute(f"INSERT OR IGNORE INTO {_REBUILT} VALUES ({', '.join('?' * len(row))})", row)
    file.execute("PRAGMA writable_schema = ON")
    roots = file.execute(
        "SELECT rootpage, name FROM sqlite_schema WHERE tbl_name = ?", (_REBUILT,)
    ).fetchall()
    file.executemany(
        "UPDATE sqlite_schema SET rootpage = ? WHERE name = ?",
        [(root, name.replace(_REBUILT, table)) for root, name in roots],
    )
    _remove_from_schema(file, "tbl_name = ?", _REBUILT)


def _readable_rows(file: sqlite3.Connection, table: str) -> Iterator[Row]:
    """Every readable row: from both ends, then from the middle of the unread rest."""
    keys = [
        name
        for name, _ in file.execute(
            f"SELECT name, pk FROM pragma_table_info('{table}') WHERE pk ORDER BY pk"
        ).fetchall()
    ]
    ((without_rowid,),) = file.execute("SELECT wr FROM pragma_table_list WHERE name = ?", (table,))
    if without_rowid:
        for direction in ("", " DESC"):
            yield from _rows_until_damage(
                file, f"SELECT * FROM {table} ORDER BY {', '.join(key + direction for key in keys)}"
            )
        return
    yield from _rows_between(file, table, -(2**62), 2**62, _MOST_HALVINGS)


def _rows_between(file: sqlite3.Connection, table: str, low: int, high: int, halvings: int) -> Iterator[Row]:
    where = f"FROM {table} NOT INDEXED WHERE rowid > ? AND rowid < ? ORDER BY rowid"
    for direction in ("", " DESC"):
        for rowid, *row in _rows_until_damage(file, f"SELECT rowid, * {where}{direction}", (low, high)):
            yield tuple(row)
            assert isinstance(rowid, int)
            low, high = (low, rowid) if direction else (rowid, high)
    if halvings and high - low > 1 and abs(low) < 2**61 and abs(high) < 2**61:
        middle = (low + high) // 2
        yield from _rows_between(file, table, low, middle + 1, halvings - 1)
        yield from _rows_between(file, table, middle, high, halvings - 1)


def _rows_until_damage(
    file: sqlite3.Connection, sql: str, parameters: Sequence[object] = ()
) -> Iterator[Row]:
    try:
        yield from file.execute(sql, parameters)
    except sqlite3.DatabaseError as error:
        _raise_unless_damage(error)


def _rebuild_indexes(file: sqlite3.Connection, table: str) -> None:
    indexes = file.execute(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = ?", (table,)
    ).fetchall()
    for name, sql in indexes:
        if sql is None:  # it belongs to a constraint
            columns = file.execute(f"SELECT name FROM pragma_index_info('{name}') ORDER BY seqno").fetchall()
            sql = f"CREATE UNIQUE INDEX {_REBUILT} ON {table} ({', '.join(column for (column,) in columns)})"
        else:
            sql = sql.replace(f"INDEX {name} ", f"INDEX {_REBUILT} ", 1)
        file.execute(sql)
        file.execute("PRAGMA writable_schema = ON")
        file.execute(
            "UPDATE sqlite_schema SET rootpage = (SELECT n.rootpage FROM sqlite_schema n WHERE n.name = ?)"
            " WHERE name = ?",
            (_REBUILT, name),
        )
        _remove_from_schema(file, "name = ?", _REBUILT)


def _rebuild_search(file: sqlite3.Connection) -> None:
    ((sql,),) = file.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (_FTS,))
    file.execute("PRAGMA writable_schema = ON")
    _remove_from_schema(file, "name LIKE ? ESCAPE '\\'", _FTS.replace("_", "\\_") + "%")
    file.execute(sql)
    for setting, value in (("automerge", 0), ("crisismerge", 64)):
        file.execute(f"INSERT INTO {_FTS} ({_FTS}, rank) VALUES (?, ?)", (setting, value))
    file.execute(f"INSERT INTO {_FTS} ({_FTS}) VALUES ('rebuild')")


def derive_ancestry(file: sqlite3.Connection) -> None:
    """Fill the tables of ancestry anew from the messages; within the caller's transaction."""
    for table in ANCESTRY:
        file.execute(f"DELETE FROM {table}")
    columns = "id, parent_id, conversation_id, kind, barrier, counts"
    file.execute(f"INSERT INTO message_placed ({columns}) SELECT {columns} FROM message_placed ORDER BY id")


def derive_files(file: sqlite3.Connection) -> None:
    """Fill the table of files anew from the tool calls; within the caller's transaction."""
    file.execute(f"DELETE FROM {FILES}")
    file.execute(
        f"INSERT INTO {FILES} (conversation_id, path, message_id)"
        " SELECT conversation_id, path, max(message_id) FROM message_file WHERE path <> ''"
        " GROUP BY conversation_id, path"
    )


def _remove_from_schema(file: sqlite3.Connection, where: str, name: str) -> None:
    """Remove entries from the schema without reading their pages, then reload the schema."""
    file.execute(f"DELETE FROM sqlite_schema WHERE {where}", (name,))
    file.execute("PRAGMA writable_schema = RESET")
