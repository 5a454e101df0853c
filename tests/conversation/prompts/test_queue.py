"""The queue of waiting prompts: durable, in order, each as it was typed. Sections W16, R11, R12."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from catena_acp.continuity.conversation_events import (
    Doing,
    DoingChanged,
    MessageAdded,
    MessageGrew,
    PermissionOpened,
    PromptReturned,
    QueueChanged,
    Troubled,
    TurnEnded,
    TurnStarted,
)
from catena_store.errors import NotFound
from catena_store.records import Kind, QueueItem, StopReason
from catena_store.windows import queue
from support.conversations.rehearsed import Desk, World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def waiting(desk: Desk) -> list[QueueItem]:
    async with desk.db.read() as reader:
        return await queue.items(reader, desk.window_id)


async def busy(desk: Desk, prompt: str = "say busy; hang") -> None:
    """A turn whose prompt has reached the agent."""
    await desk.window.say(prompt)
    await desk.until_told(DoingChanged, lambda news: news.doing is Doing.WORKING)
    await desk.until(lambda: True if "busy" in said(desk) else None)


async def queued(desk: Desk, *texts: str) -> list[QueueItem]:
    for text in texts:
        await desk.window.say(text)
    return await waiting(desk)


def said(desk: Desk) -> str:
    told = [getattr(item, "message", None) for item in desk.told]
    grown = [item.text for item in desk.told if isinstance(item, MessageGrew)]
    return " ".join([*(row.text for row in told if row and row.kind is Kind.AGENT), *grown])


def heard(world: World) -> list[str]:
    """The prompts that reached the agent, without what was told with them."""
    return [blocks[-1] for blocks in world.prompts()]


async def idle(desk: Desk) -> None:
    await desk.window.wait_idle()


async def test_w16_the_queue_is_reordered_and_sent_in_its_new_order(world: World) -> None:
    async with world.client() as desk:
        await busy(desk)
        one, two, three = await queued(desk, "say one", "say two", "say three")
        await desk.window.queue.move(three.id, 0)
        await desk.window.queue.remove(two.id)
        assert [item.text for item in await waiting(desk)] == ["say three", "say one"]
        told = [item.items for item in desk.told if isinstance(item, QueueChanged)]
        assert [item.id for item in told[-1]] == [three.id, one.id]
        await desk.window.stop()
        await desk.window.send_queued()
        await idle(desk)
    assert heard(world) == ["say busy; hang", "say three", "say one"]


async def test_w16_a_waiting_prompt_is_taken_back_to_be_changed_before_the_draft_that_is_there(
    world: World,
) -> None:
    async with world.client() as desk:
        await busy(desk)
        (item,) = await queued(desk, "say one")
        await desk.window.queue.restore(item.id)
        assert await waiting(desk) == []
        returned = await desk.until_told(PromptReturned)
        assert returned.text == (await desk.stored_window()).draft == "say one"
        with pytest.raises(NotFound):
            await desk.window.queue.restore(item.id)


async def test_w16_send_now_stops_the_turn_of_an_agent_that_cannot_be_steered_and_goes_first(
    world: World,
) -> None:
    async with world.client() as desk:
        await busy(desk)
        _, second = await queued(desk, "say one", "say two")
        assert not await desk.window.send_now(second.id)
        await idle(desk)
        turns = await desk.turns()
    assert heard(world) == ["say busy; hang", "say two", "say one"]
    assert [turn.stop_reason for turn in turns] == [
        StopReason.CANCELLED,
        StopReason.END_TURN,
        StopReason.END_TURN,
    ]
    assert len({turn.link_id for turn in turns}) == 1


async def test_w16_after_an_error_the_queue_is_held_and_send_now_lets_only_that_one_go(world: World) -> None:
    async with world.client() as desk:
        await busy(desk, "say busy; cue go-on; error -32603 no more")
        await queued(desk, "say one", "say two")
        world.cue("go-on")
        await idle(desk)
        held = await waiting(desk)
        assert [item.held for item in held] == [True, True]
        assert not await desk.window.send_now(held[1].id)
        await idle(desk)
        assert heard(world)[1:] == ["say two"]
        assert [item.text for item in await waiting(desk)] == ["say one"]
        await desk.window.send_queued()
        await idle(desk)
    assert heard(world)[1:] == ["say two", "say one"]


async def test_w16_a_waiting_prompt_goes_out_in_the_mode_and_model_that_it_was_typed_in(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say first")
        await desk.window.set_mode("plan")
        await desk.window.set_option("model", "lead")
        await busy(desk, "say busy; wait 30")
        (item,) = await queued(desk, "settings")
        assert (item.cwd, item.mode, item.model) == (str(world.project), "plan", "Lead")
        await desk.window.set_mode("code")
        await desk.window.set_option("model", "chorus")
        await desk.window.stop()
        await desk.window.send_queued()
        await idle(desk)
        turn = (await desk.turns())[-1]
        assert "mode=plan model=lead" in (await desk.branch())[-1].text
        assert (turn.mode, turn.model) == ("plan", "Lead")
        over = await desk.say("settings")
        assert over.turn is not None and (over.turn.mode, over.turn.model) == ("code", "Chorus")
        assert not [item for item in desk.told if isinstance(item, Troubled)]


async def test_w16_a_model_that_is_chosen_while_the_session_goes_back_to_its_mode_is_not_undone(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.say("say first")
        await desk.window.set_mode("plan")
        await desk.window.set_option("model", "lead")
        await busy(desk, "say busy; wait 30")
        await queued(desk, "cue go-on")
        await desk.window.set_mode("code")
        await desk.window.set_option("model", "chorus")
        requests = len(world.requests("session/set_config_option"))
        await desk.window.stop()
        await desk.window.send_queued()
        await desk.until(lambda: True if desk.window.session.model == "Lead" else None)
        world.fail({"set_config_option": {"cue": "mode-is-back", "times": 1}})
        world.cue("go-on")
        await world.heard("session/set_config_option", requests + 3)
        choosing = asyncio.ensure_future(desk.window.set_option("model", "understudy"))
        world.cue("mode-is-back")
        await choosing
        await idle(desk)
        assert (desk.window.session.mode, desk.window.session.model) == ("code", "Understudy")
        over = await desk.say("settings")
        assert "mode=code model=understudy" in (await desk.branch())[-1].text
        assert over.turn is not None and over.turn.model == "Understudy"


async def test_w16_a_mode_that_the_agent_does_not_take_again_is_told_and_the_prompt_goes_out(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.say("say first")
        await busy(desk, "say busy; wait 30")
        await queued(desk, "say typed in ask")
        await desk.window.set_mode("code")
        world.fail({"set_config_option": {"error": [-32602, "not today"]}})
        await desk.window.stop()
        await desk.window.send_queued()
        await idle(desk)
        trouble = next(item for item in desk.told if isinstance(item, Troubled))
        assert "mode “Ask”" in trouble.problem.text and "not today" in trouble.problem.text
    assert heard(world)[-1] == "say typed in ask"


async def test_w16_a_waiting_prompt_goes_out_in_the_directory_that_it_was_typed_in(world: World) -> None:
    elsewhere = world.place / "elsewhere"
    elsewhere.mkdir()
    async with world.client() as desk:
        async with desk.db.write() as tx:
            await queue.add(
                tx, id="q", window_id=desk.window_id, text="say there", data={"cwd": str(elsewhere)}
            )
        await desk.window.send_queued()
        await idle(desk)
        (link,) = await desk.links()
    assert link.cwd == str(elsewhere)
    assert world.requests("session/new")[-1]["params"]["cwd"] == str(elsewhere)


async def test_w16_a_restart_brings_the_queue_back_as_it_was_and_it_waits_for_the_person(
    world: World,
) -> None:
    async with world.client() as desk:
        await busy(desk)
        await queued(desk, "say one", "say two")
        before = await waiting(desk)
    async with world.client(resume=desk) as again:
        after = await waiting(again)
        assert [(item.id, item.text, item.data) for item in after] == [
            (item.id, item.text, item.data) for item in before
        ]
        assert all(item.held for item in after)
        await again.say("say typed afterwards")
        assert len(await waiting(again)) == 2
        await again.window.send_queued()
        await idle(again)
    assert heard(world)[-3:] == ["say typed afterwards", "say one", "say two"]


async def test_w16_sent_now_before_the_prompt_before_it_is_out_it_waits_for_that_and_stops_nothing(
    world: World,
) -> None:
    async with world.client() as desk:
        world.fail({"new": {"cue": "go-on"}})
        await desk.window.say("say first")
        (item,) = await queued(desk, "say second")
        assert not await desk.window.send_now(item.id)
        world.cue("go-on")
        await idle(desk)
    assert heard(world) == ["say first", "say second"]


async def test_r11_a_stop_answers_the_open_question_first_and_marks_the_tool_call(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        await desk.window.say("begin Paint the fence; ask May I?")
        await desk.until_told(PermissionOpened)
        await desk.window.stop()
        await idle(desk)
        over = (await desk.turns())[-1]
        assert over.stop_reason is StopReason.CANCELLED
        tools = [row.data["status"] for row in await desk.branch() if row.kind is Kind.TOOL]
        assert tools and set(tools) == {"cancelled"}
        again = await desk.say("echo")
        assert again.turn is not None and again.turn.link_id == over.link_id
    answers = [entry for entry in world.requests() if entry.get("event") == "answer"]
    assert [entry["result"]["outcome"] for entry in answers] == [{"outcome": "cancelled"}]
    assert len(world.requests("session/new")) == 1


async def test_r11_what_comes_late_after_a_stop_is_kept_on_the_branch(world: World) -> None:
    async with world.client() as desk:
        await desk.window.say("between cue later; say busy; hang")
        await desk.until_told(TurnStarted)
        await desk.until(lambda: True if "busy" in said(desk) else None)
        await desk.window.stop()
        await desk.until_told(TurnEnded)
        await idle(desk)
        world.cue("later")
        await desk.until_told(MessageAdded, lambda news: "between turns" in news.message.text)
        rows = await desk.branch()
        assert [row.kind for row in rows[-2:]] == [Kind.NOTICE, Kind.AGENT]
