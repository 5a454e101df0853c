"""Links: the chain of a conversation's sessions, parked ones too, the events on each, and what each carried."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Final

from catena_store.database import rows
from catena_store.database.database import Reader, Writer
from catena_store.errors import NotFound, SessionHeld, StoreError
from catena_store.ids import from_milliseconds
from catena_store.records import Kind, Link, LinkEvent, LinkState, NewLink, StopReason

BORN: Final = "born"
CARRIED: Final = "carried"  # a prompt went out; the view of a chain is ordered by this
LOADED: Final = "loaded"  # its agent opened it by a load that it survives but once
IMPORTED: Final = "imported"  # it came in a file, and is lost
LOOKED: Final = "looked"  # the session was probed; the detail says whether it still loads


class Unset(Enum):
    """The default of an argument for which None is a value."""

    UNSET = "unset"


UNSET: Final = Unset.UNSET


async def add(tx: Writer, new: NewLink) -> Link:
    """Add a link at the end of the conversation's chain.

    Raises SessionHeld where another link that is not lost has the session, StoreError for a blank session id,
    and NotFound where a pointer leads nowhere.
    """
    if not new.session_id.strip():
        raise StoreError("a session without an id cannot be saved")
    if new.state is not LinkState.LOST:
        await _check_free(tx, new.agent, new.profile, new.session_id)
    last = await tx.one(
        "SELECT coalesce(max(sequence), 0) FROM link WHERE conversation_id = ?", (new.conversation_id,)
    )
    assert last is not None
    await rows.LINKS.insert(tx, new, created_at=tx.now(), sequence=last[0] + 1)
    await record(tx, new.id, BORN)
    await tx.run(
        "DELETE FROM fork_intent WHERE made = ? AND agent = ? AND profile = ?",
        (new.session_id, new.agent, new.profile),
    )
    return await _existing(tx, new.id)


async def get(r: Reader, id: str) -> Link | None:
    """The link of an id."""
    row = await r.one(f"SELECT {rows.LINK} FROM link l WHERE l.id = ?", (id,))
    return None if row is None else rows.link(row)


async def of_conversation(r: Reader, id: str) -> list[Link]:
    """The conversation's links, in order of birth."""
    found = await r.all(
        f"SELECT {rows.LINK} FROM link l WHERE l.conversation_id = ? ORDER BY l.sequence", (id,)
    )
    return [rows.link(row) for row in found]


async def of_family(r: Reader, family: str, agent: str, profile: str) -> list[Link]:
    """The links of an agent and profile in the conversations of a family, lost ones too, oldest first."""
    found = await r.all(
        f"SELECT {rows.LINK} FROM conversation c CROSS JOIN link l ON l.conversation_id = c.id"
        " WHERE c.family = ? AND l.agent = ? AND l.profile = ? ORDER BY l.created_at, l.rowid",
        (family, agent, profile),
    )
    return [rows.link(row) for row in found]


async def open_elsewhere(r: Reader, conversation_id: str, agent: str, profile: str, cwd: str) -> list[Link]:
    """The conversation's open links of an agent with another profile, or in another directory, oldest first."""
    found = await r.all(
        f"SELECT {rows.LINK} FROM link l WHERE l.conversation_id = ? AND l.state = 'open' AND l.agent = ?"
        " AND (l.profile <> ? OR l.cwd <> ?) ORDER BY l.sequence",
        (conversation_id, agent, profile, cwd),
    )
    return [rows.link(row) for row in found]


async def by_session(r: Reader, agent: str, profile: str, session_id: str) -> Link | None:
    """The link of a session, lost links left out."""
    row = await r.one(
        f"SELECT {rows.LINK} FROM link l"
        " WHERE l.agent = ? AND l.profile = ? AND l.session_id = ? AND l.state <> 'lost'",
        (agent, profile, session_id),
    )
    return None if row is None else rows.link(row)


async def conversations_of_sessions(r: Reader, session_ids: Sequence[str]) -> dict[str, str]:
    """The conversations that hold these sessions, by session id: by any link, whatever its agent, cause and state.

    Where several do, it is the one whose link is not lost, else the newest.
    """
    found = await r.all(
        "SELECT l.session_id, l.conversation_id FROM json_each(?) CROSS JOIN link l ON l.session_id = value"
        " ORDER BY l.state = 'lost' DESC, l.created_at, l.rowid",
        (rows.as_list(list(session_ids)),),
    )
    return dict(found)


async def loaded(r: Reader, link_ids: Sequence[str]) -> set[str]:
    """Those of the links whose record has a ``LOADED``."""
    found = await r.all(
        "SELECT DISTINCT link_id FROM link_event"
        " WHERE event = ? AND link_id IN (SELECT value FROM json_each(?))",
        (LOADED, rows.as_list(link_ids)),
    )
    return {link_id for (link_id,) in found}


async def imported(r: Reader, link_id: str) -> bool:
    """True where the link came in a file of another store."""
    row = await r.one("SELECT 1 FROM link_event WHERE link_id = ? AND event = ?", (link_id, IMPORTED))
    return row is not None


async def move(
    tx: Writer,
    id: str,
    *,
    knows: str | Unset | None = UNSET,
    reach: str | Unset | None = UNSET,
    unabridged_from: str | Unset | None = UNSET,
    state: LinkState | Unset = UNSET,
    owner: str | Unset | None = UNSET,
    cost_total: float | Unset | None = UNSET,
    ended: str | Unset | None = UNSET,
    event: str | None = None,
    detail: str | None = None,
) -> Link:
    """Change the given fields of a link, count its version up, and record the event where one is given.

    Raises NotFound, and SessionHeld where a lost link is to be used again whose session another one has by now.
    """
    pointers = {
        name: pointer
        for name, pointer in (("knows", knows), ("reach", reach), ("whole", unabridged_from))
        if not isinstance(pointer, Unset)
    }
    at = await rows.rowids(tx, pointers.values())
    values: Mapping[str, object] = {
        **{name: at[pointer] for name, pointer in pointers.items()},
        **{
            name: value
            for name, value in (
                ("state", state),
                ("owner", owner),
                ("cost_total", cost_total),
                ("ended", ended),
            )
            if not isinstance(value, Unset)
        },
    }
    if isinstance(state, LinkState) and state is not LinkState.LOST:
        link = await _existing(tx, id)
        await _check_free(tx, link.agent, link.profile, link.session_id, except_for=id)
    assignments = "".join(f", {name} = ?" for name in values)
    await tx.run(f"UPDATE link SET version = version + 1{assignments} WHERE id = ?", (*values.values(), id))
    if event is not None:
        await record(tx, id, event, detail)
    return await _existing(tx, id)


async def record(
    tx: Writer, link_id: str, event: str, detail: str | None = None, *, again: bool = False
) -> None:
    """Add an event to the record of a link. Raises NotFound.

    An event that repeats the link's last one is not added, unless the same happened to another link of the
    conversation since (a session that goes on after another one did is news), or unless ``again`` asks for its time.
    """
    link = await tx.one("SELECT conversation_id FROM link WHERE id = ?", (link_id,))
    if link is None:
        raise NotFound("link", link_id)
    (conversation_id,) = link
    last = await tx.one(
        "SELECT id, event, detail FROM link_event WHERE link_id = ? ORDER BY id DESC LIMIT 1", (link_id,)
    )
    if last is not None and last[1:] == (event, detail) and not again:
        elsewhere = await tx.one(
            "SELECT 1 FROM link_event WHERE conversation_id = ? AND id > ? AND event = ? AND link_id <> ?"
            " LIMIT 1",
            (conversation_id, last[0], event, link_id),
        )
        if elsewhere is None:
            return
    await tx.run(
        "INSERT INTO link_event (conversation_id, link_id, event, detail, at) VALUES (?, ?, ?, ?, ?)",
        (conversation_id, link_id, event, detail, tx.now()),
    )


async def view(r: Reader, conversation_id: str, cap: int = 16) -> list[Link]:
    """The ``cap`` links that carried a prompt last, newest last."""
    found = await r.all(
        f"SELECT {rows.LINK} FROM ("
        "  SELECT link_id, max(id) AS used FROM link_event WHERE conversation_id = ? AND event = 'carried'"
        "  GROUP BY link_id ORDER BY used DESC LIMIT ?"
        ") AS v CROSS JOIN link l ON l.id = v.link_id ORDER BY v.used",
        (conversation_id, cap),
    )
    return [rows.link(row) for row in found]


async def _check_free(
    tx: Writer, agent: str, profile: str, session_id: str, *, except_for: str | None = None
) -> None:
    holder = await by_session(tx, agent, profile, session_id)
    if holder is not None and holder.id != except_for:
        raise SessionHeld(holder.id)


async def _existing(r: Reader, id: str) -> Link:
    link = await get(r, id)
    if link is None:
        raise NotFound("link", id)
    return link


_PARKED = "parked"  # the event whose detail is the duration


async def record_parking_time(tx: Writer, link_id: str, seconds: float) -> None:
    """Record how long the agent took to park a link. Raises NotFound."""
    await record(tx, link_id, _PARKED, f"{round(seconds * 1000)} ms")


async def last_parking_time(r: Reader, source: Link) -> float | None:
    """The seconds that the newest parked fork of a link took; None if there is none."""
    found = await r.one(
        "SELECT e.detail FROM link l JOIN link_event e ON e.link_id = l.id AND e.event = ?"
        " WHERE l.conversation_id = ? AND l.source_id = ? ORDER BY e.id DESC LIMIT 1",
        (_PARKED, source.conversation_id, source.id),
    )
    milliseconds = str(found[0] or "").partition(" ")[0] if found else ""
    return int(milliseconds) / 1000 if milliseconds.isdecimal() else None


async def has_parked_copy(r: Reader, source: Link) -> bool:
    """True where a parked link holds exactly what the link knows."""
    found = await r.one(
        "SELECT 1 FROM link l JOIN link s ON s.id = ? WHERE l.conversation_id = s.conversation_id"
        " AND l.state = 'parked' AND (l.agent, l.profile, l.cwd) = (s.agent, s.profile, s.cwd)"
        " AND l.knows = s.knows AND l.reach = s.knows AND l.whole IS s.whole LIMIT 1",
        (source.id,),
    )
    return found is not None


async def prunable_parked(r: Reader, conversation_id: str) -> list[Link]:
    """The conversation's parked links that no labelled checkpoint refers to, oldest first."""
    found = await r.all(
        f"SELECT {rows.LINK} FROM link l WHERE l.conversation_id = ? AND l.state = 'parked' AND l.cause = 'park'"
        " AND NOT EXISTS (SELECT 1 FROM checkpoint c WHERE c.conversation_id = l.conversation_id"
        "  AND c.label IS NOT NULL AND (c.link_id = l.id OR c.message_id = l.knows))"
        " ORDER BY l.sequence",
        (conversation_id,),
    )
    return [rows.link(row) for row in found]


_PREVIEW_CHARACTERS = 240
_COLUMNS = f"m.uid, m.kind, substr(m.text, 1, {_PREVIEW_CHARACTERS}), m.created_at"


@dataclass(frozen=True, slots=True)
class MessagePreview:
    """The beginning of a message."""

    id: str
    kind: Kind
    text: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class CarriedTurns:
    """The turns that a link carried, those that were not sent left out; ``newest`` orders links by use."""

    count: int
    newest: int
    first_turn: str
    last_turn: str


@dataclass(frozen=True, slots=True)
class LinkExtent:
    """The first and last message that a link carried, and how its newest turn ended."""

    first: MessagePreview | None
    last: MessagePreview | None
    cause: str | None  # in words, why context began to go over this link
    stop_reason: StopReason | None  # of its newest turn; None while that is open
    error: str | None


async def turns_by_link(r: Reader, link_ids: Collection[str]) -> dict[str, CarriedTurns]:
    """The turns that each of the links carried, of those that carried any."""
    found = await r.all(
        "SELECT c.link_id, c.turns, c.newest, f.id, l.id FROM ("
        "  SELECT t.link_id, count(*) AS turns, min(t.rowid) AS oldest, max(t.rowid) AS newest"
        "    FROM json_each(?) CROSS JOIN turn t ON t.link_id = value"
        "   WHERE t.stop_reason IS NOT 'not_sent' GROUP BY t.link_id"
        ") AS c CROSS JOIN turn f ON f.rowid = c.oldest CROSS JOIN turn l ON l.rowid = c.newest",
        (rows.as_list(list(link_ids)),),
    )
    return {
        link_id: CarriedTurns(turns, newest, first, last) for link_id, turns, newest, first, last in found
    }


async def extent(r: Reader, link_id: str, load: CarriedTurns) -> LinkExtent:
    """The extent of a link, given the turns that it carried."""
    first = await r.one(
        f"SELECT {_COLUMNS}, t.cause FROM turn t JOIN message m ON m.id = t.prompt_id WHERE t.id = ?",
        (load.first_turn,),
    )
    last = await r.one(
        f"SELECT {_COLUMNS} FROM message m WHERE m.link_id = ? AND m.kind IN ('user', 'agent')"
        " AND NOT EXISTS (SELECT 1 FROM turn t WHERE t.id = m.turn_id AND t.stop_reason = 'not_sent')"
        " ORDER BY m.id DESC LIMIT 1",
        (link_id,),
    )
    ended = await r.one("SELECT stop_reason, error FROM turn WHERE id = ?", (load.last_turn,))
    stop, error = ended or (None, None)
    return LinkExtent(
        first=_preview(first[:4]) if first else None,
        last=_preview(last) if last else None,
        cause=first[4] if first else None,
        stop_reason=StopReason(stop) if stop else None,
        error=error,
    )


async def previews(r: Reader, message_ids: Collection[str]) -> dict[str, MessagePreview]:
    """Previews of messages, by id."""
    found = await r.all(
        f"SELECT {_COLUMNS} FROM json_each(?) CROSS JOIN message m ON m.uid = value",
        (rows.as_list(list(message_ids)),),
    )
    return {row[0]: _preview(row) for row in found}


async def events_of_link(r: Reader, link_id: str) -> list[LinkEvent]:
    """The events of one link, oldest first."""
    found = await r.all(
        f"SELECT {rows.LINK_EVENT} FROM link_event e WHERE e.link_id = ? ORDER BY e.id", (link_id,)
    )
    return [rows.link_event(row) for row in found]


def _preview(row: tuple[Any, ...]) -> MessagePreview:
    id, kind, text, created_at = row
    return MessagePreview(id, Kind(kind), text, from_milliseconds(created_at))
