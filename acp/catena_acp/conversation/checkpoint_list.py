"""The checkpoints of a conversation as a person looks through them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from catena_acp.conversation.core import Core
from catena_store.chains import link_history, turns
from catena_store.conversations import messages
from catena_store.conversations.checkpoints import Checkpoint
from catena_store.database.database import Reader


@dataclass(frozen=True, slots=True)
class Listed:
    """A checkpoint, and what it stands beside."""

    checkpoint: Checkpoint
    agent_title: str
    prompt: str  # the beginning of its turn's prompt; "" where there is no turn
    before: bool  # it stands before that prompt, not within or after its turn


async def listed(core: Core, checkpoints: Sequence[Checkpoint]) -> list[Listed]:
    """What there is to read of each of them."""
    async with core.services.db.read() as reader:
        return [await _listed(reader, core, each) for each in checkpoints]


async def _listed(reader: Reader, core: Core, checkpoint: Checkpoint) -> Listed:
    data = checkpoint.data
    turn = await turns.get(reader, str(data["turn"])) if data.get("turn") else None
    prompts = await link_history.glimpses(reader, [turn.prompt_id]) if turn else {}
    row = await messages.get(reader, checkpoint.message_id) if checkpoint.message_id else None
    return Listed(
        checkpoint,
        core.title_of(str(data.get("agent") or ""), str(data.get("profile") or "")),
        prompts[turn.prompt_id].text if turn and turn.prompt_id in prompts else "",
        before=turn is not None and (row is None or row.turn_id != turn.id),
    )
