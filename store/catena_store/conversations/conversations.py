"""Conversations: creating, finding, listing, titling and deleting them, and the directories and servers they add."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from catena_store.database import rows
from catena_store.database.database import Reader, Writer
from catena_store.errors import MOST_MATCHES, Ambiguous, NotFound
from catena_store.ids import from_milliseconds, to_milliseconds
from catena_store.records import Cause, ConversationRecord, Summary

_PREVIEW_CHARACTERS = 200
_MOST_AHEAD = 86_400_000  # milliseconds; a conversation that is dated further ahead has no part in the order

_HAS_MESSAGE = "EXISTS (SELECT 1 FROM message WHERE conversation_id = c.id)"


async def create(
    tx: Writer,
    *,
    id: str,
    agent: str,
    cwd: str,
    profile: str = "",
    title: str | None = None,
    family: str | None = None,
    fork_point_id: str | None = None,
) -> ConversationRecord:
    """Create a conversation; without a family it begins one. Raises NotFound for the fork point."""
    at = from_milliseconds(tx.now())
    new = ConversationRecord(id, family or id, title, agent, profile, cwd, fork_point_id, at, at)
    await rows.CONVERSATIONS.insert(tx, new)
    return new


async def get(r: Reader, id: str) -> ConversationRecord | None:
    """The conversation of an id; None for one of which only what forks need is left."""
    row = await r.one(
        f"SELECT {rows.CONVERSATION} FROM conversation c WHERE c.id = ? AND c.pruned_at IS NULL", (id,)
    )
    return None if row is None else rows.conversation(row)


async def find(r: Reader, text: str) -> ConversationRecord:
    """The conversation of an id, of the beginning of one, or the newest of a title.

    Raises NotFound, and Ambiguous where several ids begin so and no title is equal.
    """
    exact = await get(r, text)
    if exact is not None:
        return exact
    matches = await r.all(
        f"SELECT {rows.CONVERSATION} FROM conversation c"
        f" WHERE {rows.begins_with('c.id')} AND c.deleted_at IS NULL ORDER BY c.id LIMIT ?2",
        (text, MOST_MATCHES + 1 if text else 0),
    )
    if len(matches) == 1:
        return rows.conversation(matches[0])
    titled = await r.one(
        f"SELECT {rows.CONVERSATION} FROM conversation c WHERE c.title = ? AND c.deleted_at IS NULL"
        " ORDER BY c.updated_at DESC LIMIT 1",
        (text,),
    )
    if titled is not None:
        return rows.conversation(titled)
    if matches:
        raise Ambiguous("conversation", text, [id for id, *_ in matches])
    raise NotFound("conversation", text)


async def latest(r: Reader, *, cwd: str | None = None) -> ConversationRecord | None:
    """The newest conversation that has a message, of a directory where one is given."""
    where, parameters = _listed(cwd)
    row = await r.one(
        f"SELECT {rows.CONVERSATION} FROM conversation c WHERE {where}"
        " ORDER BY c.updated_at DESC, c.id DESC LIMIT 1",
        parameters,
    )
    return None if row is None else rows.conversation(row)


async def page(
    r: Reader,
    *,
    limit: int = 100,
    before: tuple[int, str] | None = None,
    cwd: str | None = None,
    archived: bool = False,
) -> list[Summary]:
    """A page of the conversations that have a message, newest first, after the one with the key ``before``.

    Either of the archived ones or of the others.
    """
    where, parameters = _listed(cwd, archived)
    if before is not None:
        where += " AND (c.updated_at, c.id) < (?, ?)"
        parameters += before
    found = await r.all(
        "SELECT c.id, c.title, c.agent, c.profile, c.cwd,"
        " (SELECT count(*) FROM message WHERE conversation_id = c.id AND kind IN ('user', 'agent')),"
        " coalesce((SELECT substr(text, 1, ?) FROM message WHERE conversation_id = c.id AND kind = 'user'"
        "           ORDER BY id LIMIT 1), ''),"
        " c.created_at, c.updated_at"
        f" FROM conversation c WHERE {where} ORDER BY c.updated_at DESC, c.id DESC LIMIT ?",
        (_PREVIEW_CHARACTERS, *parameters, limit),
    )
    return [_summary(*row) for row in found]


async def count(r: Reader, *, cwd: str) -> int:
    """How many conversations of a directory the pages of those that are not archived have."""
    where, parameters = _listed(cwd)
    row = await r.one(f"SELECT count(*) FROM conversation c WHERE {where}", parameters)
    return 0 if row is None else int(row[0])


def page_key(summary: Summary) -> tuple[int, str]:
    """The key of the page after a summary."""
    return to_milliseconds(summary.updated_at), summary.id


async def set_title(tx: Writer, id: str, title: str | None) -> None:
    """Set or remove the title. Raises NotFound."""
    await _change(tx, id, "title = ?", title)


async def titles_of_family(r: Reader, family: str) -> set[str]:
    """The titles of a conversation and its forks."""
    found = await r.all(
        "SELECT title FROM conversation WHERE family = ? AND title IS NOT NULL AND deleted_at IS NULL",
        (family,),
    )
    return {title for (title,) in found}


async def set_agent(tx: Writer, id: str, agent: str, profile: str) -> None:
    """Set the agent and profile of the next prompt. Raises NotFound."""
    await _change(tx, id, "agent = ?, profile = ?", agent, profile)


@dataclass(frozen=True, slots=True)
class Marks:
    """How lists treat a conversation; its rows stay either way."""

    archived: bool
    deleted: bool
    pinned: bool


async def marks(r: Reader, id: str) -> Marks:
    """The marks of a conversation. Raises NotFound."""
    row = await r.one("SELECT archived, deleted_at IS NOT NULL, pinned FROM conversation WHERE id = ?", (id,))
    if row is None:
        raise NotFound("conversation", id)
    return Marks(*map(bool, row))


async def set_archived(tx: Writer, id: str, archived: bool) -> None:
    """Archive a conversation, or restore it from the archive. Raises NotFound."""
    await _change(tx, id, "archived = ?", int(archived))


async def set_deleted(tx: Writer, id: str, deleted: bool) -> None:
    """Mark a conversation as deleted or not; lists hide a deleted one, the file keeps it. Raises NotFound."""
    await _change(tx, id, "deleted_at = ?", tx.now() if deleted else None)


async def set_pinned(tx: Writer, id: str, pinned: bool) -> None:
    """Pin a conversation, so that it stands first and is never pruned, or unpin it. Raises NotFound."""
    await _change(tx, id, "pinned = ?", int(pinned))


async def set_directory(tx: Writer, id: str, cwd: str) -> None:
    """Let a conversation work in another directory from now on; the one before is remembered. Raises NotFound."""
    await tx.run(
        "INSERT INTO former_directory (conversation_id, cwd, until) SELECT id, cwd, ? FROM conversation"
        " WHERE id = ? AND cwd <> ?",
        (tx.now(), id, cwd),
    )
    await _change(tx, id, "cwd = ?", cwd)


async def directories_in_use(r: Reader) -> list[str]:
    """The directories of all conversations that lists show, the most recently used first."""
    found = await r.all(
        "SELECT cwd FROM conversation WHERE deleted_at IS NULL GROUP BY cwd ORDER BY max(updated_at) DESC"
    )
    return [cwd for (cwd,) in found]


async def touch(tx: Writer, id: str) -> None:
    """Make a conversation the newest, even where the clock was set back since another one was. Raises NotFound."""
    now = tx.now()
    ahead = await tx.one(
        "SELECT max(updated_at) FROM conversation WHERE deleted_at IS NULL AND updated_at > ? AND updated_at < ?",
        (now, now + _MOST_AHEAD),
    )
    newest = None if ahead is None else ahead[0]
    await _change(tx, id, "updated_at = ?", now if newest is None else newest + 1)


async def set_times(tx: Writer, id: str, created_at: datetime, updated_at: datetime) -> None:
    """Set when a conversation that took place elsewhere began, and when it was gone on with last. Raises NotFound."""
    times = (to_milliseconds(created_at), to_milliseconds(updated_at))
    await _change(tx, id, "created_at = ?, updated_at = ?", *times)


async def delete_if_empty(tx: Writer, id: str) -> bool:
    """Remove a conversation without messages, with its links, windows and lease; False where it stays.

    Sessions that were opened for it alone stay hidden, though their agents may list them.

    It stays where it has a message or a turn, where it is a fork that an open window shows, where another
    conversation's link was forked from one of its links, where undoing a fork leads back to it, and where a draft,
    an attachment or a queued prompt waits in one of its windows: nothing typed is ever lost.
    """
    kept = await tx.one(
        "SELECT EXISTS (SELECT 1 FROM message WHERE conversation_id = ?1)"
        " OR EXISTS (SELECT 1 FROM turn WHERE conversation_id = ?1)"
        " OR EXISTS (SELECT 1 FROM link own JOIN link other ON other.source_id = own.id"
        "            WHERE own.conversation_id = ?1 AND other.conversation_id <> ?1)"
        " OR EXISTS (SELECT 1 FROM journal WHERE conversation_id = ?1 AND act = 'fork' AND undone = 0"
        "            AND json_extract(before, '$.conversation_id') = ?1)"
        " OR EXISTS (SELECT 1 FROM conversation c JOIN window w ON w.conversation_id = c.id"
        "            WHERE c.id = ?1 AND c.family <> c.id AND w.closed_at IS NULL)"
        " OR EXISTS (SELECT 1 FROM window w JOIN window_leaf f ON f.window_id = w.id"
        "            WHERE w.conversation_id = ?1 AND w.closed_at IS NULL AND trim(f.draft) <> '')"
        " OR EXISTS (SELECT 1 FROM window w JOIN draft_attachment d ON d.window_id = w.id"
        "            WHERE w.conversation_id = ?1 AND w.closed_at IS NULL)"
        " OR EXISTS (SELECT 1 FROM window w JOIN queue_item q ON q.window_id = w.id"
        "            WHERE w.conversation_id = ?1)",
        (id,),
    )
    if kept is None or kept[0]:
        return False
    await tx.run(
        "INSERT INTO deleted_session (agent, profile, session_id, deleted_at)"
        " SELECT agent, profile, session_id, ? FROM link WHERE conversation_id = ? AND cause <> ?"
        " ON CONFLICT DO NOTHING",
        (tx.now(), id, Cause.IMPORT),
    )
    windows = "(SELECT id FROM window WHERE conversation_id = ?)"
    for statement in (
        f"UPDATE workspace SET active_window_id = NULL WHERE active_window_id IN {windows}",
        f"DELETE FROM window_leaf WHERE window_id IN {windows}",
        "DELETE FROM window WHERE conversation_id = ?",
        "DELETE FROM checkpoint WHERE conversation_id = ?",
        "DELETE FROM permission_rule WHERE conversation_id = ?",
        "DELETE FROM link_event WHERE conversation_id = ?",
        "DELETE FROM link WHERE conversation_id = ?",
        "DELETE FROM lease WHERE conversation_id = ?",
    ):
        await tx.run(statement, (id,))
    return await tx.run("DELETE FROM conversation WHERE id = ?", (id,)) == 1


def _summary(
    id: str,
    title: str | None,
    agent: str,
    profile: str,
    cwd: str,
    messages: int,
    preview: str,
    created_at: int,
    updated_at: int,
) -> Summary:
    born, used = from_milliseconds(created_at), from_milliseconds(updated_at)
    return Summary(id, title, agent, profile, cwd, messages, preview, born, used)


def _listed(cwd: str | None, archived: bool = False) -> tuple[str, tuple[object, ...]]:
    where = f"c.deleted_at IS NULL AND c.archived = {int(archived)} AND {_HAS_MESSAGE}"
    return (where, ()) if cwd is None else (f"{where} AND c.cwd = ?", (cwd,))


async def _change(tx: Writer, id: str, assignment: str, *values: object) -> None:
    if not await tx.run(f"UPDATE conversation SET {assignment} WHERE id = ?", (*values, id)):
        raise NotFound("conversation", id)


async def add_further_directory(tx: Writer, conversation_id: str, path: str) -> bool:
    """Add a directory by its absolute path; False where the conversation has it already."""
    return bool(
        await tx.run(
            "INSERT INTO conversation_directory (conversation_id, path, position)"
            " SELECT ?1, ?2, coalesce(max(position), 0) + 1 FROM conversation_directory WHERE conversation_id = ?1"
            " ON CONFLICT DO NOTHING",
            (conversation_id, path),
        )
    )


async def remove_further_directory(tx: Writer, conversation_id: str, path: str) -> bool:
    """Remove a directory; False where the conversation has none of that path."""
    return bool(
        await tx.run(
            "DELETE FROM conversation_directory WHERE conversation_id = ? AND path = ?",
            (conversation_id, path),
        )
    )


async def further_directories(r: Reader, id: str) -> tuple[str, ...]:
    """The conversation's further directories, in the order in which they were added."""
    found = await r.all(
        "SELECT path FROM conversation_directory WHERE conversation_id = ? ORDER BY position", (id,)
    )
    return tuple(path for (path,) in found)


McpServer = Mapping[str, object]  # as the protocol has it


async def add_mcp_servers(tx: Writer, conversation_id: str, servers: Sequence[McpServer]) -> None:
    """Add servers behind those that the conversation has."""
    await tx.run_many(
        "INSERT INTO conversation_mcp_server (conversation_id, position, server)"
        " SELECT ?1, coalesce(max(position), 0) + 1, ?2 FROM conversation_mcp_server WHERE conversation_id = ?1",
        [(conversation_id, rows.as_json(server)) for server in servers],
    )


async def mcp_servers(r: Reader, id: str) -> tuple[dict[str, object], ...]:
    """The conversation's servers, in the order in which they were added; an unreadable row is skipped."""
    found = await r.all(
        "SELECT server FROM conversation_mcp_server WHERE conversation_id = ? AND json_valid(server)"
        " ORDER BY position",
        (id,),
    )
    servers = [json.loads(server) for (server,) in found]
    return tuple(server for server in servers if isinstance(server, dict))
