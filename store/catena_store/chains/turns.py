"""Turns: one row for each attempt at a prompt, open until its end is known; and turns as a person knows them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from catena_store import ancestry
from catena_store.database import rows
from catena_store.database.database import Reader, Writer
from catena_store.errors import NotFound, StoreError
from catena_store.ids import from_milliseconds
from catena_store.records import StopReason, Turn
from catena_store.snapshots import files_place

_CLEAN = tuple(reason.value for reason in StopReason if reason.clean)


async def insert(tx: Writer, turn: Turn) -> None:
    """Add a turn. Raises NotFound where one of its messages is missing."""
    await rows.TURNS.insert(tx, turn)


async def get(r: Reader, id: str) -> Turn | None:
    """The turn of an id."""
    row = await r.one(f"SELECT {rows.TURN} FROM turn t WHERE t.id = ?", (id,))
    return None if row is None else rows.turn(row)


async def set_last(tx: Writer, turn_id: str, message_id: str) -> None:
    """Set the turn's last row. Raises NotFound."""
    last = (await rows.rowids(tx, [message_id]))[message_id]
    if not await tx.run("UPDATE turn SET last_id = ? WHERE id = ?", (last, turn_id)):
        raise NotFound("turn", turn_id)


async def end(
    tx: Writer,
    turn_id: str,
    *,
    stop_reason: StopReason,
    error: str | None = None,
    usage: Mapping[str, Any] | None = None,
    cost: float | None = None,
    currency: str | None = None,
    model: str | None = None,
    mode: str | None = None,
    unabridged_from: str | None = None,
    kept: str | None = None,
) -> Turn:
    """End an open turn, and let the files stand there; a field that is None keeps its value.

    Raises NotFound, and StoreError where the turn has ended before.
    """
    await set_asking(tx, turn_id, False)
    unabridged_row = (await rows.rowids(tx, [unabridged_from]))[unabridged_from]
    changed = await tx.run(
        "UPDATE turn SET"
        " stop_reason = ?, ended_at = ?, error = coalesce(?, error), usage = coalesce(?, usage),"
        " cost = coalesce(?, cost), currency = coalesce(?, currency), model = coalesce(?, model),"
        " mode = coalesce(?, mode), whole_id = coalesce(?, whole_id), kept = ?"
        " WHERE id = ? AND stop_reason IS NULL",
        (
            stop_reason,
            tx.now(),
            error,
            None if usage is None else rows.as_json(usage),
            cost,
            currency,
            model,
            mode,
            unabridged_row,
            kept,
            turn_id,
        ),
    )
    turn = await get(tx, turn_id)
    if turn is None:
        raise NotFound("turn", turn_id)
    if not changed:
        raise StoreError(f"turn {turn_id!r} has ended already ({turn.stop_reason})")
    if stop_reason is not StopReason.NOT_SENT:
        await files_place.end_turn(tx, turn_id, turn.conversation_id, turn.window_id, turn.last_id)
    return turn


async def set_asking(tx: Writer, turn_id: str, asking: bool) -> None:
    """Note that the agent of an open turn waits for an answer of the person, or that it no longer does."""
    if asking:
        await tx.run(
            "INSERT INTO turn_asking (turn_id, asked_at)"
            " SELECT id, ?2 FROM turn WHERE id = ?1 AND stop_reason IS NULL ON CONFLICT DO NOTHING",
            (turn_id, tx.now()),
        )
        return
    await tx.run(
        "UPDATE turn SET waited = turn.waited + max(0, ?2 - a.asked_at)"
        " FROM turn_asking a WHERE a.turn_id = turn.id AND turn.id = ?1",
        (turn_id, tx.now()),
    )
    await tx.run("DELETE FROM turn_asking WHERE turn_id = ?", (turn_id,))


async def open_in(r: Reader, conversation_id: str) -> list[Turn]:
    """The conversation's open turns, oldest first."""
    # By itself SQLite would go through all turns of the conversation, which it has in this order.
    open_turns = "turn t INDEXED BY turn_open"
    return await _select(r, "t.conversation_id = ? AND t.stop_reason IS NULL", conversation_id, of=open_turns)


async def busy_links(r: Reader, link_ids: Sequence[str]) -> set[str]:
    """Those of the links that carry an open turn."""
    found = await r.all(
        "SELECT t.link_id FROM json_each(?) CROSS JOIN turn t INDEXED BY turn_open_link"
        " ON t.link_id = value AND t.stop_reason IS NULL",
        (rows.as_list(link_ids),),
    )
    return {link_id for (link_id,) in found}


async def any_before(r: Reader, link_id: str, row_id: str) -> bool:
    """True if the link has a turn whose prompt stands before a row of its branch."""
    sql = (
        "SELECT 1 FROM turn WHERE link_id = ? AND prompt_id < (SELECT id FROM message WHERE uid = ?) LIMIT 1"
    )
    return await r.one(sql, (link_id, row_id)) is not None


async def of_conversation(r: Reader, id: str) -> list[Turn]:
    """The conversation's turns, oldest first."""
    return await _select(r, "t.conversation_id = ?", id)


# What a link carried lies on one branch, which ends with its newest turn. ``met.a`` is where that meets ours.
_CARRIED = (
    """
    WITH RECURSIVE pair (tag, a, b) AS (
        SELECT l.id, m.id, (SELECT last_id FROM turn WHERE link_id = l.id ORDER BY prompt_id DESC LIMIT 1)
          FROM {links} WHERE m.uid = ?1
    ),
"""
    + ancestry.MEETING
)


_OF_FAMILY = """
    message m CROSS JOIN conversation o ON o.id = m.conversation_id CROSS JOIN conversation c ON c.family = o.family
    CROSS JOIN link l ON l.conversation_id = c.id AND (?2 IS NULL OR l.agent = ?2)
"""


async def clean_above(r: Reader, link_ids: Sequence[str], leaf: str | None, *, limit: int) -> list[Turn]:
    """The newest ``limit`` cleanly ended turns of each link that lie on a branch, oldest first."""
    clean = ", ".join(f"'{reason}'" for reason in _CLEAN)
    found = await r.all(
        f"""
        {_CARRIED.format(links="message m CROSS JOIN json_each(?2) CROSS JOIN link l ON l.id = value")}
        SELECT {rows.TURN} FROM met CROSS JOIN turn t ON t.rowid IN (
            SELECT n.rowid FROM turn n
             WHERE n.link_id = met.tag AND n.prompt_id < met.a AND n.last_id <= met.a
               AND n.stop_reason IN ({clean}) AND n.error IS NULL
             ORDER BY n.prompt_id DESC LIMIT ?3
        ) WHERE met.a = met.b ORDER BY t.started_at, t.rowid
        """,
        (leaf, rows.as_list(link_ids), limit),
    )
    return [rows.turn(row) for row in found]


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """The agent's own ids of a turn's prompt and of its last content row; None where the agent gave none.

    ``answer`` is None, too, where that row is not the agent's: the result of a tool call, or what the person said.
    """

    prompt: str | None
    answer: str | None


async def ends(r: Reader, turn_ids: Collection[str]) -> dict[str, TurnEnd]:
    """The ends of turns, by their ids; thoughts, plans and notices behind the last content row do not count."""
    found = await r.all(
        """
        SELECT t.id, p.agent_message_id, CASE WHEN m.kind = 'agent' THEN m.agent_message_id END
          FROM json_each(?1) CROSS JOIN turn t ON t.id = value CROSS JOIN message p ON p.id = t.prompt_id
         CROSS JOIN message m ON m.id = (
            SELECT n.id FROM message n
             WHERE n.turn_id = t.id AND n.id <= t.last_id AND n.kind IN ('user', 'agent', 'tool')
             ORDER BY n.id DESC LIMIT 1
        )
        """,
        (rows.as_list(list(turn_ids)),),
    )
    return {id: TurnEnd(prompt, answer) for id, prompt, answer in found}


async def links_on(r: Reader, leaf: str | None) -> set[str]:
    """The ids of the links that carried a turn of the branch, barriers crossed."""
    found = await r.all(
        f"""
        {_CARRIED.format(links=_OF_FAMILY)}
        SELECT met.tag FROM met WHERE met.a = met.b AND EXISTS (
            SELECT 1 FROM turn n CROSS JOIN message p ON p.id = n.prompt_id
             WHERE n.link_id = met.tag AND n.prompt_id <= met.a
               AND p.turn_id = n.id AND n.stop_reason IS NOT 'not_sent'
        )
        """,
        (leaf, None),
    )
    return {link_id for (link_id,) in found}


async def carriers(r: Reader, prompts: Collection[str]) -> dict[str, set[str]]:
    """The links that carried turns of each of these prompts."""
    found = await r.all(
        "SELECT m.uid, t.link_id FROM json_each(?1) CROSS JOIN message m ON m.uid = value"
        " CROSS JOIN turn t ON t.prompt_id = m.id",
        (rows.as_list({*prompts}),),
    )
    carried: dict[str, set[str]] = {}
    for prompt, link in found:
        carried.setdefault(prompt, set()).add(link)
    return carried


async def newest_on(r: Reader, leaf: str | None, agent: str | None = None) -> str | None:
    """The id of the newest turn on the branch, or of the newest that went to an agent, under any profile."""
    row = await r.one(
        f"""
        {_CARRIED.format(links=_OF_FAMILY)}
        SELECT t.id FROM met CROSS JOIN turn t ON t.rowid = (
            SELECT n.rowid FROM turn n
             WHERE n.link_id = met.tag AND n.prompt_id <= met.a AND n.stop_reason IS NOT 'not_sent'
             ORDER BY n.prompt_id DESC, n.rowid DESC LIMIT 1
        ) WHERE met.a = met.b ORDER BY t.prompt_id DESC, t.rowid DESC LIMIT 1
        """,
        (leaf, agent),
    )
    return None if row is None else str(row[0])


@dataclass(frozen=True, slots=True)
class TurnPlace:
    """The place of a turn among those of a branch."""

    turn_id: str
    number: int  # from 1
    total: int
    before: str | None  # the turn before, and the next one
    after: str | None


async def place_on(r: Reader, leaf: str | None, turn_id: str | None = None) -> TurnPlace | None:
    """The place of a turn on a branch, barriers crossed, or of its newest; None for one that is not on it."""
    row = await r.one(
        f"""
        {_CARRIED.format(links=_OF_FAMILY)},
        carried AS (
            SELECT n.id, row_number() OVER branch AS number, count(*) OVER () AS total,
                   lag(n.id) OVER branch AS before, lead(n.id) OVER branch AS after
              FROM met CROSS JOIN turn n ON n.link_id = met.tag AND n.prompt_id <= met.a
             CROSS JOIN message p ON p.id = n.prompt_id
             WHERE met.a = met.b AND p.turn_id = n.id AND n.stop_reason IS NOT 'not_sent'
            WINDOW branch AS (ORDER BY n.prompt_id)
        )
        SELECT * FROM carried WHERE CASE WHEN ?3 IS NULL THEN number = total ELSE id = ?3 END
        """,
        (leaf, None, turn_id),
    )
    return None if row is None else TurnPlace(*row)


async def clean_among(r: Reader, turn_ids: Collection[str]) -> set[str]:
    """Those of the turns that ended cleanly."""
    places = ", ".join("?" * len(_CLEAN))
    found = await r.all(
        "SELECT id FROM turn WHERE id IN (SELECT value FROM json_each(?)) AND error IS NULL"
        f" AND stop_reason IN ({places})",
        (rows.as_list(list(turn_ids)), *_CLEAN),
    )
    return {row[0] for row in found}


@dataclass(frozen=True, slots=True)
class BadlyEnded:
    """A turn that ended, and not cleanly."""

    id: str
    link_id: str
    stop_reason: StopReason
    told: bool  # prior context went out with its prompt
    has_tools: bool
    kept: str | None  # what its session was taken to keep of it


async def badly_ended(r: Reader, turn_ids: Collection[str]) -> dict[str, BadlyEnded]:
    """Those of the turns that were sent and did not end cleanly, by id."""
    places = ", ".join("?" * len(_CLEAN))
    found = await r.all(
        "SELECT t.id, t.link_id, t.stop_reason, t.told_total + t.tools_listed > 0,"
        " EXISTS (SELECT 1 FROM message m WHERE m.turn_id = t.id AND m.kind = 'tool'), t.kept FROM turn t"
        " WHERE t.id IN (SELECT value FROM json_each(?)) AND t.stop_reason IS NOT 'not_sent'"
        f" AND NOT (t.error IS NULL AND t.stop_reason IN ({places}))",
        (rows.as_list(list(turn_ids)), *_CLEAN),
    )
    return {
        id: BadlyEnded(id, link, StopReason(stop), bool(told), bool(tools), kept)
        for id, link, stop, told, tools, kept in found
    }


async def seconds_of(r: Reader, turn_ids: Collection[str]) -> float:
    """The seconds for which the agents worked in those of the turns that have ended."""
    found = await r.one(
        "SELECT coalesce(sum(max(0, ended_at - started_at - waited)), 0) FROM turn"
        " WHERE id IN (SELECT value FROM json_each(?)) AND ended_at IS NOT NULL",
        (rows.as_list(list(turn_ids)),),
    )
    return found[0] / 1000 if found else 0.0


async def _select(r: Reader, where: str, *parameters: object, of: str = "turn t") -> list[Turn]:
    found = await r.all(
        f"SELECT {rows.TURN} FROM {of} WHERE {where} ORDER BY t.started_at, t.rowid", parameters
    )
    return [rows.turn(row) for row in found]


_PREVIEW = 400  # characters of a prompt


@dataclass(frozen=True, slots=True)
class TurnPrompt:
    """A turn, with the prompt that began it."""

    turn_id: str
    conversation_id: str
    title: str | None  # of the conversation
    opening: str  # the beginning of its first prompt, which stands for a title
    prompt_id: str
    preview: str  # the beginning of its text
    deleted: bool  # the conversation was
    agent: str
    profile: str
    began_at: datetime


async def prompts_of_turns(r: Reader, turn_ids: Collection[str]) -> dict[str, TurnPrompt]:
    """The prompts of turns, by turn."""
    found = await r.all(
        f"""
        SELECT t.id, t.conversation_id, c.title,
               (SELECT substr(f.text, 1, {_PREVIEW}) FROM message f
                 WHERE f.conversation_id = c.id AND f.kind = 'user' ORDER BY f.id LIMIT 1),
               p.uid, substr(p.text, 1, {_PREVIEW}),
               c.deleted_at IS NOT NULL, l.agent, l.profile, t.started_at
          FROM json_each(?) CROSS JOIN turn t ON t.id = value
         CROSS JOIN conversation c ON c.id = t.conversation_id
         CROSS JOIN message p ON p.id = t.prompt_id CROSS JOIN link l ON l.id = t.link_id
        """,
        (rows.as_list(list(turn_ids)),),
    )
    return {
        id: TurnPrompt(
            id,
            conversation,
            title,
            opening or "",
            prompt,
            text,
            bool(deleted),
            agent,
            profile,
            from_milliseconds(at),
        )
        for id, conversation, title, opening, prompt, text, deleted, agent, profile, at in found
    }
