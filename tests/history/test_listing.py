"""The order of the history, what a query finds in it, and what stays where it is."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catena.history.entries import EntryState, HistoryEntry, HistoryScope
from catena.history.listing import HistoryListing, HistoryMatch, Matches
from catena.history.query import HistoryQuery, Quality, Span, spans
from support.counted_work import calls_counted

NOW = datetime(2026, 11, 23, 14, 0, tzinfo=UTC)
WORDS = ("login", "Form of", "gold", "PDF", "long dog", "flop", "fold")


def entry(key: str, title: str | None = None, *, minutes: int = 0, **fields: object) -> HistoryEntry:
    """An entry that was used so many minutes ago."""
    at = NOW - timedelta(minutes=minutes)
    plain = HistoryEntry(key, title, "", "", "claude-code", "/home/ada/shop", at, at)
    return plain._replace(**fields)  # type: ignore[arg-type]


def listing(*entries: HistoryEntry) -> HistoryListing:
    found = HistoryListing(directory="/home/ada/shop")
    found.put(entries)
    return found


def keys(matches: Matches) -> list[str]:
    return [match.key for match in matches]


def asked(text: str) -> HistoryQuery:
    return HistoryQuery.parse(text, now=NOW)


def test_h20_rows_that_need_the_person_stand_first_then_running_ones_then_pinned_then_by_time() -> None:
    found = listing(
        entry("old", minutes=50),
        entry("new", minutes=1),
        entry("pinned", minutes=40, pinned=True),
        entry("works", minutes=30, state=EntryState.WORKING),
        entry("asks", minutes=20, state=EntryState.ASKS, waits=True),
        entry("unread", minutes=10, state=EntryState.UNREAD, waits=True),
        entry("failed and seen", minutes=5, state=EntryState.FAILED),
        entry("archived", archived=True),
    )
    order = ["unread", "asks", "works", "pinned", "new", "failed and seen", "old", "archived"]
    assert keys(found.match(asked(""))) == order
    found.remove(["works"])
    found.put([entry("unread", minutes=10)])
    assert keys(found.match(asked(""))) == [
        "asks",
        "pinned",
        "new",
        "failed and seen",
        "unread",
        "old",
        "archived",
    ]


@pytest.mark.parametrize(
    ("typed", "order"),
    [
        ("log", ["begins", "within", "prompt"]),
        ("LOG", ["begins", "within", "prompt"]),
        ("gruße", ["accents"]),
        ("grusse", ["accents"]),
        ("fl", []),
        ("lgn", ["begins"]),
        ("ftl", ["letters"]),
        ("fix lng", ["letters"]),
        ("ftlx", []),
        ("shop log", ["prompt", "within", "begins"]),
        ("nowhere", []),
    ],
)
def test_h02_words_are_found_anywhere_and_letters_in_order_within_words_and_at_their_beginnings(
    typed: str, order: list[str]
) -> None:
    found = listing(
        entry("within", "A dialog", minutes=1),
        entry("begins", "The login form", minutes=2),
        entry("prompt", "Other", minutes=0, last_prompt="what does the log say?"),
        entry("accents", "GRÜẞE, Naïve Café", minutes=3, cwd="/srv"),
        entry("letters", "Fix the long gap", minutes=4, cwd="/srv"),
        entry("fuzzy", "Form of letters", minutes=5, cwd="/srv"),
    )
    found.remove(["letters"] if typed in ("log", "LOG") else [])
    assert keys(found.match(asked(typed))) == order


def test_h02_a_title_that_was_made_to_be_hard_costs_no_more_than_its_length() -> None:
    steps = []
    for length in (1_000, 10_000):
        found = listing(entry("c", "lo " * length))
        with calls_counted() as calls:
            assert keys(found.match(asked("lolololololololololox"))) == []
        steps.append(calls.made)
        with calls_counted() as calls:
            found.match(asked("l" * 20 + "o"))[0]
        steps.append(calls.made)
    assert steps[2] <= 20 * steps[0] + 1_000, steps
    assert steps[3] <= 20 * steps[1] + 1_000, steps


def name_spans(match: HistoryMatch) -> tuple[Span, ...]:
    """The places of a match in its entry's name."""
    return spans(match.entry.name, match.words, fuzzy=match.quality is Quality.FUZZY)


def test_h02_what_matched_is_told_in_places_of_the_text_as_it_is_drawn() -> None:
    (match,) = listing(entry("c", "Über GRÜẞE und Grüße", cwd="/a/gru")).match(asked("gruss"))
    assert [match.entry.name[start:end] for start, end in name_spans(match)] == ["GRÜẞ", "Grüß"]
    (match,) = listing(entry("c", "Fix the login")).match(asked("flog"))
    assert [match.entry.name[start:end] for start, end in name_spans(match)] == ["F", "log"]


def test_h03_counts_tell_what_lies_outside_of_the_scope() -> None:
    found = listing(
        entry("here"),
        entry("there", minutes=1, cwd="/home/ada/other"),
        entry("theirs", source="codex", session="s1"),
    )
    matches = found.match(asked(""), HistoryScope.HERE)
    assert (keys(matches), matches.elsewhere) == (["here"], 1)
    assert keys(found.match(asked(""), HistoryScope.EVERYWHERE)) == ["here", "there"]
    assert sorted(keys(found.match(asked(""), HistoryScope.ALL_SOURCES))) == ["here", "theirs", "there"]


def test_h02_what_is_found_does_not_depend_on_what_was_typed_before() -> None:
    chance = random.Random(5)
    entries = [
        entry(
            f"c{number}", " ".join(chance.choices(WORDS, k=3)), cwd=f"/{chance.choice(WORDS)}", minutes=number
        )
        for number in range(20)
    ]
    typing = listing(*entries)
    text = ""
    for _ in range(1_000):
        text = text[:-1] if chance.random() < 0.3 else text + chance.choice("logfpd  ")
        if chance.random() < 0.1:
            typing.put([entries[0]])
        assert keys(typing.match(asked(text))) == keys(listing(*entries).match(asked(text))), text


HARD = st.text(alphabet=st.sampled_from("aAbß İıŞşé\u0301ﬁ漢字\u200d👩_-.\n\x00"), max_size=30)


@given(HARD, HARD)
def test_h02_whatever_stands_in_a_title_what_matched_lies_inside_it(title: str, typed: str) -> None:
    for match in listing(entry("c", title or None)).match(asked(typed)):
        at = 0
        for start, end in name_spans(match):
            assert at <= start < end <= len(match.entry.name)
            at = end
        if match.quality is Quality.TITLE_WORD and match.words:
            assert name_spans(match)


def test_h25_a_match_among_many_is_made_in_short_steps() -> None:
    def busiest(count: int) -> int:
        found = listing(*(entry(f"c{number}", f"Title {number}", minutes=number) for number in range(count)))
        query, most = asked("7"), 0
        steps = found.matching(query)
        while True:
            with calls_counted() as calls:
                over = next(steps, "over") == "over"
            most = max(most, calls.made)
            if over:
                return most

    assert busiest(8_000) < 1.5 * busiest(2_000)


@pytest.mark.parametrize("after", range(0, 40, 3))
def test_h25_what_changes_between_two_steps_of_a_match_is_in_the_next_one(after: int) -> None:
    found = listing(*(entry(f"c{number}", f"Title {number}", minutes=number) for number in range(6_000)))
    steps = found.matching(asked("title 5"))
    for _ in range(after):
        next(steps, None)
    found.remove(["c5"])
    found.put([entry("new", "Title 5, new"), entry("c50", "Renamed")])
    for _ in steps:
        pass
    wanted = {"new", *(f"c{number}" for number in range(6_000) if str(number).startswith("5"))}
    matches = found.match(asked("title 5"))
    words = {
        key for key, each in zip(keys(matches), matches.qualities, strict=True) if each is Quality.TITLE_WORD
    }
    assert words == wanted - {"c5", "c50"}
    assert found.count(HistoryScope.EVERYWHERE) == 6_000
