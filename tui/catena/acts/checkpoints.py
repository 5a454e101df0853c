"""Acts on checkpoints."""

from __future__ import annotations

from catena.acts.surface import Done, Here, Refused
from catena.text.checkpoint_text import checkpoint_name


async def checkpoint(on: Here, label: str) -> Done:
    """Save a checkpoint at the leaf, with a label or without."""
    made = await on.tab.conversation.checkpoints.make(on.tab.window, label or None)
    known = f"“{made.label}”" if made.label else "without a label"
    return Done(f"Saved checkpoint {known}: /rewind {made.label or made.id[:6]} returns here.")


async def name(on: Here, label: str) -> Done:
    """Name the newest checkpoint."""
    if not label:
        raise Refused("/label LABEL names the newest checkpoint.")
    return Done(
        f"Newest checkpoint renamed to {checkpoint_name(await on.tab.conversation.checkpoints.name(label))}."
    )
