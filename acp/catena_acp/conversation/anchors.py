"""What names the end of a turn to an agent that forks at a message: its answer's id, or its prompt's."""

from __future__ import annotations

from collections.abc import Iterable

from catena_acp.abilities import Quirks
from catena_acp.events import Event, TextChunk
from catena_store.conversations import messages
from catena_store.database.database import Reader
from catena_store.records import Kind, Turn

_BY_PROMPT = "message_id"  # the agent wants the prompt's id, and keeps its whole turn


async def find_anchor(reader: Reader, turn: Turn, quirks: Quirks) -> str | None:
    """The agent's own id of the message that a fork at this turn's end has to name; None where there is none."""
    last = await messages.get(reader, turn.last_id)
    if last is None or last.kind is not Kind.AGENT:
        return None
    if quirks.fork_at_key != _BY_PROMPT:
        return last.agent_message_id
    prompt = await messages.get(reader, turn.prompt_id)
    return prompt.agent_message_id if prompt else None


def id_said_back(events: Iterable[Event]) -> str | None:
    """The agent's own id of the prompt, where it says the prompt back."""
    said = (event for event in events if isinstance(event, TextChunk) and event.role == "user")
    return next((chunk.message_id for chunk in said if chunk.message_id), None)
