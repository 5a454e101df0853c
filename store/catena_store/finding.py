"""Finding a message by what a person types of its id."""

from __future__ import annotations

from catena_store import messages
from catena_store.database import Reader
from catena_store.errors import Ambiguous, NotFound
from catena_store.records import Message
from catena_store.siblings import on_branch

_AMBIGUOUS_SHOWN = 10
_HIGHEST = "\U0010ffff"


async def message(r: Reader, conversation_id: str, text: str) -> Message:
    """The message of this id, or that alone begins so, in a conversation and in what it has of its source.

    Raises NotFound, and Ambiguous where several begin so.
    """
    if not text:
        raise NotFound("message", text)
    found = await r.all(
        "SELECT m.uid, m.conversation_id, p.uid FROM message m"
        " JOIN conversation own ON own.id = ?3"
        " JOIN conversation c ON c.id = m.conversation_id AND c.family = own.family"
        " LEFT JOIN message p ON p.id = own.fork_point_id"
        " WHERE m.uid >= ?1 AND m.uid < ?1 || ?2 ORDER BY m.uid",
        (text, _HIGHEST, conversation_id),
    )
    matches = [
        uid
        for uid, born_in, point in found
        if born_in == conversation_id or (point is not None and await on_branch(r, point, uid))
    ]
    exact = next((uid for uid in matches if uid == text), None)
    if exact is None and len(matches) > 1:
        raise Ambiguous("message", text, matches[:_AMBIGUOUS_SHOWN])
    one = await messages.get(r, exact or matches[0]) if matches else None
    if one is None:
        raise NotFound("message", text)
    return one
