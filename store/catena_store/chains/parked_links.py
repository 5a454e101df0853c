"""Parked links: native forks at the ends of turns, which are forked and never prompted."""

from __future__ import annotations

from catena_store.chains import links
from catena_store.database import rows
from catena_store.database.database import Reader, Writer
from catena_store.records import Link

_PARKED = "parked"  # the event whose detail is the duration


async def record_duration(tx: Writer, link_id: str, seconds: float) -> None:
    """Record how long the agent took to park a link. Raises NotFound."""
    await links.record(tx, link_id, _PARKED, f"{round(seconds * 1000)} ms")


async def last_duration(r: Reader, source: Link) -> float | None:
    """The seconds that the newest parked fork of a link took; None if there is none."""
    found = await r.one(
        "SELECT e.detail FROM link l JOIN link_event e ON e.link_id = l.id AND e.event = ?"
        " WHERE l.conversation_id = ? AND l.source_id = ? ORDER BY e.id DESC LIMIT 1",
        (_PARKED, source.conversation_id, source.id),
    )
    milliseconds = str(found[0] or "").partition(" ")[0] if found else ""
    return int(milliseconds) / 1000 if milliseconds.isdecimal() else None


async def has_copy(r: Reader, source: Link) -> bool:
    """True where a parked link holds exactly what the link knows."""
    found = await r.one(
        "SELECT 1 FROM link l JOIN link s ON s.id = ? WHERE l.conversation_id = s.conversation_id"
        " AND l.state = 'parked' AND (l.agent, l.profile, l.cwd) = (s.agent, s.profile, s.cwd)"
        " AND l.knows = s.knows AND l.reach = s.knows AND l.whole IS s.whole LIMIT 1",
        (source.id,),
    )
    return found is not None


async def prunable(r: Reader, conversation_id: str) -> list[Link]:
    """The conversation's parked links that no labelled checkpoint refers to, oldest first."""
    found = await r.all(
        f"SELECT {rows.LINK} FROM link l WHERE l.conversation_id = ? AND l.state = 'parked' AND l.cause = 'park'"
        " AND NOT EXISTS (SELECT 1 FROM checkpoint c WHERE c.conversation_id = l.conversation_id"
        "  AND c.label IS NOT NULL AND (c.link_id = l.id OR c.message_id = l.knows))"
        " ORDER BY l.sequence",
        (conversation_id,),
    )
    return [rows.link(row) for row in found]
