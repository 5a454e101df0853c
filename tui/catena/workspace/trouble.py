"""The trouble of a tab: its cause, and what ends it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

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
from catena_acp.trouble.troubles import Trouble
from catena_store.ids import utc_now
from catena_store.records import Kind


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
    """What is wrong in one tab, if anything.

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

    def restore(self, problem: Problem | None, *, agent: tuple[str, str], leaf_id: str | None) -> None:
        """Restore the problem that the last row of a branch tells of."""
        if problem is not None and self.standing is None and leaf_id != self._dismissed:
            self.standing = StandingTrouble(problem, agent, leaf_id)

    def wait(self, until: datetime | None) -> StandingTrouble | None:
        """Set when the prompt is sent again, None for never, and return the trouble as it is then."""
        if self.standing is not None:
            self.standing = replace(self.standing, waits_until=until)
        return self.standing

    def end(self) -> None:
        """End the trouble: something is tried again."""
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
