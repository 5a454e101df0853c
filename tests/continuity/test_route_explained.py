"""Why the route takes a link or leaves it: a table, and that the reasons never contradict the route."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import pytest

from catena_acp.continuity.routing.route import (
    Explanation,
    Fork,
    ForkAt,
    New,
    Reason,
    SessionCapabilities,
    Situation,
    Target,
    Use,
    candidates,
    explain,
    key_of,
)
from catena_acp.conversation.inspection.route_explanation import explanation_words
from catena_store.records import Cause, Kind, Link, LinkState, PathRow, Turn
from support.storage.turns import AT, clean_turn

ALL = SessionCapabilities(reopens=True, forks=True, forks_at=False)
HELD = Link(
    id="A",
    conversation_id="c",
    agent="model",
    profile="",
    session_id="s",
    cwd="/shop",
    cause=Cause.NEW,
    source_id=None,
    base=None,
    knows="a1",
    reach="a1",
    unabridged_from=None,
    state=LinkState.OPEN,
    owner="w",
    version=1,
    cost_total=None,
    ended=None,
    created_at=AT,
)


def situation(
    *links: Link,
    busy: Sequence[str] = (),
    turns: Sequence[Turn] = (),
    warm: Sequence[str] = (),
    powers: SessionCapabilities = ALL,
) -> Situation:
    """Window `w` of conversation `c` is about to prompt with U2, below U1 and a1."""
    kinds = {"U": Kind.USER, "a": Kind.AGENT}
    return Situation(
        target=Target("model", "", "/shop"),
        conversation_id="c",
        window_id="w",
        path=[PathRow(name, kinds[name[0]], None) for name in ("U1", "a1", "U2")],
        links=links,
        busy=frozenset(busy),
        clean_turns=turns,
        open_windows=frozenset({"w", "w2"}),
        warm=frozenset(warm),
        powers=powers,
    )


def only(here: Situation) -> Explanation:
    (explanation,) = explain(here)
    return explanation


@pytest.mark.parametrize(
    ("link", "reason", "step", "words"),
    [
        (HELD, None, Use, "would be prompted"),
        (replace(HELD, state=LinkState.LOST), Reason.LOST, None, "not taken: it is lost"),
        (replace(HELD, agent="other"), Reason.OTHER_AGENT, None, "not taken: it is another agent's"),
        (replace(HELD, profile="work"), Reason.OTHER_PROFILE, None, "not taken: it is of another profile"),
        (
            replace(HELD, cwd="/barn"),
            Reason.OTHER_DIRECTORY,
            None,
            "not taken: it works in another directory",
        ),
        (replace(HELD, cause=Cause.ASIDE), Reason.ASIDE, None, "not taken: it was an aside's"),
        (
            replace(HELD, state=LinkState.SUSPECT),
            Reason.SUSPECT,
            None,
            "not taken: what it holds is not certain",
        ),
        (
            replace(HELD, reach="Uedited"),
            Reason.BEYOND_BRANCH,
            None,
            "not taken: it may hold what is not on this branch",
        ),
        (
            replace(HELD, knows="a9", reach="a9"),
            Reason.BEYOND_BRANCH,
            None,
            "not taken: it may hold what is not on this branch",
        ),
        (replace(HELD, state=LinkState.PARKED), Reason.PARKED, Fork, "would be forked (it is parked)"),
        (
            replace(HELD, conversation_id="source"),
            Reason.OTHER_CONVERSATION,
            Fork,
            "would be forked (it belongs to another conversation)",
        ),
        (replace(HELD, owner="w2"), Reason.OTHER_WINDOW, Fork, "would be forked (it carries another window)"),
        (
            replace(HELD, owner="w2", knows=None, reach=None),
            Reason.OTHER_WINDOW,
            None,
            "not taken: it carries another window",
        ),
    ],
)
def test_each_link_is_explained(link: Link, reason: Reason | None, step: type | None, words: str) -> None:
    explanation = only(situation(link))
    assert explanation.reason is reason
    assert (type(explanation.step) if explanation.step else None) is step
    assert explanation.taken is (step is not None)
    assert explanation_words(explanation) == words


def test_a_link_with_a_turn_under_way_is_explained_by_that() -> None:
    explanation = only(situation(HELD, busy=["A"]))
    assert explanation.reason is Reason.BUSY
    assert explanation_words(explanation) == "not taken: a turn is under way in it"


def test_a_cold_session_that_its_agent_cannot_open_again_is_explained_by_that() -> None:
    cannot = SessionCapabilities(reopens=False, forks=False, forks_at=False)
    explanation = only(situation(HELD, powers=cannot))
    assert explanation.reason is Reason.NOT_REOPENABLE
    assert explanation_words(explanation) == "not taken: its agent cannot open it again"
    assert only(situation(HELD, powers=cannot, warm=["A"])).reason is None


def test_a_busy_link_of_an_agent_that_forks_at_a_message_would_be_forked_at_its_last_turn() -> None:
    powers = SessionCapabilities(reopens=True, forks=True, forks_at=True)
    turns = [clean_turn("T1", "A", "U1", "a1")]
    explanation = only(situation(HELD, busy=["A"], turns=turns, powers=powers))
    assert isinstance(explanation.step, ForkAt)
    assert explanation_words(explanation) == "would be forked at an earlier turn (a turn is under way in it)"


def test_a_link_that_could_serve_but_comes_later_says_so() -> None:
    told = replace(HELD, id="B", knows=None, reach=None)
    parked = replace(HELD, id="P", state=LinkState.PARKED)
    assert [explanation_words(each) for each in explain(situation(told, parked, HELD))] == [
        "could be prompted; another comes first",
        "could be forked (it is parked); another comes first",
        "would be prompted",
    ]


def test_a_reason_is_given_exactly_where_the_session_is_not_prompted() -> None:
    powers = [
        SessionCapabilities(reopens, forks, at) for reopens, forks, at in product((True, False), repeat=3)
    ]
    links = [
        replace(HELD, state=state, knows=knows, reach=reach, owner=owner, cause=cause)
        for state, knows, reach, owner, cause in product(
            LinkState, (None, "a1", "gone"), (None, "a1", "gone"), (None, "w", "w2", "closed"), Cause
        )
    ]
    turns = [clean_turn("T1", "A", "U1", "a1")]
    seen = set()
    for link, power, busy, warm in product(links, powers, ((), ("A",)), ((), ("A",))):
        here = situation(link, powers=power, busy=busy, warm=warm, turns=turns)
        explanation, steps = only(here), candidates(here)
        to_it = [step for step in steps if key_of(step)[1] == "A"]
        assert explanation.step == (to_it[0] if to_it else None)
        assert explanation.taken is (not isinstance(steps[0], New))
        assert (explanation.reason is None) is any(isinstance(step, Use) for step in to_it)
        seen.add(explanation.reason)
    assert seen == {None, *Reason} - {
        Reason.OTHER_AGENT,
        Reason.OTHER_PROFILE,
        Reason.OTHER_DIRECTORY,
        Reason.OTHER_CONVERSATION,
    }
