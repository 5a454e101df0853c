"""The trouble of a tab: its cause, what ends it, and the words for it and for what can be done about it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import assert_never

from catena_acp.continuity.conversation_events import (
    ConversationEvent,
    HoldChanged,
    LeafMoved,
    MessageAdded,
    Problem,
    PromptReturned,
    SessionChanged,
    Troubled,
    TurnEnded,
    TurnStarted,
)
from catena_acp.trouble.reset_times import format_time
from catena_acp.trouble.troubles import Offer, Trouble
from catena_store.ids import utc_now
from catena_store.records import Kind

RETRY_CANCELLED = "Automatic retry cancelled."
GRACE = timedelta(seconds=3)  # after a limit's end, for clocks that differ
LONGEST_NAP = 15.0  # seconds between two looks at the clock; it may have been set, or the machine slept
_MINUTE = timedelta(minutes=1)
_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class StandingTrouble:
    """One trouble, as long as it is shown."""

    problem: Problem
    agent: tuple[str, str]  # and its profile, that the conversation had then
    leaf_id: str | None  # the leaf then
    about_prompt: bool = True  # False: it came outside of a turn, and no prompt waits to be sent again
    prompt: str | None = None  # the restored text
    gone_on: bool = False  # the conversation went on; only the limit is still worth knowing
    waits_until: datetime | None = None  # then the prompt goes out again, as the person wished

    def held(self, now: datetime) -> bool:
        """True while its limit is known to last."""
        return self.problem.resets_at is not None and now < self.problem.resets_at


class TabTrouble:
    """The trouble in one tab, if any.

    Trouble goes with the next turn. A limit stays until it has passed, or until its own agent answers all the same.
    """

    def __init__(self, clock: Callable[[], datetime] = utc_now) -> None:
        self._clock = clock
        self._returned: str | None = None
        self._dismissed: str | None = None  # the leaf at which trouble was dismissed
        self.standing: StandingTrouble | None = None

    def handle(self, event: ConversationEvent, *, agent: tuple[str, str], leaf_id: str | None) -> None:
        """Handle one event; ``leaf_id`` is the leaf after it."""
        match event:
            case PromptReturned(text=text):
                self._returned = text
            case TurnStarted() | LeafMoved():
                self._go_on()
            case MessageAdded(message=message) if message.kind is Kind.USER:
                self._go_on()
            case TurnEnded(turn=turn, problem=problem):
                # What was taken out of the queue meanwhile came back, too, and is no part of this.
                prompt = self._returned if problem is not None and problem.returned else None
                self._returned = None
                if problem is not None:
                    self.standing = StandingTrouble(problem, agent, leaf_id, prompt=prompt)
                elif turn is not None and turn.stop_reason is not None and turn.stop_reason.clean:
                    self._disprove(agent)
            case Troubled(problem=problem):
                # What offers nothing is said in passing; it must not take the place of what can be acted on.
                if problem.offers:
                    self.standing = StandingTrouble(problem, agent, leaf_id, about_prompt=False)
            case SessionChanged(session=session):
                if session.link_id is not None and self.standing and not self.standing.about_prompt:
                    self.standing = None
            case HoldChanged(read_only=read_only):
                if not read_only and self._is(Trouble.READ_ONLY):
                    self.standing = None
        standing = self.standing
        if standing is not None and standing.waits_until is not None and leaf_id != standing.leaf_id:
            self._go_on()  # it would not be sent any more

    def restore(self, problem: Problem | None, *, agent: tuple[str, str], leaf_id: str | None) -> None:
        """Restore the problem that the last row of a branch tells of."""
        if problem is not None and self.standing is None and leaf_id != self._dismissed:
            self.standing = StandingTrouble(problem, agent, leaf_id)

    def wait(self) -> datetime | None:
        """Have the prompt sent again at the end of the limit, which is returned; None if none is in its way."""
        standing = self.standing
        if standing is None or standing.gone_on or (resets_at := standing.problem.resets_at) is None:
            return None
        self.standing = replace(standing, waits_until=resets_at + GRACE)
        return resets_at

    def stop_waiting(self) -> bool:
        """Leave it to the person to send the prompt again; False if it does not wait."""
        if self.standing is None or self.standing.waits_until is None:
            return False
        self.standing = replace(self.standing, waits_until=None)
        return True

    async def wait_out(self, at_rest: Callable[[str | None], bool]) -> bool:
        """Wait until the prompt is to be sent again; False if the person stops that, or anything else happens by then.

        ``at_rest`` is whether the tab is still at the leaf of its trouble, and nothing is done in it.
        """
        waiting = self.standing
        while waiting is not None and waiting.waits_until is not None and self.standing is waiting:
            left = (waiting.waits_until - self._clock()).total_seconds()
            if left <= 0:
                self.stop_waiting()
                return at_rest(waiting.leaf_id)
            await asyncio.sleep(min(left, LONGEST_NAP))
        return False

    @property
    def limited(self) -> tuple[str, str] | None:
        """The agent and profile whose limit is reached, as far as is known."""
        standing = self.standing
        if standing is None or standing.problem.trouble is not Trouble.RATE_LIMIT:
            return None
        over = standing.problem.resets_at is not None and not standing.held(self._clock())
        return None if over else standing.agent

    def end(self) -> None:
        """End the trouble: something is tried again."""
        self.standing = None

    def logged_in(self) -> None:
        """End a trouble that a login ends."""
        if self._is(Trouble.LOGIN_NEEDED):
            self.standing = None

    def dismiss(self) -> None:
        """Dismiss the trouble: the person has read it."""
        if self.standing is not None:
            self._dismissed = self.standing.leaf_id
            self.standing = None

    def _go_on(self) -> None:
        standing = self.standing
        if standing is not None and standing.held(self._clock()):
            self.standing = replace(standing, gone_on=True, waits_until=None)
        else:
            self.standing = None

    def _disprove(self, agent: tuple[str, str]) -> None:
        """End a limit: the same agent has answered in full."""
        if self.standing is not None and self.standing.gone_on and self.standing.agent == agent:
            self.standing = None

    def _is(self, trouble: Trouble) -> bool:
        return self.standing is not None and self.standing.problem.trouble is trouble


@dataclass(frozen=True, slots=True)
class TroubleWords:
    """The words of the panel at one moment."""

    line: str
    offers: tuple[tuple[Offer, str], ...] = ()  # best first, with what each does
    note: str = ""  # what goes on by itself


def words_of(standing: StandingTrouble, now: datetime, *, busy: bool) -> TroubleWords | None:
    """The words for a trouble now; None if a running turn makes it stale."""
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


def changes_in(standing: StandingTrouble, now: datetime) -> float | None:
    """Seconds until the words change by themselves; None if they do not."""
    if (until := standing.waits_until) is not None and until > now:
        left = until - now
        step = _MINUTE if left > _MINUTE else timedelta(seconds=1)
        return (left % step).total_seconds() or step.total_seconds()
    if standing.held(now) and standing.problem.resets_at is not None:
        return (standing.problem.resets_at - now).total_seconds()
    return None


def _worded(
    standing: StandingTrouble, offers: Sequence[Offer], now: datetime
) -> tuple[tuple[Offer, str], ...]:
    return tuple((offer, _does(offer, standing, now)) for offer in offers)


def _does(offer: Offer, standing: StandingTrouble, now: datetime) -> str:
    waiting = standing.waits_until is not None
    match offer:
        case Offer.RETRY if waiting:
            return "Retry now"
        case Offer.RETRY:
            return "Retry" if standing.about_prompt else "Try again"
        case Offer.WAIT if waiting:
            return "Stop waiting"
        case Offer.WAIT:
            resets_at = standing.problem.resets_at
            return f"Wait and retry at {format_time(resets_at, now)}" if resets_at else "Wait and retry"
        case Offer.LOGIN:
            return "Log in"
        case Offer.OTHER_AGENT:
            return "Continue with another agent"
        case Offer.LAST_LINES:
            return "Error output"
        case Offer.TAKE_OVER:
            return "Take over"
        case _:
            assert_never(offer)


def _passed(resets_at: datetime | None, now: datetime) -> str:
    return f"The limit reset at {format_time(resets_at, now)}." if resets_at else ""


def _again(resets_at: datetime | None, until: datetime, now: datetime) -> str:
    if until <= now:
        return "Retrying now."
    return f"Retrying at {format_time(resets_at or until, now)}, in {duration(until - now)}."


def duration(left: timedelta) -> str:
    """A duration as a person reads it: `42 s`, `12 min`, `3 h 5 min`."""
    if left <= _MINUTE:
        return f"{-(-left // timedelta(seconds=1))} s"
    minutes = left // _MINUTE
    if left < _HOUR:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"
