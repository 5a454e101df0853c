"""A file that Catena writes for an agent shows its change once: at the call that tells of it, else in its own row."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from catena.linear.rows import tool_details, tool_line
from catena.rendering.html import HtmlRenderer
from catena.rendering.markdown import MarkdownRenderer
from catena_acp.changes.changed_file import FileState
from catena_acp.changes.reported import reported_files
from catena_acp.conversation.inspection.file_changes import files_touched
from catena_acp.permissions.own_requests import MAX_SHOWN
from catena_acp.spoken.blocks import Diff, OutputBlock
from catena_acp.spoken.call import Call
from catena_store.records import Kind
from support.clients.protocol import spec
from support.conversations.rehearsed import Desk, World
from support.screen.transcript import column
from support.storage.exports import a_head, a_message, a_part

# The prompt is what the agent does, step by step.
STEPS = """
import json

def session_prompt(agent, prompt):
    s = prompt["params"]["sessionId"]
    for number, (act, given) in enumerate(json.loads(prompt["params"]["prompt"][-1]["text"])):
        if act in ("tool_call", "tool_call_update"):
            agent.send(agent.update(s, act, **{"toolCallId": "w", **given}))
            continue
        method = {"write": "fs/write_text_file", "ask": "session/request_permission"}[act]
        agent.ask(number + 100, method, sessionId=s, **given)
        while agent.read().get("id") != number + 100:
            pass
    agent.send(agent.result(prompt, {"stopReason": "end_turn"}))
"""
DONE = (
    "tool_call_update",
    {"status": "completed", "content": [{"type": "content", "content": {"type": "text", "text": "done"}}]},
)
FAILED = ("tool_call_update", {**DONE[1], "status": "failed"})


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    world = World(tmp_path)
    async with world.client(specs={"scripted": spec(tmp_path, STEPS)}, agent="scripted", rules=()) as desk:
        yield desk


@pytest.fixture
def at(tmp_path: Path) -> Path:
    return tmp_path / "project" / "made.txt"


def holds(at: Path, text: str, encoding: str = "utf-8") -> None:
    at.write_text(text, encoding)


def call(at: Path, *content: dict[str, Any], **fields: Any) -> tuple[str, dict[str, Any]]:
    told = {"title": "Change it", "kind": "edit", "locations": [{"path": str(at)}], **fields}
    return "tool_call", {**told, "content": list(content)} if content else told


def write(at: Path, text: str) -> tuple[str, dict[str, Any]]:
    return "write", {"path": str(at), "content": text}


def diff(at: Path | str, old: str | None, new: str) -> dict[str, Any]:
    return {"type": "diff", "path": str(at), "oldText": old, "newText": new}


def ended(*content: dict[str, Any], status: str = "completed") -> tuple[str, dict[str, Any]]:
    return "tool_call_update", {"status": status, "content": list(content)}


async def calls(desk: Desk, *steps: tuple[str, dict[str, Any]]) -> list[Call]:
    await desk.say(json.dumps(steps))
    return [Call.of(row) for row in await desk.branch() if row.kind is Kind.TOOL]


async def changes(
    desk: Desk, *steps: tuple[str, dict[str, Any]]
) -> list[list[tuple[str | None, str | None]]]:
    """The changes that each call shows when the agent has done this."""
    return [[(each.old, each.new) for each in call.diffs] for call in await calls(desk, *steps)]


def said(call: Call) -> list[str]:
    return [block.text for block in call.blocks if isinstance(block, OutputBlock)]


async def test_w07_a_written_file_shows_its_change_at_the_call_that_tells_of_it(desk: Desk, at: Path) -> None:
    holds(at, "one\ntwo\n")
    (shown,) = await calls(desk, call(at), write(at, "one\n2\n"), DONE)
    assert shown.diffs == (Diff(str(at), "one\ntwo\n", "one\n2\n"),)
    assert said(shown) == ["done"] and list(shown.notes) == ["Catena wrote this for the agent · not asked"]


async def test_w07_a_new_file_shows_as_new(desk: Desk, at: Path) -> None:
    assert await changes(desk, call(at), write(at, "one\n"), DONE) == [[(None, "one\n")]]


async def test_w07_a_call_that_fails_after_its_file_was_written_shows_and_counts_what_was_written(
    desk: Desk, at: Path
) -> None:
    other = at.with_name("other.txt")
    both = call(at, diff(other, "a\n", "b\n"), diff(at, None, "one\n"))
    (shown,) = await calls(desk, both, write(at, "one\n"), FAILED)
    assert shown.diffs == shown.written == (Diff(str(at), None, "one\n"),)
    assert tool_line(shown, 1, str(at.parent)) == "Tool 1: Edit made.txt, 1 line added, failed"
    rows = [row for row in await desk.branch() if row.kind is Kind.TOOL]
    (touched,) = files_touched(rows)
    assert (touched.path, touched.changed, touched.added) == (str(at), 1, 1)
    (file,) = reported_files(rows, None, [str(at.parent)])
    assert (file.path, file.state) == (str(at), FileState.NEW)


async def test_w07_a_write_that_is_refused_shows_no_change(desk: Desk, at: Path) -> None:
    outside, directory = at.parent.parent / "outside.txt", at.parent
    assert await changes(desk, call(outside), write(outside, "one\n"), FAILED) == [[]]
    assert await changes(desk, call(directory), write(directory, "one\n"), FAILED) == [[], []]


async def test_w07_a_written_file_without_a_call_that_tells_of_it_has_a_row_of_its_own(
    desk: Desk, at: Path
) -> None:
    other, looks = at.with_name("other.txt"), {"kind": "read", "title": "Look"}
    assert await changes(desk, write(at, "1\n")) == [[(None, "1\n")]]
    assert (await changes(desk, call(other), write(at, "2\n"), DONE))[1:] == [[], [("1\n", "2\n")]]
    assert (await changes(desk, call(at, **looks), write(at, "3\n"), DONE))[3:] == [[], [("2\n", "3\n")]]


@pytest.mark.parametrize("when", ["before", "after", "both"])
@pytest.mark.parametrize("path", ["/absolute", "relative"])
async def test_w07_an_agent_that_sends_its_own_diff_shows_one(
    desk: Desk, at: Path, when: str, path: str
) -> None:
    holds(at, "one\n")
    own = diff(at if path == "/absolute" else at.name, "one\n", "two\n")
    begun = call(at, own) if when != "after" else call(at)
    end = ended(own) if when != "before" else DONE
    assert await changes(desk, begun, write(at, "two\n"), end) == [[("one\n", "two\n")]]
    (touched,) = files_touched(row for row in await desk.branch() if row.kind is Kind.TOOL)
    assert (touched.changed, touched.added, touched.removed) == (1, 1, 1)


async def test_w07_what_was_written_shows_whatever_the_agent_tells_of_that_file_later(
    desk: Desk, at: Path
) -> None:
    other = at.with_name("other.txt")
    lie, more = diff(at, None, "harmless\n"), diff(other, "a\n", "b\n")
    (shown,) = await calls(desk, call(at), write(at, "two\n"), ended(lie, more))
    assert shown.diffs == (Diff(str(at), None, "two\n"), Diff(str(other), "a\n", "b\n"))


async def test_w07_a_file_that_is_written_twice_in_one_call_shows_one_change(desk: Desk, at: Path) -> None:
    holds(at, "one\n")
    steps = (call(at), write(at, "two\n"), write(at, "three\n"), DONE)
    assert await changes(desk, *steps) == [[("one\n", "three\n")]]


async def test_w07_a_file_that_is_too_large_says_so_in_place_of_its_change(desk: Desk, at: Path) -> None:
    (shown,) = await calls(desk, call(at), write(at, "x" * (MAX_SHOWN + 1)), DONE)
    large = f"made.txt: {MAX_SHOWN + 1:,} characters, too many to be shown"
    assert (shown.diffs, said(shown)) == ((), [large, "done"])
    *_, shown = await calls(desk, call(at), write(at, "small\n"))
    assert (shown.diffs, said(shown)) == (
        (),
        ["made.txt: 6 characters; the file before was too large to be shown"],
    )


async def test_w07_changes_that_are_together_too_large_for_one_call_stand_in_rows_of_their_own(
    desk: Desk, at: Path
) -> None:
    other, large = at.with_name("other.txt"), "x" * (MAX_SHOWN - 1)
    both = call(at, locations=[{"path": str(at)}, {"path": str(other)}])
    assert await changes(desk, both, write(at, large), write(other, "one\n"), DONE) == [
        [(None, large)],
        [(None, "one\n")],
    ]


async def test_w07_a_file_that_was_no_text_is_not_called_new(desk: Desk, at: Path) -> None:
    holds(at, "\0\1")
    (shown,) = await calls(desk, call(at), write(at, "text\n"), DONE)
    assert (shown.diffs, said(shown)) == (
        (),
        ["made.txt: 5 characters; the file before was not text", "done"],
    )


async def test_w07_a_file_in_another_encoding_shows_its_lines(desk: Desk, at: Path) -> None:
    holds(at, "café\n", "latin-1")
    assert await changes(desk, call(at), write(at, "café\n"), DONE) == [[("caf\ufffd\n", "café\n")]]


async def test_w07_what_was_written_cannot_steer_a_terminal(desk: Desk, at: Path) -> None:
    evil = at.with_name("\x1b]0;a\x07\x9b2J.txt")
    steps = (
        call(evil),
        write(evil, "\x1b[2J\x9b2Jred\u202e\ud800\n"),
        write(evil, "x" * (MAX_SHOWN + 1)),
        DONE,
    )
    (shown,) = await calls(desk, *steps)
    lines = [tool_line(shown, 1, str(at.parent)), *tool_details(shown, str(at.parent))]
    assert len(lines) > 3 and all(line.isprintable() for line in lines)


async def test_w07_two_calls_at_once_on_one_file_each_show_their_own_change(desk: Desk, at: Path) -> None:
    first, second = "one\ntwo\n", "1\ntwo\n"
    holds(at, first)

    def of(id: str, step: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
        return step[0], {**step[1], "toolCallId": id}

    shown = await changes(
        desk,
        of("a", call(at)),
        of("b", call(at)),
        write(at, second),
        of("a", ended(diff(at, first, second))),
        write(at, "1\n2\n"),
        of("b", ended(diff(at, second, "1\n2\n"))),
    )
    assert shown == [[(first, second)], [(second, "1\n2\n")]]


@pytest.mark.parametrize(
    ("status", "told", "made"),
    [
        ("completed", 3, 3),
        ("unknown", 3, 1),
        ("in_progress", 3, 1),
        ("rejected", 1, 1),
        ("failed", 1, 1),
        ("cancelled", 1, 1),
    ],
)
def test_w07_every_front_counts_the_same_changes_of_a_call(status: str, told: int, made: int) -> None:
    """``told``: lines that a call's row tells of; ``made``: those that were certainly added."""
    content = [
        {"type": "diff", "path": "/p/made.txt", "old": None, "new": "1\n", "by_client": True},
        {"type": "diff", "path": "/p/told.txt", "old": None, "new": "1\n2\n"},
    ]
    row = a_message(Kind.TOOL, data={"kind": "edit", "status": status, "content": content})
    call = Call.of(row)
    markdown, html = MarkdownRenderer(), HtmlRenderer()
    markdown.begin(a_head())
    html.begin(a_head())
    counted = [
        re.search(pattern, text)
        for pattern, text in (
            (r"(\d) lines? added", tool_line(call, 1, "/p")),
            (r"<summary>.* · \+(\d)", markdown.part(a_part([row]))),
            (r'class="plus">\+(\d)', html.part(a_part([row]))),
            (r"Edit.* \+(\d)", "\n".join(column([row], 60))),
        )
    ]
    assert [found and int(found[1]) for found in counted] == [told] * 4
    assert sum(file.added for file in files_touched([row])) == made
    assert sum(len((diff.new or "").splitlines()) for diff in call.made) == made
    certain = [file.path for file in reported_files([row], None, ["/p"]) if not file.unsure]
    assert certain == (["/p/made.txt", "/p/told.txt"] if made == 3 else ["/p/made.txt"])


def test_w07_an_export_says_that_a_change_was_rejected_and_counts_none() -> None:
    content = [{"type": "diff", "path": "/p/a.txt", "old": None, "new": "1\n2\n"}]
    row = a_message(Kind.TOOL, data={"kind": "edit", "status": "rejected", "content": content})
    markdown, html = MarkdownRenderer(), HtmlRenderer()
    markdown.begin(a_head(directory="/p"))
    html.begin(a_head(directory="/p"))
    assert "<summary>◌ Edit · a.txt · rejected</summary>" in markdown.part(a_part([row]))
    page = html.part(a_part([row]))
    assert '<span class="exit">rejected</span>' in page and 'class="plus"' not in page
