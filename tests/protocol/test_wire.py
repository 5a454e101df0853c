"""What agents write that no agent should, and that nothing of it costs more than itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from catena_acp.port.session_events import Event
from catena_acp.protocol import framing
from support.clients.protocol import HELLO, answer_to, heard, place, scripted, text_of, until

# Each is written in the middle of an answer; the answer must come whole, and the agent must be usable afterwards.
MISBEHAVIOUR = {
    "a banner": 'agent.raw("Welcome to the agent! v1.2")',
    "an empty line": 'agent.raw("")',
    "carriage returns": 'agent.raw("\\\\r")',
    "half a message": 'agent.raw(\'{"jsonrpc": "2.0", "method": "session/upd\')',
    "an array of nothing": 'agent.raw("[]")',
    "an array of numbers": 'agent.raw("[1, [2], null]")',
    "a number": 'agent.raw("42")',
    "null": 'agent.raw("null")',
    "a string": "agent.raw('\"hello\"')",
    "an empty object": 'agent.raw("{}")',
    "an id that is a list": 'agent.raw(\'{"jsonrpc": "2.0", "id": [1], "result": {}}\')',
    "an id that is an object": 'agent.raw(\'{"id": {"a": 1}, "error": {"code": 1, "message": "m"}}\')',
    "an id that is true": 'agent.raw(\'{"id": true, "result": {"stopReason": "refusal"}}\')',
    "an id that is null": 'agent.raw(\'{"id": null, "error": {"code": -32700, "message": "Parse error"}}\')',
    "a request whose id is a list": 'agent.raw(\'{"id": [1], "method": "session/request_permission"}\')',
    "a request without parameters": 'agent.raw(\'{"id": 9, "method": "session/request_permission"}\')',
    "a request whose parameters are a list": (
        'agent.raw(\'{"id": 9, "method": "session/request_permission", "params": [1]}\')'
    ),
    "a method that is a number": 'agent.raw(\'{"method": 7, "params": {}}\')',
    "an unknown notification": 'agent.raw(\'{"method": "moon/phase", "params": {}}\')',
    "our own extension": 'agent.raw(\'{"method": "_catena/update", "params": {"sessionId": "s1"}}\')',
    "an update without parameters": 'agent.raw(\'{"method": "session/update"}\')',
    "an update without an update": 'agent.raw(\'{"method": "session/update", "params": {"sessionId": "s1"}}\')',
    "an update without a session": 'agent.raw(\'{"method": "session/update", "params": {"update": {}}}\')',
    "an update of no kind": (
        'agent.raw(\'{"method": "session/update", "params": {"sessionId": "s1", "update": {}}}\')'
    ),
    "a cancel of nothing": 'agent.raw(\'{"method": "$/cancel_request", "params": {"requestId": [1]}}\')',
    "an answer to nothing": 'agent.send(*({"id": each, "result": {}} for each in (4711, 1, "1.99", "x9")))',
    "the same answer twice": 'agent.send({"id": "1.1", "result": {"sessionId": "again"}})',
    "another session": 'agent.send(agent.text("foreign", "not for you"))',
    "a deep nest": 'agent.raw("[" * 100_000 + "]" * 100_000)',
    "a deep update": (
        'agent.raw(\'{"method": "session/update", "params": {"sessionId": "s1", "update": {"sessionUpdate": "x", "y":\''
        ' + "[" * 500 + "]" * 500 + "}}}")'
    ),
    "a number that is none": 'agent.raw("NaN")',
    "a huge number": 'agent.raw("9" * 5000)',
    "zero bytes": 'agent.raw(b"\\\\x00\\\\x00\\\\x00")',
    "sends bytes that are not text": 'agent.raw(b"\\\\xff\\\\xfe{")',
}


@pytest.mark.parametrize("misbehaviour", MISBEHAVIOUR.values(), ids=MISBEHAVIOUR.keys())
async def test_what_should_not_be_written_harms_nothing_around_it(
    tmp_path: Path, misbehaviour: str, caplog: pytest.LogCaptureFixture
) -> None:
    script = f"""
    def session_prompt(agent, request):
        s = request["params"]["sessionId"]
        agent.send(agent.text(s, "be"))
        {misbehaviour.replace(chr(92) * 2, chr(92))}
        agent.send(agent.update(s, "tool_call", toolCallId="t", title="between"), agent.text(s, "fore"))
        agent.send(agent.result(request, {{"stopReason": "end_turn"}}))
    """
    async with scripted(tmp_path, script) as agent:
        session_id = (await agent.new_session(place(tmp_path))).session_id
        events: list[Event] = []
        agent.listen(session_id, events.append)
        for text in ("before", "beforebefore"):
            assert (await agent.prompt(session_id, HELLO)).stop_reason == "end_turn"
            assert text_of(events) == text
        assert agent.alive
    # Whatever the SDK logs would end up on somebody's screen.
    assert not [record for record in caplog.records if record.levelname not in ("DEBUG", "INFO")]


async def test_a_reason_is_logged_once_however_often_it_comes(tmp_path: Path) -> None:
    script = """
    def session_prompt(agent, request):
        for _ in range(50):
            agent.raw("garbage")
            agent.raw("7")
        agent.send(agent.result(request, {"stopReason": "end_turn"}))
    """
    lines: list[str] = []
    async with scripted(tmp_path, script, log=lines.append) as agent:
        session_id = (await agent.new_session(place(tmp_path))).session_id
        await agent.prompt(session_id, HELLO)
    assert len(lines) == 2


async def test_a_batch_is_taken_apart(tmp_path: Path) -> None:
    script = """
    def session_prompt(agent, request):
        s = request["params"]["sessionId"]
        end = agent.result(request, {"stopReason": "end_turn"})
        agent.raw(json.dumps([agent.text(s, "a"), 7, agent.text(s, "b"), end]))
    """
    async with scripted(tmp_path, script) as agent:
        session_id = (await agent.new_session(place(tmp_path))).session_id
        events: list[Event] = []
        agent.listen(session_id, events.append)
        await agent.prompt(session_id, HELLO)
        assert text_of(events) == "ab"


async def test_meta_cannot_take_the_place_of_an_argument(tmp_path: Path) -> None:
    script = """
    def session_prompt(agent, request):
        s = request["params"]["sessionId"]
        forged = {"session_id": "forged", "update": "forged", "path": "/etc/passwd", "self": 1, "method": "m",
                  "request_id": 99, "asked": {}}
        update = agent.text(s, "mine")
        update["params"]["_meta"] = forged
        agent.send(update)
        agent.ask(5, "session/request_permission", sessionId=s, toolCall={"toolCallId": "t"}, options=[], _meta=forged)
        agent.ask(6, "fs/read_text_file", sessionId=s, path="relative", _meta=forged)
        left = {5, 6}
        while left:
            left.discard(agent.read().get("id"))
        agent.send(agent.result(request, {"stopReason": "end_turn"}))
    """
    from catena_acp.port.session_events import PermissionRequested
    from catena_acp.protocol.files import FileAccess

    async with scripted(tmp_path, script, files=FileAccess((Path("/"),))) as agent:
        session_id = (await agent.new_session(place(tmp_path))).session_id
        events: list[Event] = []

        def answering(event: Event) -> None:
            events.append(event)
            if isinstance(event, PermissionRequested):
                agent.answer_permission(event.ask_id, "ok")

        agent.listen(session_id, answering)
        forged: list[Event] = []
        agent.listen("forged", forged.append)
        await agent.prompt(session_id, HELLO)
    assert text_of(events) == "mine"
    assert not forged
    asked, read = answer_to(tmp_path, 5), answer_to(tmp_path, 6)
    assert asked is not None
    assert asked["result"]["outcome"]["optionId"] == "ok"
    assert read is not None
    assert "relative" in read["error"]["message"]


async def test_text_that_is_no_text_is_made_some(tmp_path: Path) -> None:
    script = r"""
    def session_prompt(agent, request):
        start = b'{"method": "session/update", "params": {"sessionId": "s1", "update": {"sessionUpdate": '
        start += b'"agent_message_chunk", "content": {"type": "text", "text": "'
        agent.raw(start + b'\xff\xfe' + b'"}}}}')
        agent.raw(start + b'\\ud83d half \\ud83d\\ude00' + b'"}}}}')
        agent.send(agent.result(request, {"stopReason": "end_turn"}))
    """
    async with scripted(tmp_path, script) as agent:
        session_id = (await agent.new_session(place(tmp_path))).session_id
        events: list[Event] = []
        agent.listen(session_id, events.append)
        await agent.prompt(session_id, HELLO)
        assert text_of(events) == "\ufffd\ufffd\ufffd half \U0001f600"


async def test_a_line_of_many_megabytes_comes_whole(tmp_path: Path) -> None:
    script = """
    def session_prompt(agent, request):
        agent.send(agent.text("s1", "x" * 8_000_000), agent.result(request, {"stopReason": "end_turn"}))
    """
    async with scripted(tmp_path, script) as agent:
        session_id = (await agent.new_session(place(tmp_path))).session_id
        events: list[Event] = []
        agent.listen(session_id, events.append)
        await agent.prompt(session_id, HELLO)
        assert len(text_of(events)) == 8_000_000


async def test_a_request_in_a_flood_is_answered_although_nobody_reads_the_flood_yet(tmp_path: Path) -> None:
    script = """
    def session_prompt(agent, request):
        for n in range(3000):
            agent.ask(n, "terminal/create", sessionId="s1", command="true")
        for n in range(3000):
            agent.read()
        agent.send(agent.result(request, {"stopReason": "end_turn"}))
    """
    async with scripted(tmp_path, script) as agent:
        session_id = (await agent.new_session(place(tmp_path))).session_id
        assert (await agent.prompt(session_id, HELLO)).stop_reason == "end_turn"
        await until(lambda: len(heard(tmp_path)) >= 3000)


# The pure part.


def test_a_line_that_is_too_long_is_skipped_and_the_next_one_is_not() -> None:
    dropped: list[str] = []
    splitter = framing.LineSplitter(dropped.append, max_line=10)
    assert splitter.feed(b"short\n" + b"x" * 6) == [b"short"]
    assert splitter.feed(b"x" * 6) == []
    assert splitter.feed(b"x\nnext\nla") == [b"next"]
    assert splitter.rest() == b"la"
    assert dropped == ["message of more than 64 MiB"]


def test_lines_are_the_same_however_the_blocks_fall() -> None:
    text = b"".join(b'{"n": %d}\n' % n for n in range(50))
    for size in (1, 2, 3, 7, 64, 1000):
        splitter = framing.LineSplitter(lambda _reason: None)
        lines = [line for at in range(0, len(text), size) for line in splitter.feed(text[at : at + size])]
        assert [json.loads(line)["n"] for line in lines] == list(range(50))


def test_a_whole_number_in_another_form_is_the_same_id() -> None:
    assert framing.valid_id(1.0) == 1
    odd: tuple[object, ...] = (1.5, True, None, [1], {}, float("inf"))
    assert [framing.valid_id(value) for value in odd] == [None] * 6
