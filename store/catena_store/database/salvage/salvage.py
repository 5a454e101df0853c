"""Salvage: what can still be read of a damaged file goes, row by row, into a new one; the old one is kept.

To be done in a process that has the file open nowhere else, and does nothing else with it: the bytes are read past
SQLite, which is harmless only where nobody has locks on the file that closing a handle could drop.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from catena_store.database.location import make_private
from catena_store.database.repair import (
    ANCESTRY,
    FILES,
    derive_ancestry,
    derive_files,
    remove_dangling_references,
    reset_invalid_values,
)
from catena_store.database.salvage.pages import (
    INDEX_INTERIOR,
    INDEX_LEAF,
    Cell,
    Pages,
    Table,
    is_page_of,
    orphan_pages,
    tables_of,
)
from catena_store.database.schema import APPLICATION_ID, Migration, create_schema, shipped
from catena_store.errors import StoreBusy, StoreFull, StoreUnlockable, StoreUnusable
from catena_store.ids import new_id, to_milliseconds, utc_now

_LOCK_BYTES = (0x40000000, 512)  # where SQLite's processes lock a database file
_BESIDE = ("-wal", "-shm", "-journal")  # what SQLite keeps beside the file
_WENT_BACK = "recovered from a damaged file: this session may know more than was recovered"

LOST_NOTICE = "Lost here: the file was damaged, and messages in this place could not be read."
_CUT_MARK = "\n[the rest was lost]"

# The messages that branches need, each with its conversation.
_POINTERS = """
    SELECT parent_id AS id, conversation_id FROM message WHERE parent_id IS NOT NULL
    UNION SELECT leaf_id, conversation_id FROM window WHERE leaf_id IS NOT NULL
    UNION SELECT fork_point_id, id FROM conversation WHERE fork_point_id IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class Salvaged:
    """Counts of rows that were saved and lost, and the new place of the damaged file."""

    conversations: int
    messages: int
    cut: int  # messages of which only the beginning could be saved
    lost: int  # messages that are known to have been there and could not be saved
    other_rows_lost: int
    kept: Path


def salvage(
    path: Path,
    *,
    clock: Callable[[], datetime] = utc_now,
    make_id: Callable[[], str] = new_id,
    migrations: tuple[Migration, ...] | None = None,
) -> Salvaged:
    """Put a new file in the place of a damaged one, which is kept beside it as ``NAME.damaged-TIME``.

    Every link of the new file is lost: the store went back in time. Raises StoreBusy while any process has the file
    open, StoreFull, and StoreUnusable where nothing can be saved; then everything is as it was.
    """
    now = clock()
    with _nobody_else(path) as main:
        try:
            _clean_up(path)
            pages = Pages(main, _read(_beside(path, "-wal")))
            return _salvaged(path, pages, now, make_id, migrations or shipped())
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL:
                raise StoreFull(path) from error
            raise StoreUnusable(path, f"cannot be recovered ({error})") from error
        except OSError as error:
            raise StoreUnusable(path, f"cannot be recovered: {error.strerror}") from error


def _salvaged(
    path: Path, pages: Pages, now: datetime, make_id: Callable[[], str], known: tuple[Migration, ...]
) -> Salvaged:
    version = pages.user_version or known[-1].version
    if pages.application_id not in (None, APPLICATION_ID) and not _roots(pages).keys() >= {
        "message",
        "link_event",
    }:
        raise StoreUnusable(path, "belongs to another program")
    if version > known[-1].version:
        raise StoreUnusable(
            path, f"was written by a newer Catena (schema {version}): please update Catena first"
        )
    unfinished = _beside(path, f".salvaged-{os.getpid()}")
    try:
        make_private(unfinished)
        with closing(sqlite3.connect(unfinished, isolation_level=None)) as new:
            create_schema(new, tuple(step for step in known if step.version <= version))
            count = _fill(new, pages, to_milliseconds(now), make_id)
            if count.conversations == 0:
                raise StoreUnusable(path, "has no readable Catena data; it was left unchanged")
        kept = _put_in_place(path, unfinished, now)
    finally:
        unfinished.unlink(missing_ok=True)
    return Salvaged(count.conversations, count.messages, count.cut, count.lost, count.other_rows_lost, kept)


# --- rows


@dataclass(slots=True)
class _Count:
    conversations: int = 0
    messages: int = 0
    cut: int = 0
    lost: int = 0
    other_rows_lost: int = 0
    broken: dict[str, int] = field(default_factory=dict)


def _fill(new: sqlite3.Connection, pages: Pages, now: int, make_id: Callable[[], str]) -> _Count:
    tables = {table.name: table for table in tables_of(new)}
    roots = _roots(pages)
    count = _Count()
    new.execute("PRAGMA foreign_keys = OFF")
    new.execute("BEGIN IMMEDIATE")
    reached: set[int] = set()
    for name, root in roots.items():
        if name in tables:
            for page in pages.tree(root):
                if page.cells and not is_page_of(page, tables[name]):
                    continue  # it is another's: the way to it was written over
                reached.add(page.number)
                count.broken[name] = count.broken.get(name, 0) + page.broken
                _keep(new, tables[name], page.cells, count)
    known = _known(pages, roots, reached)
    for table, page in orphan_pages(pages, reached, tables.values()):
        _keep(new, table, page.cells, count)
        count.broken[table.name] = count.broken.get(table.name, 0) + page.broken
    new.execute(
        "UPDATE link SET state = 'lost', owner = NULL, version = version + 1, ended = coalesce(ended, ?)",
        (_WENT_BACK,),
    )
    new.execute("UPDATE lease SET owner = NULL, host = NULL, pid = NULL, started = NULL, agents = '[]'")
    new.execute(
        "UPDATE workspace SET owner = NULL, host = NULL, pid = NULL, started = NULL, heartbeat_at = NULL"
    )
    count.lost = _insert_notices(new, known, now, make_id)
    reset_invalid_values(new, now)
    if tables.keys() >= {*ANCESTRY}:  # an older schema has them only once it is brought up to date
        derive_ancestry(new)
    if FILES in tables:
        derive_files(new)
    remove_dangling_references(new, now)
    new.execute(
        "INSERT INTO link_event (conversation_id, link_id, event, detail, at)"
        " SELECT conversation_id, id, 'lost', ?, ? FROM link",
        (_WENT_BACK, now),
    )
    new.execute("INSERT INTO message_fts (message_fts) VALUES ('rebuild')")
    new.execute("COMMIT")
    (count.conversations,) = new.execute("SELECT count(*) FROM conversation").fetchone()
    (count.messages,) = new.execute(
        "SELECT count(*) FROM message WHERE coalesce(json_extract(data, '$.trouble'), '') <> 'lost'"
    ).fetchone()
    count.lost = max(count.lost, count.broken.get("message", 0))
    count.other_rows_lost += sum(broken for name, broken in count.broken.items() if name != "message")
    return count


def _roots(pages: Pages) -> dict[str, int]:
    """The b-trees by name, as far as the file's own list of them can be read."""
    roots: dict[str, int] = {}
    for page in pages.tree(1) if pages.sound_header or pages[1] else ():
        for cell in page.cells:
            match cell.values:
                case ("table" | "index", str(name), str(), int(root), *_) if root > 1:
                    roots[name] = root
    return roots


def _known(pages: Pages, roots: dict[str, int], reached: set[int]) -> _IndexedMessages:
    """What the indexes tell of messages, lost ones too. Their pages are reached from now on."""
    known = _IndexedMessages()
    for name, root in roots.items():
        for page in pages.tree(root):
            if page.kind in (INDEX_LEAF, INDEX_INTERIOR):
                reached.add(page.number)
            for cell in page.cells:
                match name, cell.values:
                    case "sqlite_autoindex_message_1", (str(uid), int(row)):
                        known.uids[row] = uid
                    case "message_parent", (int(parent), int(row)):
                        known.parents[row] = parent
                    case "message_conversation", (str(conversation), str(), int(row)):
                        known.conversations[row] = conversation
    return known


def _keep(new: sqlite3.Connection, table: Table, cells: Iterable[Cell], count: _Count) -> None:
    """Put rows into the new file, one by one: one that it does not take keeps no other away."""
    if table.name.startswith("message_fts") or table.name in (*ANCESTRY, FILES):
        return  # built anew from the messages
    for cell in cells:
        if table.has_rowid is (cell.rowid is None):
            continue
        row = {
            name: value
            for name, value in zip(table.columns, cell.values, strict=False)
            if value is not None or not cell.cut
        }
        if table.rowid:
            row[table.rowid] = cell.rowid
        if table.name == "link":
            row["state"] = "lost"  # two that were not would not both be taken
        if cell.cut:
            if table.name == "attachment":
                count.other_rows_lost += 1
                continue
            row.pop("data", None)
            if table.name == "message":
                row |= {"state": "interrupted", "text": str(row.get("text") or "") + _CUT_MARK}
        elif not table.fits(cell.values):
            count.broken[table.name] = count.broken.get(table.name, 0) + 1
            continue
        names, places = ", ".join(f'"{name}"' for name in row), ", ".join("?" * len(row))
        try:
            done = new.execute(
                f"INSERT OR IGNORE INTO {table.name} ({names}) VALUES ({places})", tuple(row.values())
            )
        except sqlite3.IntegrityError:
            count.broken[table.name] = count.broken.get(table.name, 0) + 1
            continue
        if cell.cut and table.name == "message":
            count.cut += done.rowcount


# --- files


@contextmanager
def _nobody_else(path: Path) -> Iterator[bytes]:
    """The bytes of the file, held against every other process. Raises StoreBusy, StoreUnlockable, StoreUnusable."""
    try:
        handle = os.open(path, os.O_RDWR)
    except OSError as error:
        raise StoreUnusable(path, f"cannot be opened: {error.strerror}") from error
    with os.fdopen(handle, "rb") as file:
        try:
            # Whoever has a file with a write-ahead log open holds a part of this.
            start, length = _LOCK_BYTES
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, length, start)
        except (BlockingIOError, PermissionError) as error:  # how a held lock is told
            raise StoreBusy(path) from error
        except OSError as error:
            raise StoreUnlockable(path, error.strerror or str(error)) from error
        yield file.read()


def _clean_up(path: Path) -> None:
    """Undo what a salvage left that was killed; nobody else is at one, since we hold the file."""
    for unfinished in path.parent.glob(f"{path.name}.salvaged-*"):
        unfinished.unlink()
    for kept in list(path.parent.glob(f"{path.name}.damaged-*")):
        # The new file was not yet in its place, and the log may have been moved.
        if kept.exists() and kept.samefile(path):
            for suffix in _BESIDE:
                if (moved := _beside(kept, suffix)).exists() and not _beside(path, suffix).exists():
                    moved.replace(_beside(path, suffix))
            kept.unlink()


def _put_in_place(path: Path, new: Path, now: datetime) -> Path:
    """Let the new file take the place of the damaged one; the log goes first: it must not meet the new file."""
    stamp = now.strftime("%Y%m%dT%H%M%SZ")
    kept, number = _beside(path, f".damaged-{stamp}"), 1
    while kept.exists():
        kept, number = _beside(path, f".damaged-{stamp}.{number}"), number + 1
    with new.open("rb") as file:
        os.fsync(file.fileno())
    os.link(path, kept)
    for suffix in _BESIDE:
        if (beside := _beside(path, suffix)).exists():
            beside.replace(_beside(kept, suffix))
    new.replace(path)
    return kept


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


@dataclass(slots=True)
class _IndexedMessages:
    """What indexes still tell of messages, lost ones too, by rowid."""

    uids: dict[int, str] = field(default_factory=dict)
    parents: dict[int, int] = field(default_factory=dict)
    conversations: dict[int, str] = field(default_factory=dict)


def _insert_notices(
    new: sqlite3.Connection, known: _IndexedMessages, now: int, make_id: Callable[[], str]
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
    new: sqlite3.Connection, known: _IndexedMessages, row: int, saved: set[int], marked: Collection[int]
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
