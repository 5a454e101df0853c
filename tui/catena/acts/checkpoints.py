"""Acts on checkpoints."""

from __future__ import annotations

from functools import partial

from catena.acts.branches import rewind_to
from catena.acts.surface import Done, Here, LiveReport, Refused, Report, ReportRow
from catena.text.checkpoint_text import (
    FREQUENCY_CHOICES,
    FREQUENCY_SENTENCES,
    checkpoint_facts,
    checkpoint_name,
    checkpoint_place,
)
from catena.text.formats import time_or_day
from catena_store.conversations.checkpoints import Frequency
from catena_store.ids import utc_now


async def checkpoint(on: Here, label: str) -> Done:
    """Save a checkpoint at the leaf, with a label or without."""
    made = await on.tab.conversation.checkpoints.make(on.tab.window, label or None)
    known = f"“{made.label}”" if made.label else "without a label"
    return Done(f"Saved checkpoint {known}: /rewind {made.label or made.id[:6]} returns here.")


async def name(on: Here, label: str) -> Done:
    """Name the newest checkpoint."""
    if not label:
        raise Refused("/checkpoint name LABEL names the newest checkpoint.")
    return Done(
        f"Newest checkpoint renamed to {checkpoint_name(await on.tab.conversation.checkpoints.name(label))}."
    )


async def checkpoints(on: Here, frequency: str) -> Done:
    """Report the checkpoints, of which to open one goes back; or set how often they are saved here."""
    kept = on.tab.conversation.checkpoints
    if frequency:
        try:
            wanted = Frequency(frequency.strip().lower())
        except ValueError as error:
            raise Refused(f"How often: {FREQUENCY_CHOICES}.") from error
        await kept.set_frequency(wanted)
        return Done(FREQUENCY_SENTENCES[wanted])

    async def read() -> Report:
        rows = []
        for each in await kept.listed():
            made = each.checkpoint
            # Else it is called by its time.
            when = time_or_day(made.created_at, utc_now()) if made.label else ""
            values = (checkpoint_place(each), when, *checkpoint_facts(made))
            rows.append(ReportRow(checkpoint_name(made), values, partial(rewind_to, on, made)))
        if not rows:
            raise Refused("No checkpoints yet; /checkpoint LABEL saves one.")
        return Report("Checkpoints", "Checkpoints, newest first", rows, enter="go back there")

    return Done(report=LiveReport(kept, read))
