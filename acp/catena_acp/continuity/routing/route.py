"""Which session may carry a prompt: the one place that decides it, pure and without I/O.

A prompt goes to a session only if that session holds the visible branch and nothing else, or the prompt carries
prior context for the part that it does not hold. Every link has a floor (``knows``) and a ceiling (``reach``); both
must lie on the path to the prompt. Of the steps that are possible the one that needs the least telling comes first.
A step never *tries* anything here: a fork or a new session only adds a link, after which the question is asked
again.

docs/internals/route.md explains the rules, each with the counterexample that it ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from catena_store.records import Cause, Link, LinkState, Path, Turn


@dataclass(frozen=True, slots=True)
class Target:
    """Where a send is meant to go."""

    agent: str
    profile: str
    cwd: str


@dataclass(frozen=True, slots=True)
class SessionCapabilities:
    """The agent's capabilities with sessions, as far as the route is concerned."""

    reopens: bool  # a session can be used again after its process ended
    forks: bool
    forks_at: bool  # learnt by a probe, never assumed
    reopens_once: bool = False  # … but each session only once: it does not survive another time
    forks_by_prompt: bool = False  # a fork at a message has to name a prompt, and keeps its whole turn


@dataclass(frozen=True, slots=True)
class Situation:
    """Everything that the route looks at; read in one transaction."""

    target: Target
    conversation_id: str
    window_id: str
    path: Path  # with the places of what the links and the turns point to
    links: Sequence[Link]  # of the conversation's family, oldest first
    busy: frozenset[str]  # links with an open turn
    clean_turns: Sequence[Turn]  # that the agent can fork at: ended clean, on these links, newest on the path
    open_windows: frozenset[str]  # windows open in this client
    warm: frozenset[str]  # links whose session is open in our agent process, in their newest version
    powers: SessionCapabilities
    spent: frozenset[str] = frozenset()  # links whose session cannot be opened again
    # Links whose ceiling is a prompt that another one answered on the path.
    overtaken: frozenset[str] = frozenset()
    # Links of another directory or profile whose transcript can be copied for the target.
    copyable: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Use:
    """Prompt this link's session, opening it first where it is cold."""

    link: Link


@dataclass(frozen=True, slots=True)
class Fork:
    """Fork this link's session at its head."""

    link: Link


@dataclass(frozen=True, slots=True)
class ForkAt:
    """Fork this link's session at the end of a clean turn."""

    link: Link
    turn: Turn


@dataclass(frozen=True, slots=True)
class Copy:
    """Copy the transcript of this link's session for the target's directory or profile."""

    link: Link


@dataclass(frozen=True, slots=True)
class New:
    """Open a new session, which is then told."""


Step = Use | Fork | ForkAt | Copy | New

StepKey = tuple[str, str | None, str | None]


def key_of(step: Step) -> StepKey:
    """What makes a step the same step: each is tried once for a prompt."""
    match step:
        case Use(link):
            return ("use", link.id, None)
        case Fork(link):
            return ("fork", link.id, None)
        case ForkAt(link, turn):
            return ("fork_at", link.id, turn.id)
        case Copy(link):
            return ("copy", link.id, None)
        case New():
            return ("new", None, None)


def candidates(situation: Situation) -> list[Step]:
    """Every step that is possible, the one that needs the least telling first."""
    path = situation.path
    ranked: list[tuple[tuple[int, int, int, bool, bool, int], Step]] = []
    for age, link in enumerate(situation.links):
        if link.state is LinkState.LOST:
            continue
        tie = (
            -path.position(link.knows),
            link.unabridged_from is not None,
            link.id not in situation.warm,
            -age,
        )
        if _may_copy(link, situation):
            ranked.append(((path.content_after(link.knows), 3, *tie), Copy(link)))
        if not _is_for(link, situation.target):
            continue
        if fits(link, situation):
            gap = path.content_after(link.knows)
            if _may_prompt(link, situation):
                ranked.append(((gap, 0, *tie), Use(link)))
            elif situation.powers.forks and link.knows is not None:
                ranked.append(((gap, 1, *tie), Fork(link)))
        if situation.powers.forks and situation.powers.forks_at:
            for turn in situation.clean_turns:
                if turn.link_id == link.id and path.holds_before_prompt(turn.last_id):
                    gap = path.content_after(turn.last_id)
                    ranked.append(((gap, 2, -path.position(turn.last_id), *tie[1:]), ForkAt(link, turn)))
    ranked.append(((path.content_after(None), 4, 0, False, False, 0), New()))
    ranked.sort(key=lambda entry: entry[0])
    return [step for _, step in ranked]


class Reason(StrEnum):
    """Why a link's session is not prompted as it is; the first that holds, in this order."""

    LOST = "lost"
    OTHER_AGENT = "other_agent"
    OTHER_PROFILE = "other_profile"
    OTHER_DIRECTORY = "other_directory"
    ASIDE = "aside"
    SUSPECT = "suspect"
    BUSY = "busy"  # a turn is open on it
    BEYOND_BRANCH = "beyond_branch"  # it holds, or may hold, what is not on the path
    PARKED = "parked"
    OTHER_CONVERSATION = "other_conversation"
    OTHER_WINDOW = "other_window"
    NOT_REOPENABLE = "not_reopenable"  # it is cold, and the agent cannot open it again


class ForkObstacle(StrEnum):
    """Why a link's session that could serve, and is not prompted, is not forked either."""

    CANNOT_FORK = "cannot_fork"  # the agent forks no session
    HOLDS_NOTHING = "holds_nothing"  # nothing is known to be in it
    ONLY_AT_ITS_END = "only_at_its_end"  # the agent forks no session at an earlier turn
    NO_TURN_HERE = "no_turn_here"  # none of its clean turns ended on the path


@dataclass(frozen=True, slots=True)
class Explanation:
    """The route's reasoning about one link."""

    link: Link
    step: Step | None  # the step to it that needs the least telling; None if there is none
    taken: bool  # that step comes first of all
    reason: Reason | None  # None if its session could be prompted
    obstacle: ForkObstacle | None  # None if its session could be forked, need not be, or must not


def explain(situation: Situation, steps: Sequence[Step] | None = None) -> list[Explanation]:
    """Say of each link, in the situation's order, whether a step leads to it, why its session is not prompted, and why
    it is not forked.

    ``steps`` are those of the situation's candidates that are chosen from, in their order; by default all.
    """
    possible = candidates(situation)
    steps = possible if steps is None else steps
    reachable = {key_of(step)[1] for step in possible}
    by_link: dict[str | None, Step] = {}
    for step in steps:
        by_link.setdefault(key_of(step)[1], step)
    return [
        Explanation(
            link=link,
            step=step,
            taken=step is not None and step is steps[0],
            reason=_reason(link, situation),
            obstacle=None if link.id in reachable else _obstacle(link, situation),
        )
        for link, step in ((link, by_link.get(link.id)) for link in situation.links)
    ]


def _obstacle(link: Link, situation: Situation) -> ForkObstacle | None:
    if link.state is LinkState.LOST or not _is_for(link, situation.target):
        return None
    if not situation.powers.forks:
        return ForkObstacle.CANNOT_FORK
    if fits(link, situation):
        return ForkObstacle.HOLDS_NOTHING
    return ForkObstacle.NO_TURN_HERE if situation.powers.forks_at else ForkObstacle.ONLY_AT_ITS_END


def _reason(link: Link, situation: Situation) -> Reason | None:
    target = situation.target
    reasons = (
        (Reason.LOST, link.state is LinkState.LOST),
        (Reason.OTHER_AGENT, link.agent != target.agent),
        (Reason.OTHER_PROFILE, link.profile != target.profile),
        (Reason.OTHER_DIRECTORY, link.cwd != target.cwd),
        (Reason.ASIDE, link.cause is Cause.ASIDE),
        (Reason.SUSPECT, link.state is LinkState.SUSPECT),
        (Reason.BUSY, link.id in situation.busy),
        (Reason.BEYOND_BRANCH, not fits(link, situation)),
        (Reason.PARKED, link.state is LinkState.PARKED),
        (Reason.OTHER_CONVERSATION, link.conversation_id != situation.conversation_id),
        (Reason.OTHER_WINDOW, not _is_ours(link, situation)),
        (Reason.NOT_REOPENABLE, not _may_prompt(link, situation)),
    )
    return next((reason for reason, holds in reasons if holds), None)


def fits(link: Link, situation: Situation) -> bool:
    """True if the link's session holds nothing that is not on the path, for all that we know.

    Below a ceiling that is a prompt the session may hold an answer that came late, and that nobody saw.
    """
    return _is_for(link, situation.target) and _lies_on_path(link, situation)


def _lies_on_path(link: Link, situation: Situation) -> bool:
    path = situation.path
    return (
        link.state in (LinkState.OPEN, LinkState.PARKED)
        and link.id not in situation.busy
        and (link.knows is None or path.holds_before_prompt(link.knows))
        and (link.reach is None or path.holds(link.reach))
        and link.id not in situation.overtaken
    )


def may_claim(link: Link, situation: Situation) -> bool:
    """True if this link may carry the prompt now; asked again in the transaction that claims it."""
    return fits(link, situation) and _is_ours(link, situation)


def _may_copy(link: Link, situation: Situation) -> bool:
    """True if a copy of the session could serve where the session itself cannot.

    The copy goes by the same id, so that only a link of our own may be copied; it is opened before it is prompted, and
    so compared with what it should hold.
    """
    return (
        link.id in situation.copyable
        and not _is_for(link, situation.target)
        and link.agent == situation.target.agent
        and link.cause is not Cause.ASIDE
        and link.knows is not None
        and situation.powers.reopens
        and link.id not in situation.spent
        and _lies_on_path(link, situation)
        and _is_ours(link, situation)
    )


def _is_for(link: Link, target: Target) -> bool:
    """True if the link's session could serve; an aside's holds what was never said on any branch."""
    meant = (link.agent, link.profile, link.cwd) == (target.agent, target.profile, target.cwd)
    return meant and link.cause is not Cause.ASIDE


def _is_ours(link: Link, situation: Situation) -> bool:
    """Parked links, other conversations' links and other open windows' links are forked, never prompted."""
    return (
        link.state is LinkState.OPEN
        and link.conversation_id == situation.conversation_id
        and (link.owner in (None, situation.window_id) or link.owner not in situation.open_windows)
    )


def _may_prompt(link: Link, situation: Situation) -> bool:
    reopens = situation.powers.reopens and link.id not in situation.spent
    return _is_ours(link, situation) and (link.id in situation.warm or reopens)
