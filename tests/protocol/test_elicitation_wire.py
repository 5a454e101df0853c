"""Elicitations on the wire: what is advertised, what is refused, and what ends a question."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from catena_acp.port.elicitation.requests import CANCEL, ElicitationAnswer, Form, WebPage
from catena_acp.port.session_events import (
    ElicitationAnswered,
    ElicitationCompleted,
    ElicitationRequested,
    Event,
)
from support.clients.protocol import HELLO, answer_to, heard, place, scripted, until

ASKING = """
import time

def session_prompt(agent, request):
    s = request["params"]["sessionId"]
    form = {"type": "object", "properties": {"name": {"type": "string"}}}
    more = dict(mode="form", message="Who?", requestedSchema=form)
    %s
    while agent.read().get("id") != 7:
        pass
    agent.send(agent.result(request, {"stopReason": "end_turn"}))
"""
PAGE = 'dict(mode="url", message="Look", url="https://example.org", elicitationId="e1")'


async def prompted(tmp_path: Path, asking: str, answer: ElicitationAnswer | None = None) -> list[Event]:
    """The events of a prompt whose questions are answered so, or not at all."""
    async with scripted(tmp_path, ASKING % asking) as agent:
        session_id = (await agent.new_session(place(tmp_path))).session_id
        events: list[Event] = []

        def listen(event: Event) -> None:
            events.append(event)
            (tmp_path / "seen").touch()
            if isinstance(event, ElicitationRequested) and answer:
                agent.answer_elicitation(event.ask_id, answer)

        agent.listen(session_id, listen)
        await agent.prompt(session_id, HELLO)
    return [event for event in events if not isinstance(event, str)]


def answered(tmp_path: Path) -> Any:
    reply = answer_to(tmp_path, 7) or {}
    return reply.get("result", reply.get("error", {}).get("code"))


async def test_w12_forms_and_web_pages_are_advertised_each_by_itself(tmp_path: Path) -> None:
    async with scripted(tmp_path):
        (initialize,) = heard(tmp_path, "initialize")
    assert initialize["params"]["clientCapabilities"]["elicitation"] == {"form": {}, "url": {}}


async def test_w12_a_form_goes_to_its_session_and_its_content_comes_back(tmp_path: Path) -> None:
    asking = 'agent.ask(7, "elicitation/create", sessionId=s, toolCallId="t1", **more)'
    events = await prompted(tmp_path, asking, ElicitationAnswer("accept", {"name": "Ada"}))
    requested, done = events
    assert isinstance(requested, ElicitationRequested) and isinstance(requested.request, Form)
    assert requested.tool_call_id == "t1"
    assert isinstance(done, ElicitationAnswered) and done.answer.action == "accept"
    assert answered(tmp_path) == {"action": "accept", "content": {"name": "Ada"}}


async def test_w12_one_that_belongs_to_a_request_goes_to_the_session_of_that_request(tmp_path: Path) -> None:
    asking = 'agent.ask(7, "elicitation/create", requestId=request["id"], **more)'
    (requested, _) = await prompted(tmp_path, asking, ElicitationAnswer("decline"))
    assert isinstance(requested, ElicitationRequested)
    assert answered(tmp_path) == {"action": "decline"}


@pytest.mark.parametrize(
    ("asking", "reply"),
    [
        ('agent.ask(7, "elicitation/create", requestId="nobody", **more)', {"action": "cancel"}),
        ('agent.ask(7, "elicitation/create", **more)', {"action": "cancel"}),
        ('agent.ask(7, "elicitation/create", sessionId=s, mode="telepathy", message="m")', -32602),
        ('agent.ask(7, "elicitation/create", sessionId=s, mode="form", message="m")', -32602),
        ('agent.ask(7, "elicitation/create", sessionId=s, mode="form", requestedSchema={})', -32602),
        ('agent.ask(7, "elicitation/create", sessionId=s, mode="url", message="m", url=7)', -32602),
        ('agent.send({"id": 7, "method": "elicitation/create", "params": [1]})', -32602),
    ],
)
async def test_w12_what_nobody_could_answer_is_answered_at_once(
    tmp_path: Path, asking: str, reply: Any
) -> None:
    assert await prompted(tmp_path, asking) == []
    assert answered(tmp_path) == reply


async def test_w12_a_request_that_the_agent_takes_back_is_closed(tmp_path: Path) -> None:
    asking = """
    agent.ask(7, "elicitation/create", sessionId=s, **more)
    while not os.path.exists("seen"):
        time.sleep(0.005)
    agent.send({"method": "$/cancel_request", "params": {"requestId": 7}})"""
    requested, done = await prompted(tmp_path, asking)
    assert isinstance(requested, ElicitationRequested)
    assert done == ElicitationAnswered(requested.ask_id, requested.request, CANCEL)
    assert answered(tmp_path) == -32800


async def test_w12_a_page_that_is_done_before_it_is_answered_is_closed_and_other_ids_mean_nothing(
    tmp_path: Path,
) -> None:
    asking = (
        f'agent.ask(7, "elicitation/create", sessionId=s, **{PAGE}); '
        'agent.send({"method": "elicitation/complete", "params": {"elicitationId": "another"}}); '
        'agent.send({"method": "elicitation/complete", "params": 7}); '
        'agent.send({"method": "elicitation/complete", "params": {"elicitationId": "e1"}})'
    )
    requested, done = await prompted(tmp_path, asking)
    assert isinstance(requested, ElicitationRequested) and isinstance(requested.request, WebPage)
    assert done == ElicitationCompleted(requested.ask_id)
    assert answered(tmp_path) == {"action": "cancel"}


async def test_w12_a_stop_answers_open_and_later_questions_with_cancel(tmp_path: Path) -> None:
    script = ASKING % (
        'agent.ask(6, "elicitation/create", sessionId=s, **more)\n'
        '    while agent.read().get("method") != "session/cancel":\n        pass\n'
        '    agent.ask(7, "elicitation/create", sessionId=s, **more)'
    )
    async with scripted(tmp_path, script) as agent:
        session_id = (await agent.new_session(place(tmp_path))).session_id
        events: list[Event] = []
        agent.listen(session_id, events.append)
        turn = asyncio.create_task(agent.prompt(session_id, HELLO))
        await until(lambda: events)
        await agent.cancel(session_id)
        await turn
        assert [type(event) for event in events] == [ElicitationRequested, ElicitationAnswered]
    for request_id in (6, 7):
        assert (answer_to(tmp_path, request_id) or {})["result"] == {"action": "cancel"}
