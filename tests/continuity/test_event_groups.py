"""The groups of session events: those that become rows, also between turns, and those that do not."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import count
from typing import get_args

from catena_acp.continuity.turns.reducer import Reducer
from catena_acp.port.elicitation.requests import CANCEL, Form
from catena_acp.port.session_events import (
    BackgroundWorkEnded,
    CommandsChanged,
    ContextCompacted,
    ElicitationAnswered,
    ElicitationCompleted,
    ElicitationRequested,
    Event,
    ModelRetried,
    ModesChanged,
    NoticeReported,
    OptionsChanged,
    OtherContent,
    PermissionRequested,
    PermissionWithdrawn,
    PlanChanged,
    PlanEntry,
    QuestionEvent,
    StateEvent,
    TerminalChanged,
    TextChunk,
    TitleChanged,
    ToolCallChanged,
    TranscriptEvent,
    UnknownUpdate,
    UsageReported,
)

SAMPLES: tuple[Event, ...] = (
    TextChunk("agent", "words", None),
    OtherContent("agent", "image", "an image", None, {}),
    ToolCallChanged("t1", title="Read"),
    PlanChanged((PlanEntry("one", "pending", "high"),)),
    NoticeReported("mind this", "info"),
    ContextCompacted("shorter", "completed"),
    UnknownUpdate("novelty", {"sessionUpdate": "novelty"}),
    CommandsChanged(()),
    ModesChanged("ask"),
    OptionsChanged(()),
    TitleChanged("a title"),
    UsageReported(1, 2, None, None),
    BackgroundWorkEnded(),
    ModelRetried("rate_limited", 429),
    TerminalChanged("t1", "some output"),
    PermissionRequested("p1", ToolCallChanged("t1", title="Read"), ()),
    PermissionWithdrawn("p1"),
    ElicitationRequested("e1", Form("who?", ())),
    ElicitationAnswered("e1", Form("who?", ()), CANCEL),
    ElicitationCompleted("e1"),
)


def makes_rows(event: Event) -> bool:
    ids = count()
    reducer = Reducer(
        conversation_id="c",
        turn_id=None,
        link_id="l",
        last_id=None,
        new_id=lambda: f"m{next(ids)}",
        clock=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        keeps_user_text=True,
    )
    return bool(reducer.reduce(event))


def test_every_event_is_in_one_group() -> None:
    # What a terminal shows is kept with the row of the tool call that names it.
    groups = [get_args(TranscriptEvent), get_args(StateEvent), get_args(QuestionEvent), (TerminalChanged,)]
    assert sorted(kind.__name__ for group in groups for kind in group) == sorted(
        kind.__name__ for kind in get_args(Event)
    )
    assert {type(event) for event in SAMPLES} == set(get_args(Event))


def test_the_transcript_events_are_those_that_the_reducer_makes_rows_of() -> None:
    # A question makes a row within a turn; between turns, a notice does when it is answered.
    others = [event for event in SAMPLES if not isinstance(event, QuestionEvent)]
    kept = {type(event) for event in others if makes_rows(event)}
    assert kept == set(get_args(TranscriptEvent))
