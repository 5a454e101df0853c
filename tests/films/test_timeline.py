"""The timeline of a replay: steps at the kept times, shortened."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from catena.films.timeline import LONGEST_WAIT, timeline_of
from catena_store.records import Kind, Message, MessageState

BEGUN = datetime(2026, 3, 1, 12, tzinfo=UTC)


def a_row(of: Kind, text: str = "", *, id: str, after: float = 0.0, **data: Any) -> Message:
    return Message(
        id=id,
        conversation_id="c",
        parent_id=None,
        turn_id=None,
        kind=of,
        state=MessageState.FINAL,
        text=text,
        data=data,
        link_id=None,
        agent_message_id=None,
        barrier=False,
        depth=0,
        created_at=BEGUN + timedelta(seconds=after),
    )


ANSWER = "It reads the target before the form is bound. " * 6
BRANCH = (
    a_row(Kind.USER, "Why does it fail?", id="p1"),
    a_row(
        Kind.TOOL,
        id="t1",
        after=3600,
        kind="execute",
        status="completed",
        started_at=(BEGUN + timedelta(seconds=3600)).isoformat(),
        ended_at=(BEGUN + timedelta(seconds=3601)).isoformat(),
        content=[{"type": "text", "text": "output"}],
    ),
    a_row(Kind.AGENT, ANSWER, id="a1", after=3602),
    a_row(Kind.USER, "Mend it.", id="p2", after=90_000),
    a_row(Kind.AGENT, "Done.", id="a2", after=90_001),
)


def test_d02_a_replay_types_prompts_lets_answers_grow_and_shortens_waits() -> None:
    steps = timeline_of(BRANCH).steps

    typed = [step.typed for step in steps if step.typed]
    grown = [step.message.text for step in steps if step.message is not None and step.message.id == "a1"]
    waits = [after.at - before.at for before, after in pairwise(steps)]

    assert typed[:3] == ["W", "Wh", "Why"] and "Why does it fail?" in typed
    assert len(grown) > 5 and grown[-1] == ANSWER
    assert all(more.startswith(less) for less, more in pairwise(grown))
    assert min(waits) >= 0 and max(waits) <= 2 * LONGEST_WAIT
    assert [step.chapter for step in steps if step.chapter] == ["Why does it fail?", "Mend it."]


def test_d02_a_call_of_a_replay_runs_before_its_output_is_there() -> None:
    calls = [
        step.message for step in timeline_of(BRANCH).steps if step.message and step.message.kind is Kind.TOOL
    ]

    assert [call.data["status"] for call in calls] == ["in_progress", "completed"]
    assert (calls[0].data["content"], calls[1]) == ([], BRANCH[1])


def test_d02_a_replay_goes_a_prompt_back_or_on_and_shows_what_stood_there() -> None:
    timeline = timeline_of(BRANCH)
    second = timeline.chapter_after(0)

    assert list(timeline.view(second).messages.values()) == list(BRANCH[:3])
    assert timeline.view(second).working_since is None
    assert timeline.chapter_before(len(timeline.steps)) == second
    assert timeline.chapter_before(second) == 0
    assert timeline.chapter_after(second) == len(timeline.steps)
    assert list(timeline.view(len(timeline.steps)).messages.values()) == list(BRANCH)
