"""In which order messages are read, how far apart they stand, and where the chain line runs between them."""

from __future__ import annotations

from collections.abc import Sequence

from catena.transcript.model.entry import Entry
from catena_store.records import Kind, Message

_LINE_LIKE = frozenset({Kind.THOUGHT, Kind.TOOL})


def belongs_above(message: Message, last: Message) -> bool:
    """Tell whether ``message`` is a seam that hangs below the prompt ``last``: it tells of it and is read before it."""
    follows = message.parent_id == last.id and last.kind is Kind.USER
    return follows and message.kind is Kind.SEAM and not message.barrier


def arranged(messages: Sequence[Message]) -> list[Message]:
    """Return messages with each seam above its prompt."""
    order: list[Message] = []
    for message in messages:
        if order and message.kind is Kind.SEAM and belongs_above(message, order[-1]):
            order.insert(-1, message)
        else:
            order.append(message)
    return order


def stand_below(entry: Entry, before: Entry | None) -> None:
    """Set the gap of ``entry`` below ``before``, what carried it, and whether the chain line joins the two."""
    message = entry.message
    kind = message.kind
    entry.link = message.link_id
    if before is None:
        entry.gap, entry.joined = 1, False
        return
    if entry.link is None and kind is not Kind.USER and not before.message.barrier:
        entry.link = before.link  # not stamped yet, but of the same turn
    entry.gap = 0 if kind in _LINE_LIKE and before.message.kind in _LINE_LIKE else 1
    entry.joined = before.link is not None and (before.link == entry.link or kind is Kind.SEAM)
