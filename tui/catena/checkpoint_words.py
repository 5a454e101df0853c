"""Checkpoints in words."""

from __future__ import annotations

from datetime import datetime

from catena.safe_text import safe_line
from catena_acp.conversation.checkpoints.checkpoints import Listed
from catena_acp.conversation.inspection.chain import shortened
from catena_acp.conversation.inspection.price import Price
from catena_store.conversations.checkpoints import Checkpoint, Frequency
from catena_store.records import ContextSource

FREQUENCY = {
    Frequency.TURN: "Checkpoints are made at the start of every turn here.",
    Frequency.TOOL: "Checkpoints are made at the start of every turn and after every tool call here.",
    Frequency.MANUAL: "Checkpoints are made here only when you ask for one.",
    Frequency.OFF: "No checkpoints are made here; those that there are stay.",
}
FREQUENCIES = "turn (at the start of each), tool (after each call, too), manual, off"


def named(checkpoint: Checkpoint) -> str:
    """One in the middle of a sentence."""
    if checkpoint.label:
        return f"“{safe_line(checkpoint.label)}”"
    return f"the checkpoint of {clock_words(checkpoint.created_at)}"


def place_of(listed: Listed) -> str:
    """Where it stands, by the prompt that a person remembers."""
    if not listed.prompt:
        return "the beginning" if listed.checkpoint.message_id is None else ""
    return f"{'before' if listed.before else 'in the turn of'} {shortened(safe_line(listed.prompt), 40)}"


def way_of(price: Price) -> str:
    """How a prompt from there on would come to its context, in a word or two."""
    if not price.native:
        return f"told {price.told:,}"
    return "new session" if price.how is ContextSource.FRESH else "native"


def clock_words(at: datetime) -> str:
    """A time, with its day where that is not today."""
    there = at.astimezone()
    today = there.date() == datetime.now().astimezone().date()
    return there.strftime("%H:%M" if today else "%Y-%m-%d %H:%M")
