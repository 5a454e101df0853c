"""Whether an agent honours a fork at a message: tried once for each version, and never taken for granted."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from catena_acp.continuity.conversation_events import TurnEnded
from catena_acp.continuity.sending.context import FORK_AT
from catena_acp.continuity.services import WhileIdle
from catena_store.chains import agents, hidden_sessions
from catena_store.records import Cause, ContextSource, Kind, LinkState
from catena_store.windows import windows
from support.conversations.rehearsed import Desk, World

PROBING = WhileIdle(probe=True)
VIBE = ("--name", "@mistralai/mistral-vibe", "--fork-at=user", "--echo-user", "--no-cold-fork")


async def said(desk: Desk, text: str) -> None:
    """A whole turn, and all that is done after it."""
    over = await desk.say(text)
    assert over.turn is not None
    await desk.window.settled()


async def learnt_of(desk: Desk, name: str = "rehearsal") -> str | None:
    async with desk.db.read() as reader:
        found = await reader.one(
            "SELECT value FROM ability WHERE name = ? AND agent_version <> ''", (FORK_AT,)
        )
        return str(found[0]) if found else None


async def end_of_turn(desk: Desk, number: int) -> str:
    return (await desk.turns())[number - 1].last_id


async def rewind(desk: Desk, leaf: str | None) -> None:
    async with desk.db.write() as tx:
        await windows.set_leaf(tx, desk.window_id, leaf)


async def test_f10_a_fork_at_a_message_is_probed_once_by_two_forks_of_which_none_stays(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    async with world.client("--fork-at", while_idle=PROBING) as desk:
        await said(desk, "say one")
        assert await learnt_of(desk) == "honoured"
        assert len(world.requests("session/fork")) == 2
        assert len(world.requests("session/close")) == len(world.requests("session/delete")) == 1
        await said(desk, "say two")
        assert len(world.requests("session/fork")) == 2, "it is known of this version now"
        (link,) = await desk.links()
        assert link.state is LinkState.OPEN


async def test_f10_an_agent_that_forks_everything_is_seen_to_ignore_the_message(tmp_path: Path) -> None:
    world = World(tmp_path)
    async with world.client("--no-delete", while_idle=PROBING) as desk:
        await said(desk, "say one")
        assert await learnt_of(desk) == "ignored"
        assert len(world.requests("session/fork")) == len(world.requests("session/close")) == 1
        # What the agent cannot delete is known as ours, and used for nothing.
        _, probe = await desk.links()
        assert (probe.cause, probe.state, probe.ended) == (Cause.PROBE, LinkState.LOST, "not needed")
        assert (await desk.conversation.chain.read(desk.window)).folded == 1


async def test_f10_nothing_is_probed_of_an_agent_that_does_not_fork(tmp_path: Path) -> None:
    world = World(tmp_path)
    async with world.client("--no-fork", while_idle=PROBING) as desk:
        await said(desk, "say one")
        assert await learnt_of(desk) is None
        assert world.requests("session/fork") == []


@pytest.mark.parametrize("fault", [{"error": [-32602, "Session not found"]}, {"error": [-32603, "broken"]}])
async def test_f10_a_refusal_that_may_have_another_reason_teaches_nothing_and_is_tried_three_times_at_most(
    tmp_path: Path, fault: dict[str, object]
) -> None:
    world = World(tmp_path)
    async with world.client("--fork-at", while_idle=PROBING) as desk:
        world.fail({"fork": fault})
        for number in range(4):
            await said(desk, f"say {number}")
            assert await learnt_of(desk) is None
        each = 2 if "Session not found" in str(fault) else 1
        assert len(world.requests("session/fork")) == 3 * each
        (link,) = await desk.links()
        assert link.state is LinkState.OPEN


async def test_f10_an_agent_that_dies_while_it_is_probed_teaches_nothing_and_is_asked_again(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    async with world.client("--fork-at", while_idle=PROBING) as desk:
        world.fail({"fork": {"kill": True, "times": 1}})
        await said(desk, "say one")
        assert await learnt_of(desk) is None
        await said(desk, "say two")
        assert await learnt_of(desk) == "honoured"
        assert [turn.how for turn in await desk.turns()] == [ContextSource.FRESH, ContextSource.RESUMED]


async def test_f10_a_prompt_and_a_probe_do_not_wait_for_each_other(tmp_path: Path) -> None:
    world = World(tmp_path)
    async with world.client(while_idle=PROBING) as desk:
        world.fail({"fork": {"cue": "go-on", "times": 1}})
        await desk.say("say one")
        await world.heard("session/fork")
        over = await desk.say("echo")
        assert world.requests("session/delete") == [], "the fork has not been answered yet"
        assert over.turn is not None
        world.cue("go-on")
        await desk.window.settled()
        assert await learnt_of(desk) == "ignored"
        assert len(world.requests("session/fork")) == len(world.requests("session/delete")) == 1


async def test_f10_what_a_probe_taught_is_kept_before_its_forks_are_cleared_away(tmp_path: Path) -> None:
    world = World(tmp_path)
    async with world.client(while_idle=PROBING) as desk:
        world.fail({"close": {"cue": "go-on", "times": 1}})
        await desk.say("say one")
        await world.heard("session/close")
        assert await learnt_of(desk) == "ignored"
        async with desk.db.read() as reader:
            (ghost,) = await hidden_sessions.forks_made(reader)
        world.cue("go-on")
        await desk.window.settled()
        assert [each["session"] for each in world.requests("session/delete")] == [ghost]


async def test_f10_a_fork_that_an_agent_never_answers_leaves_its_intent(tmp_path: Path) -> None:
    world = World(tmp_path)
    async with world.client(while_idle=PROBING) as desk:
        world.fail({"fork": {"kill": True, "times": 1}})
        await said(desk, "say one")
        (link,) = await desk.links()
        async with desk.db.read() as reader:
            (intent,) = await hidden_sessions.unanswered_intents(reader)
        assert (intent.agent, intent.session_id, intent.cwd) == (link.agent, link.session_id, link.cwd)
        world.fail({})
        await said(desk, "say two")
        async with desk.db.read() as reader:
            assert len(await hidden_sessions.unanswered_intents(reader)) == 1


@pytest.mark.parametrize(
    ("name", "version", "probed"),
    [
        ("OpenCode", "1.18.33", False),
        ("OpenCode", "1.9.2", False),
        ("OpenCode", "1.18.34", True),
        ("Kimi Code CLI", "1.49.0", False),
        ("somebody's agent", "1.0.0", True),
    ],
)
async def test_f10_an_agent_that_was_looked_at_and_has_no_key_for_it_is_not_probed_up_to_that_version(
    tmp_path: Path, name: str, version: str, probed: bool
) -> None:
    world = World(tmp_path)
    flags = ("--name", name, "--version", version)
    always = WhileIdle(probe=True, park=True, longest=math.inf, share=math.inf)
    async with world.client(*flags, while_idle=always) as desk:
        await said(desk, "say one")
        assert await learnt_of(desk) == ("ignored" if probed else None)
        assert len(world.requests("session/fork")) == 1 + probed, "it is parked in either case"


async def test_k10_nothing_is_parked_while_nobody_knows_whether_the_agent_forks_at_a_message(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    parking = WhileIdle(probe=False, park=True, longest=math.inf, share=math.inf)
    async with world.client("--fork-at", while_idle=parking) as desk:
        await said(desk, "say one")
        assert world.requests("session/fork") == []


async def test_f10_a_fork_at_a_message_is_asked_for_by_its_prompt_where_the_agent_wants_that(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    async with world.client(*VIBE, while_idle=PROBING) as desk:
        for word in ("one", "two", "three"):
            await said(desk, f"say {word}")
        assert await learnt_of(desk) == "honoured"
        first = await end_of_turn(desk, 1)
    async with world.client(*VIBE, resume=desk, while_idle=PROBING) as desk:
        await rewind(desk, first)
        over = await desk.say("echo")
        assert over.turn is not None
        assert (over.turn.how, over.turn.told) == (ContextSource.FORKED_AT, 0)
        heard = (await desk.branch())[-1].text
        assert heard == '[heard] users=2 assistants=1 last="echo" all=say one|echo'


async def test_f10_the_third_of_forty_prompts_is_edited_in_a_fork_at_the_second_one(tmp_path: Path) -> None:
    world = World(tmp_path)
    async with world.client("--fork-at", while_idle=PROBING) as desk:
        for number in range(1, 41):
            await said(desk, f"say {number}")
        prompts = [row for row in await desk.branch() if row.kind is Kind.USER]
        before = {row.id for row in prompts}
        await desk.window.edit(prompts[2].id, "echo", ())
        await desk.until_told(
            TurnEnded, lambda news: news.turn is not None and news.turn.prompt_id not in before
        )
        await desk.window.wait_idle()
        over = (await desk.turns())[-1]
        assert (over.how, over.told) == (ContextSource.FORKED_AT, 0)
        heard = (await desk.branch())[-1].text
        assert heard == '[heard] users=3 assistants=2 last="echo" all=say 1|say 2|echo'


async def test_f10_what_a_version_was_seen_to_do_is_not_believed_of_the_next(tmp_path: Path) -> None:
    world = World(tmp_path)
    async with world.client("--fork-at", while_idle=PROBING) as desk:
        await said(desk, "say one")
    async with world.client("--version", "99", resume=desk, while_idle=PROBING) as desk:
        await said(desk, "say two")
        async with desk.db.read() as reader:
            (name,) = await reader.one("SELECT agent_name FROM ability WHERE name = ?", (FORK_AT,)) or ("",)
            assert (await agents.abilities(reader, str(name), "99"))[FORK_AT] == "ignored"


async def edited(desk: Desk, number: int, text: str) -> None:
    """The prompt of this number is edited, and its turn ends."""
    prompts = [row for row in await desk.branch() if row.kind is Kind.USER]
    before = {row.id for row in prompts}
    await desk.window.edit(prompts[number - 1].id, text, ())
    await desk.until_told(TurnEnded, lambda news: news.turn is not None and news.turn.prompt_id not in before)
    await desk.window.settled()


@pytest.mark.parametrize("flags", [("--fork-at",), VIBE])
async def test_f10_a_notice_behind_an_answer_takes_neither_the_fork_at_it_nor_its_price_away(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    world = World(tmp_path)
    async with world.client(*flags, while_idle=PROBING) as desk:
        for word in ("one", "two"):
            await said(desk, f"say {word}; think; notice Mind the gap")
        first = await end_of_turn(desk, 1)
        price = await desk.conversation.chain.price(desk.window, leaf_id=first)
        assert price.words == "same context, nothing replayed"
        await edited(desk, 2, "echo")
        over = (await desk.turns())[-1]
        assert (over.how, over.told) == (price.how, 0) == (ContextSource.FORKED_AT, 0)
        heard = (await desk.branch())[-1].text
        assert heard.startswith("[heard] users=2 assistants=1"), heard


async def test_f10_a_turn_that_ends_with_a_tool_call_is_priced_and_told_from_the_turn_before(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    async with world.client("--fork-at", while_idle=PROBING) as desk:
        await said(desk, "say one")
        await said(desk, "say two; tool read README.md")
        await said(desk, "say three")
        second = await end_of_turn(desk, 2)
        price = await desk.conversation.chain.price(desk.window, leaf_id=second)
        await edited(desk, 3, "echo")
        over = (await desk.turns())[-1]
        answer = next(row for row in await desk.branch() if row.text == "one")
    assert (price.how, price.told, price.tools) == (over.how, over.told, over.tools_listed)
    assert (over.how, over.told, over.tools_listed) == (ContextSource.CAUGHT_UP, 2, 1)
    named = world.requests("session/fork")[-1]["params"]["_meta"]["jetbrains"]["air"]["fork"]
    assert named["messageId"] == answer.agent_message_id


async def test_f10_answers_without_an_id_are_no_fork_points_of_the_route_and_the_price(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    async with world.client("--fork-at", "--no-message-ids", while_idle=PROBING) as desk:
        for word in ("one", "two"):
            await said(desk, f"say {word}")
        assert await learnt_of(desk) == "honoured"
        price = await desk.conversation.chain.price(desk.window, leaf_id=await end_of_turn(desk, 1))
        forks = len(world.requests("session/fork"))
        await edited(desk, 2, "echo")
        over = (await desk.turns())[-1]
        assert (price.how, price.told) == (over.how, over.told) == (ContextSource.TOLD, 2)
        assert len(world.requests("session/fork")) == forks, "nothing is asked for that cannot be named"


async def test_f09_a_fork_from_the_list_at_an_answer_with_a_notice_behind_it_is_native(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    async with world.client("--fork-at", while_idle=PROBING) as desk:
        for word in ("one", "two"):
            await said(desk, f"say {word}; notice Mind the gap")
        answer = next(row for row in await desk.branch() if row.text == "one")
        fork = await desk.conversations.fork(desk.conversation.record, window_id=None, at=answer.id)
        assert fork.link is not None and fork.link.cause is Cause.FORK_AT
        assert fork.price.words == "same context, nothing replayed"
