"""Work that outlives its turn: what of it goes on, by what agents tell."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from catena_acp.continuity.turns.background import BackgroundWork
from catena_acp.continuity.turns.reducer import Change, Insert, Reducer
from catena_acp.port.session_events import ToolCallChanged
from catena_store.records import Kind, Message, MessageState

NOW = datetime(2026, 11, 20, 14, 0, tzinfo=UTC)


def a_call(number: int, **data: Any) -> Message:
    return Message(
        id=f"row-{number}",
        conversation_id="c",
        parent_id=None,
        turn_id="t",
        kind=Kind.TOOL,
        state=MessageState.FINAL,
        text="",
        data={"title": f"sleep {number}", "status": "completed", **data},
        link_id="link",
        agent_message_id=f"call-{number}",
        barrier=False,
        depth=number,
        created_at=NOW,
    )


def left_running(*numbers: int) -> BackgroundWork:
    work = BackgroundWork()
    for number in numbers:
        assert work.take("w", a_call(number, background=f"task-{number}"))
    return work


def going_on(work: BackgroundWork) -> list[str]:
    return [task.title for task in work.of_window("w")]


def test_w28_the_only_work_that_goes_on_is_that_which_the_agent_says_has_ended() -> None:
    work = left_running(1)
    assert going_on(work) == ["sleep 1"]
    assert not work.take("w", a_call(1, background="task-1", locations=[])), "it is known"
    assert work.end_one("link")
    assert going_on(work) == []
    assert not work.take("w", a_call(1, background="task-1")), "a later change of its row begins nothing"
    assert not work.end_one("link")
    work.take("w", a_call(2, background="task-2"))
    assert (going_on(work), work.ended_unnamed("w")) == (["sleep 2"], 0)


def test_w28_of_several_it_is_counted_that_one_has_ended_until_none_is_left() -> None:
    work = left_running(1, 2)
    work.end_one("link")
    assert (going_on(work), work.ended_unnamed("w")) == (["sleep 1", "sleep 2"], 1)
    assert not work.end_one("another link")
    work.end_one("link")
    assert (going_on(work), work.ended_unnamed("w")) == ([], 0)


def test_w28_work_ends_when_the_agent_stops_it_by_its_id_or_goes() -> None:
    work = left_running(1, 2, 3)
    stop = a_call(9, name="TaskStop", raw_input={"task_id": "task-2"})
    assert not work.take("w", replace(stop, data={**stop.data, "status": "in_progress"}))
    assert work.take("w", stop)
    assert going_on(work) == ["sleep 1", "sleep 3"]
    assert work.end_all({"link"}) == {"w"}
    assert going_on(work) == [] and work.end_all({"link"}) == set()


def test_w28_a_later_update_of_a_call_that_had_returned_ends_its_work_and_changes_its_row() -> None:
    work = BackgroundWork()
    work.take("w", a_call(1, background="task-1", status="pending"))
    returned = ToolCallChanged("call-1", status="completed")
    assert not work.take_late("link", returned), "it returns only now, and its work goes on"
    work.take("w", a_call(1, background="task-1"))
    assert work.take_late("link", replace(returned, raw_output="done"))
    assert going_on(work) == []
    reducer = Reducer(
        conversation_id="c",
        turn_id=None,
        link_id="link",
        last_id="u",
        new_id=lambda: "new",
        clock=lambda: NOW,
    )
    for task in work.calls_of("link"):
        reducer.carry(task.call_id, task.message_id, task.data)
    ops = reducer.reduce(replace(returned, raw_output="done"))
    assert [op.message_id for op in ops if isinstance(op, Change)] == ["row-1"]
    assert not [op for op in ops if isinstance(op, Insert)]
