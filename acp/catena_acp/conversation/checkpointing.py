"""How checkpoints are made in every conversation of a client, where the person set nothing else for one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from catena_store.conversations.checkpoints import Frequency

KEPT = 20
ToolServer = Callable[
    [str, str], dict[str, object]
]  # of a conversation and a window, as a session is given it


@dataclass(frozen=True, slots=True)
class Checkpointing:
    """When checkpoints are made, and how many of the automatic ones are kept."""

    frequency: Frequency = Frequency.MANUAL
    keep: int = KEPT  # automatic ones of a conversation; those with a label do not count
    tools: ToolServer | None = None  # what an agent is handed to make them itself; None for nothing
