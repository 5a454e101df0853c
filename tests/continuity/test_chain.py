"""The chain looked at, its sessions probed, and older links picked: with real agent processes."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from catena_acp.agents.catalog import command_spec
from catena_acp.continuity.conversation_events import Doing, LeafMoved, MessageAdded
from catena_acp.conversation.inspection.chain import Chain, Loads
from catena_acp.errors import NotToBePicked, ReadOnly
from catena_store.chains import links, turns
from catena_store.database.database import Writer
from catena_store.records import Cause, ContextSource, Kind, LinkState, NewLink, Turn
from support.clients.command_line import Catena
from support.clients.imports import FORBIDDEN, imported
from support.clients.listed import CONVERSATION, two_sessions
from support.conversations.rehearsed import Desk, World
from support.conversations.untold import spoken
from support.counted_work import calls_counted, queries_counted

NOT_NOW = {"error": [-32603, "try later"]}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@asynccontextmanager
async def rolled_over(world: World, *flags: str) -> AsyncIterator[Desk]:
    """A conversation that went over three sessions, A, B and C; none of them is lost."""
    async with world.client(*flags) as desk:
        await desk.say("say alpha")
    for word in ("beta", "gamma"):
        world.fail({"load": NOT_NOW, "resume": NOT_NOW})
        async with world.client(*flags, resume=desk) as desk:
            await desk.say(f"say {word}")
    world.fail({})
    async with world.client(*flags, resume=desk) as desk:
        yield desk


async def chain_of(desk: Desk, cap: int | None = 16) -> Chain:
    return await desk.conversation.chain.read(desk.window, cap=cap)


async def carry(tx: Writer, id: str, like: Turn, link_id: str) -> None:
    await turns.insert(tx, replace(like, id=id, link_id=link_id, base_link_id=None))


def delete_session(world: World, session_id: str) -> None:
    """As the agent would by itself, while nobody looks."""
    files = list((world.place / "rehearsal").rglob(f"*{session_id}*"))
    assert files
    for file in files:
        file.unlink()


async def test_m09_the_chain_lists_every_link_with_its_agent_cause_and_messages(world: World) -> None:
    async with rolled_over(world) as desk:
        chain = await chain_of(desk)
        kept = await desk.links()
    assert [entry.link.id for entry in chain.entries] == [link.id for link in kept]
    assert [entry.agent_title for entry in chain.entries] == ["Rehearsal"] * 3
    assert [entry.first.text for entry in chain.entries if entry.first] == [
        "say alpha",
        "say beta",
        "say gamma",
    ]
    assert [entry.last.text for entry in chain.entries if entry.last] == ["alpha", "beta", "gamma"]
    assert [entry.turns for entry in chain.entries] == [1, 1, 1]
    assert all(entry.here and entry.state is LinkState.OPEN for entry in chain.entries)
    assert all(entry.cause.startswith("new session") for entry in chain.entries)
    assert {(entry.check.loads, entry.check.words) for entry in chain.entries} == {
        (Loads.UNKNOWN, "not checked")
    }
    assert [entry.knows for entry in chain.entries] == [
        f"everything up to “{word}”" for word in ("alpha", "beta", "gamma")
    ]
    assert (chain.older, chain.folded) == (0, 0)


async def test_m09_a_probe_finds_out_which_sessions_still_load_and_prompts_none(world: World) -> None:
    async with rolled_over(world) as desk:
        a, b, _ = await desk.links()
        delete_session(world, b.session_id)
        heard, asked = len(world.prompts()), len(world.requests())
        probe = desk.conversation.chain.check_session
        assert (await probe(a.id)).loads is Loads.YES
        assert (await probe(b.id)).loads is Loads.NO
        methods = [entry.get("method") for entry in world.requests()[asked:]]
        after = {link.id: link for link in await desk.links()}
        chain = await chain_of(desk)
        branch = len(await desk.branch())
        assert (await probe(b.id)).words == after[b.id].ended
    assert len(world.prompts()) == heard
    assert "session/close" in methods, "what was cold is cold again"
    assert after[a.id] == a, "a look changes nothing of what is known"
    assert after[b.id].state is LinkState.LOST
    by_id = {entry.link.id: entry for entry in chain.entries}
    assert by_id[a.id].check.loads is Loads.YES
    assert by_id[a.id].check.at is not None
    assert by_id[a.id].events[-1].event == links.LOOKED
    assert by_id[b.id].check.loads is Loads.NO
    assert (by_id[b.id].ended or "").startswith("lost: ")
    async with world.client(resume=desk) as later:
        assert len(await later.branch()) == branch
        assert (await chain_of(later)).entries[0].check.words == "Rehearsal opened it"


async def test_m09_a_session_that_cannot_be_asked_now_is_not_lost(world: World) -> None:
    async with rolled_over(world) as desk:
        link = (await desk.links())[0]
        world.fail({"load": NOT_NOW, "resume": NOT_NOW})
        probe = await desk.conversation.chain.check_session(link.id)
        assert (await desk.links())[0] == link
    assert probe.loads is Loads.UNKNOWN
    assert "try later" in probe.words


async def test_m09_a_session_that_holds_something_else_than_the_record_says_is_lost(world: World) -> None:
    async with rolled_over(world) as desk:
        link = (await desk.links())[0]
        await desk.conversation.chain.check_session((await desk.links())[1].id)  # its replay is faithful
        world.fail({"load": {"empty": True}})
        probe = await desk.conversation.chain.check_session(link.id)
        state = (await desk.links())[0].state
    assert (probe.loads, state) == (Loads.NO, LinkState.LOST)


async def test_m09_an_older_link_is_picked_and_carries_the_next_prompt_alone(world: World) -> None:
    async with rolled_over(world) as desk:
        a, _, c = await desk.links()
        leaf = (await desk.stored_window()).leaf_id
        price = await desk.conversation.chain.price_of(desk.window, a.id)
        assert price.native
        assert (await desk.stored_window()).leaf_id == leaf, "a price moves nothing"
        assert (await desk.conversation.chain.pick(desk.window, a.id)).native
        assert any(isinstance(news, LeafMoved) and news.leaf_id == a.reach for news in desk.told)
        chain = await chain_of(desk)
        assert [entry.here for entry in chain.entries] == [True, False, False]
        over = await desk.say("echo")
        assert (over.turn and over.turn.link_id, over.turn and over.turn.how) == (a.id, ContextSource.RESUMED)
        assert world.prompts()[-1] == ["echo"]
        assert "users=2" in (await desk.branch())[-1].text
        # What came later stays: going back to it is the same step.
        await desk.conversation.chain.pick(desk.window, c.id)
        assert (await desk.stored_window()).leaf_id == leaf
        await desk.say("echo")
        assert world.prompts()[-1] == ["echo"]


async def test_w17_the_seam_names_an_agent_with_a_command_of_its_own_by_what_it_calls_itself(
    world: World,
) -> None:
    other = world.spec(name="other")
    variables = (f"{name}={value}" for name, value in other.env)
    own = command_spec(shlex.join(("env", *variables, *other.command)))
    async with world.client(specs={"other": other}) as desk:
        turns_of = []
        for spec in (other, own, other):
            await desk.window.set_agent(spec)
            turns_of.append((await desk.say("say it")).turn)
    causes = [turn.cause for turn in turns_of if turn is not None]
    assert causes == [None, "switched from Other to Rehearsal", "switched from Rehearsal to Other"]


async def test_m09_a_picked_link_brings_its_agent_back(world: World) -> None:
    specs = {"other": world.spec(name="other")}
    async with world.client(specs=specs) as desk:
        await desk.say("say alpha")
        await desk.window.set_agent(specs["other"])
        await desk.say("say beta")
        first, second = await desk.links()
        titles = [entry.agent_title for entry in (await chain_of(desk)).entries]
        cause = (await chain_of(desk)).entries[1].cause
        await desk.conversation.chain.pick(desk.window, first.id)
        assert desk.conversation.record.agent == "rehearsal"
        over = await desk.say("echo")
    assert titles == ["Rehearsal", "Other"]
    assert cause == "new session: switched from Rehearsal to Other"
    assert over.turn is not None
    assert over.turn.link_id == first.id
    assert second.id != first.id


async def test_m09_a_prompt_said_while_a_link_is_picked_is_said_where_that_link_stands(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        (link,) = await desk.links()
        picking = asyncio.ensure_future(desk.conversation.chain.pick(desk.window, link.id))
        await asyncio.sleep(0)
        await desk.say("say two")
        await picking
        rows = await desk.branch()
        assert [row.text for row in rows if row.kind is Kind.USER] == ["say one", "say two"]
        assert desk.window.doing is Doing.IDLE


async def test_m09_what_cannot_be_gone_on_from_is_refused_with_words(world: World) -> None:
    async with rolled_over(world) as desk:
        window, pick = desk.window, desk.conversation.chain.pick
        a, b, c = await desk.links()
        async with desk.db.write() as tx:
            await links.move(tx, a.id, state=LinkState.LOST, ended="deleted")
            await links.move(tx, b.id, state=LinkState.SUSPECT)
        with pytest.raises(NotToBePicked, match="is lost \\(deleted\\)"):
            await pick(window, a.id)
        with pytest.raises(NotToBePicked, match="is uncertain"):
            await pick(window, b.id)
        await window.say("wait 30")
        with pytest.raises(NotToBePicked, match="is running"):
            await pick(window, c.id)
        await window.stop()
        await window.wait_idle()


async def test_m09_a_prompt_that_is_sent_while_its_session_is_looked_at_is_carried_by_it_alone(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.say("say one")
    async with world.client(resume=desk) as later:
        (link,) = await later.links()
        world.fail({"load": {"cue": "go-on", "times": 1}})
        probing = asyncio.ensure_future(later.conversation.chain.check_session(link.id))
        await world.heard("session/load")
        saying = asyncio.ensure_future(later.say("echo"))
        await later.until_told(MessageAdded)
        world.cue("go-on")
        over = await saying
        assert (await probing).loads is Loads.YES
        assert over.turn is not None
        assert over.turn.link_id == link.id
        assert world.prompts()[-1] == ["echo"]
        assert (await later.conversation.chain.check_session(link.id)).words == "open now"
        assert (await later.say("echo")).turn is not None, "a look at an open session does not close it"
        assert "users=3" in (await later.branch())[-1].text


async def test_m09_a_session_whose_agent_may_lose_it_by_opening_is_not_looked_at(world: World) -> None:
    flags = ("--name", "gemini-cli", "--no-resume")
    async with world.client(*flags) as desk:
        await desk.say("say one")
    async with world.client(*flags, resume=desk) as later:
        (link,) = await later.links()
        probe = await later.conversation.chain.check_session(link.id)
        assert await later.links() == [link]
    assert probe.loads is Loads.UNKNOWN
    assert "may lose a session" in probe.words
    assert world.requests("session/load") == []


async def test_m09_what_no_agent_accepted_is_not_gone_on_from(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        leaf = (await desk.stored_window()).leaf_id
        world.fail({"prompt": {"error": [-32603, "no"]}})
        await desk.say("two")
        world.fail({})
        (first, *_) = await desk.links()
        assert first.reach != leaf
        price = await desk.conversation.chain.pick(desk.window, first.id)
        assert (await desk.stored_window()).leaf_id == leaf
        over = await desk.say("echo")
    assert over.turn is not None
    assert (over.turn.how, over.turn.told) == (price.how, price.told)
    assert "two" not in world.prompts()[-1][0].splitlines()


async def test_m09_in_a_conversation_that_another_client_holds_the_chain_can_only_be_looked_at(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        async with world.client(resume=desk) as second:
            assert second.conversation.read_only
            (entry,) = (await chain_of(second)).entries
            assert (await second.conversation.chain.context(second.window)) is not None
            with pytest.raises(ReadOnly):
                await second.conversation.chain.check_session(entry.link.id)
            with pytest.raises(ReadOnly):
                await second.conversation.chain.pick(second.window, entry.link.id)


async def test_m09_an_agent_that_cannot_open_a_session_again_says_no_and_loses_nothing(world: World) -> None:
    async with world.client("--no-load", "--no-resume") as desk:
        await desk.say("say one")
    async with world.client("--no-load", "--no-resume", resume=desk) as later:
        link = (await later.links())[0]
        probe = await later.conversation.chain.check_session(link.id)
        assert (await later.links())[0] == link
    assert probe.loads is Loads.NO
    assert "cannot reopen a session" in probe.words


async def test_m03_the_chain_that_is_shown_is_capped_and_the_whole_of_it_can_be_seen(world: World) -> None:
    async with world.client() as desk:
        await spoken(desk, 10_000)
        await desk.say("say one")
        turn = (await desk.turns())[0]
        async with desk.db.write() as tx:
            for number in range(200):
                link = await links.add(
                    tx,
                    NewLink(
                        id=f"link{number}",
                        conversation_id=desk.conversation.id,
                        agent="rehearsal",
                        profile="",
                        session_id=f"session{number}",
                        cwd=str(world.project),
                        cause=Cause.NEW if number % 10 else Cause.PARK,
                        state=LinkState.OPEN if number % 10 else LinkState.PARKED,
                    ),
                )
                if number % 10:
                    await carry(tx, f"turn{number}", turn, link.id)
        async with queries_counted(desk.db) as queries:
            with calls_counted() as calls:
                shown = await chain_of(desk)
        everything = await chain_of(desk, cap=None)
    assert len(shown.entries) == 16
    assert (shown.older, shown.folded) == (181 - 16, 20)
    assert (len(everything.entries), everything.older) == (181, 0)
    assert shown.entries == everything.entries[-16:]
    assert len(queries.asked) < 150
    # The route goes through the branch once, as before each prompt, to explain the links; nothing else does.
    assert queries.steps < 70 * 10_000
    assert calls.made < 6 * 10_000


def test_m09_show_prints_the_chain_as_text_without_the_screen_or_the_sdk(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    catena.write(two_sessions)

    shown = catena("show", CONVERSATION, "--chain")

    assert shown.status == 0
    assert shown.err == ""
    first, second = shown.out.split("\n\n")[:2]
    assert first.splitlines()[:2] == ["1. Rehearsal", "   session   s-a"]
    assert "   first     " in first
    assert "“Find out why.”" in first
    assert "“Because of the order.␇”" in first, "an agent's text cannot steer the terminal"
    assert "   created   new session: rate limit at 14:02" in second
    assert "   ended     its agent killed" in second
    assert "   loadable  unknown: not checked" in second
    assert "2 more, internal" in shown.out
    assert not imported(catena, "show", CONVERSATION, "--chain") & FORBIDDEN
    assert catena("show", CONVERSATION, "--chain", "--json").status == 2
