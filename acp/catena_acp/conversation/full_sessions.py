"""Leaving a session whose context is full: only on the person's word, which is to send the same prompt again."""

from __future__ import annotations

from catena_acp.conversation import route
from catena_acp.conversation.claim import turn_before
from catena_acp.conversation.kept_problem import problem_of_notice
from catena_acp.troubles import Trouble
from catena_store.conversations import messages
from catena_store.database.database import Reader
from catena_store.records import Message


async def was_full(reader: Reader, row: Message) -> bool:
    """True where this very prompt went out before, and the session that it went to could read no more."""
    if row.turn_id is None:
        return False
    before = await turn_before(reader, row)
    if before is None or before.prompt_id != row.id:
        return False
    last = await messages.get(reader, before.last_id)
    problem = problem_of_notice(last) if last else None
    return problem is not None and problem.trouble is Trouble.CONTEXT_FULL


def begins_empty(step: route.Step) -> bool:
    """True for a step to a session that holds nothing yet; a fork of a full one is as full."""
    match step:
        case route.New():
            return True
        case route.Use(link):
            return link.knows is None
        case _:
            return False
