"""What a subagent says and does: read from updates, kept as rows, and left out of what sessions hold."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from catena_acp.continuity.routing.prior_context import Budget, read_prior_context
from catena_acp.continuity.routing.replay_check import Expected, Speaker, Verdict, verdict
from catena_acp.continuity.turns.reducer import Append, Change, Insert, Op, Reducer
from catena_acp.port.session_events import BackgroundWorkEnded, TextChunk, ToolCallChanged, UsageReported
from catena_acp.protocol.session_updates import events_of, permission_of
from catena_store import ancestry
from catena_store.conversations import messages
from catena_store.records import Kind, MessageState
from support.storage.rows import new_conversation, say, store

INSIDE = {"claudeCode": {"parentToolUseId": "task"}}


def a_reducer() -> Reducer:
    ids = count()
    return Reducer(
        conversation_id="c",
        turn_id="t",
        link_id="l",
        last_id="u",
        new_id=lambda: f"m{next(ids)}",
        clock=lambda: datetime(2026, 1, 1, tzinfo=UTC),
    )


def inserted(ops: list[Op]) -> list[tuple[Kind, str, object]]:
    return [
        (op.row.kind, op.row.text, op.row.data.get("subagent_of")) for op in ops if isinstance(op, Insert)
    ]


def words(text: str, role: str = "agent", **fields: Any) -> dict[str, Any]:
    content = {"type": "text", "text": text}
    return {"sessionUpdate": f"{role}_message_chunk", "content": content, "messageId": "m", **fields}


def test_w28_what_a_subagent_says_does_and_asks_for_names_the_call_that_started_it() -> None:
    (said,) = events_of(words("I look.", _meta=INSIDE))
    assert said == TextChunk("subagent", "I look.", "m", "task")
    (thought,) = events_of({**words("Hm.", _meta=INSIDE), "sessionUpdate": "agent_thought_chunk"})
    assert thought == TextChunk("thought", "Hm.", "m", "task")
    call = {"toolCallId": "inner", "title": "Read", "_meta": INSIDE}
    (made,) = events_of({"sessionUpdate": "tool_call", **call})
    assert isinstance(made, ToolCallChanged) and made.subagent_of == "task"
    assert permission_of("1", {"toolCall": call, "options": []}).tool_call.subagent_of == "task"
    metas: list[Any] = [None, [], {"claudeCode": 7}, {"claudeCode": {"parentToolUseId": ["task"]}}]
    for meta in metas:
        assert events_of(words("mine", _meta=meta)) == (TextChunk("agent", "mine", "m"),)


def test_w28_work_in_the_background_and_its_end_are_read_from_what_claude_says_beside_the_protocol() -> None:
    left = {"claudeCode": {"toolResponse": {"stdout": "", "backgroundTaskId": "b1"}}}
    (call,) = events_of({"sessionUpdate": "tool_call_update", "toolCallId": "x", "_meta": left})
    assert isinstance(call, ToolCallChanged) and call.background == "b1"
    usage = {"sessionUpdate": "usage_update", "used": 1, "size": 2}
    ended = {**usage, "_meta": {"_claude/origin": {"kind": "task-notification"}}}
    assert events_of(ended) == (UsageReported(1, 2, None, None), BackgroundWorkEnded())
    assert len(events_of({**usage, "_meta": {"_claude/origin": {"kind": "human"}}})) == 1


def test_w28_an_answer_goes_on_in_one_piece_while_subagents_speak() -> None:
    reducer = a_reducer()
    assert inserted(reducer.reduce(TextChunk("agent", "While they ", "a"))) == [
        (Kind.AGENT, "While they ", None)
    ]
    begun = [
        *reducer.reduce(TextChunk("subagent", "one", "b", "task-1")),
        *reducer.reduce(TextChunk("subagent", "two", "c", "task-2")),
    ]
    assert inserted(begun) == [(Kind.THOUGHT, "one", "task-1"), (Kind.THOUGHT, "two", "task-2")]
    assert not [op for op in begun if isinstance(op, Change)], "nobody has come to an end"
    assert reducer.reduce(TextChunk("agent", "work", "a")) == [Append("m0", "work")]
    assert reducer.reduce(TextChunk("subagent", "!", "b", "task-1")) == [Append("m1", "!")]
    closed = reducer.close(clean=True, tool_status="unknown")
    assert {op.message_id for op in closed if isinstance(op, Change)} == {"m0", "m1", "m2"}


def test_w28_the_words_of_a_subagent_are_no_answer_and_prove_nothing_of_a_replay() -> None:
    reducer = a_reducer()
    reducer.reduce(TextChunk("subagent", "one", "b", "task"))
    assert not reducer.answered
    held = Expected([(Speaker.PERSON, "go"), (Speaker.AGENT, "done")], ["go"])
    told = [TextChunk("user", "go", "u"), TextChunk("subagent", "one", "b", "task")]
    assert verdict(told, held) is Verdict.CONTRADICTS
    assert verdict([*told, TextChunk("agent", "done", "a")], held) is Verdict.AGREES


async def test_w28_a_session_is_told_of_the_call_that_started_a_subagent_and_of_nothing_inside(
    tmp_path: Path,
) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await say(tx, "u1", None, "look around")
        task = {"title": "Explore", "kind": "think", "status": "completed"}
        await say(tx, "x1", "u1", "Explore", kind=Kind.TOOL, data=task, state=MessageState.FINAL)
        above = "x1"
        for number in range(70):
            inside = {"title": f"Read {number}", "status": "completed", "subagent_of": "call"}
            await say(tx, f"i{number}", above, kind=Kind.TOOL, data=inside, state=MessageState.FINAL)
            above = f"i{number}"
        await say(tx, "w1", above, "I looked", kind=Kind.THOUGHT, data={"subagent_of": "call"})
        await say(tx, "a1", "w1", "All is well", kind=Kind.AGENT)
        path = await ancestry.path(tx, "a1", [])
        told = await read_prior_context(tx, path, None, "a1", Budget())
        assert told is not None and (told.told, told.tools_listed) == (2, 1)
        assert "Explore" in told.text and "Read" not in told.text and "I looked" not in told.text
        assert not told.cut
        files = await messages.newest_tools(tx, "a1", 5)
        assert [row.id for row in files] == ["i65", "i66", "i67", "i68", "i69"], "its files are changed too"
