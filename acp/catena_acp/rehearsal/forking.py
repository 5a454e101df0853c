"""Where a fork ends: at the head or, for those who know how to ask, at a message."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from catena_acp.rehearsal.transcripts import Exchange, Transcript
from catena_acp.rehearsal.wire import INVALID_PARAMS, Refusal


def fork_point(source: Transcript, meta: Any, fork_at: str | None) -> list[Exchange]:
    """What of ``source`` a fork begins with; ``fork_at`` says which way of asking is honoured.

    Where there is none, the fork point is ignored and the fork holds everything, as with real agents.
    Raises ``Refusal`` (-32602) for a message that is not in the session.
    """
    match fork_at, meta:
        case "air", {"jetbrains": {"air": {"fork": {"version": 1, "messageId": str(message_id)}}}}:
            return _up_to_answer(source, message_id)
        case "user", {"messageId": str(message_id)}:
            return _up_to_prompt(source, message_id)
        case _:
            return list(source.exchanges)


def _up_to_answer(source: Transcript, message_id: str) -> list[Exchange]:
    """Everything up to an agent message, which is kept."""
    for number, exchange in enumerate(source.exchanges):
        ends = [i for i, entry in enumerate(exchange.entries, 1) if entry.get("id") == message_id]
        if ends:
            return [*source.exchanges[:number], replace(exchange, entries=exchange.entries[: ends[-1]])]
    raise Refusal(INVALID_PARAMS, f"Fork point message {message_id} was not found in session {source.id}")


def _up_to_prompt(source: Transcript, message_id: str) -> list[Exchange]:
    """Everything up to a prompt, whose whole turn is kept."""
    for number, exchange in enumerate(source.exchanges, 1):
        if exchange.prompt_id == message_id:
            return list(source.exchanges[:number])
    raise Refusal(INVALID_PARAMS, f"Cannot find user entry {message_id}")
