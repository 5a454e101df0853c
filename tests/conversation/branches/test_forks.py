"""Forks: conversations of their own that share a beginning, with real agent processes and a real store."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path
from typing import Any

import pytest

from catena_acp.continuity.conversation_events import (
    LeafMoved,
    MessageAdded,
    MessageGrew,
    Troubled,
    TurnEnded,
)
from catena_acp.continuity.sending.context import SendContext
from catena_acp.continuity.sessions.sessions import LiveSession, Sessions
from catena_acp.continuity.turns.late_updates import LateUpdates
from catena_acp.conversation.conversations import forks
from catena_acp.conversation.conversations.forks import ConversationFork, ForkOperation
from catena_acp.errors import LoginNeeded, NotOfThisBranch, StillAtWork
from catena_acp.protocol.connection import Connection
from catena_acp.trouble.troubles import Trouble
from catena_store.chains import agents, hidden_sessions, links
from catena_store.conversations import branches, conversations, messages
from catena_store.errors import StoreError, StoreFull
from catena_store.records import Cause, ContextSource, Kind, Link, Message, MessageState
from catena_store.records import ConversationRecord as Record
from catena_store.windows import journal, windows
from support.conversations.rehearsed import Desk, World, open_window


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def fork(desk: Desk, at: str | None = None, *, side_by_side: bool = True) -> Desk:
    """A fork of what the desk shows, and a desk for it."""
    return at_desk(desk, await made(desk, at, side_by_side=side_by_side))


async def made(desk: Desk, at: str | None = None, *, side_by_side: bool = True) -> ConversationFork:
    return await desk.conversations.fork(
        desk.conversation, at=at, window_id=desk.window_id, side_by_side=side_by_side
    )


def at_desk(desk: Desk, forked: ConversationFork) -> Desk:
    branch = Desk(desk.db, desk.conversations, forked.conversation, forked.window.id)
    forked.conversation.subscribe(branch.hear)
    return branch


def how(over: TurnEnded) -> ContextSource:
    assert over.turn is not None, over.problem
    return over.turn.how


async def said(desk: Desk) -> list[str]:
    """What a person reads of the conversation, prompts and answers."""
    return [row.text for row in await desk.branch() if row.kind in (Kind.USER, Kind.AGENT)]


async def rows_of(desk: Desk) -> list[Message]:
    async with desk.db.read() as reader:
        return await messages.of_conversation(reader, desk.conversation.id)


async def without_link(desk: Desk) -> set[str]:
    """The ids of the forks that were asked for, and that nobody has."""
    async with desk.db.read() as reader:
        return await hidden_sessions.forks_made(reader)


def deleted(world: World) -> set[str]:
    """The ids of the sessions that the agent was asked to delete."""
    return {each["params"]["sessionId"] for each in world.requests("session/delete")}


async def without_probes(desk: Desk) -> None:
    """What the agent's forks can do is known, so that nobody asks for it meanwhile."""
    await learn_fork_at(desk, "ignored")


async def learn_fork_at(desk: Desk, value: str) -> None:
    version = desk.window.session.agent_version
    async with desk.db.write() as tx:
        await agents.set_ability(tx, "catena-rehearsal", version, "fork_at", value)


async def until_late(desk: Desk) -> str:
    """Wait for what the agent says between turns; the text of it."""
    async with asyncio.timeout(60):
        while True:
            late = [row.text for row in await rows_of(desk) if row.turn_id is None and row.kind is Kind.AGENT]
            if late:
                return late[0]
            await asyncio.sleep(0.02)


def transcript(world: World, session_id: str) -> str:
    """A hash of what the agent itself keeps of a session."""
    (found,) = (path for path in (world.place / "rehearsal").rglob("*.jsonl") if session_id in path.name)
    return hashlib.sha256(found.read_bytes()).hexdigest()


async def test_f01_f03_a_fork_in_place_is_one_native_fork_and_replays_nothing(world: World) -> None:
    async with world.client("--no-titles") as desk:
        await desk.say("say one")
        (link,) = [each for each in await desk.links() if each.cause is Cause.NEW]
        before = len(world.requests("session/fork"))
        branch = await fork(desk, side_by_side=False)
        asked = world.requests("session/fork")[before:]
        assert [entry["params"]["sessionId"] for entry in asked if "_meta" not in entry["params"]] == [
            link.session_id
        ]
        assert asked[0]["params"]["cwd"] == str(world.project)
        assert asked[0]["params"]["mcpServers"] == []

        assert branch.window_id == desk.window_id
        assert (await branch.stored_window()).conversation_id == branch.conversation.id
        assert await said(branch) == ["say one", "one"]
        over = await branch.say("echo")
        assert how(over) is ContextSource.FORKED
        assert world.prompts()[-1] == ["echo"]
        assert "all=say one|echo" in (await said(branch))[-1]

        # The trunk is still there, without the branch.
        async with desk.db.read() as reader:
            assert {summary.id for summary in await conversations.page(reader)} == {
                desk.conversation.id,
                branch.conversation.id,
            }
        trunk = Desk(
            desk.db,
            desk.conversations,
            desk.conversation,
            await open_window(desk.db, desk.conversation.id, (await rows_of(desk))[-1].id),
        )
        desk.conversation.subscribe(trunk.hear)
        assert how(await trunk.say("echo")) is ContextSource.CONTINUED
        assert "all=say one|echo" in (await said(trunk))[-1]


async def test_f02_f09_side_by_side_with_a_running_turn_both_answer_and_neither_hears_the_other(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        await desk.window.say("say two; stream 20 rate 40; cue go-on; say CURTAIN")
        await desk.until_told(MessageGrew)
        branch = await fork(desk)
        assert branch.window_id != desk.window_id
        over = await branch.say("context")
        assert over.problem is None
        world.cue("go-on")
        await desk.window.wait_idle()
        assert (await said(desk))[-1].endswith("CURTAIN")
        await desk.say("echo")
        assert "all=say one|say two; stream 20 rate 40; cue go-on; say CURTAIN|echo" in (await said(desk))[-1]
        assert "context" not in (await said(desk))[-1].split("all=")[1]
        assert (await rows_of(branch))[0].text == "context"


async def test_f04_model_mode_and_options_of_the_source_are_in_force_on_the_branch(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        session = desk.window.session
        wanted = {}
        for option in session.options:
            if option.kind == "select":
                value = next(choice.id for choice in option.choices if choice.id != option.value)
                await desk.window.set_option(option.id, value)
                wanted[option.id] = value
        assert wanted
        branch = await fork(desk)
        await branch.say("settings")
        kept = {option.id: option.value for option in branch.window.session.options}
        assert {name: kept[name] for name in wanted} == wanted

        world.fail({"set_config_option": {"error": [-32603, "not today"]}})
        other = await fork(desk)
        await other.say("settings")
        told = [news.problem.text for news in other.told if isinstance(news, Troubled)]
        assert any("not today" in text for text in told), told


async def test_f05_a_fork_survives_a_restart_before_its_first_prompt(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        branch = await fork(desk)
        (link,) = [each for each in await branch.links() if each.cause is Cause.FORK]
    async with world.client(resume=branch) as again:
        assert again.conversation.record.fork_point_id == (await again.stored_window()).leaf_id
        assert link.session_id in [each.session_id for each in await again.links()]
        assert await said(again) == ["say one", "one"]
        await again.say("echo")
        assert world.prompts()[-1] == ["echo"]
        assert "all=say one|echo" in (await said(again))[-1]
        assert world.requests("session/prompt")[-1]["session"] == link.session_id


async def test_f05_a_fork_in_which_nothing_was_said_goes_with_its_window(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        branch = await fork(desk)
        async with desk.db.write() as tx:
            assert not await conversations.delete_if_empty(tx, branch.conversation.id)
            await windows.close(tx, branch.window_id)
        await desk.conversations.close(branch.conversation.id)
        async with desk.db.read() as reader:
            assert await conversations.get(reader, branch.conversation.id) is None


async def test_f06_nothing_of_the_source_is_changed_by_a_fork_and_two_turns_in_it(world: World) -> None:
    async with world.client() as desk:
        await desk.say("think a little; tool read README.md; say one")
        (link,) = [each for each in await desk.links() if each.cause is Cause.NEW]
        rows, heard = await rows_of(desk), transcript(world, link.session_id)
        branch = await fork(desk)
        await branch.say("say two")
        await branch.say("say three")
        assert await rows_of(desk) == rows
        assert transcript(world, link.session_id) == heard
        assert (await rows_of(branch))[0].parent_id == rows[-1].id


async def test_f07_an_agent_that_cannot_fork_is_not_asked_to_and_the_branch_is_told_at_its_price(
    world: World,
) -> None:
    async with world.client("--no-fork") as desk:
        await desk.say("say one")
        leaf = (await desk.stored_window()).leaf_id
        price = await desk.conversation.chain.price(desk.window, leaf_id=leaf, apart=True)
        forked = await made(desk)
        assert forked.link is None
        assert forked.price.how is ContextSource.TOLD
        assert forked.price.words == price.words
        branch = at_desk(desk, forked)
        over = await branch.say("context")
        assert how(over) is ContextSource.TOLD
        assert over.turn is not None
        assert (over.turn.told, over.turn.told_total) == (price.told, price.told_total) == (2, 2)
        seam = next(row for row in await branch.branch() if row.kind is Kind.SEAM)
        assert "2 messages replayed" in seam.text
        assert world.requests("session/fork") == []


async def test_f08_a_fork_that_the_agent_refuses_is_made_and_told_and_its_price_has_the_agents_own_words(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        await without_probes(desk)
        world.fail({"fork": {"error": [-32603, "the copier is out of paper"]}})
        forked = await made(desk)
        assert forked.link is None
        assert forked.price.words.startswith(
            "2 messages replayed, since Rehearsal did not fork the session (the copier is out of paper), ~"
        )
        over = await at_desk(desk, forked).say("context")
        assert how(over) is ContextSource.TOLD
        assert "say one" in world.prompts()[-1][0]


async def test_f08_a_failed_fork_leaves_the_person_where_they_were_with_the_agents_own_words(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        await without_probes(desk)
        before = await desk.stored_window()
        world.fail({"fork": {"error": [-32000, "Authentication required"]}})
        for side_by_side in (False, True):
            with pytest.raises(LoginNeeded, match="Authentication required"):
                await made(desk, side_by_side=side_by_side)
        assert await desk.stored_window() == before
        async with desk.db.read() as reader:
            assert [each.id for each in await windows.open_in(reader, desk.conversation.id)] == [
                desk.window_id
            ]
            assert await journal.newest(reader, desk.window_id) is None
            family = await reader.one("SELECT count(*) FROM conversation")
        assert family == (1,)
        world.fail({})
        assert how(await desk.say("echo")) is ContextSource.CONTINUED


async def test_f09_a_fork_of_a_fork_and_one_from_the_history_hold_just_their_branch(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        branch = await fork(desk)
        await branch.say("say two")
        twig = await fork(branch)
        await branch.say("say not this")
        assert how(await twig.say("echo")) is ContextSource.FORKED
        assert "all=say one|say two|echo" in (await said(twig))[-1]
        assert twig.conversation.record.family == desk.conversation.id

    async with world.client(resume=twig) as later:
        # The first one is not opened for it.
        async with later.db.read() as reader:
            kept = await conversations.get(reader, desk.conversation.id)
        assert kept is not None
        listed = at_desk(later, await later.conversations.fork(kept, window_id=None))
        over = await listed.say("echo")
        assert how(over) in (ContextSource.FORKED, ContextSource.RESUMED)
        assert world.prompts()[-1] == ["echo"]
        assert "all=say one|echo" in (await said(listed))[-1]
        assert (await listed.stored_window()).workspace_id is None


async def test_f09_inside_a_turn_the_fork_is_native_to_the_turn_before_and_told_the_rest(
    world: World,
) -> None:
    async with world.client("--fork-at") as desk:
        await desk.say("say one")
        await learn_fork_at(desk, "honoured")
        await desk.say("say two; tool read README.md; say three")
        await desk.say("say four")
        rows = await desk.branch()
        inside = next(row for row in rows if row.text == "two")
        price = await desk.conversation.chain.price(desk.window, leaf_id=inside.id, apart=True)
        forked = await made(desk, inside.id)
        assert forked.link is not None
        assert forked.link.cause is Cause.FORK_AT
        assert forked.link.knows == next(row for row in rows if row.text == "one").id
        branch = at_desk(desk, forked)
        assert (await said(branch))[-1] == "two"
        over = await branch.say("echo")
        assert how(over) is ContextSource.CAUGHT_UP
        assert price.told == 2
        seam = next(row for row in reversed(await branch.branch()) if row.kind is Kind.SEAM)
        assert seam.text == "session forked at this point · 2 missed messages replayed"
        context = await branch.conversation.chain.context(branch.window)
        assert context is not None and context.how == seam.text
        told, bare = world.prompts()[-1]
        assert bare == "echo"
        assert "say two" in told
        assert "three" not in told.replace("say two; tool read README.md; say three", "")
        assert "four" not in told
        assert "say one" not in told


async def test_f09_a_fork_at_a_prompt_begins_before_it_with_its_words_to_be_changed(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        await desk.say("say two")
        prompt = next(row for row in await desk.branch() if row.text == "say two")
        branch = await fork(desk, prompt.id)
        assert await said(branch) == ["say one", "one"]
        assert (await branch.stored_window()).draft == "say two"
        other = await fork(branch)
        with pytest.raises(NotOfThisBranch):
            await made(other, prompt.id)


async def test_f09_the_end_of_a_turn_is_forked_natively_also_where_it_ends_with_a_plan(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one; plan")
        answer = next(row for row in await desk.branch() if row.kind is Kind.AGENT)
        forked = await made(desk, answer.id)
        assert forked.link is not None
        assert forked.price.native
        assert forked.conversation.record.fork_point_id == (await desk.stored_window()).leaf_id


async def test_f11_an_agent_that_replays_on_fork_shows_each_message_once(world: World) -> None:
    async with world.client("--fork-replays") as desk:
        await desk.say("say one")
        branch = await fork(desk, side_by_side=False)
        await branch.say("say two")
        assert await said(branch) == ["say one", "one", "say two", "two"]
        assert [row.text for row in await rows_of(branch) if row.kind is not Kind.SEAM] == ["say two", "two"]


async def test_f11_what_the_old_session_says_late_does_not_show_in_the_branch(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one; between cue later")
        branch = await fork(desk, side_by_side=False)
        place = await branch.stored_window()
        at = len(desk.told)
        with pytest.raises(StoreError, match="another conversation"):
            await desk.conversation.window(branch.window_id).say("say nothing here")
        world.cue("later")
        late = await until_late(desk)
        assert await branch.stored_window() == place
        assert not [
            news for news in desk.told[at:] if isinstance(news, MessageAdded | MessageGrew | LeafMoved)
        ]
        await branch.say("say two")
        assert late not in await said(branch)
        prompt = next(row for row in await branch.branch() if row.text == "say two")
        async with desk.db.read() as reader:
            assert await branches.siblings(reader, prompt.id, branch.conversation.id) == [prompt.id]


@pytest.mark.parametrize("of_its_own", [False, True])
async def test_f11_a_fork_holds_nothing_that_its_source_said_while_it_was_made(
    world: World, monkeypatch: pytest.MonkeyPatch, of_its_own: bool
) -> None:
    begin, fork_session = LateUpdates._begin, Connection.fork_session
    answered, late = asyncio.Event(), asyncio.Event()

    async def begun_slowly(self: LateUpdates, live: LiveSession) -> Any:
        late.set()
        await answered.wait()
        for _ in range(20):  # as long as a store takes that others use, too
            async with desk.db.read():
                await asyncio.sleep(0.01)
        return await begin(self, live)

    async def forked(self: Connection, *arguments: Any) -> Any:
        monkeypatch.setattr(LateUpdates, "_begin", begun_slowly)
        world.cue("later")
        await late.wait()
        try:
            return await fork_session(self, *arguments)
        finally:
            answered.set()

    async with world.client("--no-titles") as desk:
        await desk.say("say one; between cue later")
        await without_probes(desk)
        monkeypatch.setattr(Connection, "fork_session", forked)
        if of_its_own:
            branch = await fork(desk)
        else:
            leaf = (await desk.stored_window()).leaf_id
            other = await open_window(desk.db, desk.conversation.id, leaf)
            branch = Desk(desk.db, desk.conversations, desk.conversation, other)
            desk.conversation.subscribe(branch.hear)
        await branch.say("context")
        late_words = await until_late(desk)
        assert late_words not in (await said(branch))[-1]
        assert world.requests("session/fork")
        assert deleted(world) == await without_link(desk)


async def test_f08_a_fork_that_the_store_does_not_take_is_not_left_with_the_agent(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object) -> Link:
        raise StoreFull(world.store)

    async with world.client() as desk:
        await desk.say("say one")
        await without_probes(desk)
        leaf = (await desk.stored_window()).leaf_id
        other = await open_window(desk.db, desk.conversation.id, leaf)
        beside = Desk(desk.db, desk.conversations, desk.conversation, other)
        desk.conversation.subscribe(beside.hear)
        with monkeypatch.context() as full:
            full.setattr(SendContext, "_add", refuse)
            over = await beside.say("echo")
        assert over.problem is not None and over.problem.trouble is Trouble.STORE and over.problem.returned
        made = await without_link(desk)
        assert len(made) == 1 and deleted(world) == made

        over = await beside.say("echo")
        assert how(over) is ContextSource.FORKED
    assert deleted(world) == made


async def test_f12_the_lineage_leads_from_the_branch_to_its_source_and_back(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        assert (await desk.conversation.branches.lineage()).source is None
        branch = await fork(desk)
        await desk.conversation.rename("the trunk")
        await branch.say("say two")
        up = await branch.conversation.branches.lineage()
        assert up.source is not None
        assert (up.source.id, up.source.title) == (desk.conversation.id, "the trunk")
        assert up.fork_point_id == branch.conversation.record.fork_point_id
        (down,) = (await desk.conversation.branches.lineage()).forks
        assert (down.id, down.preview, down.fork_point_id) == (
            branch.conversation.id,
            "say two",
            up.fork_point_id,
        )


async def test_f13_another_directory_and_further_servers_are_passed_on_and_a_refusal_is_told(
    world: World,
) -> None:
    elsewhere, more = world.place / "elsewhere", world.place / "more"
    elsewhere.mkdir()
    more.mkdir()
    server: dict[str, object] = {"name": "clock", "command": "/bin/true", "args": [], "env": []}
    async with world.client() as desk:
        await desk.conversation.add_directory(str(more))
        await desk.say("say one")
        await without_probes(desk)
        forked = await desk.conversations.fork(
            desk.conversation,
            window_id=desk.window_id,
            cwd=str(elsewhere),
            directories=[str(world.place)],
            mcp_servers=[server],
        )
        asked = world.requests("session/fork")[-1]["params"]
        assert asked["cwd"] == str(elsewhere)
        assert asked["additionalDirectories"] == [str(more), str(world.place)]
        assert [each["name"] for each in asked["mcpServers"]] == ["clock"]
        assert forked.conversation.record.cwd == str(elsewhere)
        assert forked.conversation.directories == (str(more), str(world.place))
        branch = at_desk(desk, forked)
        assert how(await branch.say("echo")) is ContextSource.FORKED
        assert world.prompts()[-1] == ["echo"]

        world.fail({"fork": {"error": [-32602, "clock is not allowed here"]}})
        refused = await desk.conversations.fork(
            desk.conversation, window_id=desk.window_id, mcp_servers=[server], side_by_side=False
        )
        assert refused.link is None and "clock is not allowed here" in refused.price.words


async def test_f13_further_servers_are_handed_over_after_a_restart_too_and_to_forks_of_the_fork(
    world: World,
) -> None:
    def server(name: str) -> dict[str, object]:
        return {
            "name": name,
            "command": "/bin/true",
            "args": [],
            "env": [{"name": "KEY", "value": "of " + name}],
        }

    def given(method: str) -> list[dict[str, object]]:
        return list(world.requests(method)[-1]["params"]["mcpServers"])

    clock, bell = server("clock"), server("bell")
    async with world.client() as desk:
        await desk.say("say one")
        await without_probes(desk)
        forked = await desk.conversations.fork(
            desk.conversation, window_id=desk.window_id, mcp_servers=[clock]
        )
        assert given("session/fork") == [clock]
        branch = at_desk(desk, forked)
        await branch.say("say two")
    async with world.client(resume=branch) as again:
        over = await again.say("say three")
        assert how(over) is ContextSource.RESUMED
        assert given("session/load") == [clock]
        further = await again.conversations.fork(
            again.conversation, window_id=again.window_id, mcp_servers=[bell]
        )
        assert given("session/fork") == [clock, bell]
        assert further.link is not None
    async with world.client(resume=desk) as trunk:
        await trunk.say("say four")
        assert given("session/load") == [], "the source was given none"


async def test_a_fork_in_place_waits_for_the_end_of_the_turn(world: World) -> None:
    async with world.client() as desk:
        await desk.window.say("stream 400 rate 40")
        await desk.until_told(MessageGrew)
        with pytest.raises(StillAtWork):
            await made(desk, side_by_side=False)
        await desk.window.stop()
        await desk.window.wait_idle()
        branch = await fork(desk, side_by_side=False)
        assert await said(branch)
        assert all(row.state is not MessageState.OPEN for row in await branch.branch())


async def test_a_prompt_that_comes_before_a_fork_in_place_is_shown_keeps_its_window(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forks, "_CLOSING_SECONDS", 60)  # however slow the machine is
    async with world.client() as desk:
        await desk.say("say one")
        await without_probes(desk)
        reached, go_on, show = asyncio.Event(), asyncio.Event(), ForkOperation._show

        async def shown_later(self: ForkOperation, record: Record, window_id: str, point: Any) -> None:
            reached.set()
            await go_on.wait()
            await show(self, record, window_id, point)

        monkeypatch.setattr(ForkOperation, "_show", shown_later)
        forking = asyncio.ensure_future(made(desk, side_by_side=False))
        await reached.wait()
        await desk.window.say("say two; cue go-on; say three")
        go_on.set()
        with pytest.raises(StillAtWork):
            await forking
        world.cue("go-on")
        await desk.window.wait_idle()
        assert (await desk.stored_window()).conversation_id == desk.conversation.id
        assert (await said(desk))[-1].endswith("three")
        async with desk.db.read() as reader:
            assert await reader.one("SELECT count(*) FROM conversation") == (1,)
        assert len(world.requests("session/fork")) == len(world.requests("session/delete")) == 1


async def test_a_barrier_is_never_made_below_another_conversations_branch(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        branch = await fork(desk, side_by_side=False)
        rows = await rows_of(desk)
        with pytest.raises(StoreError, match="another conversation"):
            await desk.conversation.window(branch.window_id).clear()
        assert await rows_of(desk) == rows
        assert (await branch.stored_window()).conversation_id == branch.conversation.id


async def test_a_fork_with_another_agent_is_told(world: World) -> None:
    async with world.client(specs={"other": world.spec(name="other")}) as desk:
        await desk.say("say one")
        forked = await desk.conversations.fork(
            desk.conversation, window_id=desk.window_id, agent=world.spec(name="other")
        )
        assert forked.conversation.record.agent == "other"
        assert desk.conversation.record.agent == "rehearsal"
        assert how(await at_desk(desk, forked).say("say two")) is ContextSource.TOLD
        async with desk.db.read() as reader:
            (link,) = await links.of_conversation(reader, forked.conversation.id)
        assert link.agent == "other"


@pytest.mark.parametrize("meanwhile", ["it goes on", "its process is retired"])
async def test_f08_a_turn_is_heard_to_its_end_while_its_session_is_forked_at_an_earlier_one(
    world: World, monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    drop_stale = Sessions.drop_stale

    async def looked_at_later(self: Sessions, link: Link) -> bool:
        monkeypatch.undo()
        if meanwhile == "it goes on":
            world.cue("go-on")
            await desk.until_told(MessageAdded, lambda news: news.message.text == "more")
        else:
            record = desk.conversation.record
            desk.conversation.agents.retire((record.agent, record.profile), record.family)
        return await drop_stale(self, link)

    async with world.client("--fork-at") as desk:
        await desk.say("say one")
        await learn_fork_at(desk, "honoured")
        leaf = (await desk.stored_window()).leaf_id
        await desk.window.say("say begun; think; cue go-on; say more; cue end; say ended")
        await desk.until_told(MessageAdded, lambda news: news.message.text == "begun")
        beside = Desk(
            desk.db,
            desk.conversations,
            desk.conversation,
            await open_window(desk.db, desk.conversation.id, leaf),
        )
        desk.conversation.subscribe(beside.hear)
        monkeypatch.setattr(Sessions, "drop_stale", looked_at_later)

        over = await beside.say("echo")

        assert over.problem is None and over.turn is not None
        assert over.turn.how in (ContextSource.FORKED_AT, ContextSource.RESUMED)
        world.cue("go-on")
        world.cue("end")
        await desk.window.wait_idle()
        assert (await desk.branch())[-1].text.endswith("ended")
