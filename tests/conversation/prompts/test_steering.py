"""A waiting prompt sent to the running turn, where the agent offers that. Section W16."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from catena_acp.continuity.conversation_events import (
    MessageAdded,
    PromptReturned,
    QueueChanged,
    SessionChanged,
    Troubled,
)
from catena_acp.continuity.turns.endings import Ending
from catena_acp.continuity.turns.turn import RunningTurn
from catena_store.conversations import messages
from catena_store.database.database import Database
from catena_store.errors import NotFound
from catena_store.records import ContextSource, Kind, Message, QueueItem, StopReason, Turn
from catena_store.windows import inputs, queue, windows
from support.conversations.rehearsed import Desk, World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def waits_for(desk: Desk, text: str, *, first: str = "say busy; heed 20; say the end") -> QueueItem:
    """A turn that runs, and a prompt that waits for its end."""
    await desk.window.say(first)
    await desk.until_told(MessageAdded, lambda news: news.message.text.startswith("busy"))
    await desk.window.say(text)
    async with desk.db.read() as reader:
        return (await queue.items(reader, desk.window_id))[-1]


async def left(desk: Desk) -> list[QueueItem]:
    async with desk.db.read() as reader:
        return await queue.items(reader, desk.window_id)


async def idle(desk: Desk) -> None:
    await desk.window.wait_idle()


def heard(world: World, method: str = "session/prompt") -> list[str]:
    return [entry["blocks"][-1] for entry in world.requests(method)]


def spoken(rows: list[Message]) -> list[tuple[Kind, str]]:
    return [(row.kind, row.text) for row in rows if row.kind in (Kind.USER, Kind.AGENT)]


async def test_w16_send_now_says_it_into_the_running_turn_of_an_agent_that_can_be_steered(
    world: World,
) -> None:
    async with world.client("--steering") as desk:
        item = await waits_for(desk, "mind the gap")
        assert await desk.window.send_now(item.id)
        await idle(desk)
        rows = await desk.branch()
        (turn,) = await desk.turns()
        (link,) = await desk.links()
        assert await left(desk) == []
        told = [news.items for news in desk.told if isinstance(news, QueueChanged)]
    assert spoken(rows) == [
        (Kind.USER, "say busy; heed 20; say the end"),
        (Kind.AGENT, "busy"),
        (Kind.USER, "mind the gap"),
        (Kind.AGENT, "[heeded] mind the gap\n\nthe end"),
    ]
    steered = next(row for row in rows if row.text == "mind the gap")
    assert (steered.turn_id, steered.link_id, dict(steered.data)) == (turn.id, link.id, {"steered": True})
    assert turn.stop_reason is StopReason.END_TURN and link.knows == link.reach == turn.last_id == rows[-1].id
    assert heard(world) == ["say busy; heed 20; say the end"]
    assert heard(world, "_session/steering") == ["mind the gap"]
    assert told[-1] == ()


@pytest.mark.parametrize("text", ["/plan", "/clear"])
async def test_w16_a_command_is_none_within_a_turn_so_it_goes_next_instead(world: World, text: str) -> None:
    async with world.client("--steering") as desk:
        first = "say busy; hang" if text == "/clear" else "say busy; cue go-on"
        item = await waits_for(desk, text, first=first)
        await desk.until_told(SessionChanged, lambda news: bool(news.session.commands))
        assert not await desk.window.send_now(item.id)
        world.cue("go-on")
        await idle(desk)
        assert await left(desk) == []
        assert [row.barrier for row in await desk.branch()].count(True) == (text == "/clear")
    assert world.requests("_session/steering") == []
    assert heard(world)[1:] == ([] if text == "/clear" else ["/plan"])


async def test_w16_what_is_on_its_way_into_a_turn_can_be_neither_moved_nor_said_again(world: World) -> None:
    async with world.client("--steering") as desk:
        world.fail({"steering": {"cue": "go-on"}})
        item = await waits_for(desk, "mind the gap")
        sending = asyncio.ensure_future(desk.window.send_now(item.id))
        await desk.until_told(QueueChanged, lambda news: news.items == ())
        for act in (desk.window.send_now, desk.window.queue.restore, desk.window.queue.remove):
            with pytest.raises(NotFound):
                await act(item.id)
        world.cue("go-on")
        assert await sending
        await idle(desk)
    assert heard(world, "_session/steering") == ["mind the gap"]


async def test_w16_what_was_said_into_a_turn_alarms_nobody_when_the_session_is_looked_at_again(
    world: World,
) -> None:
    async with world.client("--steering") as desk:
        item = await waits_for(desk, "mind the gap")
        await desk.window.send_now(item.id)
        await idle(desk)
        await desk.say("say more")
    async with world.client("--steering", resume=desk) as again:
        over = await again.say("echo")
        assert over.turn is not None and over.turn.how is ContextSource.RESUMED
        answer = (await again.branch())[-1].text
        assert len(await again.links()) == 1
    assert "users=4" in answer and "all=say busy; heed 20; say the end|mind the gap|say more|echo" in answer


async def test_w16_what_was_said_into_a_turn_is_told_at_its_place_to_a_new_session(world: World) -> None:
    async with world.client("--steering") as desk:
        item = await waits_for(desk, "mind the gap")
        await desk.window.send_now(item.id)
        await idle(desk)
        world.fail({"load": {"error": [-32002, "Resource not found"]}})
        os.kill(world.requests("initialize")[-1]["pid"], signal.SIGKILL)
        await desk.until_told(SessionChanged, lambda news: news.session.link_id is None)
        over = await desk.say("echo")
    assert over.turn is not None and over.turn.how is ContextSource.TOLD and over.turn.told == 4
    told = world.prompts()[-1][0]
    assert told.index("> busy") < told.index("> mind the gap") < told.index("> [heeded] mind the gap")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"result": {"outcome": "promptRequired"}}, None),
        ({"result": {"outcome": "failed"}}, "reported a failure"),
        ({"result": 7}, "reported a failure"),
        ({"error": [-32602, "no such turn"]}, "no such turn"),
    ],
)
async def test_w16_what_the_agent_does_not_take_into_its_turn_is_sent_as_the_next_prompt_once(
    world: World, answer: dict[str, Any], told: str | None
) -> None:
    async with world.client("--steering") as desk:
        world.fail({"steering": answer})
        item = await waits_for(desk, "say mind the gap", first="say busy; cue go-on")
        assert not await desk.window.send_now(item.id)
        assert [(each.id, each.held, each.steering) for each in await left(desk)] == [(item.id, False, None)]
        world.cue("go-on")
        await idle(desk)
        assert await left(desk) == []
        troubles = [news.problem.text for news in desk.told if isinstance(news, Troubled)]
        rows = await desk.branch()
    assert heard(world) == ["say busy; cue go-on", "say mind the gap"]
    assert [row.text for row in rows if row.kind is Kind.USER] == ["say busy; cue go-on", "say mind the gap"]
    assert not any(row.data.get("steered") for row in rows)
    assert bool(troubles) == bool(told) and all(told in text for text in troubles if told)


async def test_w16_an_agent_that_answers_it_in_a_turn_of_its_own_has_heard_it_and_the_rest_is_held(
    world: World,
) -> None:
    async with world.client("--steering") as desk:
        world.fail({"steering": {"result": {"outcome": "startedNewTurn"}}})
        item = await waits_for(desk, "mind the gap", first="say busy; cue go-on")
        await desk.window.say("say afterwards")
        assert await desk.window.send_now(item.id)
        world.cue("go-on")
        await idle(desk)
        assert [(each.text, each.held) for each in await left(desk)] == [("say afterwards", True)]
        assert [row.text for row in await desk.branch() if row.data.get("steered")] == ["mind the gap"]
        await desk.until_told(Troubled, lambda news: "separate turn" in news.problem.text)
    assert heard(world) == ["say busy; cue go-on"]


async def test_w16_an_agent_that_dies_before_it_says_what_came_of_it_may_have_heard_it(world: World) -> None:
    async with world.client("--steering") as desk:
        world.fail({"steering": {"kill": True}})
        item = await waits_for(desk, "mind the gap")
        assert await desk.window.send_now(item.id)
        await idle(desk)
        assert await left(desk) == []
        rows = await desk.branch()
        (steered,) = [row for row in rows if row.data.get("steered")]
        assert steered.data["doubtful"] and steered.text == "mind the gap"
        await desk.say("echo")
    assert world.prompts()[-1][0].count("> mind the gap") == 1
    assert heard(world) == ["say busy; heed 20; say the end", "echo"]


async def test_w16_a_client_that_ends_before_it_knows_what_came_of_it_says_it_to_nobody_again(
    world: World,
) -> None:
    async with world.client("--steering") as desk:
        world.fail({"steering": {"silent": True}})
        item = await waits_for(desk, "mind the gap")
        task = asyncio.ensure_future(desk.window.send_now(item.id))
        async with asyncio.timeout(60):
            while not world.requests("_session/steering"):  # noqa: ASYNC110 - another process's file
                await asyncio.sleep(0.01)
    assert await task
    async with world.client("--steering", resume=desk) as again:
        assert await left(again) == []
        rows = await again.branch()
        assert [row.data.get("doubtful") for row in rows if row.text == "mind the gap"] == [True]
        await again.say("echo")
    assert heard(world)[-1] == "echo" and heard(world).count("mind the gap") == 0


async def test_w16_what_a_killed_client_was_saying_into_a_turn_is_a_row_of_that_turn(world: World) -> None:
    """The store as a client leaves it that is killed between the mark and the answer."""
    async with world.client("--steering") as desk:
        item = await waits_for(desk, "mind the gap")
        copy = world.place / "left" / "catena.db"
        copy.parent.mkdir()
        (turn,) = await desk.turns()
        mark = {"turn": turn.id, "link": turn.link_id, "row": "the-row"}
        async with desk.db.write() as tx:
            await queue.set_data(tx, item.id, {**item.data, "steering": mark})
        _leave_as_dead(desk.db, copy)
    world.store = copy
    async with world.client("--steering", resume=desk) as again:
        rows = await again.branch()
        assert await left(again) == []
        assert [(row.id, row.kind) for row in rows[-2:]] == [
            ("the-row", Kind.USER),
            (rows[-1].id, Kind.NOTICE),
        ]
        assert rows[-2].turn_id == turn.id and rows[-2].data["doubtful"]
        (link,) = await again.links()
        assert link.reach == rows[-1].id
        async with again.db.read() as reader:
            assert await messages.get(reader, "the-row") is not None
            assert "mind the gap" in [text for _, text in await inputs.recent(reader)]


def _leave_as_dead(db: Database, to: Path) -> None:
    """Copy the store as it is, and let its client be one that is gone."""
    with closing(sqlite3.connect(db.path)) as source, closing(sqlite3.connect(to)) as target:
        source.backup(target)
        target.execute("UPDATE lease SET started = 'long ago', agents = '[]'")
        target.commit()


async def test_w16_a_stop_of_a_steered_turn_keeps_all_of_it_and_gives_nothing_back(world: World) -> None:
    async with world.client("--steering") as desk:
        item = await waits_for(desk, "mind the gap", first="say busy; heed 20; hang")
        await desk.window.send_now(item.id)
        await desk.until_told(MessageAdded, lambda news: "[heeded]" in news.message.text)
        await desk.window.stop()
        await idle(desk)
        rows = await desk.branch()
        assert [text for _, text in spoken(rows)][-2:] == ["mind the gap", "[heeded] mind the gap"]
        assert not [news for news in desk.told if isinstance(news, PromptReturned)]
        await desk.window.retry()
        async with asyncio.timeout(60):
            while len(heard(world)) < 2:  # noqa: ASYNC110 - another process's file
                await asyncio.sleep(0.01)
        await desk.window.stop()
        await idle(desk)
    assert heard(world) == ["say busy; heed 20; hang"] * 2


async def test_w16_a_turn_that_brought_nothing_but_what_was_said_into_it_is_held_by_its_session(
    world: World,
) -> None:
    async with world.client("--steering") as desk:
        await desk.window.say("think hard; hang")  # one piece
        await desk.until_told(MessageAdded, lambda news: news.message.kind is Kind.THOUGHT)
        await desk.window.say("mind the gap")
        (item,) = await left(desk)
        assert await desk.window.send_now(item.id)
        await desk.window.stop()
        await idle(desk)
        prompt, *_, steered = [row for row in await desk.branch() if row.kind is Kind.USER]
        (link,) = await desk.links()
        assert steered.text == "mind the gap" and link.reach == steered.id
        # From the prompt on, the branch is without what was said into its turn.
        async with desk.db.write() as tx:
            await windows.set_leaf(tx, desk.window_id, prompt.id)
        await desk.say("echo")
        assert "mind the gap" not in (await desk.branch())[-1].text


async def test_w16_what_is_to_be_said_into_a_turn_that_was_just_answered_is_sent_once_as_the_next_prompt(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending, may_end = asyncio.Event(), asyncio.Event()
    end = RunningTurn.end

    async def slow_end(self: RunningTurn, ending_of_it: Ending) -> tuple[Turn, Message | None]:
        ending.set()
        await may_end.wait()
        return await end(self, ending_of_it)

    monkeypatch.setattr(RunningTurn, "end", slow_end)
    async with world.client("--steering") as desk:
        world.fail({"steering": {"delay": 0.3, "result": {"outcome": "startedNewTurn"}}})
        item = await waits_for(desk, "say mind the gap", first="say busy")
        await ending.wait()
        sending = asyncio.ensure_future(desk.window.send_now(item.id))
        done, _ = await asyncio.wait({sending}, timeout=60)
        may_end.set()
        assert done and not await sending
        await idle(desk)
        assert await left(desk) == []
    assert world.requests("_session/steering") == []
    assert heard(world) == ["say busy", "say mind the gap"]


async def test_w16_what_is_on_its_way_into_a_turn_is_never_the_next_prompt(world: World) -> None:
    async with world.client() as desk:
        async with desk.db.write() as tx:
            for item_id, text in (("first", "mind the gap"), ("second", "say after")):
                await queue.add(tx, id=item_id, window_id=desk.window_id, text=text)
            await queue.set_data(tx, "first", {"steering": {"turn": "t", "link": "l", "row": "r"}})
        await desk.window.send_queued()
        await idle(desk)
        assert [item.id for item in await left(desk)] == ["first"]
    assert heard(world) == ["say after"]


async def test_w16_a_prompt_that_is_refused_while_something_is_said_into_its_turn_goes_to_no_other_session(
    world: World,
) -> None:
    async with world.client("--steering") as desk:
        await desk.say("say one")
        world.fail(
            {
                "prompt": {"cue": "go-on", "error": [-32603, "no"], "times": 1},
                "steering": {"cue": "go-on", "delay": 0.4, "result": {"outcome": "startedNewTurn"}},
            }
        )
        await desk.window.say("say two")
        await world.heard("session/prompt", 2)
        await desk.window.say("mind the gap")
        (item,) = await left(desk)
        sending = asyncio.ensure_future(desk.window.send_now(item.id))
        await world.heard("_session/steering")
        world.cue("go-on")
        assert await sending
        await idle(desk)
        texts = [row.text for row in await desk.branch() if row.kind is Kind.USER]
        assert texts == ["say one", "say two", "mind the gap"]
        assert [turn.stop_reason for turn in await desk.turns()] == [StopReason.END_TURN, StopReason.ERROR]
        assert await left(desk) == [] and len(await desk.links()) == 1
