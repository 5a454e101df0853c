"""What the trouble panel says: what happened, what can be done, and when something goes on by itself. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, assert_never

from catena_acp.trouble.reset_times import time_words
from catena_acp.trouble.troubles import Offer

if TYPE_CHECKING:
    from catena.tab_trouble import Standing

KEYS: dict[Offer, str] = {
    Offer.RETRY: "r",
    Offer.WAIT: "w",
    Offer.LOGIN: "l",
    Offer.OTHER_AGENT: "a",
    Offer.LAST_LINES: "e",
    Offer.TAKE_OVER: "t",
}
_MINUTE = timedelta(minutes=1)
_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class TroubleWords:
    """What the panel shows at one moment."""

    line: str
    offers: tuple[tuple[Offer, str], ...] = ()  # best first, with what each does
    note: str = ""  # what goes on by itself


def words_of(standing: Standing, now: datetime, *, busy: bool) -> TroubleWords | None:
    """What is to be said of this trouble now; None where a turn under way makes it stale."""
    problem, held = standing.problem, standing.held(now)
    if busy or standing.gone_on:
        if held:
            return TroubleWords(problem.text)
        return None if busy else TroubleWords(_passed(problem.resets_at, now))
    offers = [offer for offer in problem.offers if held or offer is not Offer.WAIT]
    if standing.waits_until is not None:
        note = _again(problem.resets_at, standing.waits_until, now)
        return TroubleWords(problem.text, _worded(standing, offers, now), note)
    if problem.resets_at is not None and not held:
        return TroubleWords(_passed(problem.resets_at, now), _worded(standing, offers, now))
    return TroubleWords(problem.text, _worded(standing, offers, now))


def changes_in(standing: Standing, now: datetime) -> float | None:
    """Seconds until the words change by themselves; None where they do not."""
    if (until := standing.waits_until) is not None and until > now:
        left = until - now
        step = _MINUTE if left > _MINUTE else timedelta(seconds=1)
        return (left % step).total_seconds() or step.total_seconds()
    if standing.held(now) and standing.problem.resets_at is not None:
        return (standing.problem.resets_at - now).total_seconds()
    return None


def _worded(standing: Standing, offers: Sequence[Offer], now: datetime) -> tuple[tuple[Offer, str], ...]:
    return tuple((offer, _does(offer, standing, now)) for offer in offers)


def _does(offer: Offer, standing: Standing, now: datetime) -> str:
    waiting = standing.waits_until is not None
    match offer:
        case Offer.RETRY if waiting:
            return "send it now"
        case Offer.RETRY:
            return "send it again" if standing.about_prompt else "try again"
        case Offer.WAIT if waiting:
            return "do not wait"
        case Offer.WAIT:
            resets_at = standing.problem.resets_at
            return f"wait until {time_words(resets_at, now)}" if resets_at else "wait"
        case Offer.LOGIN:
            return "log in"
        case Offer.OTHER_AGENT:
            return "another agent"
        case Offer.LAST_LINES:
            return "its last lines"
        case Offer.TAKE_OVER:
            return "take over"
        case _:
            assert_never(offer)


def _passed(resets_at: datetime | None, now: datetime) -> str:
    return f"The limit ended at {time_words(resets_at, now)}." if resets_at else ""


def _again(resets_at: datetime | None, until: datetime, now: datetime) -> str:
    if until <= now:
        return "sends again now"
    return f"sends again at {time_words(resets_at or until, now)} · in {duration(until - now)}"


def duration(left: timedelta) -> str:
    """`42 s`, `12 min`, `3 h 5 min`."""
    if left <= _MINUTE:
        return f"{-(-left // timedelta(seconds=1))} s"
    minutes = left // _MINUTE
    if left < _HOUR:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"
