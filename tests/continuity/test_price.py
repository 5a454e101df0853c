"""What the next prompt would need, named before it is sent: with real agent processes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from catena_acp.conversation.inspection.price import Price, price_of_any
from catena_store.records import ContextSource, Kind
from support.conversations.rehearsed import World
from support.conversations.untold import spoken
from support.counted_work import calls_counted, queries_counted

NATIVE = "same context, nothing replayed"
NEVER = "no thoughts, images or long output"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def price(
    how: ContextSource, told: int = 0, total: int = 0, tools: int = 0, tokens: int = 0, **more: Any
) -> Price:
    return Price(how, told, total, tools, tokens, total - told, exact=more.pop("exact", True), **more)


@pytest.mark.parametrize(
    ("named", "words"),
    [
        (price(ContextSource.CONTINUED), NATIVE),
        (price(ContextSource.FORKED), NATIVE),
        (price(ContextSource.RESUMED, exact=False), f"probably {NATIVE}"),
        (price(ContextSource.FRESH), "new session, nothing to replay"),
        (
            price(ContextSource.TOLD, 20, 57, tokens=6_234),
            f"20 of 57 messages replayed, ~6,200 tokens, {NEVER}",
        ),
        (price(ContextSource.TOLD, 1, 1, tokens=87), f"1 message replayed, ~87 tokens, {NEVER}"),
        (
            price(ContextSource.CAUGHT_UP, 2, 2, tools=1, tokens=254),
            f"2 missed messages replayed, 1 tool call listed, ~250 tokens, {NEVER}",
        ),
        (price(ContextSource.CAUGHT_UP, tools=3, tokens=120), f"3 tool calls listed, ~120 tokens, {NEVER}"),
        (
            replace(price(ContextSource.TOLD, 2, 2, tokens=900), shortened=1, tools_left_out=4),
            f"2 messages replayed, 1 shortened, 4 tool calls left out, ~900 tokens, {NEVER}",
        ),
        (price(ContextSource.RESUMED, abridged=True), f"{NATIVE}, older messages shortened"),
    ],
)
def test_p11_a_price_is_one_line_in_words(named: Price, words: str) -> None:
    assert named.words == words


def test_p11_in_brief_a_price_is_its_first_clause_and_one_that_is_only_probable_a_question() -> None:
    assert price(ContextSource.TOLD, 1, 1, tokens=87).in_brief == "1 message replayed"
    assert price(ContextSource.RESUMED, exact=False).in_brief == "same context?"


async def test_p11_the_price_of_going_on_is_native_and_starts_no_process(world: World) -> None:
    async with world.client() as desk:
        fresh = await desk.conversation.chain.price(desk.window)
        assert (fresh.how, fresh.exact, world.requests("initialize")) == (ContextSource.FRESH, True, [])
        await desk.say("say one")
        going_on = await desk.conversation.chain.price(desk.window)
    assert (going_on.how, going_on.exact, going_on.words) == (ContextSource.CONTINUED, True, NATIVE)
    started = len(world.requests("initialize"))
    async with world.client(resume=desk) as later:
        cold = await later.conversation.chain.price(later.window)
        assert (cold.how, cold.words) == (ContextSource.RESUMED, f"probably {NATIVE}")
        assert len(world.requests("initialize")) == started
        assert (await later.say("say two")).turn is not None
        assert (await later.turns())[-1].how is ContextSource.RESUMED


async def test_p11_the_price_of_an_agent_that_cannot_reopen_sessions_is_told_also_while_it_does_not_run(
    world: World,
) -> None:
    async with world.client("--no-load", "--no-resume", "--no-fork") as desk:
        await desk.say("say one")
    async with world.client("--no-load", "--no-resume", "--no-fork", resume=desk) as later:
        named = await later.conversation.chain.price(later.window)
        over = await later.say("say two")
    assert over.turn is not None
    assert (named.how, named.told, named.exact) == (ContextSource.TOLD, 2, False)
    assert (over.turn.how, over.turn.told) == (ContextSource.TOLD, 2)


async def test_p11_the_price_of_another_agent_is_what_its_first_prompt_then_carries(world: World) -> None:
    other = world.spec(name="other")
    async with world.client(specs={"other": other}) as desk:
        await desk.say("say one; tool read README.md")
        await spoken(desk, 300)
        named = await desk.conversation.chain.price(desk.window, spec=other)
        assert await desk.conversation.chain.prices(desk.window, [other, other]) == [named, named]
        started = len(world.requests("initialize"))
        await desk.window.set_agent(other)
        assert len(world.requests("initialize")) == started
        over = await desk.say("echo")
    turn = over.turn
    assert turn is not None
    told, _ = world.prompts()[-1]
    assert (named.how, named.told, named.told_total) == (turn.how, turn.told, turn.told_total)
    assert (named.tools, named.left_out) == (turn.tools_listed, turn.left_out)
    assert 31_000 < len(told) < 33_000, "as much as the budget holds"
    assert named.left_out == named.told_total - named.told > 30
    assert (named.tools_left_out, turn.tools_left_out) == (1, 1)
    assert named.tokens == -(-len(told) // 4)
    assert named.words.startswith(f"{named.told} of {named.told_total} messages replayed")


async def test_p11_the_price_from_an_earlier_message_and_of_a_fork_is_named_too(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        after_one = (await desk.stored_window()).leaf_id
        await desk.say("say two")
        conversation = desk.conversation
        edit = await conversation.chain.price(desk.window, leaf_id=after_one)
        fork = await conversation.chain.price(desk.window, apart=True)
        anew = await conversation.chain.price(desk.window, leaf_id=None)
        assert (await desk.stored_window()).leaf_id != after_one, "a price moves nothing"
    assert (edit.how, edit.told, edit.told_total) == (ContextSource.TOLD, 2, 2)
    assert (fork.how, fork.words) == (ContextSource.FORKED, NATIVE)
    assert (anew.how, anew.words) == (ContextSource.FRESH, "new session, nothing to replay")


async def test_p09_a_seam_says_that_older_messages_were_shortened_when_they_were_replayed(
    world: World,
) -> None:
    async with world.client() as desk:
        await spoken(desk, 200)
        await desk.say("say one")
        told = await desk.conversation.chain.price(desk.window)
    async with world.client(resume=desk) as later:
        await later.say("say two")
        resumed = [row for row in await later.branch() if row.kind is Kind.SEAM][-1]
        price = await later.conversation.chain.price(later.window)
    assert told.words == price.words == f"{NATIVE}, older messages shortened"
    assert resumed.text == "session resumed (older messages shortened)"


async def test_p11_eight_prices_of_ten_thousand_messages_read_few_of_them(world: World) -> None:
    other = world.spec(name="other")
    async with world.client(specs={"other": other}) as desk:
        await spoken(desk, 10_000)
        async with queries_counted(desk.db) as queries:
            with calls_counted() as calls:
                named = await desk.conversation.chain.prices(desk.window, [other] * 8)
    (left_out,) = {each.left_out for each in named}
    assert 9_000 < left_out < 9_980
    assert len(queries.asked) < 100
    assert queries.steps < 100_000
    assert calls.made < 20_000


def test_p11_the_price_of_any_of_several_agents_is_that_of_all_or_the_least() -> None:
    all_of_it = Price(ContextSource.TOLD, told=4, told_total=4, tokens=240)
    missed = Price(ContextSource.CAUGHT_UP, told=2, told_total=2, tokens=80, exact=False)
    assert price_of_any([]) == ""
    assert price_of_any([all_of_it, all_of_it]) == f"4 messages replayed, ~240 tokens, {NEVER}"
    assert (
        price_of_any([all_of_it, missed]) == f"probably from 2 missed messages replayed, ~80 tokens, {NEVER}"
    )
