"""What a window shows of its session: while one is opened, and when there is none any more."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from catena_acp.continuity.conversation_events import SessionChanged, SessionState
from support.conversations.rehearsed import Desk, World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.parametrize("way", ["looked at", "prompted"])
async def test_w06_a_mode_that_is_chosen_while_the_session_opens_waits_for_it(world: World, way: str) -> None:
    world.fail({"new": {"cue": "made"}})
    async with world.client() as desk:
        opening = desk.window.prepare() if way == "looked at" else desk.window.say("cue chosen")
        under_way = asyncio.ensure_future(opening)
        await world.heard("session/new")
        choosing = asyncio.ensure_future(desk.window.set_mode("plan"))
        world.cue("made")
        await choosing
        world.cue("chosen")
        await under_way
        await desk.window.wait_idle()
        over = await desk.say("settings")
        assert over.turn is not None and over.turn.mode == "plan"


async def clear(desk: Desk) -> None:
    await desk.window.clear()


async def rewind(desk: Desk) -> None:
    await desk.window.rewind(None)


async def log_out(desk: Desk) -> None:
    await desk.conversation.logins.log_out(desk.window)


@pytest.mark.parametrize("act", [clear, rewind, log_out])
async def test_w02_model_mode_and_cost_stay_known_when_the_session_is_left(
    world: World, act: Callable[[Desk], Awaitable[None]]
) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        await desk.window.set_mode("plan")
        await desk.window.set_option("model", "lead")
        before = desk.window.session
        assert before.usage and before.usage.cost
        await act(desk)
        for state in (desk.window.session, shown(desk)):
            assert (state.link_id, state.model, state.mode) == (None, "Lead", "plan")
            assert state.usage and (state.usage.cost, state.usage.size) == (before.usage.cost, 0)


async def test_w02_the_cost_stays_known_until_the_session_after_a_lost_one_tells_its_own(
    world: World,
) -> None:
    async with world.client("--no-load") as desk:
        await desk.say("say one")
        cost = desk.window.session.usage
        assert cost and cost.cost
    async with world.client("--no-load", resume=desk) as again:
        await again.say("say two")
        await again.window.rewind(None)
        world.fail({"new": {"cue": "made"}})
        await again.window.say("cue told; say three")
        world.cue("made")
        state = await again.until(lambda: again.window.session if again.window.session.link_id else None)
        assert state.usage and state.usage.cost and state.usage.size == 0
        world.cue("told")
        await again.window.wait_idle()
        assert again.window.session.usage and again.window.session.usage.size


async def test_w02_another_agent_shows_nothing_of_the_one_before(world: World) -> None:
    other = world.spec("--name=other", name="other")
    async with world.client(specs={"other": other}) as desk:
        await desk.say("say one")
        await desk.window.set_agent(other)
        state = desk.window.session
        assert (state.agent_title, state.model, state.usage) == ("Other", None, None)


def shown(desk: Desk) -> SessionState:
    return [news.session for news in desk.told if isinstance(news, SessionChanged)][-1]
