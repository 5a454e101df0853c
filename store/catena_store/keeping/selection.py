"""Selection: which conversations a person's rule would remove for good, what that would give back, and what is spared.

A conversation is as old as its newest message; a deleted one as old as its deletion, so that it can be undone for as
long.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from catena_store.clients import leases
from catena_store.database import rows
from catena_store.database.database import Reader
from catena_store.ids import from_milliseconds, to_milliseconds
from catena_store.keeping.sizes import ROW_BYTES
from catena_store.records import Lease

_TOGETHER = 500  # conversations that are measured by one query
_FILES = (
    "SELECT coalesce(sum(length(a.bytes)), 0) FROM message o CROSS JOIN attachment a ON a.message_id = o.id"
)


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
    for first in range(0, len(going), _TOGETHER):
        for entry in await _measured(r, going[first : first + _TOGETHER], by_family):
            if entry.kept and not entry.rows:
                spared[Spared.FORKED] += 1
            else:
                prunable.append(entry)
    return PruneSelection(tuple(reversed(prunable)), dict(spared))


async def _measured(
    r: Reader, going: Sequence[tuple[str, str, int]], by_family: Mapping[str, Sequence[str]]
) -> list[Prunable]:
    """What would go of conversations; of each its id, its family, and when it was used.

    ``by_family`` has all conversations that are to go. Only families of which others stay have rows that forks reach,
    and are asked one by one.
    """
    ids = rows.as_list([id for id, *_ in going])
    heads = {
        id: head
        for id, *head in await r.all(
            "SELECT id, title, first_prompt, agent, cwd, deleted_at IS NOT NULL FROM conversation"
            " WHERE id IN (SELECT value FROM json_each(?))",
            (ids,),
        )
    }
    staying = await r.all(
        "SELECT DISTINCT k.family FROM json_each(?1) CROSS JOIN conversation c ON c.id = value"
        " CROSS JOIN conversation k ON k.family = c.family WHERE k.pruned_at IS NULL"
        "   AND k.id NOT IN (SELECT value FROM json_each(?2))",
        (
            ids,
            rows.as_list([id for family in {family for _, family, _ in going} for id in by_family[family]]),
        ),
    )
    mixed = {family for (family,) in staying}
    counted = await r.all(
        f"SELECT value, count(*), count(*) FILTER (WHERE m.kind IN ('user', 'agent')), 0, sum({ROW_BYTES}),"
        f" ({_FILES} WHERE o.conversation_id = value)"
        " FROM json_each(?) CROSS JOIN message m ON m.conversation_id = value GROUP BY value",
        (rows.as_list([id for id, family, _ in going if family not in mixed]),),
    )
    for family in mixed:
        counted += await r.all(
            f"{REACHED}, own (id, conversation_id, kind, size, stays) AS ("
            f"   SELECT m.id, m.conversation_id, m.kind, {ROW_BYTES}, m.id IN (SELECT id FROM reached)"
            "      FROM json_each(?3) CROSS JOIN message m ON m.conversation_id = value)"
            " SELECT conversation_id, count(*) FILTER (WHERE NOT stays),"
            " count(*) FILTER (WHERE NOT stays AND kind IN ('user', 'agent')),"
            " count(*) FILTER (WHERE stays), coalesce(sum(size) FILTER (WHERE NOT stays), 0),"
            f" ({_FILES} JOIN own ON own.id = o.id"
            "    WHERE own.conversation_id = every.conversation_id AND NOT own.stays)"
            " FROM own AS every GROUP BY conversation_id",
            (
                family,
                rows.as_list(by_family[family]),
                rows.as_list([id for id, other, _ in going if other == family]),
            ),
        )
    of = {id: counts for id, *counts in counted}
    found = []
    for id, _, used_at in going:
        title, preview, agent, cwd, deleted = heads[id]
        all_rows, spoken, kept, texts, files = of.get(id, (0, 0, 0, 0, 0))
        at = from_milliseconds(used_at)
        found.append(
            Prunable(id, title, preview, agent, cwd, bool(deleted), at, all_rows, spoken, kept, texts + files)
        )
    return found
