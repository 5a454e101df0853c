"""Turns over the protocol, with agents that behave and agents that do not."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from catena_acp.agents.running_agent import Agent
from catena_acp.errors import AgentRefused, LoginNeeded, ProtocolBroken, SessionGone
from catena_acp.port.session_events import (
    AudioBlock,
    ContextCompacted,
    Event,
    ImageBlock,
    LinkBlock,
    ModesChanged,
    NoticeReported,
    PermissionOption,
    PermissionRequested,
    PermissionWithdrawn,
    TextBlock,
    TextChunk,
    ToolCallChanged,
    UnknownUpdate,
)
from support.clients.protocol import HELLO, answer_to, heard, place, scripted, text_of, until


async def opened(agent: Agent, tmp_path: Path) -> tuple[str, list[Event]]:
    """A new session, and the list that its events go to."""
    session_id = (await agent.new_session(place(tmp_path))).session_id
    events: list[Event] = []
    agent.listen(session_id, events.append)
    return session_id, events


async def said(tmp_path: Path, script: str, **more: Any) -> tuple[str, list[Event]]:
    """The stop reason and the events of one prompt to a scripted agent."""
    async with scripted(tmp_path, script, **more) as agent:
        session_id, events = await opened(agent, tmp_path)
        ended = await agent.prompt(session_id, HELLO)
        return ended.stop_reason, events


async def test_a_prompt_brings_its_text_and_then_its_end(tmp_path: Path) -> None:
    reason, events = await said(tmp_path, "")
    assert (reason, text_of(events)) == ("end_turn", "you said hello")


async def test_the_blocks_of_a_prompt_reach_the_agent_as_the_protocol_has_them(tmp_path: Path) -> None:
    async with scripted(tmp_path) as agent:
        session_id, _ = await opened(agent, tmp_path)
        blocks = (
            TextBlock("look \ud800"),
            LinkBlock("file:///a.py", "a.py"),
            ImageBlock(b"png", "image/png"),
            AudioBlock(b"RIFF", "audio/wav"),
        )
        await agent.prompt(session_id, blocks)
    (prompt,) = heard(tmp_path, "session/prompt")
    assert prompt["params"]["prompt"] == [
        {"type": "text", "text": "look \ufffd"},
        {"type": "resource_link", "uri": "file:///a.py", "name": "a.py"},
        {"type": "image", "data": "cG5n", "mimeType": "image/png"},
        {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
    ]


# What Gemini 0.61, fast-agent 0.10 and Qwen 0.24 send, as far as it matters.
GEMINI = {"quota": {"token_count": {"input_tokens": 120, "output_tokens": 30}, "model_usage": []}}
FAST_AGENT = {"openhands.dev/metrics": {"status_line": "1,120 in, 30 out, 2 tools (3.1%)"}}
QWEN = [{"inputTokens": 100, "outputTokens": 5, "totalTokens": 105, "cachedReadTokens": 7}] * 2


@pytest.mark.parametrize(
    ("answer", "calls", "usage"),
    [
        (GEMINI, [], {"inputTokens": 120, "outputTokens": 30, "totalTokens": 150}),
        (FAST_AGENT, [], {"inputTokens": 1_120, "outputTokens": 30, "totalTokens": 1_150}),
        ({"field_meta": FAST_AGENT}, [], {"inputTokens": 1_120, "outputTokens": 30, "totalTokens": 1_150}),
        ({}, QWEN, {"inputTokens": 200, "outputTokens": 10, "totalTokens": 210, "cachedReadTokens": 14}),
        ({"quota": {"token_count": {"input_tokens": "many"}}}, [{"inputTokens": -1, "x": []}, "none"], None),
    ],
)
async def test_m13_tokens_that_agents_tell_of_beside_the_protocol_are_read(
    tmp_path: Path, answer: object, calls: list[object], usage: object
) -> None:
    script = f"""
    def session_prompt(agent, request):
        session = request["params"]["sessionId"]
        for usage in {calls!r}:
            agent.send(agent.text(session, "", _meta={{"usage": usage, "durationMs": 5}}))
        agent.send(agent.result(request, {{"stopReason": "end_turn", "_meta": {answer!r}}}))
    """
    async with scripted(tmp_path, script) as agent:
        session_id, _ = await opened(agent, tmp_path)
        for _ in range(2):
            assert (await agent.prompt(session_id, HELLO)).usage == usage, "of this turn alone"


async def test_usage_in_the_answer_is_kept_as_it_is(tmp_path: Path) -> None:
    script = """
    def session_prompt(agent, request):
        agent.send(agent.result(request, {"stopReason": "end_turn", "usage": {"totalTokens": 3, "new": 1}}))
    """
    async with scripted(tmp_path, script) as agent:
        session_id, _ = await opened(agent, tmp_path)
        assert (await agent.prompt(session_id, HELLO)).usage == {"totalTokens": 3, "new": 1}


async def test_an_unknown_stop_reason_is_the_end_of_the_turn_and_no_error(tmp_path: Path) -> None:
    script = """
    def session_prompt(agent, request):
        agent.send(agent.result(request, {"stopReason": "bored"}))
    """
    assert (await said(tmp_path, script))[0] == "bored"


async def test_an_answer_without_a_stop_reason_is_a_broken_protocol(tmp_path: Path) -> None:
    script = """
    def session_prompt(agent, request):
        agent.send(agent.result(request, None))
    """
    with pytest.raises(ProtocolBroken):
        await said(tmp_path, script)


async def test_every_kind_of_update_comes_in_the_order_of_the_wire(tmp_path: Path) -> None:
    script = """
    def session_prompt(agent, request):
        s = request["params"]["sessionId"]
        agent.send(
            agent.text(s, "one "), agent.text(s, "two", messageId=None),
            agent.update(s, "notice", severity="warning", title="Slow", description="today"),
            agent.text(s, "three"),
            agent.update(s, "compaction_update", compactionId="c", status="in_progress"),
            agent.update(s, "compaction_summary_chunk", compactionId="c", content={"type": "text", "text": "sum"}),
            agent.update(s, "moon_phase", phase="full"),
            agent.update(s, "tool_call", title="no id"),
            agent.update(s, "agent_message_chunk", content="not a block"),
            agent.update(s, "current_mode_update", modeId="plan"),
            agent.text(s, "four"),
            agent.result(request, {"stopReason": "end_turn"}),
        )
    """
    _, events = await said(tmp_path, script)
    assert [type(event) for event in events] == [
        TextChunk,
        NoticeReported,
        TextChunk,
        ContextCompacted,
        ContextCompacted,
        UnknownUpdate,
        UnknownUpdate,
        UnknownUpdate,
        ModesChanged,
        TextChunk,
    ]
    assert events[0] == TextChunk("agent", "one two", None)
    assert events[1] == NoticeReported("Slow\ntoday", "warning")
    assert events[4] == ContextCompacted("sum", None, "c")
    assert isinstance(events[5], UnknownUpdate)
    assert events[5].kind == "moon_phase"


async def test_chunks_are_joined_but_not_across_ids_variants_meta_or_other_updates(tmp_path: Path) -> None:
    script = """
    def session_prompt(agent, request):
        s = request["params"]["sessionId"]
        agent.send(
            agent.text(s, "a", messageId="1"), agent.text(s, "b", messageId="1"),
            agent.text(s, "c", messageId="2"),
            agent.text(s, "d", "agent_thought_chunk", messageId="2"),
            agent.text(s, "e", messageId="2"), agent.text(s, "f", messageId="2", _meta={"x": 1}),
            agent.text(s, "g", messageId="2"),
            agent.update(s, "tool_call", toolCallId="t", title="T"),
            agent.text(s, "h", messageId="2"), agent.text("other", "-"), agent.text(s, "i", messageId="2"),
            agent.result(request, {"stopReason": "end_turn"}),
        )
    """
    _, events = await said(tmp_path, script)
    texts = [event.text for event in events if isinstance(event, TextChunk)]
    assert texts == ["ab", "c", "d", "e", "f", "g", "hi"]


async def test_twenty_thousand_chunks_flat_out_become_few_events_and_lose_nothing(tmp_path: Path) -> None:
    script = """
    def session_prompt(agent, request):
        s = request["params"]["sessionId"]
        agent.send(*[agent.text(s, f"{n} ", messageId="m") for n in range(20_000)])
        agent.send(agent.result(request, {"stopReason": "end_turn"}))
    """
    _, events = await said(tmp_path, script)
    assert text_of(events) == "".join(f"{n} " for n in range(20_000))
    assert len(events) < 500


async def test_back_pressure_keeps_a_flood_in_the_pipe_and_loses_nothing_of_it(tmp_path: Path) -> None:
    script = """
    def session_prompt(agent, request):
        s = request["params"]["sessionId"]
        agent.send(*[agent.update(s, "tool_call", toolCallId=str(n), title="t") for n in range(15_000)])
        agent.send(agent.result(request, {"stopReason": "end_turn"}))
    """
    _, events = await said(tmp_path, script)
    ids = [event.tool_call_id for event in events if isinstance(event, ToolCallChanged)]
    assert ids == [str(n) for n in range(15_000)]


async def test_what_a_tool_call_says_in_words_that_we_do_not_know_is_kept(tmp_path: Path) -> None:
    script = """
    def session_prompt(agent, request):
        s = request["params"]["sessionId"]
        agent.send(
            agent.update(s, "tool_call", toolCallId="t", title="T", name="Bash", kind="teleport", status="queued",
                         content=[{"type": "hologram"}, {"type": "diff", "path": "/a", "newText": "n"}]),
            agent.result(request, {"stopReason": "end_turn"}),
        )
    """
    _, events = await said(tmp_path, script)
    (call,) = events
    assert isinstance(call, ToolCallChanged)
    assert (call.name, call.kind, call.status) == ("Bash", "teleport", "queued")
    assert call.content is not None
    assert len(call.content) == 2


async def test_updates_after_the_answer_still_come(tmp_path: Path) -> None:
    script = """
    def session_prompt(agent, request):
        s = request["params"]["sessionId"]
        agent.send(agent.text(s, "early"), agent.result(request, {"stopReason": "end_turn"}), agent.text(s, "late"))
    """
    async with scripted(tmp_path, script) as agent:
        session_id, events = await opened(agent, tmp_path)
        await agent.prompt(session_id, HELLO)
        assert text_of(events) == "early"
        await until(lambda: text_of(events) == "earlylate")


async def test_r06_a_login_that_is_needed_is_told_as_such(tmp_path: Path) -> None:
    script = """
    def session_prompt(agent, request):
        agent.send(agent.error(request, -32000, "Authentication required"))
    """
    with pytest.raises(LoginNeeded):
        await said(tmp_path, script)


async def test_a_session_that_the_agent_does_not_know_is_gone(tmp_path: Path) -> None:
    script = """
    def session_prompt(agent, request):
        agent.send(agent.error(request, -32603, "Internal error", {"details": "Session not found: s1"}))
    """
    with pytest.raises(SessionGone):
        await said(tmp_path, script)


@pytest.mark.parametrize("error", ['"boom"', '{"message": 7}', '["no"]', '{"code": true, "message": "x"}'])
async def test_an_error_of_an_odd_shape_is_a_refusal(tmp_path: Path, error: str) -> None:
    script = f"""
    def session_prompt(agent, request):
        agent.send({{"id": request["id"], "error": {error.replace("true", "True")}}})
    """
    with pytest.raises(AgentRefused) as caught:
        await said(tmp_path, script)
    assert caught.value.code == -32603


async def test_a_request_cancelled_by_the_agent_is_a_cancelled_turn(tmp_path: Path) -> None:
    script = """
    def session_prompt(agent, request):
        agent.send(agent.error(request, -32800, "Request cancelled"))
    """
    assert (await said(tmp_path, script))[0] == "cancelled"


# Permissions.

ASKING = """
def session_prompt(agent, request):
    s = request["params"]["sessionId"]
    agent.send(agent.text(s, "may I?"))
    agent.ask("p1", "session/request_permission", sessionId=s,
              toolCall={"toolCallId": "t1", "title": "Run", "kind": "execute"},
              options=[{"optionId": "yes", "name": "Yes", "kind": "allow_once"},
                       {"optionId": "maybe", "name": "Maybe", "kind": "allow_if_sunny"}])
    while True:
        message = agent.read()
        if message.get("id") == "p1":
            break
    agent.send(agent.text(s, str(message["result"]["outcome"])), agent.result(request, {"stopReason": "end_turn"}))
"""


async def test_w01_a_permission_is_asked_with_all_its_options_and_answered(tmp_path: Path) -> None:
    async with scripted(tmp_path, ASKING) as agent:
        session_id, events = await opened(agent, tmp_path)
        turn = asyncio.create_task(agent.prompt(session_id, HELLO))
        await until(lambda: len(events) == 2)
        asked = events[1]
        assert isinstance(asked, PermissionRequested)
        assert asked.tool_call.title == "Run"
        assert asked.options == (
            PermissionOption("yes", "Yes", "allow_once"),
            PermissionOption("maybe", "Maybe", "allow_if_sunny"),
        )
        agent.answer_permission(asked.ask_id, "maybe")
        agent.answer_permission(asked.ask_id, "yes")
        assert (await turn).stop_reason == "end_turn"
    answer = answer_to(tmp_path, "p1")
    assert answer is not None
    assert answer["result"] == {"outcome": {"outcome": "selected", "optionId": "maybe"}}


async def test_r11_stopping_answers_what_is_asked_and_what_will_be_asked_with_cancelled(
    tmp_path: Path,
) -> None:
    script = """
    def session_prompt(agent, request):
        s = request["params"]["sessionId"]
        ask = dict(sessionId=s, toolCall={"toolCallId": "t"}, options=[{"optionId": "y", "name": "Y", "kind": ""}])
        agent.ask("p1", "session/request_permission", **ask)
        while agent.read().get("method") != "session/cancel":
            pass
        agent.ask("p2", "session/request_permission", **ask)
        left = {"p1", "p2"}
        while left:
            left.discard(agent.read().get("id"))
        agent.send(agent.result(request, {"stopReason": "cancelled"}))
    """
    async with scripted(tmp_path, script) as agent:
        session_id, events = await opened(agent, tmp_path)
        turn = asyncio.create_task(agent.prompt(session_id, HELLO))
        await until(lambda: events)
        # The cancel goes out first, then the answers: nothing may stand between.
        await agent.cancel(session_id)
        assert (await turn).stop_reason == "cancelled"
        assert [type(event) for event in events] == [PermissionRequested, PermissionWithdrawn]
        cancelled = {"outcome": {"outcome": "cancelled"}}
        await until(lambda: answer_to(tmp_path, "p2"))
        assert [(answer_to(tmp_path, name) or {})["result"] for name in ("p1", "p2")] == [
            cancelled,
            cancelled,
        ]


TAKING_BACK = """
import time

def session_prompt(agent, request):
    s = request["params"]["sessionId"]
    agent.send({"id": 7, "method": "session/request_permission", "params": {"sessionId": s,
                "toolCall": {"toolCallId": "t"}, "options": []}}%s
    {"method": "$/cancel_request", "params": {"requestId": 7}})
    while agent.read().get("id") != 7:
        pass
    agent.send(agent.result(request, {"stopReason": "end_turn"}))
"""
SEEN = """)
    while not os.path.exists("seen"):
        time.sleep(0.005)
    agent.send("""


async def test_a_request_that_the_agent_takes_back_is_answered_so_and_withdrawn(tmp_path: Path) -> None:
    async with scripted(tmp_path, TAKING_BACK % SEEN) as agent:
        session_id, events = await opened(agent, tmp_path)
        turn = asyncio.create_task(agent.prompt(session_id, HELLO))
        await until(lambda: events)
        (tmp_path / "seen").touch()
        await turn
    assert [type(event) for event in events] == [PermissionRequested, PermissionWithdrawn]
    answer = answer_to(tmp_path, 7)
    assert answer is not None
    assert answer["error"]["code"] == -32800


async def test_a_request_that_is_taken_back_in_the_same_breath_is_not_even_shown(tmp_path: Path) -> None:
    _, events = await said(tmp_path, TAKING_BACK % ",")
    assert events == []
    answer = answer_to(tmp_path, 7)
    assert answer is not None
    assert answer["error"]["code"] == -32800


async def test_a_prompt_that_is_given_up_is_cancelled_by_the_id_that_the_agent_knows(tmp_path: Path) -> None:
    script = """
    def session_prompt(agent, request):
        while (message := agent.read()).get("method") != "$/cancel_request":
            pass
        agent.send({"id": request["id"], "result": {"stopReason": "end_turn"}})  # to nobody any more
    """
    async with scripted(tmp_path, script) as agent:
        session_id, events = await opened(agent, tmp_path)
        turn = asyncio.create_task(agent.prompt(session_id, HELLO))
        await until(lambda: heard(tmp_path, "session/prompt"))
        turn.cancel()
        await until(lambda: heard(tmp_path, "$/cancel_request"))
        assert turn.cancelled()
        assert (await agent.new_session(place(tmp_path))).session_id
        assert agent.alive and events == []
    (prompt,), (cancel,) = heard(tmp_path, "session/prompt"), heard(tmp_path, "$/cancel_request")
    assert cancel["params"] == {"requestId": prompt["id"]}
    ids = [message["id"] for message in heard(tmp_path) if "method" in message and "id" in message]
    assert ids == [f"1.{number}" for number in range(len(ids))]


async def test_two_agents_never_name_a_permission_alike(tmp_path: Path) -> None:
    names = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        async with scripted(tmp_path / folder, ASKING) as agent:
            session_id, events = await opened(agent, tmp_path)
            turn = asyncio.create_task(agent.prompt(session_id, HELLO))
            await until(lambda events=events: len(events) == 2)  # type: ignore[misc]
            assert isinstance(events[1], PermissionRequested)
            names.append(events[1].ask_id)
            agent.answer_permission(events[1].ask_id, None)
            await turn
    assert len(set(names)) == 2


# What we never offered.


@pytest.mark.parametrize(
    "method",
    [
        "terminal/create",
        "terminal/output",
        "fs/read_text_file",
        "_x/thing",
        "what/ever",
    ],
)
async def test_what_is_not_offered_is_answered_so(tmp_path: Path, method: str) -> None:
    script = f"""
    def session_prompt(agent, request):
        agent.ask(1, "{method}", sessionId="s1", path="/etc/passwd", command="id", message="m", mode="form")
        while agent.read().get("id") != 1:
            pass
        agent.send(agent.result(request, {{"stopReason": "end_turn"}}))
    """
    await said(tmp_path, script)
    answer = answer_to(tmp_path, 1)
    assert answer is not None
    assert answer["error"]["code"] == -32601


# Stopping an agent that does not listen.


async def test_a_cancel_does_not_wait_behind_a_prompt_that_the_agent_does_not_read(tmp_path: Path) -> None:
    script = """
    import pathlib, time

    def session_prompt(agent, request):
        if request["params"]["prompt"][0]["text"] == "small":
            agent.waiting = request
            while not pathlib.Path("read on").exists():
                time.sleep(0.01)
        else:
            agent.send(agent.result(request, {"stopReason": "end_turn"}))

    def session_cancel(agent, notification):
        agent.send(agent.result(agent.waiting, {"stopReason": "cancelled"}))
    """
    async with scripted(tmp_path, script) as agent:
        (one, _), (two, _) = await opened(agent, tmp_path), await opened(agent, tmp_path)
        waiting = asyncio.create_task(agent.prompt(one, (TextBlock("small"),)))
        await until(lambda: heard(tmp_path, "session/prompt"))
        big = [asyncio.create_task(agent.prompt(two, (TextBlock("x" * 5_000_000),))) for _ in range(2)]
        await asyncio.sleep(0)
        async with asyncio.timeout(60):
            await agent.cancel(one)  # the agent reads on only after this
        (tmp_path / "read on").touch()
        assert (await waiting).stop_reason == "cancelled"
        for turn in big:
            assert (await turn).stop_reason == "end_turn"
    order = [
        (message["method"], message["params"]["sessionId"])
        for message in heard(tmp_path)
        if message.get("method") in ("session/prompt", "session/cancel")
    ]
    # The first big prompt was under way already; the cancel passed the second.
    assert order == [
        ("session/prompt", one),
        ("session/prompt", two),
        ("session/cancel", one),
        ("session/prompt", two),
    ]


async def test_a_cancel_never_passes_the_prompt_that_it_is_to_stop(tmp_path: Path) -> None:
    script = """
    def session_prompt(agent, request):
        if request["params"]["sessionId"] == "s1":
            agent.waiting = request
        else:
            agent.send(agent.result(request, {"stopReason": "end_turn"}))

    def session_cancel(agent, notification):
        agent.send(agent.result(agent.waiting, {"stopReason": "cancelled"}))
    """
    async with scripted(tmp_path, script) as agent:
        (one, _), (two, _) = await opened(agent, tmp_path), await opened(agent, tmp_path)
        big = asyncio.create_task(agent.prompt(two, (TextBlock("x" * 5_000_000),)))
        small = asyncio.create_task(agent.prompt(one, HELLO))
        await asyncio.sleep(0)
        await agent.cancel(one)
        assert (await small).stop_reason == "cancelled"
        await big
