"""What a session would be told before a prompt: read from the store the same way for a price and for a claim."""

from __future__ import annotations

from collections.abc import Sequence

from catena_acp.conversation import route
from catena_acp.conversation.prior_context import Budget, PriorContext, tell
from catena_store.conversations import messages
from catena_store.database.database import Reader
from catena_store.records import PathRow


async def what_to_tell(
    reader: Reader, path: Sequence[PathRow], knows: str | None, before: str | None, budget: Budget
) -> PriorContext | None:
    """The prior context for a session that knows the path up to ``knows``; None where there is nothing to tell.

    ``path`` ends with the prompt's own row, and ``before`` is the row above that.
    """
    spoken, tool_calls = route.unknown_to(path, knows)
    if not spoken and not tool_calls:
        return None
    rows = await messages.spoken_between(reader, knows, before, budget.messages)
    tools = await messages.tools_between(reader, knows, before, limit=budget.tools)
    return tell(rows, spoken, tools, budget, tools_total=tool_calls)
