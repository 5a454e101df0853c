"""Selection: which conversations a person's rule would remove for good, what that would give back, and what is spared.

A conversation is as old as its newest message; a deleted one as old as its deletion, so that it can be undone for as
long.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from catena_store.clients import leases
from catena_store.database import rows
from catena_store.database.database import Reader
from catena_store.ids import from_milliseconds, to_milliseconds
from catena_store.keeping.sizes import ROW_BYTES
from catena_store.records import Lease

_PREVIEW = 200  # characters of a first prompt that stand for a title


class Spared(StrEnum):
    """The reason why a conversation stays; the first that holds, in this order."""

    PINNED = "pinned"
    CHECKPOINT = "labelled checkpoint"
    TAB = "open in a tab"
    DRAFT = "unsent draft"
    QUEUED = "queued prompt"
    RUNNING = "open in a running Catena"
    FORKED = "all of it is in forks"


_SPARED = (
    (Spared.PINNED, "c.pinned"),
    (
        Spared.CHECKPOINT,
        "EXISTS (SELECT 1 FROM checkpoint k WHERE k.conversation_id = c.id AND k.label IS NOT NULL)",
    ),
    (
        Spared.TAB,
        "EXISTS (SELECT 1 FROM window w WHERE w.conversation_id = c.id AND w.closed_at IS NULL"
        " AND w.workspace_id IS NOT NULL)",
    ),
    (
        Spared.DRAFT,
        "EXISTS (SELECT 1 FROM window w JOIN window_leaf f ON f.window_id = w.id"
        " WHERE w.conversation_id = c.id AND trim(f.draft) <> '')"
        " OR EXISTS (SELECT 1 FROM window w JOIN draft_attachment d ON d.window_id = w.id"
        " WHERE w.conversation_id = c.id)",
    ),
    (
        Spared.QUEUED,
        "EXISTS (SELECT 1 FROM window w JOIN queue_item q ON q.window_id = w.id WHERE w.conversation_id = c.id)",
    ),
)
# A CASE takes the first that holds, as the enumeration says.
SPARED = " ".join(f"WHEN {condition} THEN '{reason.value}'" for reason, condition in _SPARED)

# The rows that conversations point to, those of a table ``kin``.
POINTED_TO = """
        SELECT c.fork_point_id FROM kin CROSS JOIN conversation c ON c.id = kin.id
        UNION SELECT c.place_id FROM kin CROSS JOIN conversation c ON c.id = kin.id
        UNION SELECT j.value FROM kin CROSS JOIN conversation c ON c.id = kin.id CROSS JOIN json_each(c.files_at) j
        UNION SELECT w.leaf_id FROM kin CROSS JOIN window w ON w.conversation_id = kin.id
        UNION SELECT j.value FROM kin CROSS JOIN window w ON w.conversation_id = kin.id
               CROSS JOIN json_each(w.files_at) j
        UNION SELECT l.knows FROM kin CROSS JOIN link l ON l.conversation_id = kin.id
        UNION SELECT l.reach FROM kin CROSS JOIN link l ON l.conversation_id = kin.id
        UNION SELECT l.whole FROM kin CROSS JOIN link l ON l.conversation_id = kin.id
        UNION SELECT l.base FROM kin CROSS JOIN link l ON l.conversation_id = kin.id
        UNION SELECT k.message_id FROM kin CROSS JOIN checkpoint k ON k.conversation_id = kin.id
        UNION SELECT t.told_from FROM kin CROSS JOIN turn t ON t.conversation_id = kin.id
        UNION SELECT t.told_to FROM kin CROSS JOIN turn t ON t.conversation_id = kin.id
        UNION SELECT t.whole_id FROM kin CROSS JOIN turn t ON t.conversation_id = kin.id
""".strip()

# Rows of a family (?1) that must stay for the conversations of it that do: those that these hang from or point to, and
# all above. ?2 is a JSON array of conversations that are to go; those that are gone already need none either.
REACHED = f"""
    WITH RECURSIVE kin (id) AS (
        SELECT id FROM conversation
         WHERE family = ?1 AND pruned_at IS NULL AND id NOT IN (SELECT value FROM json_each(?2))
    ),
    root (id) AS (
        {POINTED_TO}
        UNION SELECT m.parent_id FROM kin CROSS JOIN message m ON m.conversation_id = kin.id
               CROSS JOIN message p ON p.id = m.parent_id WHERE p.conversation_id <> m.conversation_id
    ),
    reached (id, parent_id) AS (
        SELECT m.id, m.parent_id FROM root CROSS JOIN message m ON m.id = root.id
        UNION SELECT m.id, m.parent_id FROM reached CROSS JOIN message m ON m.id = reached.parent_id
    )
"""


@dataclass(frozen=True, slots=True)
class PruneRule:
    """A person's rule: every condition that is given must hold."""

    unused_since: datetime | None  # older ones may go
    keep: int  # so many of the newest stay, deleted ones not counted
    agent: str | None = None
    profile: str | None = None
    cwd: str | None = None


@dataclass(frozen=True, slots=True)
class Prunable:
    """A conversation that the rule would remove."""

    id: str
    title: str | None
    preview: str  # the beginning of its first prompt
    agent: str
    cwd: str
    deleted: bool  # lists hide it already
    used_at: datetime  # when something was said last, or it was deleted
    rows: int  # that would go
    messages: int  # user and agent rows among them
    kept: int  # rows that stay, since forks reach them
    size: int  # bytes that would be given back, without indexes


@dataclass(frozen=True, slots=True)
class PruneSelection:
    """What a rule would remove, oldest first, and why others that it means stay."""

    prunable: tuple[Prunable, ...]
    spared: Mapping[Spared, int]

    @property
    def size(self) -> int:
        """The bytes of all that would go, without indexes."""
        return sum(each.size for each in self.prunable)


async def select(r: Reader, rule: PruneRule, is_dead: Callable[[Lease], bool]) -> PruneSelection:
    """Apply a rule; ``is_dead`` tells whether the owner of a lease is gone."""
    where: list[str] = ["c.pruned_at IS NULL"]
    parameters: list[object] = []
    for condition, value in (
        ("c.agent = ?", rule.agent),
        ("c.profile = ?", rule.profile),
        ("c.cwd = ?", rule.cwd),
    ):
        if value is not None:
            where.append(condition)
            parameters.append(value)
    found = await r.all(
        f"SELECT c.id, c.family, c.deleted_at IS NOT NULL, coalesce(c.deleted_at, c.updated_at), CASE {SPARED} END"
        f" FROM conversation c WHERE {' AND '.join(where)}"
        " AND (c.deleted_at IS NOT NULL OR EXISTS (SELECT 1 FROM message m WHERE m.conversation_id = c.id))"
        " ORDER BY 4 DESC, c.id DESC",
        parameters,
    )
    limit = None if rule.unused_since is None else to_milliseconds(rule.unused_since)
    held = {lease.conversation_id for lease in await leases.every(r) if not is_dead(lease)}
    newest_left, spared = rule.keep, Counter[Spared]()
    going: list[tuple[str, str, int]] = []
    by_family: dict[str, list[str]] = {}
    for id, family, deleted, used_at, reason in found:
        if not deleted:
            newest_left -= 1
            if newest_left >= 0:
                continue
        # One that was deleted a moment ago can be brought back: only its age says when that is over.
        if deleted if limit is None else used_at >= limit:
            continue
        if reason is not None or id in held:
            spared[Spared(reason) if reason else Spared.RUNNING] += 1
        else:
            going.append((id, family, used_at))
            by_family.setdefault(family, []).append(id)
    prunable = []
    for id, family, used_at in reversed(going):
        entry = await _prunable(r, id, used_at, by_family[family])
        if entry.kept and not entry.rows:
            spared[Spared.FORKED] += 1
        else:
            prunable.append(entry)
    return PruneSelection(tuple(prunable), dict(spared))


async def _prunable(r: Reader, id: str, used_at: int, going: list[str]) -> Prunable:
    row = await r.one(
        "SELECT family, title, agent, cwd, deleted_at IS NOT NULL,"
        " coalesce((SELECT substr(m.text, 1, ?2) FROM message m WHERE m.conversation_id = c.id AND m.kind = 'user'"
        "           ORDER BY m.id LIMIT 1), '') FROM conversation c WHERE c.id = ?1",
        (id, _PREVIEW),
    )
    assert row is not None
    family, title, agent, cwd, deleted, preview = row
    counts = await r.one(
        f"{REACHED}, own (id, kind, size, stays) AS ("
        f"   SELECT m.id, m.kind, {ROW_BYTES}, m.id IN (SELECT id FROM reached) FROM message m"
        "    WHERE m.conversation_id = ?3)"
        " SELECT count(*) FILTER (WHERE NOT stays), count(*) FILTER (WHERE NOT stays AND kind IN ('user', 'agent')),"
        " count(*) FILTER (WHERE stays), coalesce(sum(size) FILTER (WHERE NOT stays), 0),"
        " (SELECT coalesce(sum(length(a.bytes)), 0) FROM own JOIN attachment a ON a.message_id = own.id"
        "   WHERE NOT stays)"
        " FROM own",
        (family, rows.as_list(going), id),
    )
    assert counts is not None
    all_rows, spoken, kept, texts, files = counts
    at = from_milliseconds(used_at)
    return Prunable(id, title, preview, agent, cwd, bool(deleted), at, all_rows, spoken, kept, texts + files)
