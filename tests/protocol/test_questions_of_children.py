"""Questions that an agent asks under a session id that nobody opened: whose they are, and that none waits for ever."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from catena_acp.continuity.conversation_events import ElicitationOpened, PermissionClosed, PermissionOpened
from catena_acp.port.elicitation.requests import ElicitationAnswer
from catena_acp.port.session_events import Event, NoticeReported, PermissionRequested
from catena_store.records import Kind, StopReason
from support.clients.protocol import HELLO, answer_to, place, scripted, spec, until
from support.conversations.rehearsed import World

OPTIONS = """
OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]

def ask_as(agent, session_id, call_id="t1"):
    call = {"toolCallId": call_id}
    agent.ask(7, "session/request_permission", sessionId=session_id, toolCall=call, options=OPTIONS)
"""
CHILD_ASKS = (
    OPTIONS
    + """
def session_prompt(agent, request):
    s = request["params"]["sessionId"]
    told = {"toolCallId": "t1", "title": "Read the mail", "kind": "read"}
    if "child told" in request["params"]["prompt"][0]["text"]:
        agent.send(agent.update(s + "-child", "tool_call", **told))
    ask_as(agent, s + "-child")
    while True:
        message = agent.read()
        if message.get("id") == 7:
            break
    outcome = message["result"]["outcome"]
    done = {"toolCallId": "t1", "status": "completed"}
    agent.send(agent.update(s + "-child", "tool_call_update", **done))
    stop = "end_turn" if outcome["outcome"] == "selected" else "cancelled"
    heard = "heard " + outcome.get("optionId", "cancelled")
    agent.send(agent.text(s, heard), agent.result(request, {"stopReason": stop}))
"""
)


def outcome(tmp_path: Path) -> Any:
    answer = answer_to(tmp_path, 7)
    return answer and answer["result"]["outcome"]


async def test_w01_a_question_of_a_child_session_is_asked_in_the_only_running_turn_with_its_call(
    tmp_path: Path,
) -> None:
    agent = spec(tmp_path, CHILD_ASKS)
    async with World(tmp_path).client(specs={"scripted": agent}, agent="scripted") as desk:
        ended = await desk.say("child told", "yes")
        (asked,) = [each for each in desk.told if isinstance(each, PermissionOpened)]
        assert asked.tool_call.title == "Read the mail"
        assert ended.turn is not None and ended.turn.stop_reason is StopReason.END_TURN
        branch = await desk.branch()
        assert branch[-1].text == "heard yes"
        (call,) = [row for row in branch if row.kind is Kind.TOOL]
        assert (call.text, call.data["status"]) == ("Read the mail", "completed")


async def test_w01_a_question_of_a_child_session_is_cancelled_with_its_turn(tmp_path: Path) -> None:
    agent = spec(tmp_path, CHILD_ASKS)
    async with World(tmp_path).client(specs={"scripted": agent}, agent="scripted") as desk:
        await desk.window.say("go")
        await desk.until_told(PermissionOpened)
        await desk.window.stop()
        await desk.until_told(PermissionClosed)
        await desk.window.wait_idle()
        assert (await desk.turns())[-1].stop_reason is StopReason.CANCELLED
    assert outcome(tmp_path) == {"outcome": "cancelled"}


TWO_TURNS = (
    OPTIONS
    + """
WAITING = []

def session_prompt(agent, request):
    WAITING.append(request)
    if len(WAITING) < 2:
        return
    first, second = (each["params"]["sessionId"] for each in WAITING)
    agent.send(agent.update(second, "tool_call", toolCallId="t1", title="Read", kind="read"))
    ask_as(agent, "a-child", CALL)
    while agent.read().get("id") != 7:
        pass
    for each in WAITING:
        agent.send(agent.result(each, {"stopReason": "end_turn"}))
"""
)


@pytest.mark.parametrize(("call_id", "owner"), [("t1", 1), ("another", None)])
async def test_w01_of_two_turns_the_one_that_knows_the_call_is_asked_and_else_it_is_cancelled_and_said(
    tmp_path: Path, call_id: str, owner: int | None
) -> None:
    heard: list[list[Event]] = [[], []]
    logged: list[str] = []
    async with scripted(tmp_path, f"CALL = {call_id!r}\n{TWO_TURNS}", log=logged.append) as agent:
        sessions = [(await agent.new_session(place(tmp_path))).session_id for _ in heard]
        for session_id, events in zip(sessions, heard, strict=True):

            def listen(event: Event, events: list[Event] = events) -> None:
                events.append(event)
                if isinstance(event, PermissionRequested):
                    agent.answer_permission(event.ask_id, "yes")

            agent.listen(session_id, listen)
        await asyncio.gather(*(agent.prompt(session_id, HELLO) for session_id in sessions))

    asked = [any(isinstance(each, PermissionRequested) for each in events) for events in heard]
    assert asked == [owner == number for number in range(2)]
    if owner is None:
        assert outcome(tmp_path) == {"outcome": "cancelled"}
        words = "The agent asked a question in the unknown session 'a-child'. It was cancelled."
        said = [each.text for events in heard for each in events if isinstance(each, NoticeReported)]
        assert said == [words, words] and words in logged


async def test_w01_a_question_without_any_turn_is_cancelled(tmp_path: Path) -> None:
    script = (
        OPTIONS
        + """
def session_new(agent, request):
    agent.send(agent.result(request, {"sessionId": "s1"}))
    ask_as(agent, "nobody's")
"""
    )
    async with scripted(tmp_path, script) as agent:
        await agent.new_session(place(tmp_path))
        await until(lambda: outcome(tmp_path))
    assert outcome(tmp_path) == {"outcome": "cancelled"}


async def test_w12_a_form_of_a_child_session_is_asked_in_the_only_running_turn(tmp_path: Path) -> None:
    script = """
def session_prompt(agent, request):
    s = request["params"]["sessionId"]
    form = {"type": "object", "properties": {"name": {"type": "string"}}}
    agent.ask(7, "elicitation/create", sessionId=s + "-child", mode="form", message="Who?", requestedSchema=form)
    while agent.read().get("id") != 7:
        pass
    agent.send(agent.result(request, {"stopReason": "end_turn"}))
"""
    agent = spec(tmp_path, script)
    async with World(tmp_path).client(specs={"scripted": agent}, agent="scripted") as desk:
        await desk.window.say("go")
        form = await desk.until_told(ElicitationOpened)
        await desk.conversation.answer_elicitation(form.ask_id, ElicitationAnswer("accept", {"name": "Ada"}))
        await desk.window.wait_idle()
    answer = answer_to(tmp_path, 7)
    assert answer is not None and answer["result"] == {"action": "accept", "content": {"name": "Ada"}}
