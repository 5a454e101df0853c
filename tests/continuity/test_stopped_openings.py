"""A stop while the agent makes a session: the session gets its link all the same, and the next prompt uses it."""

from __future__ import annotations

from pathlib import Path

import pytest

from catena_acp.continuity.conversation_events import LinkChanged, PromptReturned
from catena_acp.continuity.sessions import sessions
from catena_store.records import Cause, Link
from support.conversations.rehearsed import Desk, World, open_window


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def linked(desk: Desk, cause: Cause) -> Link:
    news = await desk.until_told(LinkChanged, lambda news: news.link.cause is cause)
    return news.link


def upstream(world: World) -> set[str]:
    """The sessions that the agent has."""
    return {path.stem for path in (world.place / "rehearsal").rglob("*.jsonl")}


async def test_a_session_whose_making_was_stopped_has_a_link_and_carries_the_next_prompt(
    world: World,
) -> None:
    world.fail({"new": {"cue": "made"}})
    async with world.client() as desk:
        await desk.window.say("say one")
        await world.heard("session/new")
        await desk.window.stop()
        assert (await desk.until_told(PromptReturned)).text == "say one", "nobody waits for the agent"
        await desk.window.wait_idle()
        world.cue("made")
        link = await linked(desk, Cause.NEW)
        await desk.say("say two")
        assert upstream(world) == {link.session_id}
    assert len(world.requests("session/new")) == 1


async def test_a_fork_whose_making_was_stopped_has_a_link_and_carries_the_next_prompt(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        leaf = (await desk.stored_window()).leaf_id
        other = Desk(
            desk.db,
            desk.conversations,
            desk.conversation,
            await open_window(desk.db, desk.conversation.id, leaf),
        )
        desk.conversation.subscribe(other.hear)
        world.fail({"fork": {"cue": "made"}})
        await other.window.say("say two")
        await world.heard("session/fork")
        await other.window.stop()
        assert (await other.until_told(PromptReturned)).text == "say two"
        world.cue("made")
        fork = await linked(other, Cause.FORK)
        await other.say("say three")
        assert upstream(world) == {link.session_id for link in await desk.links()}
        assert (await desk.turns())[-1].link_id == fork.id
    assert len(world.requests("session/fork")) == 1


async def test_a_session_whose_making_was_stopped_is_linked_before_the_conversation_is_closed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "_CLOSING_SECONDS", 60)  # however slow the machine is
    world.fail({"new": {"cue": "made"}})
    async with world.client() as desk:
        await desk.window.say("say one")
        await world.heard("session/new")
        await desk.window.stop()
        await desk.until_told(PromptReturned)
        world.cue("made")
    async with world.client(resume=desk) as again:
        (link,) = await again.links()
    assert upstream(world) == {link.session_id}
