"""Why the route takes a link or leaves it: a table, and that the reasons never contradict the route."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from catena_acp.continuity.routing.explanation import explanation_words
from catena_acp.continuity.routing.route import (
    Explanation,
    Fork,
    ForkAt,
    ForkObstacle,
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
from catena_acp.continuity.services import WhileIdle
from catena_acp.conversation.inspection.chain import TurnContext
from catena_store.records import Cause, ContextSource, Link, LinkState, Turn
from catena_store.windows import windows
from support.conversations.rehearsed import Desk, World
from support.storage.paths import named_path
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
    return Situation(
        target=Target("model", "", "/shop"),
        conversation_id="c",
        window_id="w",
        path=named_path("U1 a1 U2"),
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
        (HELD, None, Use, "would be used"),
        (replace(HELD, state=LinkState.LOST), Reason.LOST, None, "not used: it is lost"),
        (replace(HELD, agent="other"), Reason.OTHER_AGENT, None, "not used: it belongs to another agent"),
        (
            replace(HELD, profile="work"),
            Reason.OTHER_PROFILE,
            None,
            "not used: it belongs to another profile",
        ),
        (
            replace(HELD, cwd="/barn"),
            Reason.OTHER_DIRECTORY,
            None,
            "not used: it works in another directory",
        ),
        (replace(HELD, cause=Cause.ASIDE), Reason.ASIDE, None, "not used: it was for a side question"),
        (
            replace(HELD, state=LinkState.SUSPECT),
            Reason.SUSPECT,
            None,
            "not used: its content is uncertain; its agent can fork it only at its end",
        ),
        (
            replace(HELD, reach="Uedited"),
            Reason.BEYOND_BRANCH,
            None,
            "not used: it may contain messages of other branches; its agent can fork it only at its end",
        ),
        (
            replace(HELD, knows="a9", reach="a9"),
            Reason.BEYOND_BRANCH,
            None,
            "not used: it may contain messages of other branches; its agent can fork it only at its end",
        ),
        (replace(HELD, state=LinkState.PARKED), Reason.PARKED, Fork, "would be forked (it is a saved fork)"),
        (
            replace(HELD, conversation_id="source"),
            Reason.OTHER_CONVERSATION,
            Fork,
            "would be forked (it belongs to another conversation)",
        ),
        (replace(HELD, owner="w2"), Reason.OTHER_WINDOW, Fork, "would be forked (another tab uses it)"),
        (
            replace(HELD, owner="w2", knows=None, reach=None),
            Reason.OTHER_WINDOW,
            None,
            "not used: another tab uses it; it is empty",
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
    words = "a turn is running in it; its agent can fork it only at its end"
    assert explanation_words(explanation) == f"not used: {words}"


def test_a_cold_session_that_its_agent_cannot_open_again_is_explained_by_that() -> None:
    cannot = SessionCapabilities(reopens=False, forks=False, forks_at=False)
    explanation = only(situation(HELD, powers=cannot))
    assert explanation.reason is Reason.NOT_REOPENABLE
    words = "its agent cannot reopen it; its agent cannot fork"
    assert explanation_words(explanation) == f"not used: {words}"
    assert only(situation(HELD, powers=cannot, warm=["A"])).reason is None


@pytest.mark.parametrize(
    ("link", "forks", "forks_at", "turns", "obstacle", "words"),
    [
        (
            replace(HELD, state=LinkState.PARKED),
            False,
            False,
            (),
            ForkObstacle.CANNOT_FORK,
            "it is a saved fork; its agent cannot fork",
        ),
        (
            replace(HELD, state=LinkState.PARKED, knows=None),
            True,
            True,
            (),
            ForkObstacle.HOLDS_NOTHING,
            "it is a saved fork; it is empty",
        ),
        (
            replace(HELD, reach="Uedited"),
            True,
            False,
            (clean_turn("T1", "A", "U1", "a1"),),
            ForkObstacle.ONLY_AT_ITS_END,
            "it may contain messages of other branches; its agent can fork it only at its end",
        ),
        (
            replace(HELD, reach="Uedited"),
            True,
            True,
            (clean_turn("T1", "A", "U9", "a9"),),
            ForkObstacle.NO_TURN_HERE,
            "it may contain messages of other branches; none of its turns ended on this branch",
        ),
    ],
)
def test_a_link_that_is_not_forked_says_why_not(
    link: Link, forks: bool, forks_at: bool, turns: Sequence[Turn], obstacle: ForkObstacle, words: str
) -> None:
    powers = SessionCapabilities(reopens=True, forks=forks, forks_at=forks_at)
    explanation = only(situation(link, powers=powers, turns=turns))
    assert explanation.obstacle is obstacle
    assert explanation_words(explanation) == f"not used: {words}"


def test_a_busy_link_of_an_agent_that_forks_at_a_message_would_be_forked_at_its_last_turn() -> None:
    powers = SessionCapabilities(reopens=True, forks=True, forks_at=True)
    turns = [clean_turn("T1", "A", "U1", "a1")]
    explanation = only(situation(HELD, busy=["A"], turns=turns, powers=powers))
    assert isinstance(explanation.step, ForkAt)
    assert explanation_words(explanation) == "would be forked at an earlier turn (a turn is running in it)"


def test_a_link_that_could_serve_but_comes_later_says_so() -> None:
    told = replace(HELD, id="B", knows=None, reach=None)
    parked = replace(HELD, id="P", state=LinkState.PARKED)
    assert [explanation_words(each) for each in explain(situation(told, parked, HELD))] == [
        "could be used; another is preferred",
        "could be forked (it is a saved fork); another is preferred",
        "would be used",
    ]


def test_every_reason_has_words_for_a_prompt_that_is_out_too() -> None:
    turns = [clean_turn("T1", "A", "U1", "a1")]
    cases = [
        (situation(HELD), "was used"),
        (situation(replace(HELD, state=LinkState.PARKED)), "was forked (it was a saved fork)"),
        (
            situation(HELD, busy=["A"], turns=turns, powers=SessionCapabilities(True, True, True)),
            "was forked at an earlier turn (a turn was running in it)",
        ),
        (situation(replace(HELD, state=LinkState.LOST)), "not used: it was lost"),
        (
            situation(replace(HELD, state=LinkState.PARKED), powers=SessionCapabilities(True, False, False)),
            "not used: it was a saved fork; its agent could not fork",
        ),
    ]
    for here, words in cases:
        assert explanation_words(only(here), past=True) == words
    second, _ = explain(situation(replace(HELD, id="B", knows=None, reach=None), HELD))
    assert explanation_words(second, past=True) == "could have been used; another was preferred"


def others_of(context: TurnContext | None) -> dict[str, str]:
    assert context is not None
    return {other.session_id: other.words for other in context.others}


async def back_to_first_turn(desk: Desk) -> None:
    leaf = (await desk.turns())[0].last_id
    async with desk.db.write() as tx:
        await windows.set_leaf(tx, desk.window_id, leaf)


async def context_of(desk: Desk) -> TurnContext | None:
    return await desk.conversation.chain.context(desk.window)


async def test_a_turn_keeps_why_its_context_was_told_and_not_forked(tmp_path: Path) -> None:
    world = World(tmp_path)
    async with world.client("--no-fork", specs={"other": world.spec("--no-fork", name="other")}) as desk:
        await desk.say("say one")
        assert others_of(await context_of(desk)) == {}
        await desk.say("say two")
        await back_to_first_turn(desk)
        over = await desk.say("say three")
        assert over.turn is not None and over.turn.how is ContextSource.TOLD
        first, second = [link.session_id for link in await desk.links()]
        beyond = "not used: it might have contained messages of other branches; its agent could not fork"
        assert others_of(await context_of(desk)) == {first: beyond}
        await desk.window.set_agent(world.spec("--no-fork", name="other"))
        await desk.say("say four")
        assert others_of(await context_of(desk)) == {second: "not used: it belonged to another agent"}
        # Later changes do not reach what was noted then, and an older turn of another version says nothing.
        context = await context_of(desk)
        assert context is not None
        assert others_of(await desk.conversation.chain.context(desk.window, turn_id=context.before)) == {
            first: beyond
        }
        async with desk.db.write() as tx:
            await tx.run("UPDATE message SET data = json_remove(data, '$.route') WHERE kind = 'seam'")
        assert others_of(await context_of(desk)) == {}


async def test_a_turn_keeps_which_session_was_forked_for_it_and_which_fork_failed_and_how(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    idle = WhileIdle(probe=True, park=True, longest=math.inf, share=math.inf)
    async with world.client(while_idle=idle) as desk:
        for text in ("say one", "say two"):
            await desk.say(text)
            await desk.window.settled()
        await back_to_first_turn(desk)
        await desk.say("say three")
        forked = others_of(await context_of(desk))
        await back_to_first_turn(desk)
        world.fail({"fork": {"error": [-32603, "out of memory"]}})
        over = await desk.say("say four")
        assert over.turn is not None and over.turn.how is ContextSource.TOLD
        chain = await desk.links()
        held = next(link for link in chain if link.cause is Cause.NEW)
        parked_at_one, parked_at_two = [link for link in chain if link.cause is Cause.PARK][:2]
        only_at_end = "its agent could fork it only at its end"
        beyond = f"not used: it might have contained messages of other branches; {only_at_end}"
        assert forked == {
            held.session_id: beyond,
            parked_at_one.session_id: "was forked (it was a saved fork)",
            parked_at_two.session_id: beyond,
        }
        failed = others_of(await context_of(desk))
        assert failed[parked_at_one.session_id] == "fork failed: out of memory"
        assert failed[held.session_id] == failed[parked_at_two.session_id] == beyond


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
        never = explanation.reason in (Reason.LOST, Reason.ASIDE)
        assert (explanation.obstacle is None) is (never or bool(to_it))
        seen.add(explanation.reason)
    assert seen == {None, *Reason} - {
        Reason.OTHER_AGENT,
        Reason.OTHER_PROFILE,
        Reason.OTHER_DIRECTORY,
        Reason.OTHER_CONVERSATION,
    }
