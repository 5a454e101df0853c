"""The route as a table: each situation that once sent something to the wrong session, and the answer that ends it.

The numbers are those of the counterexamples in docs/internals/route.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from catena_acp.continuity.routing.route import (
    Copy,
    Fork,
    ForkAt,
    New,
    SessionCapabilities,
    Situation,
    Step,
    Target,
    Use,
    candidates,
    key_of,
    may_claim,
)
from catena_store.records import Cause, Link, LinkState, Turn
from support.storage.paths import named_path
from support.storage.turns import AT, clean_turn

ALL = SessionCapabilities(reopens=True, forks=True, forks_at=True)


def link(
    id: str,
    knows: str | None = None,
    reach: str | None = None,
    *,
    state: LinkState = LinkState.OPEN,
    owner: str | None = "w",
    conversation: str = "c",
    unabridged_from: str | None = None,
    agent: str = "model",
    profile: str = "",
    cwd: str = "/shop",
) -> Link:
    """A link that surely holds up to ``knows`` and at most up to ``reach``."""
    return Link(
        id=id,
        conversation_id=conversation,
        agent=agent,
        profile=profile,
        session_id=f"session-{id}",
        cwd=cwd,
        cause=Cause.NEW,
        source_id=None,
        base=None,
        knows=knows,
        reach=reach if reach is not None else knows,
        unabridged_from=unabridged_from,
        state=state,
        owner=owner,
        version=1,
        cost_total=None,
        ended=None,
        created_at=AT,
    )


def situation(
    rows: str,
    *links: Link,
    busy: Sequence[str] = (),
    turns: Sequence[Turn] = (),
    warm: Sequence[str] = (),
    windows: Sequence[str] = ("w", "w2"),
    powers: SessionCapabilities = ALL,
    overtaken: Sequence[str] = (),
    copyable: Sequence[str] = (),
) -> Situation:
    """What window `w` of conversation `c` faces when it prompts with the last of the rows."""
    return Situation(
        target=Target("model", "", "/shop"),
        conversation_id="c",
        window_id="w",
        path=named_path(rows),
        links=links,
        busy=frozenset(busy),
        clean_turns=turns,
        open_windows=frozenset(windows),
        warm=frozenset(warm),
        powers=powers,
        overtaken=frozenset(overtaken),
        copyable=frozenset(copyable),
    )


def names(steps: Sequence[Step]) -> list[str]:
    """The steps in short: `use A`, `fork A`, `fork A at T`, `new`."""
    return [_name(step) for step in steps]


def _name(step: Step) -> str:
    match step:
        case Use(link):
            return f"use {link.id}"
        case Fork(link):
            return f"fork {link.id}"
        case ForkAt(link, turn):
            return f"fork {link.id} at {turn.id}"
        case Copy(link):
            return f"copy {link.id}"
        case New():
            return "new"


def routed(rows: str, *links: Link, **more: object) -> list[str]:
    return names(candidates(situation(rows, *links, **more)))  # type: ignore[arg-type]


def test_a_session_that_ends_where_the_prompt_begins_is_used_and_nothing_is_told() -> None:
    assert routed("U1 a1 U2", link("A", "a1")) == ["use A", "new"]
    assert named_path("U1 a1 U2").content_after("a1") == 0


def test_an_empty_conversation_has_only_a_new_session() -> None:
    assert routed("U1") == ["new"]


def test_1_a_session_that_may_hold_a_prompt_which_was_edited_away_is_not_used() -> None:
    assert routed("U1 a1 U2", link("A", "a1", "Uedited")) == ["new"]


def test_2_a_session_that_another_window_has_claimed_cannot_be_claimed_again() -> None:
    here = situation("U1 a1 U2", link("A", "a1", "Uother", owner="w2"))
    assert not may_claim(here.links[0], here)
    here = situation("U1 a1 U2", link("A", "a1"), busy=["A"])
    assert not may_claim(here.links[0], here)


def test_3_a_partial_answer_that_was_rewound_over_keeps_its_session_out() -> None:
    assert routed("U1 a1 U2", link("A", None, "a3")) == ["new"]


def test_4_a_session_with_a_turn_under_way_is_neither_used_nor_forked() -> None:
    assert routed("U1 a1 U2", link("A", "a1"), busy=["A"]) == ["new"]
    assert routed("U1 a1 U2", link("A", "a1", owner="w2"), busy=["A"]) == ["new"]


def test_5_among_equals_a_session_that_nothing_was_left_out_of_comes_first() -> None:
    abridged, unabridged = link("A", "a2", unabridged_from="a2"), link("B", "a2")
    assert routed("U1 a1 U2 a2 U3", unabridged, abridged)[:2] == ["use B", "use A"]
    assert routed("U1 a1 U2 a2 U3", abridged, unabridged)[:2] == ["use B", "use A"]


def test_6_no_fork_at_a_message_is_tried_before_the_agent_was_seen_to_honour_it() -> None:
    turns = [clean_turn("T1", "A", "U1", "a1")]
    rewound = link("A", "a2", "a2")
    assert routed("U1 a1 U3", rewound, turns=turns) == ["fork A at T1", "new"]
    unsure = SessionCapabilities(reopens=True, forks=True, forks_at=False)
    assert routed("U1 a1 U3", rewound, turns=turns, powers=unsure) == ["new"]


def test_7_a_lost_session_is_not_even_forked_at_a_message() -> None:
    turns = [clean_turn("T1", "A", "U1", "a1")]
    assert routed("U1 a1 U2", link("A", "a1", state=LinkState.LOST), turns=turns) == ["new"]


def test_8_a_session_of_another_agent_profile_or_directory_is_no_candidate() -> None:
    others = [
        link("A", "a1", agent="other"),
        link("B", "a1", profile="work"),
        link("C", "a1", cwd="/elsewhere"),
    ]
    turns = [clean_turn(f"T{other.id}", other.id, "U1", "a1") for other in others]
    assert routed("U1 a1 U2", *others, turns=turns) == ["new"]


def test_9_another_conversations_session_is_forked_and_never_prompted() -> None:
    assert routed("U1 a1 U2", link("A", "a1", conversation="source", owner="w9")) == ["fork A", "new"]


def test_9_another_open_windows_session_is_forked_and_never_prompted() -> None:
    assert routed("U1 a1 U2", link("A", "a1", owner="w2")) == ["fork A", "new"]


def test_9_the_session_of_a_window_that_is_closed_is_anybodys() -> None:
    assert routed("U1 a1 U2", link("A", "a1", owner="w2"), windows=["w"]) == ["use A", "new"]


def test_11_a_session_that_a_lost_process_may_still_write_is_at_most_forked_at_a_message() -> None:
    suspect = link("A", "a1", "n1", state=LinkState.SUSPECT)
    turns = [clean_turn("T1", "A", "U1", "a1")]
    assert routed("U1 a1 U2 n1 U3", suspect, turns=turns) == ["fork A at T1", "new"]


def test_12_a_prompt_whose_end_nobody_saw_is_not_sent_again_into_the_same_session() -> None:
    interrupted = link("A", "a1", "n2")  # the notice hangs below U2, beside the second attempt
    assert routed("U1 a1 U2", interrupted) == ["new"]
    assert routed("U1 a1 U2 n2 U3", interrupted) == ["use A", "new"]


def test_12_a_session_that_failed_at_a_prompt_is_not_used_behind_the_answer_of_another() -> None:
    failed = link("A", "a1", "U2")
    assert routed("U1 a1 U2 n2 U3", failed) == ["use A", "new"]
    assert routed("U1 a1 U2 a2 U3", failed, overtaken=["A"]) == ["new"]
    here = situation("U1 a1 U2 a2 U3", failed, overtaken=["A"])
    assert not may_claim(failed, here)


def test_13_each_step_is_one_step_however_its_link_has_changed() -> None:
    before, after = link("A", "a1"), replace(link("A", "a1"), version=7)
    assert key_of(Use(before)) == key_of(Use(after))
    turn = clean_turn("T1", "A", "U1", "a1")
    keys = {key_of(step) for step in (Use(before), Fork(before), ForkAt(before, turn), New())}
    assert len(keys) == 4


def test_13_there_is_one_new_session_and_it_comes_last_among_equals() -> None:
    told = [link("A"), link("B", owner=None)]
    steps = routed("U1 a1 U2", *told, warm=["A", "B"])
    assert steps == ["use B", "use A", "new"]


def test_15_a_session_from_before_the_barrier_is_not_used_after_it() -> None:
    after_clear = "U3"  # the path starts below the barrier
    assert routed(after_clear, link("A", "a2")) == ["new"]
    assert routed(after_clear, link("A", None, "U2")) == ["new"]


def test_17_a_parked_session_is_forked_and_never_prompted() -> None:
    parked = link("A", "a1", state=LinkState.PARKED, owner=None)
    here = situation("U1 a1 U2", parked)
    assert names(candidates(here)) == ["fork A", "new"]
    assert not may_claim(parked, here)


def test_18_a_fork_at_a_message_is_anchored_only_where_a_clean_turn_of_that_session_ended() -> None:
    turns = [clean_turn("T1", "A", "U1", "a1"), clean_turn("T2", "B", "U2", "a2")]
    a = link("A", "a1", "Uelsewhere")
    assert routed("U1 a1 U2 a2 U3", a, turns=turns) == ["fork A at T1", "new"]
    off_the_path = [clean_turn("T9", "A", "U9", "a9")]
    assert routed("U1 a1 U2", a, turns=off_the_path) == ["new"]


def test_18_no_fork_is_anchored_at_the_prompt_itself() -> None:
    turns = [clean_turn("T1", "A", "U2", "U2")]
    assert routed("U1 a1 U2", link("A", "a1", "Uelsewhere"), turns=turns) == ["new"]


def test_19_a_prompt_that_brought_nothing_goes_into_the_same_session_as_the_same_row() -> None:
    refused = link("A", "a1", "U2")
    assert routed("U1 a1 U2", refused) == ["use A", "new"]
    assert routed("U1 a1 Uagain", refused) == ["new"]


def test_m04_a_session_whose_first_prompt_died_is_used_again_for_the_same_prompt() -> None:
    assert routed("U1", link("A", None, "U1")) == ["use A", "new"]


def test_a_session_that_knows_nothing_is_not_forked() -> None:
    assert routed("U1 a1 U2", link("A", None, None, owner="w2")) == ["new"]


@pytest.mark.parametrize(
    ("warm", "reopens", "expected"),
    [(True, False, ["use A", "new"]), (False, True, ["use A", "new"]), (False, False, ["new"])],
)
def test_a_cold_session_is_used_only_where_the_agent_opens_sessions_again(
    warm: bool, reopens: bool, expected: list[str]
) -> None:
    powers = SessionCapabilities(reopens=reopens, forks=False, forks_at=False)
    assert routed("U1 a1 U2", link("A", "a1"), warm=["A"] if warm else [], powers=powers) == expected


def test_the_least_telling_comes_first_whatever_the_step() -> None:
    near = link("A", "a3", owner="w2")
    far = link("B", "a1")
    turns = [clean_turn("T2", "C", "U2", "a2")]
    busy = link("C", "a2", "U9")
    steps = routed("U1 a1 U2 a2 U3 a3 U4", far, near, busy, turns=turns)
    assert steps == ["fork A", "fork C at T2", "use B", "new"]


def test_using_comes_before_forking_where_neither_has_to_tell_anything() -> None:
    parked = link("A", "a1", state=LinkState.PARKED, owner=None)
    assert routed("U1 a1 U2", parked, link("B", "a1")) == ["use B", "fork A", "new"]


def test_among_equals_the_warm_session_comes_first_and_then_the_newest() -> None:
    links = [link("A", "a1"), link("B", "a1"), link("C", "a1")]
    assert routed("U1 a1 U2", *links, warm=["A"]) == ["use A", "use C", "use B", "new"]


def test_rows_beside_the_conversation_are_no_gap() -> None:
    rows = named_path("U1 s1 x1 a1 n1 U2 t2 a2 U3")
    assert rows.content_after("a1") == 3
    assert rows.content_after("n1") == 3
    assert rows.content_after(None) == 5
    assert routed("U1 a1 n1 U2", link("A", "a1"), link("B", "n1"))[0] == "use B"


@pytest.mark.parametrize("elsewhere", [{"cwd": "/moved"}, {"profile": "work"}])
def test_h13_a_session_of_another_directory_or_account_is_copied_only_if_its_transcript_is_there(
    elsewhere: dict[str, str],
) -> None:
    there = link("A", "a1", **elsewhere)  # type: ignore[arg-type]
    assert routed("U1 a1 U2", there) == ["new"]
    assert routed("U1 a1 U2", there, copyable="A") == ["copy A", "new"]


@pytest.mark.parametrize(
    "unfit",
    [
        {"knows": "a1", "reach": "x1"},  # it may hold what is not on the branch
        {"knows": None},
        {"knows": "a1", "state": LinkState.PARKED},
        {"knows": "a1", "state": LinkState.SUSPECT},
        {"knows": "a1", "state": LinkState.LOST},
        {"knows": "a1", "owner": "w2"},  # another window's
        {"knows": "a1", "conversation": "d"},
        {"knows": "a1", "agent": "other"},
    ],
)
def test_h13_only_a_session_of_our_own_that_lies_on_the_branch_is_copied(unfit: dict[str, object]) -> None:
    there = link("A", cwd="/moved", **unfit)  # type: ignore[arg-type]
    assert not [step for step in routed("U1 a1 U2", there, copyable="A") if step.startswith("copy")]


def test_h13_a_session_that_can_serve_here_comes_before_a_copy_and_a_copy_before_telling() -> None:
    there = link("A", "a1", cwd="/moved")
    assert routed("U1 a1 U2", there, link("B", "a1"), copyable="A") == ["use B", "copy A", "new"]
    parked = link("P", "a1", state=LinkState.PARKED)
    assert routed("U1 a1 U2", there, parked, copyable="A") == ["fork P", "copy A", "new"]
    assert routed("U1 a1 U2", there, busy="A", copyable="A") == ["new"]
    cannot = SessionCapabilities(reopens=False, forks=True, forks_at=True)
    assert routed("U1 a1 U2", there, copyable="A", powers=cannot) == ["new"]
