"""What a session says before its first prompt: a greeting is a notice, and a history that comes late is nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from catena_store.conversations import messages
from catena_store.records import ContextSource, Kind, LinkState
from support.agents.quirky import GREETING
from support.conversations.modelled import how
from support.conversations.quirks import Quirky


@pytest.mark.parametrize("habit", ["greets", "greets-early"])
async def test_r08_an_agent_that_greets_before_its_first_prompt_is_talked_with_and_its_greeting_is_a_notice(
    tmp_path: Path, habit: str
) -> None:
    quirky = Quirky(tmp_path, habit)
    async with quirky.client() as desk:
        assert how(await desk.say("one")) is ContextSource.FRESH
        assert how(await desk.say("two")) is ContextSource.CONTINUED
        rows = [(row.kind, row.text) for row in await desk.branch()]
        (link,) = await desk.links()
        leaf = (await desk.stored_window()).leaf_id
    assert rows == [
        (Kind.USER, "one"),
        (Kind.NOTICE, GREETING),
        (Kind.AGENT, "[heard] one"),
        (Kind.USER, "two"),
        (Kind.AGENT, "[heard] one|two"),
    ]
    assert (link.knows, link.reach) == (leaf, leaf)


async def test_r08_whatever_a_session_tells_before_its_first_prompt_is_one_notice_and_told_to_no_other(
    tmp_path: Path,
) -> None:
    quirky = Quirky(tmp_path, "greets", "greets-oddly", "no-load", "no-resume", "no-fork")
    async with quirky.client() as desk:
        await desk.say("one")
        rows = [(row.kind, row.text) for row in await desk.branch()]
    async with quirky.client(resume=desk) as later:
        over = await later.say("two")
    assert rows[1] == (
        Kind.NOTICE,
        "- look around\n\nhm\n\nScan the project · completed\n\n"
        "The agent sent an unknown update: “something_new”.",
    )
    assert over.turn is not None
    assert (over.turn.how, over.turn.told, over.turn.tools_listed) == (ContextSource.TOLD, 2, 0)
    assert "look around" not in (over.turn.prior_context or "")


async def test_r08_an_agent_that_greets_a_session_before_the_window_prompts_is_talked_with(
    tmp_path: Path,
) -> None:
    quirky = Quirky(tmp_path, "greets")
    async with quirky.client() as desk:
        await desk.window.prepare()
        assert how(await desk.say("one")) is ContextSource.FRESH
        kinds = [row.kind for row in await desk.branch()]
    assert kinds == [Kind.USER, Kind.NOTICE, Kind.AGENT]
    assert quirky.opened() == ["new"]


async def test_a01_the_greeting_of_an_aside_s_session_is_no_answer_to_its_question(tmp_path: Path) -> None:
    quirky = Quirky(tmp_path, "greets", "no-fork")
    async with quirky.client() as desk:
        aside = await desk.conversation.asides.begin(desk.window)
        async for _ in aside.ask("what is it?"):
            pass
        rows = [(row.kind, row.text) for row in aside.rows]
        await aside.close()
    assert rows[:2] == [(Kind.USER, "what is it?"), (Kind.NOTICE, GREETING)]
    assert [(kind, text.startswith("[heard]")) for kind, text in rows[2:]] == [(Kind.AGENT, True)]


async def test_r07_an_agent_that_greets_a_session_that_it_loaded_goes_on_in_it(tmp_path: Path) -> None:
    quirky = Quirky(tmp_path, "greets-loaded")
    async with quirky.client() as desk:
        await desk.say("one")
    async with quirky.client(resume=desk) as later:
        assert how(await later.say("two")) is ContextSource.RESUMED
    async with quirky.client(resume=desk) as last:
        assert how(await last.say("three")) is ContextSource.RESUMED
        texts = [row.text for row in await last.branch() if row.kind is Kind.NOTICE]
    assert texts == [GREETING, GREETING]
    assert quirky.opened() == ["new", "load", "load"]


@pytest.mark.parametrize("habit", ["replays-late", "replays-behind"])
async def test_r07_a_history_that_comes_behind_the_answer_is_not_kept_and_its_session_goes_on(
    tmp_path: Path, habit: str
) -> None:
    quirky = Quirky(tmp_path, habit, "no-resume", "no-fork")
    async with quirky.client() as desk:
        await desk.say("one")
    ways = []
    for prompt in ("two", "three", "four"):
        async with quirky.client(resume=desk) as later:
            named = await later.conversation.chain.price(later.window)
            ways.append((named.how, named.told, how(await later.say(prompt))))
            rows = [row.text for row in await later.branch() if row.kind is not Kind.SEAM]
            assert sum(row.startswith("[heard]") for row in rows) == len(ways) + 1, rows
            async with later.db.read() as reader:
                kept = await messages.of_conversation(reader, later.conversation.id)
            assert sum(row.text == "one" for row in kept) == 1
    # What comes only with a prompt is waited for in vain the first time: that is believed once.
    believed = habit == "replays-behind"
    assert ways[0] == (ContextSource.RESUMED, 0, ContextSource.TOLD if believed else ContextSource.RESUMED)
    assert ways[1:] == [(ContextSource.RESUMED, 0, ContextSource.RESUMED)] * 2
    assert quirky.opened() == ["new", "load", *(["new"] if believed else []), "load", "load"]


async def test_r07_an_agent_whose_late_history_has_a_known_end_is_loaded_once_and_nothing_of_it_is_news(
    tmp_path: Path,
) -> None:
    gemini = ("NAME=gemini-cli", "replays-late", "ends-late", "loads-once", "no-resume", "no-fork")
    quirky = Quirky(tmp_path, *gemini)
    async with quirky.client() as desk:
        await desk.say("one")
        before = (await desk.stored_window()).leaf_id
        await desk.say("two")
    async with quirky.client(resume=desk) as later:
        named = await later.conversation.chain.price(later.window)
        assert (named.how, how(await later.say("three"))) == (ContextSource.RESUMED,) * 2
        (link,) = await later.links()
        leaf = (await later.stored_window()).leaf_id
        assert (link.state, link.knows, link.reach) == (LinkState.OPEN, leaf, leaf)
        assert how(await later.say("four")) is ContextSource.CONTINUED
        kinds = [row.kind for row in await later.branch() if row.kind is not Kind.SEAM]
        assert kinds == [Kind.USER, Kind.AGENT] * 4
    async with quirky.client(resume=desk) as last:
        # It would not survive being loaded again: nobody tries, and the price is what will be told.
        for _ in range(2):  # before the agent runs, and while it does
            named = await last.conversation.chain.price(last.window)
            assert (named.how, named.told) == (ContextSource.TOLD, 8)
            await last.window.prepare()
        assert how(await last.say("five")) is ContextSource.TOLD
        assert {link.state for link in await last.links()} == {LinkState.OPEN}
        await last.window.go_to(before)
        assert how(await last.say("instead")) is ContextSource.TOLD
        assert [row.text for row in await last.branch() if row.kind is Kind.USER] == ["one", "instead"]
    assert quirky.opened() == ["new", "load", "new", "new"]
