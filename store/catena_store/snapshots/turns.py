"""Which snapshots belong to which turn."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from catena_store.database import rows
from catena_store.database.database import Reader, Writer
from catena_store.ids import from_milliseconds, to_milliseconds
from catena_store.records import Lease
from catena_store.snapshots.restoring import Why
from catena_store.snapshots.trees import LeftOutFile, LeftOutReason

_FAR = 1 << 62  # milliseconds, later than anything
# What a turn's start lacks stays beside what its end lacks.
_WITH_LEFT_OUT = (
    "(SELECT json_group_array(json(value)) FROM"
    " (SELECT value FROM json_each(left_out) UNION SELECT value FROM json_each(?)))"
)
_FILES = "f.turn_id, f.root, f.before, f.after, f.left_out, f.certain, f.late, f.lacked, f.kept_at"
_LEASE = ", ".join(f"l.{column}" for column in rows.LEASE.split(", "))


@dataclass(frozen=True, slots=True)
class TurnFiles:
    """The trees of a root at a turn's start and end; without an end while it runs, and where that was not kept.

    Of an end that was kept later, ``certain`` is the tree of what was there when the turn was. A start is ``late``
    if it was kept when the turn may have changed files already.
    """

    turn_id: str
    root: str
    before: str
    after: str | None
    left_out: tuple[LeftOutFile, ...] = ()  # of either
    certain: str | None = None
    late: bool = False
    lacked: frozenset[str] | None = None  # paths that its start lacks; None where that was not noted
    kept_at: int | None = None  # when its end was kept, in milliseconds; None where that was not noted

    @property
    def unkept(self) -> set[str]:
        """Paths that came during the turn and are in no snapshot."""
        return set() if self.lacked is None else {each.path for each in self.left_out} - self.lacked


@dataclass(frozen=True, slots=True)
class CutOffTurn:
    """A turn without the tree of its end, and the last moment at which it is known to have been at work."""

    turn_id: str
    root: str
    before: str
    alive_at: datetime
    lease: Lease | None  # of its conversation, where the turn was not ended: it may be at work


@dataclass(frozen=True, slots=True)
class DirectoryTurn:
    """A turn that may have changed files of a root. Its times are milliseconds; without an end it is at work."""

    id: str
    began: int
    ended: int | None
    files: TurnFiles | None  # None: nothing of this root was kept around it


@dataclass(frozen=True, slots=True)
class FilesMove:
    """A change of files by Catena itself: trees of before and after it. Its times are milliseconds."""

    began: int
    ended: int
    before: str
    after: str


async def begin(
    tx: Writer,
    turn_id: str,
    root: str,
    tree: str,
    left_out: Sequence[LeftOutFile] = (),
    *,
    late: bool = False,
) -> None:
    """Note the tree of a turn's start, and what it lacks; the first one counts."""
    await tx.run(
        "INSERT INTO turn_files (turn_id, root, before, left_out, late, lacked) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT DO NOTHING",
        (turn_id, root, tree, _lacking(left_out), late, json.dumps([each.path for each in left_out])),
    )


async def end(tx: Writer, turn_id: str, tree: str, left_out: Sequence[LeftOutFile]) -> None:
    """Note the tree of a turn's end, and what it lacks; nothing where the start was not kept."""
    await tx.run(
        f"UPDATE turn_files SET after = ?, certain = NULL, kept_at = ?, left_out = {_WITH_LEFT_OUT}"
        " WHERE turn_id = ?",
        (tree, tx.now(), _lacking(left_out), turn_id),
    )


async def end_later(
    tx: Writer, turn_id: str, tree: str, certain: str, left_out: Sequence[LeftOutFile]
) -> None:
    """Note a tree that was taken after a turn as that of its end, unless it has one."""
    await tx.run(
        f"UPDATE turn_files SET after = ?, certain = ?, kept_at = ?, left_out = {_WITH_LEFT_OUT}"
        " WHERE turn_id = ? AND after IS NULL",
        (tree, certain, tx.now(), _lacking(left_out), turn_id),
    )


async def note_alive(tx: Writer, turn_id: str, at: datetime) -> None:
    """Note when the process of a turn that was cut off was last alive."""
    await tx.run("UPDATE turn_files SET alive_at = ? WHERE turn_id = ?", (to_milliseconds(at), turn_id))


async def cut_off(r: Reader, root: str | None = None, conversation_id: str | None = None) -> list[CutOffTurn]:
    """The turns of a root, or of a conversation, without the tree of their end; also such as are at work."""
    # A notice may be of the client that found the turn; what else it has its own client wrote.
    found = await r.all(
        f"""
        SELECT f.turn_id, f.root, f.before,
               max(t.started_at,
                   coalesce((SELECT max(created_at) FROM message WHERE turn_id = t.id AND kind <> 'notice'), 0),
                   coalesce(f.alive_at, 0),
                   CASE WHEN t.stop_reason IS NULL THEN coalesce(l.heartbeat_at, 0)
                        WHEN t.stop_reason = 'interrupted' THEN 0 ELSE t.ended_at END),
               t.stop_reason IS NULL AND l.owner IS NOT NULL, {_LEASE}
          FROM turn_files f CROSS JOIN turn t ON t.id = f.turn_id
          LEFT JOIN lease l ON l.conversation_id = t.conversation_id
         WHERE f.after IS NULL AND f.root = coalesce(?1, f.root)
           AND t.conversation_id = coalesce(?2, t.conversation_id)
        """,
        (root, conversation_id),
    )
    return [
        CutOffTurn(row[0], row[1], row[2], from_milliseconds(row[3]), rows.lease(row[5:]) if row[4] else None)
        for row in found
    ]


@dataclass(frozen=True, slots=True)
class SpanTurn:
    """A turn with rows in a part of a branch; without files where they were not kept around all of it."""

    id: str
    files: TurnFiles | None
    running: bool = False


async def of_each(r: Reader, leaf: str | None, after: int, until: int | None) -> list[SpanTurn]:
    """The turns with rows below a depth of a branch, down to another, oldest first, whatever was kept of them.

    Those that ended without a row before their prompt was sent again are among them.
    """
    found = await r.all(
        f"""
        WITH RECURSIVE branch (id, parent_id, turn_id, depth) AS (
            SELECT m.id, m.parent_id, m.turn_id, m.depth FROM message m WHERE m.uid = ?1
            UNION ALL
            SELECT m.id, m.parent_id, m.turn_id, m.depth FROM branch b CROSS JOIN message m ON m.id = b.parent_id
             WHERE b.depth > ?2 + 1
        ), part AS (SELECT * FROM branch WHERE depth > ?2 AND depth <= coalesce(?3, depth)
        ), of_turn (turn_id, depth) AS (
            SELECT turn_id, min(depth) FROM (
                SELECT p.turn_id, p.depth FROM part p CROSS JOIN turn t ON t.id = p.turn_id AND p.id <= t.last_id
                 UNION ALL  -- a notice behind a turn's end is no part of it
                SELECT t.id, p.depth FROM part p CROSS JOIN turn t ON t.prompt_id = p.id
                 WHERE t.stop_reason IS NOT 'not_sent'
            ) GROUP BY turn_id
        )
        SELECT t.id, t.ended_at IS NULL, {_FILES}
          FROM of_turn o CROSS JOIN turn t ON t.id = o.turn_id LEFT JOIN turn_files f ON f.turn_id = t.id
         ORDER BY o.depth, t.rowid
        """,
        (leaf, after, until),
    )
    return [
        SpanTurn(id, _turn_files(files) if files[0] else None, bool(running)) for id, running, *files in found
    ]


async def of_span(
    r: Reader, leaf: str | None, after: int, until: int | None, *, running: bool = False
) -> list[TurnFiles] | None:
    """The trees of the turns with rows below a depth of a branch, down to another, oldest first.

    None where one of them, its beginning or its end was not kept, or they worked in several roots. With ``running`` the
    last one may be under way, without an end.
    """
    found = await of_each(r, leaf, after, until)
    kept = [each.files for each in found if each.files is not None]
    ended = kept[:-1] if running and found and found[-1].running else kept
    if len(kept) < len(found) or any(each.after is None for each in ended) or any(each.late for each in kept):
        return None
    return kept if len({each.root for each in kept}) <= 1 else None


async def in_order(r: Reader, found: Sequence[TurnFiles]) -> list[TurnFiles]:
    """Turns in the order in which they began, each once."""
    by_id = {each.turn_id: each for each in found}
    # Not by the time: a clock may have been set back.
    ordered = await r.all(
        "SELECT t.id FROM json_each(?) AS asked CROSS JOIN turn t ON t.id = asked.value ORDER BY t.rowid",
        (json.dumps(list(by_id)),),
    )
    return [by_id[id] for (id,) in ordered]


async def row_of_files(r: Reader, message_id: str | None, *, named: bool = False) -> str | None:
    """The row below which files are as a message has them: of a prompt, whose turn is still to come, the one above.

    The prompt of a turn that ended without a row is its end, unless the person ``named`` the prompt. None is the
    beginning.
    """
    found = await r.one(
        "SELECT p.uid FROM message m LEFT JOIN message p ON p.id = m.parent_id"
        " WHERE m.uid = ?1 AND m.kind = 'user'"
        "   AND EXISTS (SELECT 1 FROM turn WHERE prompt_id = m.id AND (?2 OR last_id <> m.id))",
        (message_id, named),
    )
    return found[0] if found else message_id


async def turn_within(r: Reader, message_id: str) -> str | None:
    """The turn that a row is within or at the end of, below its prompt."""
    found = await r.one(
        "SELECT t.id FROM message m CROSS JOIN turn t ON t.id = m.turn_id WHERE m.uid = ? AND t.prompt_id <> m.id",
        (message_id,),
    )
    return found[0] if found else None


async def roots(r: Reader) -> list[str]:
    """The roots that have snapshots."""
    return [root for (root,) in await r.all("SELECT DISTINCT root FROM turn_files")]


# A turn without an end whose client gave no sign of life since ?1 was killed; it ended with the last that was heard.
# Where a later client found that, it noted when the turn was last alive.
_ENDED = """
    CASE WHEN t.stop_reason = 'interrupted' AND {alive_at} IS NOT NULL
         THEN max(t.started_at, coalesce({heard}, 0), {alive_at})
         WHEN t.stop_reason IS NOT NULL THEN max(t.started_at, coalesce(t.ended_at, 0))
         WHEN EXISTS (SELECT 1 FROM lease WHERE conversation_id = t.conversation_id
                         AND owner IS NOT NULL AND heartbeat_at >= ?1) THEN NULL
         ELSE max(t.started_at, coalesce({heard}, 0),
                  coalesce((SELECT heartbeat_at FROM lease WHERE conversation_id = t.conversation_id), 0))
    END
"""
_HEARD = "(SELECT max(created_at) FROM message WHERE turn_id = t.id AND kind <> 'notice')"


# Of `t`, those that may have been at work between the times ?3 and ?4.
_AT_WORK = "t.started_at <= ?4 AND (t.ended_at IS NULL OR t.ended_at >= ?3)"


async def of_root(
    r: Reader, root: str, alive_since: int, *, within: tuple[int, int] | None = None
) -> list[DirectoryTurn]:
    """The turns that snapshots of a root were made around, in the order in which they began.

    Only those that may have been at work between the two times ``within``.
    """
    found = await r.all(
        f"SELECT t.id, t.started_at, {_ENDED.format(alive_at='f.alive_at', heard=_HEARD)},"
        f" {_FILES} FROM "
        + (
            "turn t INDEXED BY turn_time CROSS JOIN turn_files f ON f.turn_id = t.id"
            if within
            else "turn_files f INDEXED BY turn_files_root CROSS JOIN turn t ON t.id = f.turn_id"
        )
        + f" WHERE f.root = ?2 AND {_AT_WORK} ORDER BY t.rowid",
        (alive_since, root, *(within or (0, _FAR))),
    )
    return [DirectoryTurn(id, began, ended, _turn_files(row)) for id, began, ended, *row in found]


async def unkept_beside(
    r: Reader, turn_ids: Collection[str], root: str, alive_since: int
) -> list[tuple[DirectoryTurn, frozenset[str]]]:
    """The turns at work in the time of others without snapshots of a root, each with the directories it worked in."""
    found = await r.all(
        f"""
        SELECT t.id, t.started_at, {_ENDED.format(alive_at="NULL", heard=_HEARD)}, l.cwd, (
            SELECT json_group_array(path) FROM (
                SELECT path FROM conversation_directory WHERE conversation_id = t.conversation_id
                 UNION
                SELECT value FROM turn_surroundings s
                 CROSS JOIN json_each(CASE WHEN json_valid(directories) THEN directories ELSE '[]' END) AS each
                 WHERE s.turn_id = t.id AND each.type = 'text'
            )
        )
          FROM turn t INDEXED BY turn_time CROSS JOIN link l ON l.id = t.link_id
         WHERE {_AT_WORK} AND t.stop_reason IS NOT 'not_sent'
           AND NOT EXISTS (SELECT 1 FROM turn_files f WHERE f.turn_id = t.id AND f.root = ?2)
         ORDER BY t.rowid
        """,
        (alive_since, root, *await _time_of(r, turn_ids)),
    )
    return [
        (DirectoryTurn(id, began, ended, None), frozenset((cwd, *json.loads(further))))
        for id, began, ended, cwd, further in found
    ]


async def shared_times(
    r: Reader, turn_ids: Collection[str], root: str, unkept: Iterable[DirectoryTurn], alive_since: int
) -> dict[str, list[tuple[str, str | None, Why]]]:
    """The trees between which what each turn changed in a root may be of one that is not among them, or of Catena.

    Turns that are ``unkept`` may have changed the root, too. None is the tree of now. Turns in which nobody else was at
    work are left out.
    """
    asked = frozenset(turn_ids)
    at_work: list[DirectoryTurn] = []
    shared: dict[str, list[tuple[str, str | None, Why]]] = {}
    near = [*await of_root(r, root, alive_since, within=await _time_of(r, asked)), *unkept]
    for turn in sorted(near, key=lambda each: each.began):
        at_work = [each for each in at_work if each.ended is None or each.ended > turn.began]
        for other in at_work:
            ours = turn if turn.id in asked else other
            if (turn.id in asked) != (other.id in asked) and ours.files:
                ended = min((turn, other), key=lambda each: (each.ended is None, each.ended)).files
                # Where theirs was not kept, or late, what they did at first or last lies between our own two trees.
                began = turn.files if turn.files and not turn.files.late else ours.files
                times = shared.setdefault(ours.id, [])
                times.append((began.before, (ended or ours.files).after, Why.AT_WORK_TOO))
        at_work.append(turn)
    moved = await moves(r, root)
    for turn in near:
        for move in moved:
            if turn.id in asked and turn.began < move.ended and move.began < _kept_until(turn):
                shared.setdefault(turn.id, []).append((move.before, move.after, Why.MOVED))
    return shared


def _kept_until(turn: DirectoryTurn) -> int:
    """When the end of a turn was kept, which is a while after the turn: all that changed until then is in it."""
    if turn.ended is None or turn.files is None or turn.files.after is None:
        return _FAR
    return max(turn.ended, turn.files.kept_at or 0)


async def _time_of(r: Reader, turn_ids: Iterable[str]) -> tuple[int, int]:
    """The time from the beginning of the first of some turns to the end of the last; without any, none."""
    (found,) = await r.all(
        "SELECT coalesce(min(started_at), ?1), coalesce(max(coalesce(ended_at, ?1)), 0) FROM turn"
        " WHERE id IN (SELECT value FROM json_each(?2))",
        (_FAR, json.dumps(list(turn_ids))),
    )
    return found[0], found[1]


async def moves(r: Reader, root: str) -> list[FilesMove]:
    """The newest change of files by each act in a root, as far as these can be undone or done again."""
    found = await r.all(
        """
        SELECT coalesce(newest ->> '$.began_at', newest ->> '$.moved_at'), newest ->> '$.moved_at' AS moved_at,
               before ->> '$.tree', after ->> '$.tree', undone
          FROM (SELECT id, undone, before -> '$.files' AS before, after -> '$.files' AS after,
                       iif(before ->> '$.files.moved_at' > after ->> '$.files.moved_at', before, after) -> '$.files'
                       AS newest FROM journal
                 WHERE before ->> '$.files.root' = ?1 AND after ->> '$.files.root' = ?1)
         ORDER BY moved_at, id
        """,
        (root,),
    )
    return [
        FilesMove(began, ended, after, before) if undone else FilesMove(began, ended, before, after)
        for began, ended, before, after, undone in found
    ]


async def working_directories(r: Reader) -> list[str]:
    """Every directory that a session worked in, or that a conversation has beside its own."""
    found = await r.all("SELECT cwd FROM link UNION SELECT path FROM conversation_directory")
    return [directory for (directory,) in found]


async def not_kept(r: Reader, root: str, directories: Sequence[str], alive_since: int) -> list[DirectoryTurn]:
    """The turns that worked in one of these directories without snapshots of the root, in the order of their rows."""
    found = await r.all(
        f"""
        WITH place (path) AS (SELECT value FROM json_each(?3)),
        worked (id) AS (
            SELECT t.id FROM place CROSS JOIN link l ON l.cwd = path CROSS JOIN turn t ON t.link_id = l.id
             UNION
            SELECT t.id FROM place CROSS JOIN conversation_directory d ON d.path = place.path
             CROSS JOIN turn t ON t.conversation_id = d.conversation_id
        )
        SELECT t.id, t.started_at, {_ENDED.format(alive_at="NULL", heard=_HEARD)}
          FROM worked w CROSS JOIN turn t ON t.id = w.id
         WHERE t.stop_reason IS NOT 'not_sent'
           AND NOT EXISTS (SELECT 1 FROM turn_files f WHERE f.turn_id = t.id AND f.root = ?2)
         ORDER BY t.rowid
        """,
        (alive_since, root, json.dumps(list(directories))),
    )
    return [DirectoryTurn(id, began, ended, None) for id, began, ended in found]


async def trees(r: Reader, *, without: Iterable[str] = ()) -> set[str]:
    """Every tree that a turn or an act that can be undone refers to; conversations ``without`` do not count."""
    found = await r.all(
        "SELECT f.before, f.after, f.certain FROM turn_files f CROSS JOIN turn t ON t.id = f.turn_id"
        " WHERE t.conversation_id NOT IN (SELECT value FROM json_each(?1)) UNION ALL"
        " SELECT before, after, NULL FROM file_restore UNION ALL"
        " SELECT json_extract(before, '$.files.tree'), json_extract(after, '$.files.tree'), NULL FROM journal"
        " WHERE conversation_id NOT IN (SELECT value FROM json_each(?1))",
        (json.dumps(list(without)),),
    )
    return {tree for row in found for tree in row if tree is not None}


async def roots_of(r: Reader, conversation_ids: Iterable[str]) -> set[str]:
    """The roots that files were kept of around the turns of conversations."""
    found = await r.all(
        "SELECT DISTINCT f.root FROM turn t CROSS JOIN turn_files f ON f.turn_id = t.id"
        " WHERE t.conversation_id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(conversation_ids)),),
    )
    return {root for (root,) in found}


def _lacking(left_out: Iterable[LeftOutFile]) -> str:
    return json.dumps([[each.path, each.reason] for each in left_out])


def _turn_files(row: Sequence[Any]) -> TurnFiles:
    id, root, before, after, left_out, certain, late, lacked, kept_at = row
    return TurnFiles(
        id,
        root,
        before,
        after,
        tuple(LeftOutFile(path, LeftOutReason(why)) for path, why in json.loads(left_out)),
        certain,
        bool(late),
        None if lacked is None else frozenset(json.loads(lacked)),
        kept_at,
    )
