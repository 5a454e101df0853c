"""The history: conversations as the list of all of them shows them, and how far a person has seen each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from catena_store.database import rows
from catena_store.database.database import Reader, Writer
from catena_store.ids import from_milliseconds, to_milliseconds
from catena_store.records import Lease, StopReason

# The open todos of the newest plan.
_TODOS = """
           coalesce((SELECT sum(coalesce(json_extract(step.value, '$.status'), '') <> 'completed')
                       FROM json_each((SELECT CASE json_type(data, '$.entries') WHEN 'array' THEN data ELSE '{}' END
                                         FROM message WHERE conversation_id = c.id AND kind = 'plan'
                                        ORDER BY id DESC LIMIT 1), '$.entries') step
                      WHERE step.type = 'object'), 0)
""".strip()

# One row for each conversation: everything is one step into an index, but for the number of messages.
_COLUMNS = f"""
    SELECT c.id, c.title, c.agent, c.profile, c.cwd, c.pinned, c.archived, c.created_at, c.updated_at,
           c.first_prompt, c.last_prompt,
           (SELECT count(*) FROM message WHERE conversation_id = c.id AND kind IN ('user', 'agent')),
           max(1, (SELECT count(DISTINCT CASE WHEN m.state = 'refused' THEN -m.parent_id ELSE m.id END)
                     FROM branch_end e CROSS JOIN message m ON m.id = e.message_id
                    WHERE e.conversation_id = c.id
                      AND (m.state <> 'refused' OR NOT EXISTS (
                           SELECT 1 FROM message o WHERE o.parent_id = m.parent_id AND o.state <> 'refused')))),
           {_TODOS},
           EXISTS (SELECT 1 FROM turn WHERE conversation_id = c.id AND stop_reason IS NULL),
           EXISTS (SELECT 1 FROM turn o CROSS JOIN turn_asking a ON a.turn_id = o.id
                    WHERE o.conversation_id = c.id AND o.stop_reason IS NULL),
           t.stop_reason, t.error IS NOT NULL, g.git_branch, s.at,
           s.message_id < (SELECT max(id) FROM message WHERE conversation_id = c.id AND kind = 'agent'),
           s.message_id < t.last_id,
           l.conversation_id, l.owner, l.host, l.pid, l.started, l.epoch, l.heartbeat_at, l.agents
      FROM conversation c
      LEFT JOIN turn t ON t.rowid = (SELECT rowid FROM turn WHERE conversation_id = c.id
                                      ORDER BY started_at DESC, rowid DESC LIMIT 1)
      LEFT JOIN turn_surroundings g ON g.turn_id = t.id
      LEFT JOIN conversation_seen s ON s.conversation_id = c.id
      LEFT JOIN lease l ON l.conversation_id = c.id AND l.owner IS NOT NULL
"""
# Whatever was prompted has a message: for all others one is looked for.
_HAS_MESSAGE = "EXISTS (SELECT 1 FROM message WHERE conversation_id = c.id)"
_LISTED = f"c.deleted_at IS NULL AND (c.last_prompt <> '' OR {_HAS_MESSAGE})"
# What a conversation is called by. SQLite does not look for words in what has more than ASCII in it, nor in what may be
# called otherwise: by no prompt, or, with dots at its end, by a part of one.
_NAME = "coalesce(nullif(c.title, ''), c.first_prompt)"
_TEXTS = f"({_NAME} || c.cwd || c.last_prompt)"
_NOT_LOOKED_THROUGH = f"length(CAST({_TEXTS} AS BLOB)) <> length({_TEXTS}) OR {_NAME} < '!'"
_MAY_BE_CUT = "coalesce(c.title, '') = ''"
_LONGEST = 500  # characters of a word that SQLite looks for


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """A conversation as the history shows it."""

    id: str
    title: str | None
    agent: str
    profile: str
    cwd: str
    pinned: bool
    archived: bool
    created_at: datetime
    updated_at: datetime
    first_prompt: str  # the beginnings of the prompts born in it
    last_prompt: str
    messages: int  # user and agent rows born in it
    branches: int  # a refused prompt begins none
    todos: int  # open ones of its newest plan
    running: bool  # a turn is open; whether its client lives, the lease says
    asks: bool  # and its agent waits for a permission
    stop_reason: StopReason | None  # of the newest turn
    error: bool  # … which has one
    git_branch: str | None  # … and ran on this branch
    seen_at: datetime | None  # when a person last came to it or left it
    unseen_answer: bool
    unseen_end: bool  # of the newest turn
    lease: Lease | None

    @property
    def failed(self) -> bool:
        """True where the newest turn is over and did not end well; one that was stopped did."""
        stop = self.stop_reason
        if stop is None or stop is StopReason.CANCELLED:
            return False
        return self.error or not stop.clean


async def page(
    r: Reader,
    *,
    limit: int = 100,
    before: tuple[int, str] | None = None,
    archived: bool = False,
    cwd: str | None = None,
) -> list[HistoryRow]:
    """A page of the conversations that have a message, newest first, after the one with the key ``before``.

    Either of the archived ones or of the others; of one directory where ``cwd`` is given.
    """
    below, parameters = ("", ()) if before is None else ("AND (c.updated_at, c.id) < (?, ?)", before)
    within, directory = ("", ()) if cwd is None else ("AND c.cwd = ?", (cwd,))
    found = await r.all(
        f"{_COLUMNS} WHERE {_LISTED} AND c.archived = {int(archived)} {within} {below}"
        " ORDER BY c.updated_at DESC, c.id DESC LIMIT ?",
        (*directory, *parameters, limit),
    )
    return [_row(row) for row in found]


def page_key(row: HistoryRow) -> tuple[int, str]:
    """The key of the page after a row."""
    return to_milliseconds(row.updated_at), row.id


class Outline(NamedTuple):
    """What words and most filters look at in a conversation, as it stands in its own row; times in milliseconds."""

    id: str
    title: str | None
    agent: str
    profile: str
    cwd: str
    pinned: int
    archived: int
    created_at: int
    updated_at: int
    first_prompt: str
    last_prompt: str


_OUTLINE = (
    "SELECT c.id, c.title, c.agent, c.profile, c.cwd, c.pinned, c.archived, c.created_at, c.updated_at,"
    f" c.first_prompt, c.last_prompt FROM conversation c WHERE {_LISTED}"
)


async def outlines(
    r: Reader, *, limit: int, before: tuple[int, str] | None = None, archived: bool = False
) -> list[Outline]:
    """A page of outlines, in the order and after the key of ``page``."""
    below, parameters = ("", ()) if before is None else ("AND (c.updated_at, c.id) < (?, ?)", before)
    found = await r.all(
        f"{_OUTLINE} AND c.archived = {int(archived)} {below} ORDER BY c.updated_at DESC, c.id DESC LIMIT ?",
        (*parameters, limit),
    )
    return [Outline._make(row) for row in found]


async def outlines_with(r: Reader, words: Sequence[str]) -> list[Outline]:
    """The outlines that may have all of these folded words in their names, directories or last prompts, in no order.

    None that has them is missing, also where only the letters of a word are in a name, in their order. Some others may
    be among them, since SQLite folds ASCII alone.
    """
    conditions, parameters = ["true"], list[str]()
    for word in words:
        if len(word) > _LONGEST or "\n" in word:  # between two texts
            continue
        letters = [f"!{letter}" if letter in "!%_" else letter for letter in word]
        cut = f" OR {_MAY_BE_CUT}" if "." in word else ""
        conditions.append(
            f"({_NAME} LIKE ? ESCAPE '!' OR c.cwd LIKE ? ESCAPE '!' OR c.last_prompt LIKE ? ESCAPE '!'{cut})"
        )
        parameters += [f"%{'%'.join(letters)}%", *[f"%{''.join(letters)}%"] * 2]
    found = await r.all(
        f"{_OUTLINE} AND ({' AND '.join(conditions)} OR {_NOT_LOOKED_THROUGH})", tuple(parameters)
    )
    return [Outline._make(row) for row in found]


async def counts(r: Reader) -> dict[str, int]:
    """How many conversations with a message there are, by directory."""
    found = dict(
        await r.all("SELECT c.cwd, count(*) FROM conversation c WHERE c.deleted_at IS NULL GROUP BY c.cwd")
    )
    empty = await r.all(
        "SELECT c.cwd, count(*) FROM conversation c"
        f" WHERE c.last_prompt = '' AND c.deleted_at IS NULL AND NOT {_HAS_MESSAGE} GROUP BY c.cwd"
    )
    for cwd, without in empty:
        found[cwd] -= without
    return {cwd: count for cwd, count in found.items() if count}


async def of_conversations(r: Reader, ids: Sequence[str]) -> list[HistoryRow]:
    """The rows of these conversations, in no order; none of one that was deleted or has no message."""
    found = await r.all(
        f"{_COLUMNS} WHERE c.id IN (SELECT value FROM json_each(?)) AND {_LISTED}", (rows.as_list(ids),)
    )
    return [_row(row) for row in found]


async def standing_first(r: Reader) -> list[str]:
    """The conversations that may stand above newer ones: pinned, with an open turn, or not seen to their end."""
    found = await r.all(
        f"{_IN_SIGHT}"
        " UNION SELECT s.conversation_id FROM conversation_seen s"
        "  WHERE s.message_id < (SELECT max(message_id) FROM branch_end WHERE conversation_id = s.conversation_id)"
    )
    return [id for (id,) in found]


_IN_SIGHT = (
    "SELECT id FROM conversation WHERE pinned AND deleted_at IS NULL"
    " UNION SELECT conversation_id FROM turn WHERE stop_reason IS NULL"
)


@dataclass(frozen=True, slots=True)
class HistoryLook:
    """How far somebody has looked at the history: what comes later is a change."""

    at: datetime  # when a person last came to a conversation or left one
    message_id: str | None  # the newest message, None where there is none
    revision: int  # of the conversation whose own row changed last
    conversations: int  # how many there are, deleted ones included


async def look(r: Reader) -> HistoryLook:
    """The look that sees all there is."""
    row = await r.one(
        "SELECT coalesce((SELECT max(at) FROM conversation_seen), 0),"
        " (SELECT uid FROM message ORDER BY id DESC LIMIT 1),"
        " coalesce((SELECT max(revision) FROM conversation), 0), (SELECT count(*) FROM conversation)"
    )
    assert row is not None
    return HistoryLook(from_milliseconds(row[0]), *row[1:])


async def changed_since(r: Reader, before: HistoryLook) -> list[str]:
    """The conversations that got a message, whose title, directory or marks changed, that a person came to or left, and
    those with an open turn or a pin.
    """
    found = await r.all(
        f"{_IN_SIGHT}"
        " UNION SELECT conversation_id FROM message"
        "  WHERE id > coalesce((SELECT id FROM message WHERE uid = ?2), 0)"
        " UNION SELECT conversation_id FROM conversation_seen WHERE at >= ?1"
        " UNION SELECT id FROM conversation WHERE revision > ?3",
        (to_milliseconds(before.at), before.message_id, before.revision),
    )
    return [id for (id,) in found]


async def gone(r: Reader, ids: Sequence[str]) -> list[str]:
    """Those of the conversations that were removed for good."""
    found = await r.all(
        "SELECT value FROM json_each(?) WHERE NOT EXISTS (SELECT 1 FROM conversation WHERE id = value)",
        (rows.as_list(ids),),
    )
    return [id for (id,) in found]


async def mark_seen(tx: Writer, conversation_id: str, message_id: str | None) -> None:
    """Note that a person came to a conversation or left it, having seen it down to a row; nothing else changes."""
    await tx.run(
        "INSERT INTO conversation_seen (conversation_id, message_id, at)"
        " SELECT c.id, coalesce((SELECT id FROM message WHERE uid = ?2), 0), ?3 FROM conversation c WHERE c.id = ?1"
        " ON CONFLICT (conversation_id) DO UPDATE"
        " SET message_id = max(message_id, excluded.message_id), at = excluded.at",
        (conversation_id, message_id, tx.now()),
    )


async def with_file(r: Reader, part: str) -> list[str]:
    """The conversations whose tool calls read or changed a file with this in its path, case folded in ASCII."""
    found = await r.all(
        "SELECT DISTINCT conversation_id FROM conversation_file WHERE instr(lower(path), lower(?)) > 0",
        (part,),
    )
    return [id for (id,) in found]


async def files(r: Reader, part: str, *, limit: int) -> list[str]:
    """Paths of files with this in their names, those that were touched last first."""
    found = await r.all(
        "SELECT path FROM conversation_file WHERE instr(lower(path), lower(?)) > 0"
        " GROUP BY path ORDER BY max(message_id) DESC LIMIT ?",
        (part, limit),
    )
    return [path for (path,) in found]


async def failed(r: Reader) -> list[str]:
    """The conversations whose newest turn is over and did not end well; one that was stopped did."""
    found = await r.all(
        "SELECT t.conversation_id FROM turn t WHERE (t.error IS NOT NULL OR t.stop_reason NOT IN"
        f" (SELECT value FROM json_each(?))) AND t.stop_reason NOT IN ('{StopReason.CANCELLED}')"
        " AND t.rowid = (SELECT rowid FROM turn WHERE conversation_id = t.conversation_id"
        "                 ORDER BY started_at DESC, rowid DESC LIMIT 1)",
        (rows.as_list([reason for reason in StopReason if reason.clean]),),
    )
    return [id for (id,) in found]


async def with_todos(r: Reader) -> list[str]:
    """The conversations whose newest plan has open steps."""
    found = await r.all(
        "SELECT c.id FROM conversation c"
        f" WHERE EXISTS (SELECT 1 FROM message WHERE conversation_id = c.id AND kind = 'plan') AND {_TODOS} > 0"
    )
    return [id for (id,) in found]


async def git_branches(r: Reader) -> dict[str, str]:
    """The git branch that the newest turn of each conversation ran on, where one is known."""
    found = await r.all(
        "SELECT t.conversation_id, g.git_branch FROM turn_surroundings g CROSS JOIN turn t ON t.id = g.turn_id"
        " WHERE g.git_branch IS NOT NULL AND t.rowid = (SELECT rowid FROM turn"
        "   WHERE conversation_id = t.conversation_id ORDER BY started_at DESC, rowid DESC LIMIT 1)"
    )
    return dict(found)


_SIGNS = {">": ">", ">=": ">=", "<": "<", "<=": "<="}


async def costing(r: Reader, sign: str, amount: float) -> list[str]:
    """The conversations whose turns cost more or less in sum, in whatever currency: the sign is >, >=, < or <=."""
    found = await r.all(
        "SELECT conversation_id FROM turn WHERE cost IS NOT NULL GROUP BY conversation_id"
        f" HAVING sum(cost) {_SIGNS[sign]} ?",
        (amount,),
    )
    return [id for (id,) in found]


def _row(found: tuple[Any, ...]) -> HistoryRow:
    id, title, agent, profile, cwd, pinned, archived, created_at, updated_at, *rest = found
    (
        first,
        last,
        messages,
        branches,
        todos,
        running,
        asks,
        stop,
        error,
        branch,
        seen_at,
        answer,
        end,
        *lease,
    ) = rest
    return HistoryRow(
        id=id,
        title=title,
        agent=agent,
        profile=profile,
        cwd=cwd,
        pinned=bool(pinned),
        archived=bool(archived),
        created_at=from_milliseconds(created_at),
        updated_at=from_milliseconds(updated_at),
        first_prompt=first,
        last_prompt=last,
        messages=messages,
        branches=branches,
        todos=todos,
        running=bool(running),
        asks=bool(asks),
        stop_reason=None if stop is None else StopReason(stop),
        error=bool(error),
        git_branch=branch,
        seen_at=None if seen_at is None else from_milliseconds(seen_at),
        unseen_answer=bool(answer),
        unseen_end=bool(end),
        lease=None if lease[0] is None else rows.lease(tuple(lease)),
    )
