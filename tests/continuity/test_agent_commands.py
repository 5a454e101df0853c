"""Slash commands of an agent's: what becomes of the session where one is refused, or says nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from catena_acp.trouble.troubles import Trouble
from catena_store.records import ContextSource, Kind, LinkState, StopReason
from support.conversations.modelled import how
from support.conversations.quirks import Quirky


@pytest.mark.parametrize("restarted", [False, True])
async def test_r08_a_command_that_the_agent_refuses_goes_to_no_other_session_and_leaves_this_one_as_it_was(
    tmp_path: Path, restarted: bool
) -> None:
    quirky = Quirky(tmp_path, "refuses-commands")
    async with quirky.client() as desk:
        await desk.say("one")
        (before,) = await desk.links()
        if not restarted:
            over = await desk.say("/stats")
            again = await desk.say("two")
            (link,) = await desk.links()
    if restarted:
        async with quirky.client(resume=desk) as later:
            over = await later.say("/stats")
            assert how(await later.say("two")) is ContextSource.RESUMED
            again = await later.say("three")
            (link,) = await later.links()
    assert over.turn is None
    assert over.problem is not None
    assert (over.problem.trouble, over.problem.returned) == (Trouble.REFUSED, True)
    assert "Slash command not supported in ACP integration: /stats" in over.problem.text
    assert how(again) is ContextSource.CONTINUED
    assert (link.id, link.state) == (before.id, LinkState.OPEN)
    assert quirky.opened() == (["new", "load"] if restarted else ["new"])
    sent = [request["prompt"] for request in quirky.requests("session/prompt")]
    assert [len(blocks) for blocks in sent] == [1] * len(sent), "nothing was sent"


async def test_r08_the_ceiling_of_a_session_goes_back_where_it_refused_a_command(tmp_path: Path) -> None:
    quirky = Quirky(tmp_path, "refuses-commands")
    async with quirky.client() as desk:
        await desk.say("one")
        (before,) = await desk.links()
        await desk.say("/stats")
        (after,) = await desk.links()
        turns = await desk.turns()
    assert (after.knows, after.reach, after.unabridged_from) == (before.knows, before.reach, None)
    assert [turn.stop_reason for turn in turns] == [StopReason.END_TURN, StopReason.NOT_SENT]


async def test_r08_a_command_that_is_refused_by_a_new_session_leaves_it_for_the_first_prompt(
    tmp_path: Path,
) -> None:
    quirky = Quirky(tmp_path, "refuses-commands", "greets")
    async with quirky.client() as desk:
        await desk.say("/stats")
        assert how(await desk.say("one")) is ContextSource.FRESH
    assert quirky.opened() == ["new"]


async def test_r08_a_turn_that_only_shortened_the_context_is_clean_and_its_session_goes_on(
    tmp_path: Path,
) -> None:
    quirky = Quirky(tmp_path, "compacts")
    async with quirky.client() as desk:
        await desk.say("one")
        over = await desk.say("/compact")
        (link,) = await desk.links()
        leaf = (await desk.stored_window()).leaf_id
        assert over.problem is None
        assert over.turn is not None and over.turn.stop_reason is StopReason.END_TURN
        assert (link.state, link.knows, link.reach) == (LinkState.OPEN, leaf, leaf)
        assert link.unabridged_from == over.turn.prompt_id
        assert how(await desk.say("two")) is ContextSource.CONTINUED
    async with quirky.client(resume=desk) as later:
        assert how(await later.say("three")) is ContextSource.RESUMED
    assert quirky.opened() == ["new", "load"]
    assert [len(request["prompt"]) for request in quirky.requests("session/prompt")] == [1] * 4


async def test_r15_a_compaction_whose_end_is_told_twice_is_one_divider(tmp_path: Path) -> None:
    quirky = Quirky(tmp_path, "compacts-aloud")
    async with quirky.client() as desk:
        for _ in range(2):
            await desk.say("/compact")
        messages = await desk.branch()
    notices = [message.data for message in messages if message.kind is Kind.NOTICE]
    assert notices == [{"compacted": "completed", "detail": ["in short"]}] * 2
