"""Turns as records, for what only reads them, and what was kept of the files around them."""

from __future__ import annotations

from datetime import UTC, datetime

from catena_store import places
from catena_store.database.database import Reader
from catena_store.records import ContextSource, StopReason, Turn
from catena_store.snapshots.turns import TurnFiles, of_each

AT = datetime(2026, 1, 1, tzinfo=UTC)


def clean_turn(id: str, link_id: str, prompt: str, last: str) -> Turn:
    """A turn that came to a clean end."""
    return Turn(
        id=id,
        conversation_id="c",
        prompt_id=prompt,
        link_id=link_id,
        base_link_id=None,
        window_id="w",
        last_id=last,
        how=ContextSource.CONTINUED,
        cause=None,
        told_from=None,
        told_to=None,
        told=0,
        told_total=0,
        tools_listed=0,
        tools_left_out=0,
        left_out=0,
        shortened=0,
        masked=0,
        unabridged_from=None,
        prior_context=None,
        stop_reason=StopReason.END_TURN,
        error=None,
        usage=None,
        cost=None,
        currency=None,
        model=None,
        mode=None,
        started_at=AT,
        ended_at=AT,
    )


async def files_of(r: Reader, conversation_id: str) -> dict[str, TurnFiles]:
    """The trees of the turns above the place of a conversation, by turn; of those that have any."""
    leaf = await places.of(r, conversation_id)
    return {each.id: each.files for each in await of_each(r, leaf, -1, None) if each.files is not None}
