"""OpenCode's database: its sessions and their messages.

It is read here since only the store speaks SQL, and synchronously, for a thread: nothing of ours is open in it longer
than a query. A database without a log is read as a file that does not change; one with a log through the shared memory
that its owner has made, whose writers do not wait for readers; else a copy is read.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from catena_store.errors import ForeignUnreadable

_MOST_MESSAGES = 200_000


@dataclass(frozen=True, slots=True)
class OpenCodeSession:
    """A session of OpenCode that is no part of another; times in milliseconds since 1970."""

    id: str
    directory: str
    title: str
    created: int
    updated: int
    reverted: str  # the JSON that says from where on it was taken back
    messages: int
    size: int  # characters of what is stored of it
    first: str  # the JSON of a part of the first prompt, and of the last one
    last: str


@dataclass(frozen=True, slots=True)
class OpenCodeMessage:
    """A message with its parts, each the JSON that OpenCode wrote."""

    id: str
    data: str
    parts: tuple[tuple[str, str], ...]  # id and JSON


def sessions(path: Path, only: str | None = None) -> list[OpenCodeSession]:
    """The sessions of a database, or the one of an id, newest first. Raises ForeignUnreadable."""
    prompt = (
        "(SELECT p.data FROM message m CROSS JOIN part p ON p.message_id = m.id WHERE m.session_id = s.id"
        " AND CASE WHEN json_valid(m.data) THEN json_extract(m.data, '$.role') END = 'user'"
        " AND CASE WHEN json_valid(p.data) THEN json_extract(p.data, '$.type') = 'text'"
        " AND json_extract(p.data, '$.synthetic') IS NOT 1 END"
        " ORDER BY m.time_created {order}, m.id {order}, p.id LIMIT 1)"
    )
    sql = (
        "SELECT s.id, s.directory, s.title, s.time_created, s.time_updated, s.revert,"
        " (SELECT count(*) FROM message m WHERE m.session_id = s.id),"
        " (SELECT coalesce(sum(length(p.data)), 0) FROM part p WHERE p.session_id = s.id),"
        f" {prompt.format(order='ASC')}, {prompt.format(order='DESC')}"
        " FROM session s WHERE s.parent_id IS NULL AND (?1 IS NULL OR s.id = ?1) ORDER BY s.time_updated DESC"
    )
    with _opened(path) as connection:
        return [_session(row) for row in connection.execute(sql, (only,)) if _is_sound(row)]


def messages(path: Path, session_id: str) -> list[OpenCodeMessage]:
    """The messages of a session, in their order. Raises ForeignUnreadable."""
    with _opened(path) as connection:
        parts: dict[str, list[tuple[str, str]]] = {}
        for message_id, part_id, data in connection.execute(
            "SELECT message_id, id, data FROM part WHERE session_id = ? ORDER BY id", (session_id,)
        ):
            parts.setdefault(str(message_id), []).append((str(part_id), _text(data)))
        found = connection.execute(
            "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id LIMIT ?",
            (session_id, _MOST_MESSAGES),
        )
        return [OpenCodeMessage(str(id), _text(data), tuple(parts.get(str(id), ()))) for id, data in found]


def _is_sound(row: tuple[object, ...]) -> bool:
    """True if a row says which session it is, where and of when; what else it has may be anything."""
    session_id, directory, _, created, updated, *_ = row
    texts = isinstance(session_id, str) and isinstance(directory, str)
    return texts and isinstance(created, int) and isinstance(updated, int)


def _session(row: tuple[Any, ...]) -> OpenCodeSession:
    session_id, directory, title, created, updated, reverted, count, size, first, last = row
    return OpenCodeSession(
        id=session_id,
        directory=directory,
        title=_text(title),
        created=created,
        updated=updated,
        reverted=_text(reverted),
        messages=count,
        size=size,
        first=_text(first),
        last=_text(last),
    )


def _text(cell: object) -> str:
    return cell if isinstance(cell, str) else ""


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        with ExitStack() as open_things:
            yield _connected(path, open_things)
    except UnicodeDecodeError as error:  # of SQLite's own complaint, which quotes what it read
        raise ForeignUnreadable(path, "it is damaged") from error
    except (sqlite3.Error, OSError) as error:
        raise ForeignUnreadable(path, str(error)) from error


def _connected(path: Path, open_things: ExitStack) -> sqlite3.Connection:
    log, shared = path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")
    if not (log.exists() and log.stat().st_size > 0):
        return _connect(path, "immutable=1", open_things)
    if shared.exists():
        try:
            return _connect(path, "mode=ro&readonly_shm=1", open_things)
        except sqlite3.OperationalError:
            pass  # nobody has it open who could tell what of the log counts
    copy = Path(open_things.enter_context(tempfile.TemporaryDirectory())) / path.name
    for each in (path, log):
        shutil.copyfile(each, copy.with_name(each.name))
    return _connect(copy, "mode=ro", open_things)


def _connect(path: Path, how: str, open_things: ExitStack) -> sqlite3.Connection:
    with ExitStack() as opening:
        uri = f"file:{quote(str(path))}?{how}"
        connection = opening.enter_context(closing(sqlite3.connect(uri, uri=True, timeout=1.0)))
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
        open_things.push(opening.pop_all())
        return connection
