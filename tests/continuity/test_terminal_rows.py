"""What terminals show, as it is kept with the tool calls that name them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import count
from typing import Any

from catena_acp.continuity.turns.reducer import Change, Insert, Reducer
from catena_acp.port.session_events import Event, TerminalChanged, ToolCallChanged, ToolTerminal, ToolText
from catena_acp.spoken.blocks import OutputBlock
from catena_acp.spoken.call import Call
from catena_store.records import MessageState


class Row:
    """One tool call's row, as a turn's events leave it."""

    def __init__(self) -> None:
        ids = count()
        self.reducer = Reducer(
            conversation_id="c",
            turn_id="t",
            link_id="l",
            last_id=None,
            new_id=lambda: f"m{next(ids)}",
            clock=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        )
        self.data: Mapping[str, Any] = {}
        self.state = MessageState.OPEN

    def take(self, *events: Event) -> None:
        ops = [op for event in events for op in self.reducer.reduce(event)]
        for op in [*ops, *self.reducer.close(clean=True, tool_status="unknown")] if not events else ops:
            match op:
                case Insert(row):
                    self.data, self.state = row.data, row.state
                case Change(data=data, state=state):
                    self.data, self.state = data or self.data, state or self.state

    @property
    def output(self) -> str | None:
        (part,) = Call(self.data).terminals
        return part.coloured


def call(status: str = "in_progress", *terminals: str) -> ToolCallChanged:
    content = tuple(map(ToolTerminal, terminals)) or None
    return ToolCallChanged("call", title="Run it", status=status, content=content)


def test_w11_a_call_has_the_newest_of_its_terminal_and_nothing_of_others() -> None:
    row = Row()
    row.take(call("in_progress", "t1"))
    row.take(
        TerminalChanged("t1", "one"), TerminalChanged("t2", "not mine"), TerminalChanged("t1", "one\ntwo")
    )
    row.take(call("completed"))
    assert (row.output, row.state) == ("one\ntwo", MessageState.FINAL)


def test_w11_a_call_that_comes_after_its_terminals_end_has_all_of_it() -> None:
    row = Row()
    row.take(TerminalChanged("t1", "all of it", 7, 3, None, over=True), call("completed", "t1"))
    (part,) = Call(row.data).terminals
    assert (part.coloured, part.hidden_lines, part.exit_code, part.signal) == ("all of it", 7, 3, "")


def test_w11_what_comes_after_a_call_is_over_changes_its_output_alone() -> None:
    row = Row()
    row.take(call("in_progress", "t1"), call("completed"), TerminalChanged("t1", "late", signal="SIGTERM"))
    (part,) = Call(row.data).terminals
    assert (part.coloured, part.signal, row.data["status"], row.state) == (
        *("late", "SIGTERM", "completed"),
        MessageState.FINAL,
    )


def test_w11_the_output_stays_when_the_turn_ends_with_the_command_running() -> None:
    row = Row()
    row.take(call("in_progress", "t1"), TerminalChanged("t1", "so far"))
    row.take()
    assert [row.output, row.data["status"]] == ["so far", "unknown"]


def test_w11_an_agent_that_takes_its_terminal_out_of_the_call_is_believed() -> None:
    row = Row()
    row.take(call("in_progress", "t1"), TerminalChanged("t1", "shown"))
    row.take(ToolCallChanged("call", content=(ToolText("summary"),)), TerminalChanged("t1", "more"))
    assert Call(row.data).blocks == (OutputBlock("summary"),)


def test_w11_a_turn_remembers_some_terminals_and_not_any_number() -> None:
    row = Row()
    row.take(*(TerminalChanged(f"t{number}", "x") for number in range(1_000)))
    row.take(call("completed", "t0"))
    assert row.output is None
    assert len(row.reducer._terminals) < 100


def test_w11_colours_are_no_part_of_the_text_and_a_signal_is_a_name() -> None:
    stored = {
        "type": "terminal",
        "id": "t",
        "output": "\x1b[31mred\x1b[0m",
        "signal": "<b>",
        "exit_code": "3",
    }
    (part,) = Call({"content": [stored]}).terminals
    assert (part.text, part.coloured, part.signal, part.exit_code) == ("red", stored["output"], "", None)
