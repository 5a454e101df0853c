"""What the next prompt would need in a conversation that a session of another tool becomes. Pure."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from catena_acp.continuity.routing.prior_context import Budget, build_prior_context
from catena_acp.conversation.adoption.rows import adopted_rows, messages_of
from catena_acp.conversation.inspection.price import Price
from catena_acp.transcripts.session import ForeignTranscript
from catena_store.records import SPOKEN_KINDS, ContextSource, Kind, LinkState


def adoption_price(transcript: ForeignTranscript, budget: Budget | None = None) -> Price:
    """Nothing where the session can be continued and ended well; else what would be told, as of any other link."""
    budget = budget or Budget()
    ids = count()
    adopted = adopted_rows(transcript, "", "", lambda: str(next(ids)))
    rows = messages_of(adopted, transcript)
    knows = adopted.knows if adopted.state is LinkState.OPEN else None
    unknown = rows[[row.id for row in rows].index(knows) + 1 :] if knows else rows
    spoken = [row for row in unknown if row.kind in SPOKEN_KINDS]
    tools = [row for row in unknown if row.kind is Kind.TOOL]
    prior = build_prior_context(spoken, len(spoken), tools, budget)
    how = ContextSource.RESUMED
    if prior:
        how = ContextSource.CAUGHT_UP if knows else ContextSource.TOLD
    return replace(Price.of_prior(how, prior), exact=False)
