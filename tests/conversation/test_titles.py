"""Titles that agents give, of sessions that were told, of forks, and of many lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from catena_acp.continuity.conversation_events import Renamed
from support.clients.protocol import spec
from support.conversations.rehearsed import Desk, World

# Names each session once: by `title`, which gets the first text of its first prompt.
NAMES = """
    named = set()

    def session_prompt(agent, request):
        session_id, said = request["params"]["sessionId"], request["params"]["prompt"][0]["text"]
        if session_id not in named:
            named.add(session_id)
            agent.send(agent.update(session_id, "session_info_update", title=title(said)))
        agent.send(agent.text(session_id, "well"), agent.result(request, {"stopReason": "end_turn"}))
"""
TOLD = (
    NAMES
    + """
    CAPABILITIES["sessionCapabilities"].pop("fork")
"""
)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def fork_of(desk: Desk) -> Desk:
    fork = await desk.conversations.fork(desk.conversation, window_id=desk.window_id)
    other = Desk(desk.db, desk.conversations, fork.conversation, fork.window.id)
    fork.conversation.subscribe(other.hear)
    return other


def title(desk: Desk) -> str | None:
    return desk.conversation.record.title


async def named(desk: Desk, text: str) -> str | None:
    await desk.say(text)
    return (await desk.until_told(Renamed)).title


@pytest.mark.parametrize("takes", ["said[:40]", "' '.join(said.split())"])
async def test_a_session_that_is_named_after_what_it_was_told_leaves_the_fork_to_be_named_after_its_prompt(
    world: World, takes: str
) -> None:
    agent = spec(world.place, f"{TOLD}\n    title = lambda said: {takes}")
    async with world.client(specs={"scripted": agent}, agent="scripted") as desk:
        assert await named(desk, "the first words") == "the first words"
        fork = await fork_of(desk)
        await fork.say("other words")
        assert title(fork) is None
        await fork.say("and on")
        assert title(fork) is None and not [each for each in fork.told if isinstance(each, Renamed)]


async def test_what_stands_behind_the_prior_context_in_a_title_is_the_title(world: World) -> None:
    takes = "title = lambda said: said + ' New words'"
    agent = spec(world.place, f"{TOLD}\n    {takes}")
    async with world.client(specs={"scripted": agent}, agent="scripted") as desk:
        await named(desk, "the first words")
        fork = await fork_of(desk)
        assert await named(fork, "other words") == "New words"


async def test_a_name_that_was_there_stays_when_a_session_after_a_clear_has_a_title(world: World) -> None:
    late = NAMES.replace("session_id not in named", "session_id not in named and len(sessions) > 1")
    late = late.replace("named = set()", "named, sessions = set(), set()").replace(
        "        if session", "        sessions.add(session_id)\n        if session", 1
    )
    agent = spec(world.place, f"{late}\n    title = lambda said: said")
    async with world.client(specs={"scripted": agent}, agent="scripted") as desk:
        await desk.say("the first words")
        await desk.window.clear()
        await desk.say("other words")
        assert title(desk) is None and not [each for each in desk.told if isinstance(each, Renamed)]


async def test_a_title_is_one_line(world: World) -> None:
    agent = spec(world.place, f"{NAMES}\n    title = lambda said: ' two' + chr(10) * 2 + 'lines' + chr(13)")
    async with world.client(specs={"scripted": agent}, agent="scripted") as desk:
        assert await named(desk, "words") == "two lines"


@pytest.mark.parametrize("marks", ["", " (fork)", " (fork) (fork #2)"])
async def test_u04_a_fork_does_not_take_its_sources_title_from_an_agent(world: World, marks: str) -> None:
    takes = f"title = lambda said: 'Later' if 'later' in said else 'The plan' + '{marks}' * ('fork' in said)"
    names = f"{NAMES}\n    {takes}".replace("if session_id not in named", "if True")
    async with world.client(specs={"scripted": spec(world.place, names)}, agent="scripted") as desk:
        assert await named(desk, "words") == "The plan"
        one = await fork_of(desk)
        await one.say("words in a fork")
        two = await fork_of(one)
        await two.say("words in a fork of a fork")
        assert await named(one, "what came later") == "Later"
        assert [each.title for each in one.told if isinstance(each, Renamed)] == ["Later"]
        assert title(two) is None
