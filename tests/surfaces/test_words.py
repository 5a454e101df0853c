"""Words are made of values, each where it is needed, and never of other words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from catena.linear.rows import duration_words
from catena.text.formats import duration_text, program_of
from catena_acp.continuity.wording.context_summary import seam_text
from catena_acp.continuity.wording.counts import counted
from catena_acp.conversation.inspection.price import Price
from catena_store.records import ContextSource

MANY = Price(ContextSource.TOLD, told=1_200, told_total=1_500, tokens=90_000)


def test_p11_a_price_in_brief_is_its_first_clause_whatever_number_stands_in_it() -> None:
    assert MANY.in_brief == "1,200 of 1,500 messages replayed"
    assert replace(MANY, exact=False).in_brief == "1,200 of 1,500 messages replayed?"
    assert replace(MANY, reason="the session is gone").words.startswith(
        "1,200 of 1,500 messages replayed, since the session is gone, ~90,000 tokens"
    )
    native = Price(ContextSource.RESUMED, reason="the session is gone")
    assert native.words == "same context, nothing replayed, since the session is gone"
    before = replace(MANY, exact=False, before_logout=True).words
    assert ", probably 1,200 of 1,500 messages replayed, " in before


def test_p11_a_copied_session_is_named_by_where_it_goes() -> None:
    copied = Price(ContextSource.RESUMED, copied="the session moves along", exact=False)
    assert (copied.words, copied.in_brief) == (
        "probably same context, the session moves along",
        "same context?",
    )


@pytest.mark.parametrize(("number", "words"), [(1, "1 branch"), (2, "2 branches"), (1_000, "1,000 branches")])
def test_several_things_are_called_by_their_own_plural(number: int, words: str) -> None:
    assert counted(number, "branch", "branches") == words


def test_a_seam_with_a_cause_says_what_was_replayed_and_not_in_what_session() -> None:
    assert seam_text(MANY, "rate limit") == "rate limit · 1,200 of 1,500 messages replayed"
    assert seam_text(MANY, None) == "new session · 1,200 of 1,500 messages replayed"


@pytest.mark.parametrize(
    ("seconds", "text", "words"),
    [
        (1, "1 s", "1 second"),
        (62, "1 min 2 s", "1 minute 2 seconds"),
        (120, "2 min", "2 minutes"),
        (3_600, "1 h", "1 hour"),
        (7_500, "2 h 5 min", "2 hours 5 minutes"),
    ],
)
def test_a_duration_is_drawn_and_spoken_from_the_same_parts(seconds: float, text: str, words: str) -> None:
    assert duration_text(seconds, precise=False) == text
    assert duration_words(seconds) == words


def test_an_agent_that_is_a_command_is_called_by_its_program() -> None:
    assert [program_of(each) for each in ("claude", "command:/opt/two --name Two")] == ["claude", "two"]
