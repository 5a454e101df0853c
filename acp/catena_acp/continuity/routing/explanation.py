"""The route, explained in words: why a link was taken for a prompt or not, before it is sent and afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from catena_acp.continuity.routing import route
from catena_acp.continuity.routing.route import Explanation, ForkObstacle, Reason, Situation, Step
from catena_store.records import Cause, Link, LinkState

EXPLAINED = 16  # links of a turn, the newest
_SET_APART = frozenset({Cause.PARK, Cause.ASIDE, Cause.PROBE})


def explanation_words(explanation: Explanation, *, past: bool = False) -> str:
    """What a prompt makes of one link, in one line; ``past``: the prompt is out."""
    why = _why(explanation, past=past)
    match explanation.step:
        case route.ForkAt():
            done = f"be forked at an earlier turn ({why})", f"forked at an earlier turn ({why})"
        case route.Fork():
            done = f"be forked ({why})", f"forked ({why})"
        case route.Copy():
            done = f"be copied ({why})", f"copied ({why})"
        case route.Use():
            done = "be used", "used"
        case _:
            return f"not used: {why}" if why else "not used"
    if explanation.taken:
        return f"was {done[1]}" if past else f"would {done[0]}"
    return (
        f"could have been {done[1]}; another was preferred"
        if past
        else f"could {done[0]}; another is preferred"
    )


def _why(explanation: Explanation, *, past: bool) -> str:
    reasons = [
        words[past]
        for words in (
            _REASONS[explanation.reason] if explanation.reason else None,
            _OBSTACLES[explanation.obstacle] if explanation.obstacle else None,
        )
        if words
    ]
    return "; ".join(reasons)


# Of a prompt that is not out yet, and of one that is.
_REASONS: Mapping[Reason, tuple[str, str]] = MappingProxyType(
    {
        Reason.LOST: ("it is lost", "it was lost"),
        Reason.OTHER_AGENT: ("it belongs to another agent", "it belonged to another agent"),
        Reason.OTHER_PROFILE: ("it belongs to another profile", "it belonged to another profile"),
        Reason.OTHER_DIRECTORY: ("it works in another directory", "it worked in another directory"),
        Reason.ASIDE: ("it was for a side question", "it was for a side question"),
        Reason.SUSPECT: ("its content is uncertain", "its content was uncertain"),
        Reason.BUSY: ("a turn is running in it", "a turn was running in it"),
        Reason.BEYOND_BRANCH: (
            "it may contain messages of other branches",
            "it might have contained messages of other branches",
        ),
        Reason.PARKED: ("it is a saved fork", "it was a saved fork"),
        Reason.OTHER_CONVERSATION: (
            "it belongs to another conversation",
            "it belonged to another conversation",
        ),
        Reason.OTHER_WINDOW: ("another tab uses it", "another tab used it"),
        Reason.NOT_REOPENABLE: ("its agent cannot reopen it", "its agent could not reopen it"),
    }
)
_OBSTACLES: Mapping[ForkObstacle, tuple[str, str]] = MappingProxyType(
    {
        ForkObstacle.CANNOT_FORK: ("its agent cannot fork", "its agent could not fork"),
        ForkObstacle.HOLDS_NOTHING: ("it is empty", "it was empty"),
        ForkObstacle.ONLY_AT_ITS_END: (
            "its agent can fork it only at its end",
            "its agent could fork it only at its end",
        ),
        ForkObstacle.NO_TURN_HERE: (
            "none of its turns ended on this branch",
            "none of its turns ended on this branch",
        ),
    }
)


class RouteRecord:
    """The route's record of one prompt: for each link, why it was taken or not, and what failed."""

    def __init__(self) -> None:
        self._situation: Situation | None = None
        self._steps: Sequence[Step] = ()
        self._failures: dict[str, str] = {}

    def chose(self, situation: Situation, steps: Sequence[Step]) -> None:
        """Note what the first of these steps was chosen from."""
        self._situation, self._steps = situation, steps

    def failed(self, link_id: str, words: str) -> None:
        """Note why a step to a link, which the route had chosen, came to nothing."""
        self._failures[link_id] = words

    def words(self, carrier: Link, also: Link | None) -> dict[str, str]:
        """One line for each of the newest links, oldest first, but for the one that carries the prompt.

        ``also`` is a link that the route did not look at, of another agent: that of the turn before.
        """
        if self._situation is None:
            return {}
        looked_at = [link for link in self._situation.links if link.id != carrier.id]
        if also and also.id != carrier.id and all(link.id != also.id for link in looked_at):
            looked_at.append(also)
        shown = [link for link in looked_at if link.state is LinkState.PARKED or link.cause not in _SET_APART]
        situation = replace(self._situation, links=shown[-EXPLAINED:])
        return {
            each.link.id: self._failures.get(each.link.id) or explanation_words(each, past=True)
            for each in route.explain(situation, self._steps)
        }
