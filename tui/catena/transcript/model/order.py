"""The order of messages and entries in the column: seams above prompts, subagents below calls, and gaps. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from catena.transcript.model.entry import Entry
from catena_acp.continuity.tool_calls.subagents import is_words
from catena_acp.spoken.spoken import Ended
from catena_store.records import Kind, Message

STEP = 1 << 24  # between the ordinals of entries: what subagents say and do comes between
_LINE_LIKE = frozenset({Kind.THOUGHT, Kind.TOOL})


def top_level(ordinal: int) -> int:
    """The ordinal of the entry of the conversation itself that this one is, or is below."""
    return ordinal // STEP * STEP


def number(entries: Sequence[Entry], first: int) -> None:
    """Give entries their ordinals from ``first`` on, those of subagents below the one of their call."""
    ordinal = first - STEP
    for entry in entries:
        ordinal = ordinal + 1 if entry.owner is not None else top_level(ordinal) + STEP
        entry.ordinal = ordinal


def explains_interruption(entry: Entry) -> bool:
    """True for a notice that tells why what is above it was interrupted."""
    return isinstance(entry.said, Ended)


def precedes_prompt(message: Message, last: Message) -> bool:
    """Return whether ``message`` is a seam whose parent is the prompt ``last``: it is shown above that prompt."""
    follows = message.parent_id == last.id and last.kind is Kind.USER
    return follows and message.kind is Kind.SEAM and not message.barrier


def order_messages(messages: Sequence[Message]) -> list[Message]:
    """Return the messages with each seam above its prompt."""
    order: list[Message] = []
    for message in messages:
        if order and message.kind is Kind.SEAM and precedes_prompt(message, order[-1]):
            order.insert(-1, message)
        else:
            order.append(message)
    return order


def place_below(entry: Entry, before: Entry | None) -> None:
    """Set the gap of ``entry`` below ``before``."""
    hangs_on = before is not None and _is_line_like(entry) and _is_line_like(before)
    entry.gap = 0 if hangs_on else 1


def _is_line_like(entry: Entry) -> bool:
    return entry.message.kind in _LINE_LIKE and not is_words(entry.message)
