"""Text about the client that holds a conversation's lease."""

from __future__ import annotations

from datetime import datetime

from catena_acp.process_group import parse_start_time
from catena_store.records import Owner

HELD_ELSEWHERE = "Read-only: this conversation is open in another Catena."
FREE = "The Catena that had this conversation has exited. Send a message or use /history takeover to continue here."


def hold_words(holder: Owner | None, host: str, *, free: bool = False) -> str:
    """The text that names the holder of the conversation, for a person on ``host``; ``free`` if that client is gone."""
    if free:
        return FREE
    return _held_words(holder, host) if holder else HELD_ELSEWHERE


def _held_words(holder: Owner, host: str) -> str:
    # Ticks of another machine's clock say nothing here.
    began = parse_start_time(holder.started) if holder.host == host else None
    since = f", since {_clock_time(began)}" if began else ""
    return f"Read-only: this conversation is open in Catena on {holder.host} (pid {holder.pid}{since})."


def _clock_time(moment: datetime) -> str:
    there = moment.astimezone()
    today = there.date() == datetime.now().astimezone().date()
    return there.strftime("%H:%M" if today else "%Y-%m-%d %H:%M")
