"""Going back to what was said before a logout: asked for by the person, so it is done, but never in silence."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from catena_acp.continuity.conversation_events import (
    LeafMoved,
    MessageAdded,
    PromptReturned,
    QueueChanged,
    Remarked,
    Troubled,
    TurnEnded,
)
from catena_acp.continuity.services import WhileIdle
from catena_acp.continuity.sessions.environment import Environment
from catena_acp.conversation.asides.asides import Aside, AsideEnded
from catena_acp.conversation.branches.branches import LOGGED_OUT, SAID_BEFORE
from catena_acp.conversation.prompts.rows import PromptRows
from catena_acp.conversation.recovery import foreign_conversations
from catena_acp.trouble.troubles import Trouble
from catena_store.conversations import messages
from catena_store.conversations.logouts import note_logout
from catena_store.database.database import Database
from catena_store.errors import StoreFull
from catena_store.ids import utc_now
from catena_store.records import ContextSource, Kind, Message
from catena_store.windows import windows
from support.clients.command_line import Catena
from support.clients.protocol import until
from support.conversations.modelled import another_window
from support.conversations.rehearsed import Desk, World, open_window
from support.screen.pilot import at_the_screen
from support.storage.rows import say


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def barrier_in(desk: Desk, window_id: str) -> Message:
    """The barrier that a window is told of."""

    def found() -> Message | None:
        added = (news for news in desk.told if isinstance(news, MessageAdded))
        rows = (news.message for news in added if news.window_id == window_id and news.message.barrier)
        return next(rows, None)

    return await desk.until(found, seconds=10)


async def has_heard(desk: Desk) -> None:
    """Wait until a client has heard of the logout in another process."""
    tenure = desk.conversation.tenure
    assert tenure is not None
    await until(lambda: bool(tenure.logouts.last))


async def mid_turn(desk: Desk) -> None:
    """A turn that goes on until it is cued, and has said something."""
    await desk.window.say("say begun; cue go-on; say ended")
    await desk.until_told(MessageAdded, lambda news: news.message.text == "begun")


def processes(world: World) -> list[int]:
    """The agent processes that the prompts went to, in order."""
    return [entry["pid"] for entry in world.requests("session/prompt")]


async def answer_of(aside: Aside, question: str) -> AsideEnded:
    """What came of a side question."""
    end = [news async for news in aside.ask(question)][-1]
    assert isinstance(end, AsideEnded)
    return end


async def logged_out_and_in_again(desk: Desk) -> None:
    await desk.conversation.logins.log_out(desk.window)
    await desk.conversation.logins.log_in(desk.window, "rehearsal-login")


async def test_m08_the_price_of_going_back_above_a_logout_says_what_it_takes_along(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say canary-old")
        await desk.say("say more")
        first, second = [row for row in await desk.branch() if row.kind is Kind.USER]
        conversation = desk.conversation
        before = await conversation.chain.price(desk.window, leaf_id=second.parent_id)
        assert not before.before_logout and SAID_BEFORE not in before.words
        await logged_out_and_in_again(desk)

        edit = await conversation.chain.price(desk.window, leaf_id=second.parent_id)
        assert edit.before_logout and edit.words.startswith(f"{SAID_BEFORE}, ")
        assert not (await conversation.chain.price(desk.window, leaf_id=first.parent_id)).before_logout
        here = await conversation.chain.price(desk.window)
        assert not here.before_logout, "below the line nothing is taken along"
        other = world.spec(name="other")
        elsewhere = await conversation.chain.price(desk.window, spec=other, leaf_id=second.parent_id)
        assert not elsewhere.before_logout, "nobody logged out of that one"

        told = len(desk.told)
        await desk.window.go_to(second.parent_id)
        moved, remark = [news for news in desk.told[told:] if isinstance(news, LeafMoved | Remarked)]
        assert isinstance(moved, LeafMoved) and isinstance(remark, Remarked)
        assert remark.text.startswith("From before you logged out of Rehearsal: your next prompt")
        assert world.prompts() == [["say canary-old"], ["say more"]], "nothing was told before that was said"
        await desk.say("echo")
        assert "canary-old" in (await desk.branch())[-1].text, "the branch is what the person asked for"


async def test_m08_what_is_said_below_a_logout_is_gone_back_to_without_a_word_of_it(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say canary-old")
        await logged_out_and_in_again(desk)
        await desk.say("say new")
        leaf = (await desk.stored_window()).leaf_id
        await desk.say("say newer")
        told = len(desk.told)
        await desk.window.go_to(leaf)
        assert not [news for news in desk.told[told:] if isinstance(news, Remarked)]
        assert not (await desk.conversation.chain.price(desk.window)).before_logout
        over = await desk.say("echo")
        assert isinstance(over, TurnEnded)
    assert not any("canary-old" in block for blocks in world.prompts()[1:] for block in blocks)


async def test_m08_on_the_screen_an_undo_that_leads_above_a_logout_names_what_the_next_prompt_takes_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CATENA_REHEARSAL_HOME", str(tmp_path / "rehearsal"))
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("say canary-old")
        await person.sees("  canary-old")
        await person.idle()
        tab = person.tab
        leaf = tab.leaf_id
        await tab.window.rewind(None)
        await person.until(lambda: tab.leaf_id is None, "the beginning")
        await person.say("say other")
        await person.sees("  other")
        await person.idle()
        await tab.conversation.logins.log_out(tab.window)
        await person.sees("logged out")
        person.chat.do("undo")
        await person.sees(
            "  canary-old",
            "Your next prompt includes messages from before you logged out.",
            "Undone: the rewind.",
        )
        assert tab.leaf_id == leaf


async def test_m08_the_command_line_says_it_before_it_edits_a_prompt_from_above_a_logout(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.say("say canary-old")
        await desk.say("say more")
        second = [row for row in await desk.branch() if row.kind is Kind.USER][1]
        await logged_out_and_in_again(desk)
    catena = Catena(world.place)
    edit = ("--resume", desk.conversation.id, "--edit", second.id)
    as_text = await asyncio.to_thread(catena, "run", *edit, "say anew")
    assert as_text.status == 0, as_text.err
    assert SAID_BEFORE in as_text.err and as_text.out == "anew\n"
    as_json = await asyncio.to_thread(catena, "run", *edit, "--json", "say anew again")
    assert as_json.event("branch")["before_logout"] is True


async def test_m08_a_conversation_that_was_closed_at_the_logout_begins_anew_when_it_is_opened(
    world: World,
) -> None:
    async with world.client() as closed:
        await closed.say("say canary-old")
    async with world.client() as other:
        await other.say("say other")
        await logged_out_and_in_again(other)
    async with world.client(resume=closed) as desk:
        leaf = (await desk.branch())[-1]
        assert leaf.barrier and leaf.text == LOGGED_OUT and (await desk.stored_window()).leaf_id == leaf.id
        await desk.say("say new")
    async with world.client(resume=closed) as desk:
        assert (await desk.branch())[-1].text == "new", "there is one barrier, not one at each opening"
        old = next(row for row in await desk.branch() if "canary-old" in row.text)
        assert (await desk.conversation.chain.price(desk.window, leaf_id=old.id)).before_logout
    assert world.prompts()[1:] == [["say other"], ["say new"]]


async def test_m08_a_conversation_that_another_client_had_at_the_logout_begins_anew_when_it_is_taken_over(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreign_conversations, "PLACE_SECONDS", 3600.0)  # the owner hears nothing of it
    async with world.client() as owner:
        await owner.say("say canary-old")
        async with world.client(resume=owner) as desk:
            assert desk.conversation.read_only
            async with world.client() as other:
                await logged_out_and_in_again(other)
            await owner.conversations.close(owner.conversation.id)
            await desk.window.take_over()
            leaf = (await desk.branch())[-1]
            assert (
                leaf.barrier and leaf.text == LOGGED_OUT and (await desk.stored_window()).leaf_id == leaf.id
            )
            added = await desk.until_told(MessageAdded, lambda news: news.message.barrier)
            assert (added.window_id, added.message) == (desk.window_id, leaf)
            await desk.say("say new")
    assert world.prompts() == [["say canary-old"], ["say new"]]


async def test_m08_what_is_taken_over_after_a_logout_goes_to_no_process_from_before_it(world: World) -> None:
    async with world.client() as desk, world.client() as other:
        await desk.say("say canary-old")
        fork = await desk.conversations.fork(desk.conversation, window_id=None)
        await desk.conversations.close(fork.conversation.id)
        theirs = await other.conversations.open(fork.conversation.id)
        ours = await desk.conversations.open(fork.conversation.id)
        taken = Desk(desk.db, desk.conversations, ours, fork.window.id)
        ours.subscribe(taken.hear)
        assert ours.read_only
        await desk.conversations.close(desk.conversation.id)  # its process is that of the whole family
        await logged_out_and_in_again(Desk(other.db, other.conversations, theirs, fork.window.id))
        await other.conversations.close(theirs.id)

        await taken.window.take_over()
        assert (await taken.say("echo")).problem is None
    old, new = processes(world)
    assert old != new


async def test_m08_a_conversation_that_is_open_begins_anew_at_a_logout_in_another_process(
    world: World,
) -> None:
    async with world.client() as desk, world.client() as other:
        await desk.say("say canary-old")
        beside = await another_window(desk, (await desk.stored_window()).leaf_id)
        assert beside.window.at_rest
        await logged_out_and_in_again(other)
        for window in (desk.window, beside.window):
            await barrier_in(desk, window.id)
        over = await desk.say("echo")
        assert over.turn is not None and over.turn.how is ContextSource.FRESH
        assert not (await desk.conversation.chain.price(desk.window)).before_logout
    assert world.prompts() == [["say canary-old"], ["echo"]]


async def test_m08_a_prompt_that_comes_before_the_logout_in_another_process_is_noticed_is_given_back(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreign_conversations, "PLACE_SECONDS", 3600.0)  # it is not looked at meanwhile
    async with world.client() as desk, world.client() as other:
        await desk.say("say canary-old")
        await logged_out_and_in_again(other)
        over = await desk.say("echo")
        assert over.problem is not None and over.problem.returned
        assert over.problem.text.startswith("You logged out of Rehearsal before this was sent")
        (returned,) = [news.text for news in desk.told if isinstance(news, PromptReturned)]
        assert returned == (await desk.stored_window()).draft == "echo"
    async with world.client(resume=desk) as later:
        assert (await later.branch())[-1].barrier, "what was given back was not said"
    assert world.prompts() == [["say canary-old"]]


async def test_m08_what_waits_behind_a_turn_goes_out_below_the_logout_that_came_in_another_process_meanwhile(
    world: World,
) -> None:
    async with world.client() as desk, world.client() as other:
        await desk.window.say("say canary-old; cue go-on; say ended")
        await desk.until_told(MessageAdded, lambda news: news.message.kind is Kind.AGENT)
        await desk.window.say("echo")
        await logged_out_and_in_again(other)
        heard = desk.conversation.tenure
        assert heard is not None
        async with asyncio.timeout(10):
            while not heard.logouts.number:  # noqa: ASYNC110 - nobody is told of it before the turn is over
                await asyncio.sleep(0.01)
        assert not any(isinstance(news, TurnEnded) for news in desk.told)
        world.cue("go-on")
        await desk.until(lambda: sum(isinstance(news, TurnEnded) for news in desk.told) == 2 or None)
        texts = [row.text for row in await desk.branch() if row.kind in (Kind.SEAM, Kind.USER)]
        assert texts[1:3] == [LOGGED_OUT, "echo"]
    assert world.prompts()[1:] == [["echo"]]


async def test_m08_while_the_store_does_not_take_the_barrier_of_a_logout_no_prompt_goes_out_from_below_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(self: PromptRows, *_: object) -> Message:
        raise StoreFull(world.store)

    async with world.client() as desk, world.client() as other:
        await desk.say("say canary-old")
        with monkeypatch.context() as full:
            full.setattr(PromptRows, "add_barrier", refuse)
            await logged_out_and_in_again(other)
            await desk.until_told(Troubled, lambda news: news.problem.trouble is Trouble.STORE)
        over = await desk.say("echo")
        assert over.problem is not None and over.problem.returned
        await barrier_in(desk, desk.window_id)
        over = await desk.say("echo")
        assert over.turn is not None and over.turn.how is ContextSource.FRESH
    assert world.prompts() == [["say canary-old"], ["echo"]]


async def test_m08_a_logout_is_begun_anew_after_once_whatever_other_processes_write(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreign_conversations, "PLACE_SECONDS", 0.01)
    async with world.client() as desk, world.client() as other:
        await desk.say("say canary-old")
        await logged_out_and_in_again(desk)
        await desk.say("say new")
        await other.say("say other")
        over = await desk.say("echo")
        assert over.turn is not None and over.turn.how is ContextSource.CONTINUED
        assert [row.text for row in await desk.branch() if row.barrier] == [LOGGED_OUT]


@pytest.mark.parametrize("kind", [Kind.NOTICE, Kind.AGENT])
async def test_m08_a_turn_that_was_cut_off_or_answered_after_the_logout_is_not_gone_on_with(
    world: World, kind: Kind
) -> None:
    async with world.client() as closed:
        await closed.say("say canary-old")
        leaf = await closed.branch()
    async with world.client() as other:
        await logged_out_and_in_again(other)
        async with other.db.write() as tx:
            await say(tx, "n1", leaf[-1].id, "cut off", kind=kind, conversation=closed.conversation.id)
            await windows.advance(tx, closed.window_id, "n1")
    async with world.client(resume=closed) as desk:
        assert (await desk.branch())[-1].barrier


async def test_m08_a_fork_of_a_conversation_that_was_closed_at_the_logout_says_what_it_takes_along(
    world: World,
) -> None:
    async with world.client() as closed:
        await closed.say("say canary-old")
        old = (await closed.branch())[-1]
    async with world.client() as other:
        await logged_out_and_in_again(other)
        fork = await other.conversations.fork(closed.conversation.record, window_id=None, at=old.id)
        assert fork.price.before_logout


async def test_m08_an_open_side_question_holds_up_no_prompt_after_a_logout_elsewhere(world: World) -> None:
    async with world.client() as desk, world.client() as other:
        await desk.say("say canary-old")
        aside = await desk.conversation.asides.begin(desk.window)
        async for _ in aside.ask("say aside"):
            pass
        await logged_out_and_in_again(other)
        await barrier_in(desk, desk.window_id)

        over = await desk.say("echo")

        assert over.problem is None
        await aside.close()


async def test_m08_a_fork_in_mid_turn_holds_up_neither_a_prompt_nor_a_close_after_a_logout_elsewhere(
    world: World,
) -> None:
    async with world.client() as desk, world.client() as other:
        await desk.say("say canary-old")
        fork = await desk.conversations.fork(desk.conversation, window_id=desk.window_id)
        told: list[object] = []
        fork.conversation.subscribe(told.append)
        await fork.window.say("say x; cue go-on; say ended")
        await until(
            lambda: any(isinstance(news, MessageAdded) and news.message.kind is Kind.AGENT for news in told)
        )
        await logged_out_and_in_again(other)
        await barrier_in(desk, desk.window_id)

        assert (await desk.say("echo")).problem is None
        assert processes(world)[-1] != processes(world)[-2]
        await desk.conversations.close(desk.conversation.id)

        assert not any(isinstance(news, TurnEnded) for news in told)
        world.cue("go-on")
        await until(lambda: any(isinstance(news, TurnEnded) for news in told))


async def test_m08_every_queued_prompt_goes_out_below_the_line_of_a_logout_elsewhere(world: World) -> None:
    async with world.client() as desk, world.client() as other:
        await desk.window.say("say one; cue first; say ended")
        await desk.until_told(MessageAdded, lambda news: news.message.kind is Kind.AGENT)
        await desk.window.say("say two; cue second; say ended")
        await desk.window.say("say three")
        world.cue("first")
        await desk.until_told(MessageAdded, lambda news: news.message.text == "two")
        await logged_out_and_in_again(other)
        tenure = desk.conversation.tenure
        await until(lambda: tenure is not None and tenure.logouts.number)
        world.cue("second")

        await barrier_in(desk, desk.window_id)
        await until(lambda: len(world.prompts()) == 3)
        assert world.prompts()[2:] == [["say three"]]


async def test_m08_nothing_is_said_into_a_turn_that_still_runs_from_before_a_logout_elsewhere(
    world: World,
) -> None:
    async with world.client("--steering") as desk, world.client() as other:
        await mid_turn(desk)
        await desk.window.say("echo")
        item = (await desk.until_told(QueueChanged, lambda news: bool(news.items))).items[0]
        await logged_out_and_in_again(other)
        await has_heard(desk)

        assert not await desk.window.send_now(item.id)

        await barrier_in(desk, desk.window_id)
        await until(lambda: len(world.prompts()) == 2)
        await desk.window.wait_idle()
    begun, new = processes(world)
    assert begun != new
    assert world.requests("_session/steering") == []


async def test_m08_a_logout_while_a_conversation_is_opened_refuses_one_prompt_at_most(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.client() as closed:
        await closed.say("say canary-old")
    async with world.client() as desk:
        await desk.say("say hello")
        await until(lambda: desk.conversations._following._version is not None)  # nothing is looked at again
        load = Environment.load

        async def loaded_meanwhile(environment: Environment) -> None:
            await load(environment)
            await logged_out_and_in_again(desk)

        with monkeypatch.context() as patched:
            patched.setattr(Environment, "load", loaded_meanwhile)
            conversation = await desk.conversations.open(closed.conversation.id)
        again = Desk(desk.db, desk.conversations, conversation, closed.window_id)
        conversation.subscribe(again.hear)

        assert (await again.say("echo")).problem is not None
        assert (await barrier_in(again, again.window_id)).barrier
        assert (await again.say("echo")).problem is None
        assert not any("canary-old" in block for prompt in world.prompts()[2:] for block in prompt)


async def test_m08_a_window_that_is_opened_after_a_logout_elsewhere_begins_anew_in_another_process_in_mid_turn(
    world: World,
) -> None:
    async with world.client() as desk, world.client() as other:
        await desk.say("say canary-old")
        leaf = (await desk.stored_window()).leaf_id
        await mid_turn(desk)
        await logged_out_and_in_again(other)
        await has_heard(desk)
        beside = await another_window(desk, leaf)

        over = await beside.say("echo")
        assert over.problem is not None and over.problem.returned
        await barrier_in(beside, beside.window_id)
        over = await beside.say("echo")

        assert over.turn is not None and over.turn.how is ContextSource.FRESH
        assert desk.window.in_turn
        world.cue("go-on")
        await barrier_in(desk, desk.window_id)
        assert [row.text for row in await desk.branch()][-2:] == ["begun\n\nended", LOGGED_OUT]
    old, begun, new = processes(world)
    assert old == begun != new
    assert world.prompts()[2:] == [["echo"]]


async def test_m08_a_closed_tab_whose_turn_goes_on_at_a_logout_elsewhere_begins_anew_behind_it(
    world: World,
) -> None:
    async with world.client() as desk, world.client() as other:
        await desk.say("say canary-old")
        await mid_turn(desk)
        await desk.window.say("echo")
        desk.conversation.leave(desk.window_id)
        await logged_out_and_in_again(other)
        await has_heard(desk)
        assert desk.window_id not in desk.conversation.windows
        world.cue("go-on")

        await until(lambda: len(world.prompts()) == 3)
        await until(lambda: sum(isinstance(news, TurnEnded) for news in desk.told) == 3)
        assert desk.window_id not in desk.conversation.windows
        texts = [row.text for row in await desk.branch() if row.kind in (Kind.SEAM, Kind.USER)]
        assert texts[2:] == [LOGGED_OUT, "echo"]
    old, begun, new = processes(world)
    assert old == begun != new
    assert world.prompts()[2:] == [["echo"]]


async def test_m08_a_tab_that_was_closed_at_a_logout_elsewhere_begins_anew_when_it_is_opened_again(
    world: World,
) -> None:
    async with world.client() as desk, world.client() as other:
        await desk.say("say canary-old")
        beside = await another_window(desk, (await desk.stored_window()).leaf_id)
        assert beside.window.at_rest
        desk.conversation.leave(beside.window_id)
        await logged_out_and_in_again(other)
        await barrier_in(desk, desk.window_id)
        assert not any(
            isinstance(news, MessageAdded) and news.window_id == beside.window_id for news in desk.told
        )

        await desk.conversation.logins.begin_anew(beside.window)
        assert (await barrier_in(beside, beside.window_id)).text == LOGGED_OUT
        over = await beside.say("echo")
        assert over.turn is not None and over.turn.how is ContextSource.FRESH
    assert world.prompts() == [["say canary-old"], ["echo"]]


@pytest.mark.parametrize("opened", ["before the logout", "after it"])
async def test_m08_a_side_question_is_not_asked_of_what_was_said_before_a_logout_elsewhere(
    world: World, opened: str
) -> None:
    async with world.client() as desk, world.client() as other:
        await desk.say("say canary-old")
        if opened == "before the logout":
            aside = await desk.conversation.asides.begin(desk.window)
            assert (await answer_of(aside, "say aside")).problem is None
        await mid_turn(desk)
        prompts = len(world.prompts())
        await logged_out_and_in_again(other)
        await has_heard(desk)
        if opened == "after it":
            aside = await desk.conversation.asides.begin(desk.window)

        problem = (await answer_of(aside, "echo")).problem

        assert problem is not None and problem.startswith("You logged out of Rehearsal")
        assert len(world.prompts()) == prompts
        world.cue("go-on")
        await barrier_in(desk, desk.window_id)
        again = await desk.conversation.asides.begin(desk.window)
        assert (await answer_of(again, "echo")).problem is None
        assert len(world.prompts()) == prompts + 1 and "canary-old" not in again.text
        assert processes(world)[-1] != processes(world)[0]
        await aside.close()
        await again.close()


async def test_m08_a_prompt_whose_session_is_being_opened_at_a_logout_elsewhere_goes_out_in_another_process(
    world: World,
) -> None:
    async with world.client() as desk, world.client() as other:
        world.fail({"new": {"cue": "go-on", "times": 1}})
        await desk.window.say("echo")
        await world.heard("session/new")
        await logged_out_and_in_again(other)
        await has_heard(desk)
        world.cue("go-on")
        assert (await desk.until_told(TurnEnded)).problem is None
    (opened,) = world.requests("session/new")
    (new,) = processes(world)
    assert new != opened["pid"]


async def test_m08_a_tab_that_gets_ready_at_a_logout_elsewhere_gets_ready_in_another_process(
    world: World,
) -> None:
    async with world.client() as desk, world.client() as other:
        world.fail({"new": {"cue": "never", "times": 1}})
        ready = asyncio.ensure_future(desk.window.prepare())
        await world.heard("session/new")
        await logged_out_and_in_again(other)
        await ready
        assert desk.window.session.modes
        assert not any(isinstance(news, Troubled) for news in desk.told)
        assert (await desk.say("echo")).problem is None
    first, second = world.requests("session/new")
    assert first["pid"] != second["pid"] and processes(world) == [second["pid"]]


async def test_m08_going_back_above_a_logout_elsewhere_leaves_the_turn_alone_that_still_runs_from_before_it(
    world: World,
) -> None:
    async with world.client("--fork-at", while_idle=WhileIdle(probe=True)) as desk, world.client() as other:
        await desk.say("say canary-old")
        await desk.window.settled()
        leaf = (await desk.stored_window()).leaf_id
        await mid_turn(desk)
        await logged_out_and_in_again(other)
        await has_heard(desk)
        beside = await another_window(desk, None)
        await beside.window.go_to(leaf)
        over = await beside.say("echo")

        assert over.turn is not None and over.turn.how is ContextSource.TOLD, over.problem
        assert desk.window.in_turn
        world.cue("go-on")
        await barrier_in(desk, desk.window_id)
        assert [row.text for row in await desk.branch()][-2:] == ["begun\n\nended", LOGGED_OUT]
    old, begun, new = processes(world)
    assert old == begun != new


async def test_m08_on_the_screen_a_tab_that_is_opened_again_after_a_logout_elsewhere_begins_anew_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CATENA_REHEARSAL_HOME", str(tmp_path / "rehearsal"))
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("say canary-old")
        await person.sees("  canary-old")
        await person.idle()
        tabs = person.chat.context.tabs
        closed = await open_window(tabs.store, person.tab.conversation.id, person.tab.leaf_id)
        async with Database.open(tmp_path / "data" / "catena.db") as other, other.write() as tx:
            await note_logout(tx, agent="rehearsal", profile="")
        await person.sees("logged out")

        tab = await tabs.reopen(closed)

        assert tab is not None
        async with tabs.store.read() as reader:
            leaf = await messages.get(reader, tab.leaf_id or "")
        assert leaf is not None and leaf.barrier and leaf.text == LOGGED_OUT


async def test_m08_a_logout_clears_the_context_though_the_clock_was_set_back_before_it(world: World) -> None:
    back = timedelta()
    async with world.client(clock=lambda: utc_now() - back) as desk:
        await desk.say("say canary-old")
        back = timedelta(hours=1)
        await logged_out_and_in_again(desk)
        assert (await desk.branch())[-1].text == LOGGED_OUT
        over = await desk.say("echo")
        assert over.turn is not None and over.turn.how is ContextSource.FRESH
    async with world.client(clock=lambda: utc_now() - back, resume=desk) as desk:
        assert not (await desk.branch())[-1].barrier
        assert (await desk.say("echo")).problem is None
    assert world.prompts()[1:] == [["echo"], ["echo"]]
