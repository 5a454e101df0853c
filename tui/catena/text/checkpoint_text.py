"""Text about checkpoints."""

from __future__ import annotations

from datetime import datetime

from catena.text.safe_text import safe_line
from catena_acp.continuity.wording.counts import counted
from catena_acp.conversation.checkpoints.checkpoints import Listed
from catena_acp.conversation.inspection.chain import shortened
from catena_acp.conversation.inspection.price import Price
from catena_store.conversations.checkpoints import Checkpoint, Frequency
from catena_store.records import ContextSource

FREQUENCY_SENTENCES = {
    Frequency.TURN: "A checkpoint is saved at the start of every turn.",
    Frequency.TOOL: "A checkpoint is saved at the start of every turn and after every tool call.",
    Frequency.MANUAL: "Checkpoints are saved only when you ask.",
    Frequency.OFF: "Checkpoints are off; existing ones are kept.",
}
FREQUENCY_CHOICES = "turn (each turn), tool (also after each tool call), manual, off"


def checkpoint_name(checkpoint: Checkpoint) -> str:
    """A checkpoint in the middle of a sentence: its label, or its time."""
    if checkpoint.label:
        return f"“{safe_line(checkpoint.label)}”"
    return f"the checkpoint of {format_clock(checkpoint.created_at)}"


def checkpoint_place(listed: Listed) -> str:
    """The place of a checkpoint, named by its prompt."""
    if not listed.prompt:
        return "the beginning" if listed.checkpoint.message_id is None else ""
    return f"{'before' if listed.before else 'in the turn of'} {shortened(safe_line(listed.prompt), 40)}"


def place_gone_to(listed: Listed) -> str:
    """A checkpoint behind "to", as the person knows it: its label, or the prompt that it stands before, or its time."""
    checkpoint = listed.checkpoint
    between_turns = not checkpoint.label and (listed.before or checkpoint.message_id is None)
    return (checkpoint_place(listed) if between_turns else "") or checkpoint_name(checkpoint)


def checkpoint_facts(checkpoint: Checkpoint) -> list[str]:
    """How much a checkpoint holds, and the model of its turn, as far as they are known."""
    count, model = checkpoint.data.get("messages"), checkpoint.data.get("model")
    messages = counted(count, "message") if isinstance(count, int) else ""
    return [fact for fact in (messages, safe_line(str(model)) if model else "") if fact]


def context_text(price: Price) -> str:
    """How a prompt there gets its context: `same context`, `new session`, or `14 replayed`."""
    if not price.native:
        return f"{price.told:,} replayed"
    return "new session" if price.how is ContextSource.FRESH else "same context"


def format_clock(at: datetime) -> str:
    """A time of day, with its date unless that is today."""
    there = at.astimezone()
    today = there.date() == datetime.now().astimezone().date()
    return there.strftime("%H:%M" if today else "%Y-%m-%d %H:%M")
