"""Sessions that are opened again after a restart: what an agent's replay proves of them, and what not."""

from __future__ import annotations

from pathlib import Path

import pytest

from catena_store.records import ContextSource, LinkState
from support.conversations.modelled import another_window, how
from support.conversations.quirks import Quirky
from support.conversations.rehearsed import World


@pytest.mark.parametrize(
    "prompt", ["<div> is not closed; say x", "[Image of the error]; say x", "Caveat: I am new to this; say x"]
)
async def test_r07_a_session_is_found_again_however_its_prompts_begin_and_can_be_forked(
    tmp_path: Path, prompt: str
) -> None:
    world = World(tmp_path)
    async with world.client() as desk:
        await desk.say(prompt)
    async with world.client(resume=desk) as later:
        named = await later.conversation.chain.price(later.window)
        assert how(await later.say("say y")) is ContextSource.RESUMED
        assert named.how is ContextSource.RESUMED
        beside = await another_window(later, (await later.stored_window()).leaf_id)
        assert how(await beside.say("say z")) is ContextSource.FORKED
        assert LinkState.LOST not in {link.state for link in await later.links() if link.cause != "probe"}


async def test_r07_after_a_command_that_the_agent_ran_itself_and_does_not_replay_its_session_goes_on(
    tmp_path: Path,
) -> None:
    quirky = Quirky(tmp_path, "local-commands")
    async with quirky.client() as desk:
        await desk.say("one")
        await desk.say("/context")
        assert [row.text for row in await desk.branch()][-1] == "/context was run here"
    async with quirky.client(resume=desk) as later:
        over = await later.say("two")
        answer = (await later.branch())[-1].text
    assert how(over) is ContextSource.RESUMED
    assert answer == "[heard] one|two"
    assert quirky.opened() == ["new", "load"]
