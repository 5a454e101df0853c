"""What a turn's end leaves: a table of endings and of what came before them, and rules that hold for all of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from itertools import product

import pytest

from catena_acp.continuity.turns.endings import Bound, Ending, Outcome, TurnContent, outcome_of
from catena_acp.errors import AgentGone, AgentRefused, AgentSilent, NotKept
from catena_acp.port.session_events import PromptEnded, TypedFailure
from catena_store.records import Kind, StopReason

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LIMITED = "exceeded retry limit, last status: 429 Too Many Requests"

NOTHING = TurnContent()
ANSWER = TurnContent(answered=True, last_kind=Kind.AGENT, one_row=True)
TOOL = TurnContent(answered=True, last_kind=Kind.TOOL)
PLAN = TurnContent(last_kind=Kind.PLAN, one_row=True)
STEERED = TurnContent(interjected=True, last_kind=Kind.USER, one_row=True)
ERROR_SAID = replace(ANSWER, only_words=LIMITED)
COMPACTED = TurnContent(compacted=True, last_kind=Kind.NOTICE, one_row=True)
ERROR_AND_PLAN = TurnContent(answered=True, last_kind=Kind.PLAN, only_words=LIMITED)
IN_TOOL = replace(TOOL, under_way=({"title": "rm -r build", "kind": "execute"},))

END = Ending(StopReason.END_TURN)
TOKENS = Ending(StopReason.MAX_TOKENS)
REQUESTS = Ending(StopReason.MAX_TURN_REQUESTS)
REFUSAL = Ending(StopReason.REFUSAL)
STOPPED = Ending(StopReason.CANCELLED)
STOPPED_BY_ERROR = Ending(StopReason.CANCELLED, AgentRefused(-32603, LIMITED))
LIMIT = Ending(StopReason.ERROR, AgentRefused(-32603, f"Internal error: {LIMITED}"))
SILENT = Ending(StopReason.ERROR, AgentSilent("no answer"))
UNKEPT = Ending(StopReason.ERROR, NotKept("the disk is full"))
GONE = Ending(StopReason.AGENT_GONE, AgentGone(-9))
CUT = Ending(StopReason.INTERRUPTED)
ENDED_WITHOUT_CREDIT = PromptEnded(
    "end_turn", None, TypedFailure("limit", "No credits left", None, ("retry",))
)
FAILED = Ending(StopReason.END_TURN, answer=ENDED_WITHOUT_CREDIT)

ENDINGS = (END, TOKENS, REQUESTS, REFUSAL, STOPPED, STOPPED_BY_ERROR, LIMIT, SILENT, UNKEPT, GONE, CUT)
CONTENTS = (NOTHING, ANSWER, TOOL, PLAN, STEERED, ERROR_SAID, ERROR_AND_PLAN, IN_TOOL)


def outcome(ending: Ending, came: TurnContent) -> Outcome:
    return outcome_of(ending, came, "Agent", now=NOW)


@pytest.mark.parametrize(
    ("ending", "came", "clean", "reach", "notice"),
    [
        # A clean end with an answer, or with a tool call: the link knows all of it.
        (END, ANSWER, True, Bound.LAST, None),
        (END, TOOL, True, Bound.LAST, None),
        (END, COMPACTED, True, Bound.LAST, None),
        (TOKENS, ANSWER, True, Bound.LAST, "max_tokens"),
        (REQUESTS, TOOL, True, Bound.LAST, "max_turn_requests"),
        # Without either, the session is suspect.
        (END, NOTHING, False, Bound.PROMPT, "empty_turn"),
        (END, PLAN, False, Bound.PROMPT, "empty_turn"),
        (TOKENS, NOTHING, False, Bound.PROMPT, "empty_turn"),
        # Whatever broke it off: the session may hold what came.
        (REFUSAL, ANSWER, False, Bound.LAST, "refusal"),
        (STOPPED, ANSWER, False, Bound.LAST, "cancelled"),
        (LIMIT, ANSWER, False, Bound.LAST, "rate_limit"),
        (SILENT, TOOL, False, Bound.LAST, "agent_silent"),
        (UNKEPT, ANSWER, False, Bound.LAST, "store"),
        (GONE, TOOL, False, Bound.LAST, "agent_gone"),
        # Where nothing came, the same row can be sent again.
        (REFUSAL, NOTHING, False, Bound.PROMPT, "refusal"),
        (STOPPED, PLAN, False, Bound.PROMPT, "cancelled"),
        (LIMIT, NOTHING, False, Bound.PROMPT, "rate_limit"),
        (GONE, NOTHING, False, Bound.PROMPT, "agent_gone"),
        # An error in words is no answer.
        (LIMIT, ERROR_SAID, False, Bound.PROMPT, "rate_limit"),
        (LIMIT, ERROR_AND_PLAN, False, Bound.LAST, "rate_limit"),
        (LIMIT, replace(ERROR_SAID, one_row=False), False, Bound.LAST, "rate_limit"),
        # What the person said into the turn was heard.
        (LIMIT, STEERED, False, Bound.LAST, "rate_limit"),
        (STOPPED, STEERED, False, Bound.LAST, "cancelled"),
        # Cut off, the agent may have gone on unseen.
        (CUT, NOTHING, False, Bound.NOTICE, "interrupted"),
        (CUT, ANSWER, False, Bound.NOTICE, "interrupted"),
    ],
)
def test_the_floor_rises_after_a_clean_end_alone_and_the_ceiling_to_all_that_the_session_may_hold(
    ending: Ending, came: TurnContent, clean: bool, reach: Bound, notice: str | None
) -> None:
    left = outcome(ending, came)
    assert (left.stop, left.clean, left.reach) == (ending.stop, clean, reach)
    assert (left.notice.data["trouble"] if left.notice else None) == notice


def test_r08_an_end_without_a_word_and_no_other_makes_the_session_suspect() -> None:
    for ending, came in product(ENDINGS, CONTENTS):
        left = outcome(ending, came)
        why = "previous turn returned nothing" if ending.stop.clean and not came.answered else None
        assert left.suspect == why and not (left.suspect and left.clean)
        if why:
            assert left.link_event == ("suspect", why)
        else:
            assert left.link_event == (("agent_gone", str(GONE.error)) if ending is GONE else None)


def test_a_turn_that_did_not_end_cleanly_says_so_in_its_last_row() -> None:
    for ending, came in product(ENDINGS, CONTENTS):
        left = outcome(ending, came)
        if left.stop.clean and not left.error:
            assert left.notice is None or not left.notice.in_turn
        else:
            assert left.mark.get("means") or (left.notice is not None and left.notice.in_turn)
        assert left.tool_status == ("cancelled" if ending.stop is StopReason.CANCELLED else "unknown")


def test_r09_an_error_that_is_the_only_answer_is_told_with_the_row_that_says_it() -> None:
    left = outcome(END, ERROR_SAID)
    assert left.mark["trouble"] == "rate_limit" and left.mark["means"].startswith("Agent is rate limited")
    assert left.notice is None and left.whole, "the words stay as they are"
    beside = outcome(END, ERROR_AND_PLAN)
    assert beside.mark == {} and beside.notice is not None and beside.notice.in_turn


@pytest.mark.parametrize("came", [ERROR_SAID, ERROR_AND_PLAN])
def test_r09_an_end_whose_only_text_is_an_error_is_an_error_that_the_session_may_hold(
    came: TurnContent,
) -> None:
    left = outcome(END, came)
    assert (left.stop, left.error, left.clean) == (StopReason.END_TURN, LIMITED, False)
    assert (left.reach, left.suspect) == (Bound.LAST, None)


def test_r09_a_failure_that_the_agent_names_wins_over_words_and_over_silence() -> None:
    said = outcome(FAILED, ERROR_SAID)
    assert (said.clean, said.error, said.mark["trouble"]) == (False, "No credits left", "credit")
    silent = outcome(FAILED, NOTHING)
    assert (silent.error, silent.suspect, silent.reach) == ("No credits left", None, Bound.PROMPT)
    assert silent.notice is not None and silent.notice.data["trouble"] == "credit"
    broken_off = outcome(FAILED, ANSWER)
    assert (broken_off.clean, broken_off.reach, broken_off.mark) == (False, Bound.LAST, {})
    assert broken_off.notice is not None and "Its partial answer is saved" in broken_off.notice.text


def test_r09_words_that_only_say_the_error_of_the_turn_are_marked_and_its_notice_stands_below_them() -> None:
    left = outcome(LIMIT, ERROR_SAID)
    assert left.mark == {"said_error": True} and left.notice is not None
    assert "Its partial answer is saved" not in left.notice.text
    kept = outcome(LIMIT, ANSWER)
    assert kept.mark == {} and kept.notice is not None and "Its partial answer is saved" in kept.notice.text
    assert outcome(STOPPED_BY_ERROR, ERROR_SAID).mark == {"said_error": True}


def test_a_turn_that_was_cut_off_names_the_tool_calls_whose_end_was_not_seen() -> None:
    left = outcome(CUT, IN_TOOL)
    assert left.notice is not None and left.notice.text.count("rm -r build") == 1
    assert left.notice.in_turn and left.reach is Bound.NOTICE


def test_a_session_that_shortened_its_context_is_abridged_however_the_turn_ended() -> None:
    assert all(outcome(ending, replace(ANSWER, compacted=True)).compacted for ending in ENDINGS)
    assert not outcome(END, ANSWER).compacted
