"""What is read of a stored tool call, whatever its data holds."""

from __future__ import annotations

from typing import Any

import pytest

from catena_acp.continuity.turns.tool_data import call_of, changed_tool
from catena_acp.port.session_events import (
    Location,
    ToolCallChanged,
    ToolDiff,
    ToolOther,
    ToolTerminal,
    ToolText,
)
from catena_acp.spoken.blocks import Diff, OutputBlock, Reference, TerminalBlock
from catena_acp.spoken.call import Call, ToolPlace

NOW = "2026-11-22T12:00:00+00:00"


def test_a_stored_tool_call_reads_back_as_the_one_that_was_told() -> None:
    call = ToolCallChanged(
        "t1",
        title="Edit views.py",
        kind="edit",
        status="completed",
        name="apply_patch",
        locations=(Location("/shop/views.py", 3), Location("/shop/urls.py", None)),
        content=(
            ToolText("done"),
            ToolDiff("/shop/views.py", None, "new\n"),
            ToolDiff("/shop/urls.py", "old\n", "new\n"),
            ToolTerminal("term-1"),
            ToolOther("image", "a picture"),
        ),
        raw_input={"patch": "…"},
        raw_output=["ok"],
    )
    data = changed_tool({}, call, NOW)
    assert call_of("t1", Call(data)) == call


@pytest.mark.parametrize(
    ("data", "title", "places", "content"),
    [
        ({}, "", (), None),
        (
            {"title": 5, "kind": None, "status": ["completed"], "name": {}, "locations": "x", "content": 7},
            "",
            (),
            7,
        ),
        (
            {"title": "Look", "locations": [{"path": "/a", "line": "3"}, "/b", {"line": 4}]},
            "Look",
            (ToolPlace("/a", None), ToolPlace("", 4)),
            None,
        ),
    ],
)
def test_what_is_no_text_or_no_list_is_read_as_empty(
    data: dict[str, Any], title: str, places: tuple[ToolPlace, ...], content: object
) -> None:
    call = Call(data)
    assert (call.title, call.places, call.content) == (title, places, content)
    assert (call.kind, call.status, call.name) == ("", "", "")
    assert (call.raw_input, call.raw_output) == (None, None)


def test_parts_of_a_wrong_shape_are_read_as_far_as_they_go() -> None:
    content = [
        {"type": "diff", "path": 1, "old": 2, "new": 3},
        {"type": "text"},
        {"type": "terminal", "id": "t", "output": "listing"},
        {"type": "picture", "kind": "image", "description": "a cat"},
        "nothing",
    ]
    assert Call({"content": content}).blocks == (
        Diff("", "", None),
        OutputBlock(""),
        TerminalBlock("listing", "t", "listing"),
        Reference("image", "a cat", ""),
    )


@pytest.mark.parametrize(
    ("data", "label"),
    [
        ({"title": "Run ls", "kind": "execute"}, "Run ls"),
        ({"title": "", "kind": "execute"}, "execute"),
        ({}, "a tool call"),
    ],
)
def test_a_tool_call_is_called_by_its_title_else_by_its_kind(data: dict[str, Any], label: str) -> None:
    assert Call(data).head == label


def test_w07_a_diff_stays_where_the_end_of_its_call_is_a_sentence_alone() -> None:
    change = ToolDiff("notes.txt", None, "one\n")
    shown = changed_tool({}, ToolCallChanged("c", kind="edit", content=(change,)), NOW)
    (diff,) = shown["content"]
    said = ToolText("Wrote file successfully.")

    done = changed_tool(shown, ToolCallChanged("c", status="completed", content=(said,)), NOW)
    assert done["content"] == [diff, {"type": "text", "text": said.text}]
    other = ToolDiff("notes.txt", "one\n", "two\n")
    told = changed_tool(shown, ToolCallChanged("c", status="completed", content=(said, other)), NOW)
    assert [part.get("new") for part in told["content"]] == [None, "two\n"], "it has a diff of its own"
    failed = changed_tool(shown, ToolCallChanged("c", status="failed", content=(said,)), NOW)
    assert [part["type"] for part in failed["content"]] == ["text"], "nothing was changed"
