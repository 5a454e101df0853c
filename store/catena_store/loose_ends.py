"""What leads nowhere after rows were lost: led somewhere again, or ended; nothing that was typed goes with it."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

_ENDED = "the file was damaged, and what was known of this session is lost"

_MOST_ROUNDS = 10  # what refers to a row that had to go goes in the next
_DATES = "BETWEEN 0 AND 4102444800000"  # up to the year 2100
_SANE = (
    # What was written over in the middle of a row can no longer be what it has to be.
    "UPDATE message SET data = '{}' WHERE NOT json_valid(data)",
    "UPDATE turn SET usage = NULL WHERE NOT json_valid(usage)",
    "UPDATE queue_item SET data = '{}' WHERE NOT json_valid(data)",
    "UPDATE turn SET stop_reason = 'interrupted' WHERE stop_reason NOT IN ('end_turn', 'max_tokens',"
    " 'max_turn_requests', 'refusal', 'cancelled', 'error', 'agent_gone', 'interrupted', 'not_sent')",
    "UPDATE link SET cause = 'new' WHERE cause NOT IN"
    " ('new', 'fork', 'fork_at', 'park', 'aside', 'probe', 'import')",
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
_STEPS = (
    # A conversation whose name is lost is still one.
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
    # Turns refer to the link that carried them.
    f"""
    INSERT INTO link (id, conversation_id, agent, profile, session_id, cwd, cause, state, ended, created_at, sequence)
    SELECT t.link_id, t.conversation_id, c.agent, c.profile, 'lost-' || t.link_id, c.cwd, 'new', 'lost',
           '{_ENDED}', min(t.started_at), 0
      FROM turn t JOIN conversation c ON c.id = t.conversation_id
     WHERE t.link_id NOT IN (SELECT id FROM link) GROUP BY t.link_id
    """,
    "DELETE FROM window WHERE conversation_id NOT IN (SELECT id FROM conversation)",
    # Tabs come back by their directory.
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
    # Typed text outlives its tab.
    """
    INSERT INTO input (text, cwd, created_at)
    SELECT draft, '', ?1 FROM window_leaf
     WHERE trim(draft) <> '' AND window_id NOT IN (SELECT id FROM window)
    UNION ALL
    SELECT text, '', ?1 FROM queue_item WHERE window_id NOT IN (SELECT id FROM window)
    """,
)


def make_sane(connection: sqlite3.Connection, now: int) -> None:
    """Give values that can be read to what cannot be what it says. Within the caller's transaction."""
    for step in _SANE:
        connection.execute(step, (now,) if "?1" in step else ())


def tie_up(connection: sqlite3.Connection, now: int, *, leave: Collection[str] = ()) -> None:
    """Leave no row that refers to one which is not there; no message is removed. Within the caller's transaction.

    The rows of tables to ``leave`` stay as they are. Raises sqlite3.Error.
    """
    for step in _STEPS:
        connection.execute(step, (now,) if "?1" in step else ())
    triggers = connection.execute(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'link_event'"
    ).fetchall()
    for name, _ in triggers:  # they forbid what has to be done to lines about links that are gone
        connection.execute(f"DROP TRIGGER {name}")
    for _ in range(_MOST_ROUNDS):
        found = connection.execute("PRAGMA foreign_key_check").fetchall()
        violations = [violation for violation in found if violation[0] not in leave]
        if not violations:
            break
        for table, rowid, parent, number in violations:
            _end(connection, table, rowid, parent, number)
    else:
        raise sqlite3.DatabaseError("some rows refer to what is not there")
    for _, sql in triggers:
        connection.execute(sql)


def _end(connection: sqlite3.Connection, table: str, rowid: int | None, parent: str, number: int) -> None:
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
        raise sqlite3.DatabaseError(
            f"message {rowid} leads to no {parent}"
        )  # unreachable: those were made first
    else:
        connection.execute(f"DELETE FROM {table} WHERE {where}", parameters)
