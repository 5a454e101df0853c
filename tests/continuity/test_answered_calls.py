"""Tool calls whose permission requests were answered: when they start, and what is told of a rejection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from catena.text.call_text import glyph_of, notes_of
from catena_acp.continuity.turns.reducer import Change, Insert, Op, Reducer
from catena_acp.permissions.subject import unresolved_subject
from catena_acp.port.session_events import ToolCallChanged
from catena_acp.spoken.call import Call
from catena_store.records import Kind
from support.conversations.rehearsed import World
from support.screen.transcript import Writer


class Turn:
    """A turn with one tool call, on a clock that somebody moves."""

    def __init__(self) -> None:
        ids = count()
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.reducer = Reducer("c", "t", "l", None, new_id=lambda: f"m{next(ids)}", clock=lambda: self.now)
        self.data: Mapping[str, Any] = {}

    def tell(self, status: str | None = None) -> None:
        self._take(self.reducer.reduce(ToolCallChanged("call", title="rm -r", kind="execute", status=status)))

    def answer(self, *, allowed: bool) -> None:
        call = ToolCallChanged("call", title="rm -r", kind="execute")
        self.reducer.note_answer(unresolved_subject(call), allowed=allowed)

    def end(self) -> None:
        self._take(self.reducer.close(clean=True, tool_status="unknown"))

    def pass_time(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    def _take(self, ops: list[Op]) -> None:
        for data in _written(ops):
            self.data = data


def _written(ops: list[Op]) -> Iterator[Mapping[str, Any]]:
    for op in ops:
        match op:
            case Insert(row):
                yield row.data
            case Change(data=data) if data is not None:
                yield data


@pytest.mark.parametrize("said", ["failed", "pending", None])
def test_w01_a_rejected_call_is_rejected_whatever_its_agent_makes_of_that(said: str | None) -> None:
    turn = Turn()
    turn.tell("pending")
    turn.answer(allowed=False)
    if said is not None:
        turn.tell(said)
    turn.end()
    assert turn.data["status"] == "rejected"
    call = Call.of(Writer().row(Kind.TOOL, "rm -r", data=turn.data))
    assert (glyph_of(call), call.failed, call.seconds) == ("◌", False, None)


def test_w01_a_rejection_that_is_noted_after_the_agents_own_word_counts() -> None:
    turn = Turn()
    turn.tell("failed")
    turn.answer(allowed=False)
    turn.tell()
    assert turn.data["status"] == "rejected"


@pytest.mark.parametrize("first", [True, False])
def test_v05_a_rejected_call_is_never_done_and_says_that_its_agent_calls_it_so(first: bool) -> None:
    turn = Turn()
    turn.tell("completed" if first else "pending")
    turn.answer(allowed=False)
    turn.tell("completed")
    assert turn.data["status"] == "rejected"
    call = Call.of(Writer().row(Kind.TOOL, "rm -r", data=turn.data))
    assert (glyph_of(call), notes_of(call)) == ("◌", ("rejected, and the agent reports it as done",))


def test_w01_a_call_asked_for_twice_is_what_the_last_answer_makes_of_it() -> None:
    turn = Turn()
    turn.tell("pending")
    turn.answer(allowed=False)
    turn.answer(allowed=True)
    turn.tell("completed")
    assert turn.data["status"] == "completed"


def test_w01_the_time_in_which_a_call_waited_for_the_person_is_not_its_own() -> None:
    turn = Turn()
    turn.tell("pending")
    turn.pass_time(600)
    turn.answer(allowed=True)
    turn.pass_time(2)
    turn.tell("completed")
    assert Call.of(Writer().row(Kind.TOOL, "rm -r", data=turn.data)).seconds == 2


async def test_w01_another_agent_is_told_that_a_rejected_call_was_not_done(tmp_path: Path) -> None:
    world = World(tmp_path)
    other = world.spec(name="other")
    async with world.client(specs={"other": other}) as desk:
        await desk.say("edit main.txt", answer="no")
        (tool,) = [row for row in await desk.branch() if row.kind is Kind.TOOL]
        assert tool.data["status"] == "rejected"
        await desk.window.set_agent(other)
        await desk.say("go on")
    told = world.prompts()[-1][0]
    assert ": not done: the person rejected it" in told
