"""What can be done about each kind of trouble, best first. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import assert_never

from catena_acp.troubles import Offer, Trouble

_ABOUT_A_PROMPT = frozenset({Offer.RETRY, Offer.WAIT})


def offers_for(
    trouble: Trouble, resets_at: datetime | None = None, *, now: datetime | None = None, prompt: bool = True
) -> tuple[Offer, ...]:
    """What fits, best first.

    To wait is offered where the limit has an end that is known and, at ``now``, to come. Without a ``prompt`` that
    could go out again, only what needs none is offered.
    """
    waits = resets_at is not None and (now is None or now < resets_at)
    return tuple(offer for offer in _fitting(trouble, waits) if prompt or offer not in _ABOUT_A_PROMPT)


def _fitting(trouble: Trouble, waits: bool) -> tuple[Offer, ...]:
    match trouble:
        case Trouble.RATE_LIMIT:
            wait = (Offer.WAIT,) if waits else ()
            return (*wait, Offer.RETRY, Offer.OTHER_AGENT)
        case Trouble.CREDIT:
            return (Offer.OTHER_AGENT, Offer.RETRY, Offer.LOGIN)
        case Trouble.LOGIN_NEEDED:
            return (Offer.LOGIN, Offer.OTHER_AGENT)
        case Trouble.AGENT_GONE | Trouble.AGENT_SILENT:
            return (Offer.RETRY, Offer.LAST_LINES, Offer.OTHER_AGENT)
        case Trouble.AGENT_MISSING:
            return (Offer.OTHER_AGENT,)
        case (
            Trouble.OVERLOAD
            | Trouble.CONTEXT_FULL
            | Trouble.SESSION_LOST
            | Trouble.REFUSED
            | Trouble.EMPTY_TURN
            | Trouble.NO_CARRIER
            | Trouble.INTERRUPTED
        ):
            return (Offer.RETRY, Offer.OTHER_AGENT)
        case Trouble.READ_ONLY:
            return (Offer.TAKE_OVER,)
        case Trouble.STORE:
            return (Offer.RETRY,)
        case _:
            assert_never(trouble)
