"""What a person types: words, filters, what means nothing, and completions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catena.history.entries import EntryState, HistoryEntry
from catena.history.query import FilterKind, HistoryQuery, Known, QueryFacts, completions

NOW = datetime(2026, 11, 23, 14, 0, tzinfo=timezone(timedelta(hours=1)))  # a Monday


def entry(**fields: object) -> HistoryEntry:
    given: dict[str, object] = {
        "key": "c1",
        "title": "The login",
        "first_prompt": "",
        "last_prompt": "",
        "agent": "claude-code",
        "profile": "Work",
        "cwd": "/home/ada/Über shop",
        "created_at": datetime(2026, 10, 1, 12, tzinfo=UTC),
        "updated_at": datetime(2026, 10, 20, 12, tzinfo=UTC),
        "git_branch": "fix/Login",
    }
    return HistoryEntry(**(given | fields))  # type: ignore[arg-type]


def asked(text: str) -> HistoryQuery:
    return HistoryQuery.parse(text, now=NOW)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("login form", ["login", "form"]),
        ("agent:claude login todo", ["login"]),
        ('"login form" x', ["login form", "x"]),
        ("https://example.org not:known 10:30", ["https://example.org", "not:known", "10:30"]),
        ("PINNED Agent:X", []),
        ("todos costly", ["todos", "costly"]),
        ("", []),
    ],
)
def test_h03_what_is_no_filter_is_a_word(typed: str, words: list[str]) -> None:
    assert list(asked(typed).words) == words
    assert asked(typed).problems == ()


@pytest.mark.parametrize(
    ("typed", "passes"),
    [
        ("agent:CLAUDE", True),
        ("agent:work", True),
        ("agent:codex", False),
        ('dir:"uber SHOP"', True),
        ("in:elsewhere", False),
        ("branch:login", True),
        ("source:cat", True),
        ("source:claude", False),
        ("before:2026-10-02", True),
        ("before:2026-10-01", False),
        ("before:oct", False),
        ("before:november", True),
        ("after:2026-10-19", True),
        ("after:2026-10-20", False),
        ("after:sep", True),
        ("after:60d", True),
        ("after:1w", False),
        ("after:2025", True),
        ("before:2026", False),
        ("todo", False),
        ("pinned", False),
        ("is:unread", False),
        ("is:running", False),
        ("agent:claude branch:login before:nov", True),
        ("agent:claude pinned", False),
    ],
)
def test_h03_filters_pass_what_they_say(typed: str, passes: bool) -> None:
    assert asked(typed).problems == ()
    assert asked(typed).passes(entry()) is passes


def test_h03_states_and_marks_are_filters_too() -> None:
    waiting = entry(state=EntryState.ASKS, waits=True, todos=2, pinned=True, archived=True, opened=True)
    for typed in (
        "is:running",
        "is:asking",
        "is:waiting",
        "is:open",
        "is:archived",
        "archived",
        "todo",
        "pinned",
    ):
        assert asked(typed).passes(waiting), typed
    assert asked("is:failed").passes(entry(state=EntryState.FAILED))


@pytest.mark.parametrize(
    "typed", ["before:nowhen", "after:2026-13", "is:purple", "cost>much", "agent:", "cost:", "before:99999"]
)
def test_h03_a_value_that_means_nothing_is_said_and_changes_nothing(typed: str) -> None:
    query = asked(f"login {typed} x")
    (problem,) = query.problems
    assert query.text[problem.start : problem.end] == typed
    assert problem.problem
    assert query.words == ("login", "x")
    assert query.passes(entry())


def test_h03_days_begin_at_the_midnight_of_the_person() -> None:
    late = datetime(2026, 11, 22, 23, 30, tzinfo=UTC)  # half past midnight where the person is
    assert asked("after:yesterday").passes(entry(updated_at=late))
    assert not asked("before:today").passes(entry(created_at=late))
    assert asked("after:sunday").passes(entry(updated_at=late))


def test_h03_a_directory_may_be_named_from_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert asked('dir:"~/uber shop"').passes(entry())
    assert not asked("dir:~/shop").passes(entry())


def test_h03_files_and_cost_are_for_the_store_to_say() -> None:
    query = asked("file:Views.py cost>1 cost:2")
    assert [(each.kind, each.sign, each.value) for each in query.unknown] == [
        (FilterKind.FILE, "", "views.py"),
        (FilterKind.COST, ">", "1"),
        (FilterKind.COST, ">=", "2"),
    ]
    assert not query.passes(entry())
    facts = QueryFacts(dict.fromkeys(query.unknown, frozenset({"c1"})))
    assert query.passes(entry(), facts)
    assert not query.passes(entry(key="c2"), facts)


@given(st.text(alphabet=st.sampled_from('agentbforcs:"<>=-0123456789 \x00\n漢ß'), max_size=40))
def test_h03_nothing_that_is_typed_is_an_error(typed: str) -> None:
    query = asked(typed)
    query.passes(entry())
    completions(typed, len(typed), Known(agents=("claude-code",)))
    assert all(0 <= each.start < each.end <= len(typed) for each in query.filters)


@pytest.mark.parametrize(
    ("typed", "cursor", "first"),
    [
        ("ag", 2, "agent:"),
        ("login agent:c", 13, "agent:codex"),
        ("agent:c login", 7, "agent:codex"),
        ("dir:sho", 7, 'dir:"/home/ada/my shop"'),
        ("is:fa", 5, "is:failed"),
        ("before:ye", 9, "before:yesterday"),
        ("file:vi", 7, "file:/home/ada/auth/views.py"),
        ("login", 5, None),
        ("login ", 6, None),
        ("", 0, None),
        ("agent:codex", 11, None),
    ],
)
def test_h03_the_word_at_the_cursor_is_completed(typed: str, cursor: int, first: str | None) -> None:
    known = Known(
        agents=("codex", "claude-code"),
        directories=("/home/ada/my shop",),
        files=("/home/ada/review/a.py", "/home/ada/auth/views.py"),
    )
    found = completions(typed, cursor, known)
    assert (found[0].text if found else None) == first
    if found:
        word = typed[found[0].start : found[0].end]
        assert word == typed.split()[0 if cursor < 9 else -1]
