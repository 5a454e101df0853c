"""Permission rules of the person, of a project and of a conversation, and answers on files of projects by content."""

from __future__ import annotations

from dataclasses import dataclass

from catena_store.database.database import Reader, Writer


@dataclass(frozen=True, slots=True)
class StoredRule:
    """A rule as it is stored; without a conversation it holds for its directory."""

    id: str
    directory: str
    conversation_id: str | None
    tool_kind: str
    pattern: str
    allow: bool


async def add(tx: Writer, rule: StoredRule) -> str:
    """Add a rule, unless the same is there; returns the id of the one that is."""
    found = await tx.one(
        "SELECT id FROM permission_rule WHERE directory = ? AND conversation_id IS ? AND tool_kind = ?"
        " AND pattern = ? AND allow = ?",
        (rule.directory, rule.conversation_id, rule.tool_kind, rule.pattern, int(rule.allow)),
    )
    if found:
        return str(found[0])
    await tx.run(
        "INSERT INTO permission_rule (id, directory, conversation_id, tool_kind, pattern, allow, created_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            rule.id,
            rule.directory,
            rule.conversation_id,
            rule.tool_kind,
            rule.pattern,
            int(rule.allow),
            tx.now(),
        ),
    )
    return rule.id


async def remove(tx: Writer, id: str) -> bool:
    """Remove a rule; False if there is none of this id."""
    return bool(await tx.run("DELETE FROM permission_rule WHERE id = ?", (id,)))


async def that_may_hold(
    r: Reader, directory: str, conversation_id: str | None = None
) -> tuple[StoredRule, ...]:
    """The rules of a project, those that reject in any, and those of a conversation; that one's first, then the oldest.

    A rule that rejects may hold in other directories than its own: the caller knows in which.
    """
    found = await r.all(
        "SELECT id, directory, conversation_id, tool_kind, pattern, allow FROM permission_rule"
        " WHERE (conversation_id IS NULL AND (directory = ?1 OR NOT allow)) OR conversation_id = ?2"
        " ORDER BY conversation_id IS NULL, created_at, id",
        (directory, conversation_id),
    )
    return tuple(
        StoredRule(id, place, whose, kind, pattern, bool(allow))
        for id, place, whose, kind, pattern, allow in found
    )


async def keep_file_answer(tx: Writer, path: str, digest: str, *, trusted: bool) -> None:
    """Store the answer about a file with this content, in place of an earlier one."""
    await tx.run(
        "INSERT INTO trusted_file (path, digest, trusted, answered_at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (path, digest) DO UPDATE SET trusted = excluded.trusted, answered_at = excluded.answered_at",
        (path, digest, int(trusted), tx.now()),
    )


async def file_answer(r: Reader, path: str, digest: str) -> bool | None:
    """The answer about a file with this content; None if it was not asked for."""
    found = await r.one("SELECT trusted FROM trusted_file WHERE path = ? AND digest = ?", (path, digest))
    return bool(found[0]) if found else None
