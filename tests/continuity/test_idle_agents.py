"""An agent that nobody prompts is ended where that costs nothing, and kept for as long as it is of use to a window."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from catena_acp.conversation.conversations.conversations import Conversations
from catena_acp.port.port import AgentPort
from catena_store.records import ContextSource
from catena_store.windows import queue
from support.conversations.rehearsed import Desk, World

SOON = 0.05


class Looks:
    """The looks that were had at idle agents, and what each found."""

    def __init__(self) -> None:
        self.found: list[bool] = []
        self._had = asyncio.Event()

    def had(self, of_use: bool) -> None:
        self.found.append(of_use)
        self._had.set()

    async def several(self) -> list[bool]:
        """What the next looks find."""
        before = len(self.found)
        while len(self.found) < before + 3:
            self._had.clear()
            await self._had.wait()
        return self.found[before:]


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Looks:
    looks, is_of_use = Looks(), Conversations._is_of_use

    async def looked(conversations: Conversations, agent: AgentPort, family: str) -> bool:
        of_use = await is_of_use(conversations, agent, family)
        looks.had(of_use)
        return of_use

    monkeypatch.setattr(Conversations, "_is_of_use", looked)
    return looks


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def agent_of(desk: Desk) -> AgentPort:
    (agent,) = desk.conversations._agents.all_live()
    return agent


async def ended(agent: AgentPort) -> None:
    over = asyncio.Event()
    agent.on_exit(over.set)
    async with asyncio.timeout(60):
        await over.wait()


async def test_an_agent_that_nobody_prompts_is_ended_and_the_next_prompt_resumes_its_session(
    world: World,
) -> None:
    async with world.client(idle_agents=SOON) as desk:
        await desk.say("say one")
        await ended(agent_of(desk))
        price = await desk.conversation.chain.price(desk.window)
        assert price.native and price.words == "probably same context, nothing replayed"
        over = await desk.say("echo")
        assert over.problem is None and over.turn is not None and over.turn.how is ContextSource.RESUMED
        assert "users=2" in (await desk.branch())[-1].text


async def test_it_is_kept_while_its_window_is_in_sight(world: World, looks: Looks) -> None:
    async with world.client(idle_agents=SOON) as desk:
        desk.conversations.in_sight = lambda: [desk.window_id]
        await desk.say("say one")
        assert all(await looks.several())
        agent = agent_of(desk)
        desk.conversations.in_sight = frozenset
        await ended(agent)


async def test_it_is_kept_while_its_work_in_the_background_goes_on(world: World, looks: Looks) -> None:
    async with world.client(idle_agents=SOON) as desk:
        await desk.say("background cue done make it; say so far")
        assert all(await looks.several())
        agent = agent_of(desk)
        world.cue("done")
        await ended(agent)


async def test_it_is_kept_while_a_prompt_waits_for_the_person(world: World, looks: Looks) -> None:
    async with world.client(idle_agents=SOON) as desk:
        await desk.say("say one")
        await desk.window.queue.add("say two", [])
        await desk.window.queue.hold()
        async with desk.db.read() as reader:
            (waiting,) = await queue.items(reader, desk.window_id)
        assert all(await looks.several())
        agent = agent_of(desk)
        await desk.window.queue.remove(waiting.id)
        await ended(agent)


async def test_it_is_kept_where_its_session_could_not_be_opened_again(world: World, looks: Looks) -> None:
    async with world.client("--no-load", "--no-resume", idle_agents=SOON) as desk:
        await desk.say("say one")
        assert all(await looks.several())


async def test_with_0_no_agent_is_ended_for_being_idle(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        (place,) = desk.conversations._agents._places.values()
        assert place.agent is not None and place.idle is None


async def test_a_prompt_that_comes_while_it_is_looked_at_keeps_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked, go = asyncio.Event(), asyncio.Event()

    async def slowly(conversations: Conversations, agent: AgentPort, family: str) -> bool:
        looked.set()
        await go.wait()
        return False

    monkeypatch.setattr(Conversations, "_is_of_use", slowly)
    async with world.client(idle_agents=SOON) as desk:
        await desk.say("say one")
        await looked.wait()
        agent = agent_of(desk)
        await desk.window.say("cue go-on; echo")
        await world.heard("session/prompt", 2)
        go.set()
        world.cue("go-on")
        await desk.window.wait_idle()
        assert "users=2" in (await desk.branch())[-1].text
        assert [each["pid"] for each in world.requests() if each.get("event") == "start"] == [agent.group[0]]
