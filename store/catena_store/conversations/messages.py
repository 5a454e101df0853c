"""Messages: adding, changing and finding the rows of the tree, and walks from a leaf towards the root.

A walk is one recursive query that goes up from row to row; its end is part of the recursion, so that it reads no row
in vain. The queue of the recursion holds one row at most, so rows come out in the order of the walk, leaf first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from catena_store import ancestry
from catena_store.database import rows
from catena_store.database.database import Reader, Writer
from catena_store.errors import Ambiguous, NotFound, StoreError
from catena_store.ids import from_milliseconds
from catena_store.records import LOOKING_KINDS, BranchRow, Kind, Message, MessageState, NewMessage, StopReason

_INDEX = "INSERT INTO message_fts (rowid, text) SELECT id, text FROM message_indexed"
_UNINDEX = "INSERT INTO message_fts (message_fts, rowid, text) SELECT 'delete', id, text FROM message_indexed"

_NOTE_FILES = (
    "INSERT INTO conversation_file (conversation_id, path, message_id)"
    " SELECT conversation_id, path, message_id FROM message_file WHERE path <> '' AND {}"
    " ON CONFLICT (conversation_id, path) DO UPDATE SET message_id = max(message_id, excluded.message_id)"
)


async def insert(tx: Writer, new: NewMessage) -> Message:
    """Add a row below its parent. Raises NotFound for the parent."""
    (message,) = await insert_many(tx, [new])
    return message


async def insert_many(tx: Writer, new: Sequence[NewMessage]) -> list[Message]:
    """Add rows, each below its parent, which may be an earlier one of them. Raises NotFound."""
    if not new:
        return []
    outside = {each.parent_id for each in new if each.parent_id is not None}
    outside -= {each.id for each in new}
    parents = await tx.all(
        "SELECT uid, id, depth FROM message WHERE uid IN (SELECT value FROM json_each(?))",
        (rows.as_list(outside),),
    )
    last = await tx.one("SELECT coalesce(max(id), 0) FROM message")
    assert last is not None
    first_free: int = last[0] + 1
    places: dict[str | None, tuple[int | None, int]] = {None: (None, -1)}
    places.update({uid: (id, depth) for uid, id, depth in parents})
    now = from_milliseconds(tx.now())
    values: list[dict[str, object]] = []
    messages: list[Message] = []
    for id, each in enumerate(new, start=first_free):
        if each.parent_id not in places:
            raise NotFound("message", str(each.parent_id))
        parent, depth = places[each.parent_id]
        places[each.id] = (id, depth + 1)
        messages.append(each.as_stored(depth=depth + 1, at=now))
        values.append(rows.MESSAGES.stored(messages[-1], {each.parent_id: parent}, id=id))
    await rows.MESSAGES.insert_many(tx, values)
    if any(each.state is not MessageState.OPEN for each in new):
        await index_from(tx, first_free, tools=any(each.kind is Kind.TOOL for each in new))
    return messages


async def index_from(tx: Writer, first: int, *, tools: bool) -> None:
    """Enter the closed rows from a row number on into the full-text index; of tool calls also the files they name."""
    await tx.run(f"{_INDEX} WHERE id >= ?", (first,))
    if tools:
        await tx.run(_NOTE_FILES.format("message_id >= ?"), (first,))


async def get(r: Reader, id: str) -> Message | None:
    """The message of an id."""
    row = await r.one(f"SELECT {rows.MESSAGE} FROM message m WHERE m.uid = ?", (id,))
    return None if row is None else rows.message(row)


async def append(tx: Writer, id: str, text: str) -> None:
    """Append text to an open message. Raises NotFound, and StoreError where the message is closed."""
    if await tx.run("UPDATE message SET text = text || ? WHERE uid = ? AND state = 'open'", (text, id)):
        return
    await _existing(tx, id)
    raise StoreError(f"message {id!r} is closed: it does not grow any more")


async def update(
    tx: Writer,
    id: str,
    *,
    text: str | None = None,
    data: Mapping[str, Any] | None = None,
    state: MessageState | None = None,
) -> Message:
    """Change the given fields of a message; a message that closes enters the full-text index. Raises NotFound."""
    concerns_index = text is not None or state is not None
    if concerns_index:
        # The index forgets a row by the text that it holds of it, so it is told before that text changes.
        await tx.run(f"{_UNINDEX} WHERE uid = ?", (id,))
    await tx.run(
        "UPDATE message SET text = coalesce(?, text), data = coalesce(?, data), state = coalesce(?, state)"
        " WHERE uid = ?",
        (text, None if data is None else rows.as_json(data), state, id),
    )
    if concerns_index:
        await tx.run(f"{_INDEX} WHERE uid = ?", (id,))
    message = await _existing(tx, id)
    if message.kind is Kind.TOOL and message.state is not MessageState.OPEN:
        await tx.run(_NOTE_FILES.format("message_id = (SELECT id FROM message WHERE uid = ?)"), (id,))
    return message


async def set_turn(tx: Writer, id: str, turn_id: str, link_id: str) -> Message:
    """Set the turn of a prompt and the link that carries it, of its latest attempt. Raises NotFound."""
    await tx.run("UPDATE message SET turn_id = ?, link_id = ? WHERE uid = ?", (turn_id, link_id, id))
    return await _existing(tx, id)


async def set_agent_id(tx: Writer, id: str, agent_message_id: str) -> None:
    """Set the agent's own id of a prompt, which comes after the prompt was accepted. Raises NotFound."""
    if not await tx.run("UPDATE message SET agent_message_id = ? WHERE uid = ?", (agent_message_id, id)):
        raise NotFound("message", id)


async def refused_below(r: Reader, conversation_id: str, parent_id: str | None, text: str) -> Message | None:
    """The newest refused prompt of a text below a row."""
    found = await r.one(
        "SELECT uid FROM message INDEXED BY message_refused"
        " WHERE conversation_id = ? AND kind = 'user' AND state = 'refused' AND text = ?"
        " AND parent_id IS (SELECT id FROM message WHERE uid = ?) ORDER BY id DESC LIMIT 1",
        (conversation_id, text, parent_id),
    )
    return await _existing(r, found[0]) if found else None


async def seam_of(r: Reader, turn_id: str) -> Message | None:
    """The seam of a turn, None where the way that its context took was the same as before."""
    row = await r.one(
        f"SELECT {rows.MESSAGE} FROM message m WHERE m.turn_id = ? AND m.kind = 'seam'", (turn_id,)
    )
    return None if row is None else rows.message(row)


async def close_open(tx: Writer, turn_id: str, state: MessageState) -> list[Message]:
    """Close the open messages of a turn; return them in order of birth."""
    still = await tx.all(
        "SELECT uid FROM message WHERE turn_id = ? AND state = 'open' ORDER BY id", (turn_id,)
    )
    return [await update(tx, uid, state=state) for (uid,) in still]


async def last_turn(r: Reader, leaf: str | None) -> list[Message]:
    """The rows from the branch's last prompt to its leaf, oldest first; all below the last barrier if there is none."""
    return await _walk(
        r,
        f"""
        WITH RECURSIVE branch (id, parent_id, last) AS (
            SELECT m.id, m.parent_id, {rows.IS_PROMPT} FROM message m WHERE m.uid = ?1 AND NOT m.barrier
            UNION ALL
            SELECT m.id, m.parent_id, {rows.IS_PROMPT}
              FROM branch b CROSS JOIN message m ON m.id = b.parent_id
             WHERE NOT b.last AND NOT m.barrier
        )
        """,
        "true",
        (leaf,),
    )


async def page(r: Reader, leaf: str | None, limit: int) -> list[Message]:
    """The ``limit`` rows that end with the leaf, oldest first, barriers and what is above them included.

    The page above is ``page(r, rows[0].parent_id, limit)``.
    """
    return await _walk(
        r,
        """
        WITH RECURSIVE branch (id, parent_id, taken) AS (
            SELECT id, parent_id, 1 FROM message WHERE uid = ?1 AND ?2 > 0
            UNION ALL
            SELECT m.id, m.parent_id, b.taken + 1 FROM branch b CROSS JOIN message m ON m.id = b.parent_id
             WHERE b.taken < ?2
        )
        """,
        "true",
        (leaf, limit),
    )


async def page_from(r: Reader, leaf: str, top: int, limit: int) -> list[Message]:
    """At most ``limit`` rows of the leaf's branch, oldest first; the first has ``top`` rows above it. Raises NotFound.

    The page below is ``page_from(r, leaf, top + len(rows), limit)``; below the leaf it is empty.
    """
    bottom = min(top + limit - 1, await depth(r, leaf))
    if bottom < top:
        return []
    return await page(r, await ancestry.at_depth(r, leaf, bottom), bottom - top + 1)


async def numbered(r: Reader, leaf: str | None) -> list[str]:
    """The ids of the prompts, answers and tool calls of a branch, oldest first; every row of it is walked."""
    found = await r.all(
        """
        WITH RECURSIVE branch (id, parent_id, uid, kind) AS (
            SELECT id, parent_id, uid, kind FROM message WHERE uid = ?
            UNION ALL
            SELECT m.id, m.parent_id, m.uid, m.kind FROM branch b CROSS JOIN message m ON m.id = b.parent_id
        )
        SELECT uid FROM branch WHERE kind IN ('user', 'agent', 'tool')
        """,
        (leaf,),
    )
    return [str(uid) for (uid,) in reversed(found)]


async def spoken_between(r: Reader, after: str | None, leaf: str | None, limit: int) -> list[Message]:
    """The newest user and agent rows on (after, leaf] below the last barrier, oldest first."""
    return await _walk(
        r,
        """
        WITH RECURSIVE branch (id, parent_id, kind, barrier, counted) AS (
            SELECT id, parent_id, kind, barrier, kind IN ('user', 'agent') FROM message
             WHERE uid = ?2 AND uid IS NOT ?1
            UNION ALL
            SELECT m.id, m.parent_id, m.kind, m.barrier, b.counted + (m.kind IN ('user', 'agent'))
              FROM branch b CROSS JOIN message m ON m.id = b.parent_id
             WHERE NOT b.barrier AND b.counted < ?3 AND m.uid IS NOT ?1
        )
        """,
        "b.kind IN ('user', 'agent') AND ?3 > 0",
        (after, leaf, limit),
    )


async def newest_tools(r: Reader, leaf: str | None, limit: int) -> list[Message]:
    """The newest tool rows of the branch, those of subagents included, oldest first, barriers crossed."""
    return await _walk(
        r,
        """
        WITH RECURSIVE branch (id, taken) AS (
            SELECT a.tool_id, 0
              FROM message m CROSS JOIN ancestry a ON a.id = m.id WHERE m.uid = ?1 AND ?2 > 0
            UNION ALL
            SELECT p.tool_id, b.taken + 1
              FROM branch b CROSS JOIN ancestry a ON a.id = b.id CROSS JOIN ancestry p ON p.id = a.parent_id
             WHERE b.id > 0 AND b.taken + 1 < ?2
        )
        """,
        "b.id > 0",
        (leaf, limit),
    )


async def tools_of_turns(r: Reader, turn_ids: Collection[str], text: str, limit: int) -> list[Message]:
    """The newest tool rows of turns whose data contains a text, oldest first."""
    found = await r.all(
        f"SELECT {rows.MESSAGE} FROM json_each(?1) CROSS JOIN message m INDEXED BY message_turn ON m.turn_id = value"
        " WHERE m.kind = 'tool' AND instr(m.data, ?2) > 0 ORDER BY m.id DESC LIMIT ?3",
        (rows.as_list(list(turn_ids)), text, limit),
    )
    return [rows.message(row) for row in reversed(found)]


_SHORTEST = 4  # letters of an id that name a message

# Of the row `m`: a tool call that only looks at something. Every MCP tool counts as acting, and every subagent.
_LOOKS = (
    "(coalesce(m.data ->> '$.kind', '') IN (SELECT value FROM json_each(?4))"
    " AND coalesce(m.data ->> '$.name', '') NOT LIKE 'mcp%' AND coalesce(m.data ->> '$.title', '') NOT LIKE 'mcp%'"
    " AND m.data -> '$.raw_input.subagent_type' IS NULL)"
)
# Of the row's turn, as `t`; one that was lost counts as finished.
_END_OF_TURN = (
    "iif(t.id IS NULL, 'end_turn', t.stop_reason), t.error, (SELECT z.spoken + z.tools > a.spoken + a.tools"
    " FROM ancestry a CROSS JOIN ancestry z ON z.id = t.last_id WHERE a.id = m.id)"
)
_CALL = 40  # characters of the shortest line that tells of a call
_ARGUMENTS = 600  # of a call's arguments that count at most
_MOST_LOOKING = 400  # calls
_MOST_CALLS = 4_000  # that are walked over


async def told_between(
    r: Reader, after: str | None, leaf: str | None, *, characters: int, longest: int, each: int, calls: int
) -> tuple[list[BranchRow], list[BranchRow]]:
    """The newest user, agent and plan rows on (after, leaf] below the last barrier, and its tool rows, oldest first.

    They are as many as have so many characters, and one more: each message counts with its text, of which ``longest``
    at most, and ``each``; for tool rows see ``calls_between``, which ``calls`` is for.
    """
    cost = "CASE WHEN m.kind IN ('user', 'agent') THEN min(length(m.text), ?4) + ?5 ELSE 0 END"
    spoken = f"""
        WITH RECURSIVE branch (id, parent_id, kind, barrier, spent) AS (
            SELECT m.id, m.parent_id, m.kind, m.barrier, {cost} FROM message m
             WHERE m.uid = ?2 AND m.uid IS NOT ?1 AND ?3 > 0
            UNION ALL
            SELECT m.id, m.parent_id, m.kind, m.barrier, b.spent + {cost}
              FROM branch b CROSS JOIN message m ON m.id = b.parent_id
             WHERE NOT b.barrier AND b.spent <= ?3 AND m.uid IS NOT ?1
        )
        SELECT {rows.MESSAGE}, {_END_OF_TURN} FROM branch b CROSS JOIN message m ON m.id = b.id
          LEFT JOIN turn t ON t.id = m.turn_id
         WHERE b.kind IN ('user', 'agent', 'plan')
        """
    said, called = await r.all_of(
        (spoken, (after, leaf, characters, longest, each)), _calls_between(after, leaf, calls)
    )
    return _branch_rows(said), _branch_rows(called)


async def calls_between(
    r: Reader, after: str | None, leaf: str | None, *, characters: int
) -> list[BranchRow]:
    """The newest tool rows on (after, leaf] below the last barrier, oldest first, without those of subagents.

    Calls that act are at least as many as can be told in so many characters; of those that only look, 400 are read at
    most, and without what they were given and found.
    """
    return _branch_rows(await r.all(*_calls_between(after, leaf, characters)))


def _calls_between(after: str | None, leaf: str | None, characters: int) -> tuple[str, tuple[object, ...]]:
    # A step is at one row and has what the row below it costs, None of a call that only looks: so a row's data, which
    # may be long, is taken apart once.
    of_call = f"{_CALL} + min({_ARGUMENTS}, length(coalesce(m.data ->> '$.raw_input', '')))"
    bare = "json_remove(m.data, '$.content', '$.told_diffs', '$.raw_input', '$.raw_output')"
    sql = f"""
        WITH RECURSIVE branch (id, above, walked, looked, spent, tool_id, counts, cost) AS (
            SELECT a.tool_id, max(a.barrier_id, coalesce((SELECT id FROM message WHERE uid = ?1), 0)), 0, 0, 0,
                   NULL, 0, 0
              FROM message m CROSS JOIN ancestry a ON a.id = m.id WHERE m.uid = ?2 AND ?3 > 0
            UNION ALL
            SELECT p.tool_id, b.above, b.walked + 1, b.looked + (b.cost IS NULL),
                   b.spent + iif(b.counts, coalesce(b.cost, 0), 0),
                   b.id, a.tools > coalesce(p.tools, 0), iif({_LOOKS}, NULL, {of_call})
              FROM branch b CROSS JOIN ancestry a ON a.id = b.id CROSS JOIN message m ON m.id = b.id
              LEFT JOIN ancestry p ON p.id = a.parent_id
             WHERE b.id > b.above AND b.spent <= ?3 AND b.walked < {_MOST_CALLS}
        )
        SELECT {rows.MESSAGE.replace("m.data", f"iif(b.cost IS NULL, {bare}, m.data)")}, {_END_OF_TURN}
          FROM branch b CROSS JOIN message m ON m.id = b.tool_id LEFT JOIN turn t ON t.id = m.turn_id
         WHERE b.counts AND (b.cost IS NOT NULL OR b.looked < {_MOST_LOOKING})
         ORDER BY m.id DESC
        """
    return sql, (after, leaf, characters, rows.as_list(sorted(LOOKING_KINDS)))


async def count_between(r: Reader, after: str | None, leaf: str | None) -> tuple[int, int]:
    """The numbers of user and agent rows and of tool rows on (after, leaf] below the last barrier."""
    path = await ancestry.path(r, leaf, [after] if after else [])
    return path.unknown_to(after)


async def of_conversation(r: Reader, id: str) -> list[Message]:
    """Every row born in the conversation, in order of birth."""
    sql = f"SELECT {rows.MESSAGE} FROM message m WHERE m.conversation_id = ? ORDER BY m.id"
    return _messages(await r.all(sql, (id,)))


async def born_after(r: Reader, conversation_id: str, after: str | None, limit: int) -> list[Message]:
    """The oldest ``limit`` rows born in the conversation, in order of birth; after a row where one is given."""
    sql = (
        f"SELECT {rows.MESSAGE} FROM message m WHERE m.conversation_id = ?1"
        " AND m.id > coalesce((SELECT id FROM message WHERE uid = ?2), 0) ORDER BY m.id LIMIT ?3"
    )
    return _messages(await r.all(sql, (conversation_id, after, limit)))


async def newest(r: Reader, conversation_id: str) -> str | None:
    """The newest row born in the conversation, refused prompts included."""
    row = await r.one(
        "SELECT uid FROM message WHERE id = (SELECT max(message_id) FROM branch_end WHERE conversation_id = ?)",
        (conversation_id,),
    )
    return None if row is None else str(row[0])


async def first_prompt(r: Reader, conversation_id: str) -> str | None:
    """The text of the first prompt born in the conversation."""
    row = await r.one(
        "SELECT text FROM message WHERE conversation_id = ? AND kind = 'user' ORDER BY id LIMIT 1",
        (conversation_id,),
    )
    return None if row is None else str(row[0])


async def was_cleared(r: Reader, conversation_id: str) -> bool:
    """True if the conversation has a barrier, and two prompts or more."""
    row = await r.one(
        "SELECT EXISTS (SELECT 1 FROM message INDEXED BY message_barrier WHERE conversation_id = ?1 AND barrier)"
        " AND (SELECT count(*) FROM (SELECT 1 FROM message WHERE conversation_id = ?1 AND kind = 'user' LIMIT 2)) = 2",
        (conversation_id,),
    )
    return row is not None and bool(row[0])


async def depth(r: Reader, id: str) -> int:
    """The number of rows above a message. Raises NotFound."""
    row = await r.one("SELECT depth FROM message WHERE uid = ?", (id,))
    if row is None:
        raise NotFound("message", id)
    return int(row[0])


async def open_rows(r: Reader, conversation_id: str) -> list[Message]:
    """The open rows of the conversation, in order of birth."""
    return _messages(
        await r.all(
            f"SELECT {rows.MESSAGE} FROM message m WHERE m.conversation_id = ? AND m.state = 'open'"
            " ORDER BY m.id",
            (conversation_id,),
        )
    )


async def _walk(r: Reader, branch: str, where: str, parameters: Sequence[object]) -> list[Message]:
    """The messages of a walk, oldest first."""
    sql = f"{branch} SELECT {rows.MESSAGE} FROM branch b CROSS JOIN message m ON m.id = b.id WHERE {where}"
    return _messages(reversed(await r.all(sql, parameters)))


def _branch_rows(found: Sequence[rows.Row]) -> list[BranchRow]:
    """The messages of a walk with the ends of their turns, oldest first."""
    return [
        BranchRow(
            rows.message(row[:-3]), None if row[-3] is None else StopReason(row[-3]), row[-2], bool(row[-1])
        )
        for row in reversed(found)
    ]


async def _existing(r: Reader, id: str) -> Message:
    message = await get(r, id)
    if message is None:
        raise NotFound("message", id)
    return message


def _messages(found: Iterable[rows.Row]) -> list[Message]:
    return [rows.message(row) for row in found]


async def find(r: Reader, conversation_id: str, text: str) -> Message:
    """The message of an id or of the beginning of one, in a conversation and what it inherits from its source.

    A beginning has at least four letters: fewer may be meant as a number. Raises NotFound, and Ambiguous where several
    begin so.
    """
    if not text:
        raise NotFound("message", text)
    found = await r.all(
        "SELECT m.uid, m.conversation_id, p.uid FROM message m"
        " CROSS JOIN conversation c ON c.id = m.conversation_id"
        " CROSS JOIN conversation own ON own.id = ?2 AND own.family = c.family"
        " LEFT JOIN message p ON p.id = own.fork_point_id"
        f" WHERE {rows.begins_with('m.uid')} ORDER BY m.uid",
        (text, conversation_id),
    )
    point = next((point for *_, point in found), None)
    inherited = await ancestry.among(
        r, point, [uid for uid, born_in, _ in found if born_in != conversation_id]
    )
    matches = [uid for uid, born_in, _ in found if born_in == conversation_id or uid in inherited]
    exact = next((uid for uid in matches if uid == text), None)
    if exact is None and len(matches) > 1:
        raise Ambiguous("message", text, matches)
    if exact is None and len(text) < _SHORTEST:
        raise NotFound("message", text)
    one = await get(r, exact or matches[0]) if matches else None
    if one is None:
        raise NotFound("message", text)
    return one
