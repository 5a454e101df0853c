"""Editing, retrying, going to siblings and back, with real agent processes and a real store."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from catena_acp.continuity.conversation_events import (
    Doing,
    DoingChanged,
    LeafMoved,
    MessageAdded,
    MessageGrew,
    PermissionOpened,
    PromptReturned,
    QueueChanged,
    SessionChanged,
    TurnEnded,
)
from catena_acp.conversation.conversations.undo import ConversationUndo, Scope
from catena_acp.conversation.prompts.queue import PromptQueue
from catena_acp.errors import NotOfThisBranch, ReadOnly, StillAtWork
from catena_store.chains import links
from catena_store.conversations import branches
from catena_store.errors import NotFound
from catena_store.records import Attachment, ContextSource, Kind, Message, StopReason
from catena_store.windows import attachments, journal, queue, windows
from catena_store.windows.journal import Act
from support.conversations.rehearsed import Desk, World, open_window


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def edited(desk: Desk, prompt_id: str, text: str, files: tuple[Attachment, ...] = ()) -> TurnEnded:
    """Edit a prompt and wait for the end of its turn."""
    at = len(desk.told)
    await desk.window.edit(prompt_id, text, files)
    return await ended_after(desk, at, text)


async def ended_after(desk: Desk, at: int, text: str) -> TurnEnded:
    """The end of the turn of the prompt with this text, told after a place in the news."""

    def over() -> TurnEnded | None:
        ends = [news for news in desk.told[at:] if isinstance(news, TurnEnded)]
        return ends[-1] if ends else None

    await desk.until(over)
    await desk.window.wait_idle()
    end = over()
    assert end is not None
    (row,) = [row for row in await desk.branch() if row.kind is Kind.USER and row.text == text][-1:]
    assert end.turn is None or end.turn.prompt_id == row.id
    return end


async def said(desk: Desk) -> list[str]:
    return [row.text for row in await desk.branch() if row.kind in (Kind.USER, Kind.AGENT)]


async def prompt(desk: Desk, text: str) -> Message:
    """The prompt of this text on the desk's branch."""
    return next(row for row in await desk.branch() if row.kind is Kind.USER and row.text == text)


def how(over: TurnEnded) -> ContextSource:
    assert over.turn is not None, over.problem
    return over.turn.how


async def test_e02_what_comes_after_an_edited_prompt_is_off_the_branch_and_off_the_agents_context(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        await desk.say("say SECRET")
        await desk.say("say three")
        old = await desk.branch()
        leaf = old[-1].id
        second = await prompt(desk, "say SECRET")
        price = await desk.conversation.chain.price(desk.window, leaf_id=second.parent_id)
        over = await edited(desk, second.id, "echo")
        assert over.turn is not None
        assert (over.turn.told, over.turn.how) == (price.told, price.how)
        assert await said(desk) == ["say one", "one", "echo", (await said(desk))[-1]]
        assert not [block for block in world.prompts()[-1] if "SECRET" in block]
        assert "SECRET" not in (await said(desk))[-1]
        moved = [news.leaf_id for news in desk.told if isinstance(news, LeafMoved)]
        new = await prompt(desk, "echo")
        assert moved == [new.id]
        assert new.parent_id == second.parent_id
        async with desk.db.read() as reader:
            assert await branches.siblings(reader, second.id) == [second.id, new.id]
            entry = await journal.newest(reader, desk.window_id)
        assert entry is not None
        assert (entry.act, entry.before["leaf_id"]) == (Act.EDIT, leaf)
        now = await said(desk)
    async with world.client(resume=desk) as again:
        assert await said(again) == now
        over = await again.say("echo again")
        assert not [block for block in world.prompts()[-1] if "SECRET" in block]
        assert over.problem is None


@pytest.mark.parametrize("flags", [(), ("--no-fork",), ("--no-fork", "--no-resume", "--no-load")])
async def test_p03_a_canary_is_heard_on_its_own_branch_alone_through_edits_undo_asides_and_forks(
    world: World, flags: tuple[str, ...]
) -> None:
    async with world.client(*flags) as desk:
        await desk.say("say one")
        start = (await desk.branch())[-1].id
        await desk.say("say Frida")
        canary = await prompt(desk, "say Frida")

        await edited(desk, canary.id, "echo")
        assert "Frida" not in await everything_heard(desk, world), "an edit"
        aside = await desk.conversation.asides.begin(desk.window)
        assert [news async for news in aside.ask("echo")]
        assert "Frida" not in aside.text + "".join(world.prompts()[-1]), "an aside"
        await aside.close()

        assert await ConversationUndo(desk.db, desk.conversations).undo(Scope(desk.window_id, None))
        await desk.say("echo")
        assert "Frida" in await everything_heard(desk, world), "back on its branch"

        forked = await desk.conversations.fork(
            desk.conversation, window_id=desk.window_id, at=start, side_by_side=True
        )
        other = Desk(desk.db, desk.conversations, forked.conversation, forked.window.id)
        forked.conversation.subscribe(other.hear)
        await other.say("echo")
        assert "Frida" not in await everything_heard(other, world), "a fork before it"


async def everything_heard(desk: Desk, world: World) -> str:
    """What the last prompt told the agent, and what the agent's session says that it holds, in its answer."""
    return "".join(world.prompts()[-1]) + (await said(desk))[-1]


async def test_e03_each_sibling_comes_back_with_its_own_tail_draft_and_scroll(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        await desk.say("say two")
        first = await prompt(desk, "say one")
        async with desk.db.write() as tx:
            await windows.set_draft(tx, desk.window_id, "not yet sent")
            await windows.set_scroll(tx, desk.window_id, 7)
        left = await desk.stored_window()
        await edited(desk, first.id, "say other")
        await desk.say("say tail")
        async with desk.db.write() as tx:
            await windows.set_draft(tx, desk.window_id, "another")
        other = await prompt(desk, "say other")

        assert await desk.window.to_sibling(other.id, -1)
        assert await desk.stored_window() == left
        assert await said(desk) == ["say one", "one", "say two", "two"]
        assert await desk.window.to_sibling(first.id, 1)
        assert (await desk.stored_window()).draft == "another"
        assert await said(desk) == ["say other", "other", "say tail", "tail"]
        assert not await desk.window.to_sibling(other.id, 1)
        assert not await desk.window.to_sibling(first.id, -1)

        # Where this window last stood, though more was said there: not at the newest row.
        await desk.window.go_to(other.id)
        place = (await desk.stored_window()).leaf_id
        assert await desk.window.to_sibling(other.id, -1)
        assert await desk.window.to_sibling(first.id, 1)
        assert (await desk.stored_window()).leaf_id == place == other.id

        # A window that never stood there goes to where it was written last.
        second = Desk(
            desk.db,
            desk.conversations,
            desk.conversation,
            await open_window(desk.db, desk.conversation.id, left.leaf_id),
        )
        assert await desk.conversation.window(second.window_id).to_sibling(first.id, 1)
        assert await said(second) == ["say other", "other", "say tail", "tail"]


async def test_e04_editing_while_the_agent_streams_stops_it_first_and_nothing_late_shows(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        await desk.window.say("stream 4000 rate 200; late")
        await desk.until_told(MessageGrew)
        running = await prompt(desk, "stream 4000 rate 200; late")
        await desk.window.edit(running.id, "say instead")
        at = next(n for n, news in enumerate(desk.told) if isinstance(news, LeafMoved))
        ends = [news.turn for news in desk.told[:at] if isinstance(news, TurnEnded) and news.turn]
        assert [turn.stop_reason for turn in ends] == [StopReason.END_TURN, StopReason.CANCELLED]
        over = await ended_after(desk, at, "say instead")
        assert over.problem is None
        assert await said(desk) == ["say one", "one", "say instead", "instead"]
        shown = {row.id for row in await desk.branch()}
        for news in desk.told[at:]:
            if isinstance(news, MessageAdded):
                assert news.message.id in shown
            if isinstance(news, MessageGrew):
                assert news.message_id in shown
        assert not [block for block in world.prompts()[-1] if "stream" in block]


async def test_e04_what_waited_goes_after_the_edited_prompt(world: World) -> None:
    async with world.client() as desk:
        await desk.window.say("stream 4000 rate 200")
        await desk.until_told(MessageGrew)
        await desk.window.say("say waited")
        running = await prompt(desk, "stream 4000 rate 200")
        await desk.window.edit(running.id, "say instead")
        await desk.window.wait_idle()
        assert await said(desk) == ["say instead", "instead", "say waited", "waited"]


async def test_e05_editing_the_first_prompt_begins_a_fresh_session_that_is_told_nothing(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        await desk.say("say two")
        over = await edited(desk, (await prompt(desk, "say one")).id, "echo")
        assert how(over) is ContextSource.FRESH
        assert world.prompts()[-1] == ["echo"]
        assert "users=1 " in (await said(desk))[-1]
        assert not [row for row in await desk.branch() if row.kind is Kind.SEAM]


async def test_e06_attachments_and_permissions_work_on_an_edited_prompt_as_on_any_other(world: World) -> None:
    file = Attachment("", "text/plain", "note.txt", None, b"remember the milk")
    async with world.client() as desk:
        await desk.say("say one")
        first = await prompt(desk, "say one")
        at = len(desk.told)
        await desk.window.edit(first.id, "ask to proceed", (file,))
        asked = await desk.until_told(PermissionOpened)
        await desk.conversation.answer(asked.ask_id, asked.options[0].id)
        over = await ended_after(desk, at, "ask to proceed")
        assert over.problem is None
        row = await prompt(desk, "ask to proceed")
        async with desk.db.read() as reader:
            (kept,) = await attachments.of_message(reader, row.id)
        assert kept.content == file.content
        assert len(world.requests("session/prompt")[-1]["kinds"]) == 2


async def test_an_edit_that_no_agent_takes_is_back_in_the_composer_before_the_edited_prompt(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        await desk.say("say two")
        second = await prompt(desk, "say two")
        world.fail({"any": {"error": [-32603, "out of order"]}})
        at = len(desk.told)
        await desk.window.edit(second.id, "say better")
        await desk.until(lambda: next((news for news in desk.told[at:] if isinstance(news, TurnEnded)), None))
        await desk.window.wait_idle()
        assert [news.text for news in desk.told if isinstance(news, PromptReturned)] == ["say better"]
        assert (await desk.stored_window()).leaf_id == second.parent_id
        assert (await desk.stored_window()).draft == "say better"
        world.fail({})
        # What nobody heard is no sibling; said again, it is the same row.
        async with desk.db.read() as reader:
            assert await branches.siblings(reader, second.id) == [second.id]
        assert (await desk.say("say better")).problem is None
        async with desk.db.read() as reader:
            assert len(await branches.siblings(reader, second.id)) == 2


async def test_e08_a_retry_is_a_sibling_also_with_another_agent_and_its_badge(world: World) -> None:
    async with world.client(specs={"other": world.spec(name="other")}) as desk:
        await desk.say("say one")
        await desk.say("say two")
        first = await prompt(desk, "say two")
        at = len(desk.told)
        await desk.window.retry(agent=world.spec(name="other"))
        over = await desk.until(
            lambda: next((news for news in desk.told[at:] if isinstance(news, TurnEnded)), None)
        )
        await desk.window.wait_idle()
        assert how(over) is ContextSource.TOLD
        again = await prompt(desk, "say two")
        assert again.id != first.id
        assert again.parent_id == first.parent_id
        async with desk.db.read() as reader:
            assert await branches.siblings(reader, again.id) == [first.id, again.id]
            assert again.link_id is not None
            link = await links.get(reader, again.link_id)
            entry = await journal.newest(reader, desk.window_id)
        assert link is not None
        assert link.agent == "other" == desk.conversation.record.agent
        assert entry is not None
        assert (entry.act, entry.before["agent"]) == (Act.RETRY, "rehearsal")
        assert any(isinstance(news, SessionChanged) for news in desk.told[at:])

        # Any prompt of the branch can be said again, in the same words.
        at = len(desk.told)
        await desk.window.retry(prompt_id=(await prompt(desk, "say one")).id, agent=world.spec())
        await ended_after(desk, at, "say one")
        assert await said(desk) == ["say one", "one"]
        assert desk.conversation.record.agent == "rehearsal"


async def test_going_elsewhere_is_refused_while_a_turn_runs_and_a_rewind_stops_it(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        leaf = (await desk.stored_window()).leaf_id
        first = await prompt(desk, "say one")
        await desk.window.say("stream 4000 rate 200")
        await desk.until_told(MessageGrew)
        await desk.window.say("say waited")
        with pytest.raises(StillAtWork):
            await desk.window.go_to(first.id)
        await desk.window.rewind(leaf)
        assert (await desk.stored_window()).leaf_id == leaf
        assert await said(desk) == ["say one", "one"]
        assert desk.window.doing is Doing.IDLE
        waits = [news for news in desk.told if isinstance(news, QueueChanged)][-1]
        assert [(item.text, item.held) for item in waits.items] == [("say waited", True)]
        # What came later can still be reached.
        async with desk.db.read() as reader:
            entry = await journal.newest(reader, desk.window_id)
            assert len(await queue.items(reader, desk.window_id)) == 1
        assert entry is not None
        assert entry.act is Act.REWIND
        await desk.window.go_to(entry.before["leaf_id"])
        assert (await said(desk))[2] == "stream 4000 rate 200"
        await desk.window.go_to(None)
        assert await said(desk) == []


async def test_what_waited_does_not_go_out_from_where_a_rewind_leads_while_it_is_being_held(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold = PromptQueue.hold

    async def slowly(self: PromptQueue) -> None:
        for _ in range(20):  # as long as a store takes that others use, too
            async with desk.db.read():
                pass
        await hold(self)

    async with world.client() as desk:
        await desk.say("say one")
        leaf = (await desk.stored_window()).leaf_id
        await desk.window.say("say begun; hang")
        await desk.window.say("say waited")
        monkeypatch.setattr(PromptQueue, "hold", slowly)
        await desk.window.rewind(leaf)
        await desk.window.wait_idle()
        assert await said(desk) == ["say one", "one"]
        async with desk.db.read() as reader:
            assert [item.held for item in await queue.items(reader, desk.window_id)] == [True]


async def test_only_prompts_of_the_conversation_are_edited(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        answer = (await desk.branch())[-1]
        with pytest.raises(NotOfThisBranch, match="not a prompt"):
            await desk.window.edit(answer.id, "say two")
        with pytest.raises(NotFound):
            await desk.window.edit("nobody", "say two")
        other = await desk.conversations.create(agent=world.spec(), cwd=str(world.project))
        window = await open_window(desk.db, other.id)
        with pytest.raises(NotOfThisBranch):
            await other.window(window).edit((await prompt(desk, "say one")).id, "say two")
        with pytest.raises(NotOfThisBranch):
            await other.window(window).go_to(answer.id)


async def test_a_prompt_of_the_source_is_edited_in_the_fork_and_nowhere_else(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        await desk.say("say two")
        forked = await desk.conversations.fork(desk.conversation, window_id=desk.window_id)
        branch = Desk(desk.db, desk.conversations, forked.conversation, forked.window.id)
        forked.conversation.subscribe(branch.hear)
        await branch.say("say three")
        three = (await prompt(branch, "say three")).id
        inherited = await prompt(branch, "say two")
        await edited(branch, inherited.id, "say else")
        assert await said(branch) == ["say one", "one", "say else", "else"]
        new = await prompt(branch, "say else")
        await desk.say("say four")
        four = (await prompt(desk, "say four")).id
        async with desk.db.read() as reader:
            here, there = branch.conversation.id, desk.conversation.id
            assert await branches.siblings(reader, inherited.id, here) == [inherited.id, new.id]
            assert await branches.siblings(reader, new.id, here) == [inherited.id, new.id]
            assert await branches.siblings(reader, inherited.id, there) == [inherited.id]
            assert await branches.siblings(reader, three, here) == [three]
            assert await branches.siblings(reader, four, there) == [four]
            assert await branches.sibling_positions(reader, [four, inherited.id], there) == {}
            assert await branches.sibling_positions(reader, [new.id, three], here) == {new.id: (2, 2)}
        assert await branch.window.to_sibling(new.id, -1)
        assert await said(branch) == ["say one", "one", "say two", "two", "say three", "three"]
        # And so for the very first one.
        first = await prompt(branch, "say one")
        await edited(branch, first.id, "say zero")
        zero = await prompt(branch, "say zero")
        async with desk.db.read() as reader:
            assert await branches.siblings(reader, zero.id, here) == [first.id, zero.id]
            assert await branches.siblings(reader, first.id, there) == [first.id]


async def test_e04_an_edit_during_the_opening_of_a_session_gives_the_first_text_back(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        first = await prompt(desk, "say one")
        world.fail({"new": {"silent": True, "times": 1}})
        await desk.window.clear()
        await desk.window.say("say lost?")
        await world.heard("session/new", 2)
        async with asyncio.timeout(60):
            await edited(desk, first.id, "say instead")
        assert [news.text for news in desk.told if isinstance(news, PromptReturned)] == ["say lost?"]
        assert await said(desk) == ["say instead", "instead"]


async def test_r14_clear_as_an_edit_is_a_barrier_of_ours(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        await desk.window.edit((await prompt(desk, "say one")).id, "/clear")
        (row,) = await desk.branch()
        assert row.barrier
        assert len(world.prompts()) == 1


async def test_siblings_can_be_looked_at_where_another_client_has_the_conversation(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        first = await prompt(desk, "say one")
        await edited(desk, first.id, "say other")
        async with world.client(resume=desk) as follower:
            follower.window_id = await open_window(
                follower.db, desk.conversation.id, (await desk.stored_window()).leaf_id
            )
            follower.conversation.window(follower.window_id)
            assert follower.conversation.read_only
            other = await prompt(follower, "say other")
            assert await follower.window.to_sibling(other.id, -1)
            assert await said(follower) == ["say one", "one"]
            await follower.until_told(LeafMoved)
            with pytest.raises(ReadOnly):
                await follower.window.edit(first.id, "say mine")
            assert await said(desk) == ["say other", "other"]

            # A fork needs nobody's leave.
            forked = await follower.conversations.fork(follower.conversation, window_id=follower.window_id)
            branch = Desk(follower.db, follower.conversations, forked.conversation, forked.window.id)
            forked.conversation.subscribe(branch.hear)
            assert (await branch.say("echo")).problem is None
            assert "all=say one|echo" in (await said(branch))[-1]
        assert (await desk.say("say more")).problem is None


async def test_a_window_that_was_moved_meanwhile_does_not_get_the_session_that_was_being_opened(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        await desk.say("say two")
        middle = next(row for row in await desk.branch() if row.text == "one")
    world.fail({"load": {"cue": "go-on"}, "resume": {"cue": "go-on"}})
    async with world.client(resume=desk) as again:
        preparing = asyncio.ensure_future(again.window.prepare())
        await again.until_told(DoingChanged, lambda news: news.doing is Doing.OPENING)
        await again.window.go_to(middle.id)
        assert not preparing.done()
        world.cue("go-on")
        await preparing
        assert again.window.session.link_id is None
        assert (await again.say("say three")).problem is None
        assert await said(again) == ["say one", "one", "say three", "three"]
