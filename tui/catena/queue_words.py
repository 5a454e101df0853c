"""What is special about a prompt that waits: where it differs from what is in force, and what is attached."""

from __future__ import annotations

from catena_acp.continuity.events import SessionState
from catena_store.records import QueueItem


def note_of(item: QueueItem, session: SessionState, cwd: str) -> str:
    """In a few words; "" where there is nothing special."""
    parts = []
    if item.model and session.model and item.model != session.model:
        parts.append(item.model)
    if item.mode and session.mode and item.mode != session.mode:
        parts.append(next((each.name for each in session.modes if each.id == item.mode), item.mode))
    if item.cwd and item.cwd != cwd:
        parts.append(item.cwd)
    parts += [f"+ {name}" for name in item.attachments]
    return " · ".join(parts)
