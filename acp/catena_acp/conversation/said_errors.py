"""Errors that an agent says in words before it answers with them: Claude does so with every one of its provider's.

Such words are no answer. The row stays, as the agent's; but the prompt got nothing, and is sent again as the same row.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from catena_acp.conversation.endings import Ending
from catena_acp.diagnosis import diagnose_words
from catena_acp.errors import AgentRefused
from catena_store.conversations import messages
from catena_store.database.database import Reader, Writer
from catena_store.records import CONTENT_KINDS, Kind, Message, PathRow, Turn

_SAID_ERROR = "said_error"
_SHORTEST = 10  # characters: a word or two may end an error by chance


def says_its_error(ending: Ending, only_words: str | None, now: datetime) -> bool:
    """True where all that was said in a turn is the error that it ended with."""
    if not isinstance(ending.error, AgentRefused) or not only_words:
        return False
    words = only_words.strip()
    said_again = len(words) >= _SHORTEST and str(ending.error).strip().endswith(words)
    return said_again or diagnose_words(words, now=now) is not None


async def mark_said_error(tx: Writer, turn: Turn, last_id: str | None) -> Message | None:
    """Mark the turn's last row as such words; None where the turn brought anything beside them."""
    said = await messages.get(tx, last_id) if last_id else None
    if said is None or said.kind is not Kind.AGENT:
        return None
    above = await messages.get(tx, said.parent_id) if said.parent_id else None
    if above is not None and above.kind is Kind.SEAM and above.parent_id:
        above = await messages.get(tx, above.parent_id)
    if above is None or above.id != turn.prompt_id:
        return None
    return await messages.update(tx, said.id, data={**said.data, _SAID_ERROR: True})


async def brought_something(reader: Reader, below: Sequence[PathRow]) -> bool:
    """True where the rows below a prompt hold more of its turn than an error in words."""
    for row in below:
        if row.kind in CONTENT_KINDS:
            message = await messages.get(reader, row.id)
            if message is None or not message.data.get(_SAID_ERROR):
                return True
    return False
