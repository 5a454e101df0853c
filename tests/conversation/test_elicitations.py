"""What an agent asks the person for, from the wire to the transcript and back, with real agent processes."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from catena_acp.continuity.conversation_events import (
    Doing,
    DoingChanged,
    ElicitationClosed,
    ElicitationOpened,
    PermissionOpened,
    TurnEnded,
)
from catena_acp.port.elicitation.requests import DECLINE, ElicitationAnswer, Form, WebPage
from catena_store.records import Kind, Message, MessageState, StopReason
from support.clients.protocol import spec
from support.conversations.rehearsed import Desk, World
from support.storage.rows import Clock, everything

ADA = ElicitationAnswer("accept", {"name": "Ada", "colour": "blue"})


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def asked(desk: Desk, prompt: str) -> ElicitationOpened:
    """Say it, and wait until the agent asks."""
    await desk.window.say(prompt)
    return await desk.until_told(ElicitationOpened)


async def ended(desk: Desk) -> TurnEnded:
    over = await desk.until_told(TurnEnded)
    await desk.window.wait_idle()
    return over


async def notices(desk: Desk) -> list[Message]:
    return [row for row in await desk.branch() if row.kind is Kind.NOTICE]


async def said(desk: Desk) -> str:
    return "".join(row.text for row in await desk.branch() if row.kind is Kind.AGENT)


async def stored_questions(desk: Desk) -> list[tuple[Any, ...]]:
    async with desk.db.read() as reader:
        return await everything(reader, "turn_asking")


async def test_w12_a_form_s_answer_reaches_the_agent_and_stays_in_the_transcript(world: World) -> None:
    async with world.client() as desk:
        form = await asked(desk, "ask name and colour")
        assert isinstance(form.request, Form) and form.agent_title == "Rehearsal"
        assert desk.window.doing is Doing.ASKING and desk.window.asked == [form]
        (row,) = await notices(desk)
        assert row.state is MessageState.OPEN, "what is asked is in the store before it is shown"
        await desk.conversation.answer_elicitation(form.ask_id, ADA)
        assert not desk.window.asked
        await desk.until_told(DoingChanged, lambda news: news.doing is Doing.WORKING)
        over = await ended(desk)
        assert over.problem is None
        assert '{"action": "accept", "content": {"name": "Ada", "colour": "blue"}}' in await said(desk)
    async with world.client(resume=desk) as again:
        (row,) = await notices(again)
        assert row.state is MessageState.FINAL
        assert row.text.startswith("Asked: What is your name") and row.text.endswith(
            "· Name: Ada · Colour: Blue"
        )
        assert row.data["elicitation"]["content"] == {"name": "Ada", "colour": "blue"}


async def test_u06_the_clock_of_a_turn_stands_still_while_the_person_is_asked(world: World) -> None:
    clock = Clock()
    async with world.client(clock=clock) as desk:
        form = await asked(desk, "ask name and colour")
        began = next(news.since for news in desk.told if isinstance(news, DoingChanged))
        shown = time.monotonic()
        while not await stored_questions(desk):  # noqa: ASYNC110 - nobody tells of it
            await asyncio.sleep(0.01)
        clock.forward(600)
        answered = time.monotonic()
        await desk.conversation.answer_elicitation(form.ask_id, ADA)
        works = await desk.until_told(
            DoingChanged, lambda news: news.doing is Doing.WORKING and news.since > began
        )
        assert works.since - began >= answered - shown
        turn = (await ended(desk)).turn
        assert turn is not None and (turn.waited, turn.seconds) == (600_000, 0)


async def test_w12_what_was_asked_and_answered_is_not_told_to_another_agent(world: World) -> None:
    async with world.client(specs={"other": world.spec(name="other")}) as desk:
        form = await asked(desk, "ask name and colour; say done")
        await desk.conversation.answer_elicitation(form.ask_id, ADA)
        await ended(desk)
        await desk.window.set_agent(world.spec(name="other"))
        await desk.say("echo")
        told = "\n".join(world.prompts()[-1])
        assert "done" in told and "Asked:" not in told


async def test_w12_a_declined_form_is_one_line_and_the_agent_goes_on(world: World) -> None:
    async with world.client() as desk:
        form = await asked(desk, "form")
        await desk.conversation.answer_elicitation(form.ask_id, DECLINE)
        assert (await ended(desk)).problem is None
        assert '{"action": "decline"}' in await said(desk)
        assert [row.text for row in await notices(desk)] == ["Asked: Who are you to be? · declined"]


@pytest.mark.parametrize("how", ["stop", "kill"])
async def test_w12_a_form_ends_with_its_turn_and_its_agent(world: World, how: str) -> None:
    async with world.client() as desk:
        form = await asked(desk, "form; say never")
        if how == "stop":
            await desk.window.stop()
        else:
            group = desk.conversation.live(desk.window_id).agent.group
            assert group is not None
            os.killpg(group[0], signal.SIGKILL)
        closed = await desk.until_told(ElicitationClosed)
        assert (closed.ask_id, closed.sent) == (form.ask_id, False)
        over = await ended(desk)
        assert over.turn is not None
        stop = StopReason.CANCELLED if how == "stop" else StopReason.AGENT_GONE
        assert over.turn.stop_reason is stop
        assert "Asked: Who are you to be? · cancelled" in [row.text for row in await notices(desk)]
        assert not desk.window.asked
        await desk.conversation.answer_elicitation(form.ask_id, ADA)  # too late, and no harm


async def test_w12_a_web_page_stays_open_until_the_agent_says_that_it_is_done(world: World) -> None:
    async with world.client() as desk:
        page = await asked(desk, "url cue done")
        assert isinstance(page.request, WebPage)
        await desk.conversation.answer_elicitation(page.ask_id, ElicitationAnswer("accept"))
        opened = await desk.until_told(ElicitationOpened, lambda news: news.opened)
        assert desk.window.asked == [opened] and desk.window.doing is Doing.WORKING
        assert not any(isinstance(news, ElicitationClosed) for news in desk.told)
        world.cue("done")
        await desk.until_told(ElicitationClosed)
        await ended(desk)
        (row,) = await notices(desk)
        assert row.text == "Asked: Look at the programme · opened example.org · done"
        assert row.data["detail"] == ["https://example.org/programme"]


async def test_w12_what_a_session_asks_before_its_first_prompt_is_asked_when_it_carries_a_window(
    world: World,
) -> None:
    script = """
    def session_new(agent, request):
        agent.send(agent.result(request, {"sessionId": "s1"}))
        form = {"type": "object", "properties": {}}
        agent.ask(7, "elicitation/create", sessionId="s1", mode="form", message="Early?", requestedSchema=form)

    def session_prompt(agent, request):
        answer = agent.read()
        while answer.get("id") != 7:
            answer = agent.read()
        said = str(answer["result"])
        agent.send(agent.text("s1", said), agent.result(request, {"stopReason": "end_turn"}))
    """
    early = spec(world.place, script)
    async with world.client(specs={"scripted": early}, agent="scripted") as desk:
        form = await asked(desk, "hello")
        await desk.until_told(DoingChanged, lambda news: news.doing is Doing.ASKING)
        await desk.conversation.answer_elicitation(form.ask_id, ElicitationAnswer("accept", {}))
        assert (await ended(desk)).problem is None
        assert await said(desk) == "{'action': 'accept', 'content': {}}"
        assert [row.text for row in await notices(desk)] == ["Asked: Early? · sent empty"]


async def test_w12_questions_wait_in_the_order_in_which_they_came(world: World) -> None:
    async with world.client() as desk:
        await desk.window.say("ask May I?; form; ask And now?")
        first = await desk.until_told(PermissionOpened)
        await desk.conversation.answer(first.ask_id, "yes")
        form = await desk.until_told(ElicitationOpened)
        await desk.conversation.answer_elicitation(form.ask_id, ElicitationAnswer("accept", {"name": "Ada"}))
        last = await desk.until_told(PermissionOpened, lambda news: news.ask_id != first.ask_id)
        assert desk.window.asked == [last] and desk.window.doing is Doing.ASKING
        await desk.conversation.answer(last.ask_id, "yes")
        assert (await ended(desk)).problem is None


async def test_w12_a_side_question_declines_by_itself_and_says_so(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say begun")
        aside = await desk.conversation.asides.begin(desk.window)
        async for _ in aside.ask("form; say on"):
            assert not desk.window.asked
        assert "Asked: Who are you to be? · declined" in [row.text for row in aside.rows]
        assert '{"action": "decline"}' in aside.text
        await aside.close()
