"""Two things of one conversation at once: each is held at the one place where the other can come in between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from catena_acp import tasks as waits
from catena_acp.agents.running_agent import Agent
from catena_acp.continuity.conversation_events import (
    Doing,
    LeafMoved,
    MessageAdded,
    PermissionOpened,
    Renamed,
    Troubled,
    TurnEnded,
)
from catena_acp.continuity.sending.claim import Claim
from catena_acp.continuity.sending.context import SendContext
from catena_acp.continuity.sessions.environment import Environment
from catena_acp.continuity.turns.endings import Ending
from catena_acp.continuity.turns.turn import RunningTurn
from catena_acp.conversation import journal
from catena_acp.conversation.conversations.conversations import Conversations
from catena_acp.conversation.conversations.forks import ForkOperation
from catena_acp.conversation.conversations.undo import ConversationUndo, Scope
from catena_acp.conversation.live import LiveConversation
from catena_acp.conversation.prompts.queue import PromptQueue, QueuedSettings
from catena_acp.conversation.prompts.schedule import IdleWork, Sending
from catena_acp.errors import StillAtWork
from catena_acp.port.session_events import PromptBlock
from catena_acp.trouble.troubles import Trouble
from catena_store.clients import leases
from catena_store.database.database import Database, Writer
from catena_store.errors import StoreError, StoreFull
from catena_store.records import ContextSource, Kind, LinkState, Message, Owner, QueueItem, StopReason, Turn
from catena_store.windows import queue
from support.conversations.rehearsed import Desk, World, open_window
from support.storage.leases import seize_lease


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


class Gate:
    """Whoever comes first waits until it is opened."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self._open = asyncio.Event()

    async def wait(self) -> None:
        if not self.reached.is_set():
            self.reached.set()
            await self._open.wait()

    def open(self) -> None:
        self._open.set()


def held_up(monkeypatch: pytest.MonkeyPatch, place: object, name: str, *, after: bool = False) -> Gate:
    """A gate before a method, or ``after`` it."""
    true, gate = getattr(place, name), Gate()

    async def slow(*arguments: Any, **named: Any) -> Any:
        if not after:
            await gate.wait()
        result = await true(*arguments, **named)
        if after:
            await gate.wait()
        return result

    monkeypatch.setattr(place, name, slow)
    return gate


async def until(done: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not done():  # noqa: ASYNC110 - nothing tells it
            await asyncio.sleep(0)


async def waiting(desk: Desk) -> list[QueueItem]:
    async with desk.db.read() as reader:
        return await queue.items(reader, desk.window_id)


async def second_window(desk: Desk) -> str:
    window_id = await open_window(desk.db, desk.conversation.id)
    desk.conversation.window(window_id)
    return window_id


async def second_end(desk: Desk) -> TurnEnded:
    def ended() -> TurnEnded | None:
        ends = [news for news in desk.told if isinstance(news, TurnEnded)]
        return ends[1] if len(ends) > 1 else None

    return await desk.until(ended)


async def test_w16_sent_now_as_the_turn_before_it_ends_a_prompt_is_not_stopped_by_its_own_sending(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.client() as desk:
        conversation = desk.conversation
        await desk.window.say("ask One?")
        first = await desk.until_told(PermissionOpened)
        await desk.window.say("ask Two?")
        (item,) = await waiting(desk)
        gate = held_up(monkeypatch, PromptQueue, "put_first", after=True)
        sending = asyncio.ensure_future(desk.window.send_now(item.id))
        await gate.reached.wait()
        await conversation.answer(first.ask_id, "allow")
        second = await desk.until_told(PermissionOpened, lambda news: news.ask_id != first.ask_id)
        gate.open()
        await sending
        await conversation.answer(second.ask_id, "allow")
        await desk.window.wait_idle()
        assert [turn.stop_reason for turn in await desk.turns()] == [StopReason.END_TURN] * 2


async def test_w16_what_is_let_go_while_the_leaf_moves_is_sent_after_that(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.client() as desk:
        conversation = desk.conversation
        await desk.window.say("ask One?; error -32603 no")
        asked = await desk.until_told(PermissionOpened)
        await desk.window.say("say two")
        await conversation.answer(asked.ask_id, "allow")
        await desk.window.wait_idle()
        assert [item.held for item in await waiting(desk)] == [True]
        gate = held_up(monkeypatch, LiveConversation, "settle")
        going = asyncio.ensure_future(desk.window.go_to((await desk.stored_window()).leaf_id))
        await gate.reached.wait()
        await desk.window.send_queued()
        gate.open()
        await going
        await desk.window.wait_idle()
        assert await waiting(desk) == []
        assert (await desk.branch())[-1].text == "two"


async def test_w16_a_stop_after_the_end_of_a_turn_holds_what_waits_and_none_of_it_stays_unsent(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.client() as desk:
        gate = held_up(monkeypatch, QueuedSettings, "switch_back")
        await desk.window.say("say one")
        await gate.reached.wait()
        await desk.window.say("say two")
        await desk.window.stop()
        gate.open()
        await desk.window.wait_idle()
        assert [item.held for item in await waiting(desk)] == [True]
        await desk.window.send_queued()
        assert (await second_end(desk)).problem is None
        await desk.window.wait_idle()
        assert await waiting(desk) == []


async def test_e02_an_edit_that_is_asked_for_while_the_window_goes_elsewhere_comes_after_that(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.client() as desk:
        conversation = desk.conversation
        await desk.say("say one")
        await desk.say("say two")
        rows = await desk.branch()
        edited = [row for row in rows if row.kind is Kind.USER][1]
        answer = next(row for row in rows if row.kind is Kind.AGENT)
        window = desk.window
        gate = held_up(monkeypatch, LiveConversation, "settle")
        going = asyncio.ensure_future(desk.window.go_to(answer.id))
        await gate.reached.wait()
        editing = asyncio.ensure_future(desk.window.edit(edited.id, "ask Three?"))
        # It waits for the other, or, where it does not, it is answered already.
        await until(
            lambda: bool(window._schedule.waiting) or any(isinstance(n, PermissionOpened) for n in desk.told)
        )
        gate.open()
        await asyncio.gather(going, editing)
        asked = await desk.until_told(PermissionOpened)
        running = (await desk.turns())[-1]
        assert (await desk.stored_window()).leaf_id == running.last_id
        await conversation.answer(asked.ask_id, "allow")
        await desk.window.wait_idle()
        assert [row.text for row in await desk.branch() if row.kind is Kind.USER] == ["say one", "ask Three?"]


async def test_r14_a_clear_does_not_come_between_a_prompt_that_is_being_opened_and_its_answer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.client() as desk:
        gate = held_up(monkeypatch, Agent, "new_session")
        await desk.window.say("say one")
        await gate.reached.wait()
        with pytest.raises(StillAtWork):
            await desk.window.clear()
        gate.open()
        await desk.window.wait_idle()
        assert [row.text for row in await desk.branch()] == ["say one", "one"]
        await desk.window.clear()
        assert (await desk.branch())[-1].barrier


async def test_k04_an_edit_stops_the_turn_though_a_rewind_waits_for_the_end_of_it(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        await desk.window.say("ask Two?")
        await desk.until_told(PermissionOpened)
        prompt = [row for row in await desk.branch() if row.kind is Kind.USER][-1]
        order: list[str] = []

        async def later() -> None:
            order.append("later")

        rewinding = asyncio.ensure_future(desk.window.run_exclusively(later, wait=True))
        await until(lambda: desk.window._schedule.waiting == 1)
        await desk.window.edit(prompt.id, "say three")
        await rewinding
        await desk.window.wait_idle()
        assert order == ["later"]
        assert [turn.stop_reason for turn in await desk.turns()][1:] == [
            StopReason.CANCELLED,
            StopReason.END_TURN,
        ]


async def test_f01_a_window_that_was_forked_in_place_is_not_taken_back_by_a_move_that_began_before(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.client() as desk:
        conversation, window_id = desk.conversation, desk.window_id
        await desk.say("say one")
        leaf = (await desk.branch())[1].id
        await desk.say("say two")
        show = held_up(monkeypatch, ForkOperation, "_show")
        forking = asyncio.ensure_future(
            desk.conversations.fork(conversation, window_id=window_id, side_by_side=False)
        )
        await show.reached.wait()
        gate = held_up(monkeypatch, LiveConversation, "settle")
        going = asyncio.ensure_future(desk.window.go_to(leaf))
        await gate.reached.wait()
        show.open()
        forked = await forking
        gate.open()
        with pytest.raises(StoreError, match="now shows another conversation"):
            await going
        assert (await desk.stored_window()).conversation_id == forked.conversation.id


async def test_r06_who_has_logged_in_does_not_end_the_agent_under_a_prompt_that_is_being_opened(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.client() as desk:
        conversation = desk.conversation
        other = await second_window(desk)
        gate = held_up(monkeypatch, Agent, "new_session")
        await desk.window.say("say one")
        await gate.reached.wait()
        await conversation.logins.logged_in(conversation.window(other))
        gate.open()
        over = await desk.until_told(TurnEnded)
        assert over.problem is None
        assert (await desk.say("echo")).problem is None
        assert "all=say one|echo" in (await desk.branch())[-1].text
    assert len([entry for entry in world.requests() if entry.get("event") == "start"]) == 2


async def test_r07_a_load_that_was_given_up_is_waited_for_and_not_begun_twice(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
    world.fail({"load": {"cue": "go-on", "times": 1}})
    async with world.client(resume=desk) as again:
        await again.window.say("say two")
        await world.heard("session/load")
        await again.window.stop()
        await again.until_told(TurnEnded)
        await again.window.say("echo")
        world.cue("go-on")
        over = await second_end(again)
        await again.window.wait_idle()
        assert over.turn is not None and over.turn.how is ContextSource.RESUMED
        texts = [row.text for row in await again.branch() if row.kind in (Kind.USER, Kind.AGENT)]
        assert texts[:3] == ["say one", "one", "echo"] and "users=2" in texts[3] and len(texts) == 4
    assert len(world.requests("session/load")) == 1


async def test_s05_the_end_of_a_turn_that_the_store_did_not_take_is_kept_above_what_is_said_next(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.client() as desk:
        refusals = [StoreFull(world.store)]
        monkeypatch.setattr(waits, "_PAUSES", ())
        end = RunningTurn.end

        async def once_refused(running: RunningTurn, ending: Ending) -> tuple[Turn, Message | None]:
            if refusals:
                raise refusals.pop()
            return await end(running, ending)

        monkeypatch.setattr(RunningTurn, "end", once_refused)
        over = await desk.say("say half; error -32603 it broke")
        assert over.problem is not None and over.problem.trouble is Trouble.STORE
        await desk.say("say on")
        rows = [row for row in await desk.branch() if row.kind is not Kind.SEAM]
        kinds = [Kind.USER, Kind.AGENT, Kind.NOTICE, Kind.USER, Kind.AGENT]
        assert [row.kind for row in rows] == kinds and "it broke" in rows[2].text


async def test_r08_a_retry_that_comes_while_the_queue_is_looked_into_is_not_forgotten(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.client() as desk:
        gate = held_up(monkeypatch, PromptQueue, "take_next")
        await desk.window.say("say one")
        await desk.until_told(TurnEnded)
        await gate.reached.wait()
        await desk.window.retry()
        gate.open()
        await second_end(desk)
        assert [prompt[-1] for prompt in world.prompts()] == ["say one", "say one"]


async def test_r08_a_stop_also_gives_up_the_retry_that_waits_for_the_look_into_the_queue(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.client() as desk:
        gate = held_up(monkeypatch, QueuedSettings, "switch_back")
        await desk.window.say("say one")
        await gate.reached.wait()
        await desk.window.retry()
        await desk.window.stop()
        gate.open()
        await desk.window.wait_idle()
        await desk.say("say two")
        assert [prompt[-1] for prompt in world.prompts()] == ["say one", "say two"]


async def test_s05_a_full_store_is_told_of_once_though_a_prompt_waits_behind_the_end_it_did_not_take(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.client() as desk:
        conversation = desk.conversation
        monkeypatch.setattr(waits, "_PAUSES", ())
        await desk.window.say("ask One?")
        asked = await desk.until_told(PermissionOpened)
        await desk.window.say("say two")
        tries = 0
        end = RunningTurn.end

        async def full(running: RunningTurn, ending: Ending) -> tuple[Turn, Message | None]:
            nonlocal tries
            tries += 1
            if tries > 5:  # tried again and again by itself, it would be for ever
                return await end(running, ending)
            raise StoreFull(world.store)

        async def not_held(tx: Writer, window: str) -> None:
            raise StoreFull(world.store)

        with monkeypatch.context() as while_full:
            while_full.setattr(RunningTurn, "end", full)
            while_full.setattr(queue, "hold", not_held)
            await conversation.answer(asked.ask_id, "allow")
            await desk.until_told(Troubled)
            for _ in range(100):  # steps in which it would be tried on and on
                await asyncio.sleep(0)
        assert tries == 2 and len(await waiting(desk)) == 1
        await desk.window.send_queued()
        await desk.window.wait_idle()
        assert (await desk.branch())[-1].text == "two"


async def test_r16_an_end_that_the_store_did_not_take_does_not_keep_a_conversation_from_being_taken_over(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.client() as desk:
        conversation = desk.conversation
        refusals = [StoreFull(world.store)]
        monkeypatch.setattr(waits, "_PAUSES", ())
        end = RunningTurn.end

        async def once_refused(running: RunningTurn, ending: Ending) -> tuple[Turn, Message | None]:
            if refusals:
                raise refusals.pop()
            return await end(running, ending)

        monkeypatch.setattr(RunningTurn, "end", once_refused)
        await desk.say("say one")
        async with desk.db.write() as tx:
            await seize_lease(tx, conversation.id, Owner("another", "elsewhere", 1, ""))
        conversation.lose()
        async with desk.db.write() as tx:
            await leases.release(tx, conversation.id, "another")
        assert (await desk.say("say two")).problem is None
        assert not conversation.read_only


async def test_w17_an_agent_that_is_chosen_while_another_is_got_ready_is_the_one_that_is_shown(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    understudy = world.spec(name="understudy")
    async with world.client(specs={"understudy": understudy}) as desk:
        gate = held_up(monkeypatch, Agent, "new_session")
        preparing = asyncio.ensure_future(desk.window.prepare())
        await gate.reached.wait()
        await desk.window.set_agent(understudy)
        gate.open()
        await preparing
        shown = desk.window.session
        assert shown.agent_title == "Understudy" and shown.link_id is not None


async def test_f01_conversations_of_a_family_share_their_sessions_though_one_is_closed_as_another_opens(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        gate = held_up(monkeypatch, Environment, "load")
        forking = asyncio.ensure_future(
            desk.conversations.fork(desk.conversation, window_id=desk.window_id, side_by_side=True)
        )
        await gate.reached.wait()
        desk.conversation.leave(desk.window_id)
        await desk.conversations.close(desk.conversation.id)
        gate.open()
        forked = await forking
        source = await desk.conversations.open(desk.conversation.id)
        assert source.sessions is forked.conversation.sessions


async def test_w15_a_directory_that_is_added_while_a_session_opens_is_given_to_it_with_the_next_prompt(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.client() as desk:
        more = world.place / "more"
        more.mkdir()
        gate = held_up(monkeypatch, Agent, "new_session")
        await desk.window.say("say one")
        await gate.reached.wait()
        await desk.conversation.add_directory(str(more))
        gate.open()
        await desk.until_told(TurnEnded)
        await desk.window.wait_idle()
        over = await desk.say("say two")
        assert over.turn is not None and over.turn.how is ContextSource.RESUMED
    (load,) = world.requests("session/load")
    assert load["params"]["additionalDirectories"] == [str(more)]


async def test_r13_a_turn_that_begins_while_its_conversation_is_closed_is_stopped_upstream(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.client("--no-close") as desk:
        conversation = desk.conversation
        await desk.say("say one")
        await desk.conversations.fork(conversation, window_id=desk.window_id)  # it keeps the agent running
        opening = held_up(monkeypatch, SendContext, "open_session_of")
        await desk.window.say("say busy; hang")
        await opening.reached.wait()
        ending = held_up(monkeypatch, IdleWork, "close")
        closing = asyncio.ensure_future(desk.conversations.close(conversation.id))
        await ending.reached.wait()
        opening.open()
        await world.heard("session/prompt", 2)
        ending.open()
        await closing
        await world.heard("session/cancel")


async def test_r13_no_agent_is_started_for_a_tab_that_was_closed_before_its_session_was_opened(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.client() as desk:
        gate = held_up(monkeypatch, Environment, "remark_changes")
        preparing = asyncio.ensure_future(desk.window.prepare())
        await gate.reached.wait()
        desk.conversation.leave(desk.window_id)
        await desk.conversations.close(desk.conversation.id)
        gate.open()
        await preparing
    assert world.requests() == []


async def test_r13_no_agent_is_started_for_a_fork_that_is_being_made_when_the_client_ends(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        gate = held_up(monkeypatch, SendContext, "agent")
        forking = asyncio.ensure_future(desk.conversations.fork(desk.conversation, window_id=desk.window_id))
        await gate.reached.wait()
    gate.open()
    with pytest.raises(StoreError):  # what it left cannot be cleared away either
        await forking
    assert len([entry for entry in world.requests() if entry.get("event") == "start"]) == 1


async def test_r12_what_is_said_while_its_conversation_is_closed_is_the_draft_again_and_goes_nowhere(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        gate = held_up(monkeypatch, LiveConversation, "close")
        closing = asyncio.ensure_future(desk.conversations.close(desk.conversation.id))
        await gate.reached.wait()
        await desk.window.say("say too late")
        await second_end(desk)
        gate.open()
        await closing
        assert (await desk.stored_window()).draft == "say too late"
    assert world.prompts() == [["say one"]]


async def test_r11_a_stop_does_not_wait_for_ever_where_the_turn_is_cut_off_before_its_text_is_out(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.client() as desk:
        stopping: list[asyncio.Future[None]] = []
        true = RunningTurn.run

        async def cut_off(self: RunningTurn, blocks: list[PromptBlock]) -> Any:
            stopping.append(asyncio.ensure_future(self.stop()))
            way = desk.window._schedule.state
            assert isinstance(way, Sending)
            asyncio.get_running_loop().call_soon(way.consumer.cancel)
            return await true(self, blocks)

        monkeypatch.setattr(RunningTurn, "run", cut_off)
        await desk.window.say("say one")
        await desk.until_told(TurnEnded)
        async with asyncio.timeout(60):
            await stopping[0]


async def test_h08_a_name_that_the_person_is_just_giving_is_not_replaced_by_the_agents_first_title(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.client() as desk:
        conversation = desk.conversation
        await desk.window.say("ask One?; title Of the agent")
        asked = await desk.until_told(PermissionOpened)
        gate = held_up(monkeypatch, journal, "rename")  # in its transaction, so that others wait for it
        renaming = asyncio.ensure_future(conversation.rename("Of the person", by=desk.window_id))
        await gate.reached.wait()
        await conversation.answer(asked.ask_id, "allow")
        await until(lambda: bool(conversation._tasks))
        gate.open()
        await renaming
        await desk.window.wait_idle()
        await until(lambda: not conversation._tasks)
        assert conversation.record.title == "Of the person"


async def test_m06_a_window_that_is_opened_again_in_mid_turn_has_that_turn_and_what_is_said_waits(
    world: World,
) -> None:
    async with world.client() as desk:
        conversation, window_id = desk.conversation, desk.window_id
        await second_window(desk)
        await desk.window.say("ask One?")
        asked = await desk.until_told(PermissionOpened)
        conversation.leave(window_id)
        window = conversation.window(window_id)
        assert window.doing is Doing.ASKING
        await window.say("echo")
        assert [item.text for item in await waiting(desk)] == ["echo"]
        await conversation.answer(asked.ask_id, "allow")
        await desk.window.wait_idle()
        assert "users=2" in (await desk.branch())[-1].text
        assert len(await desk.links()) == 1


async def test_m06_a_tab_that_is_opened_while_something_of_its_conversation_is_undone_stays_and_shows_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.client() as desk:
        window_id = desk.window_id
        await desk.say("say one")
        await desk.conversation.rename("Another name", by=window_id)
        desk.conversation.leave(window_id)
        await desk.conversations.close(desk.conversation.id)
        title = desk.conversation.record.title
        gate = held_up(monkeypatch, Conversations, "reload")
        undoing = asyncio.ensure_future(
            ConversationUndo(desk.db, desk.conversations).undo(Scope(window_id, None))
        )
        await gate.reached.wait()
        desk.conversation = await desk.conversations.open(desk.conversation.id)
        desk.conversation.window(window_id)
        desk.conversation.subscribe(desk.hear)
        gate.open()
        assert await undoing is not None
        assert desk.conversation.record.title != title
        assert (await desk.say("echo")).problem is None
        assert "users=2" in (await desk.branch())[-1].text


async def test_f11_a_session_that_another_conversation_opened_to_fork_it_is_not_closed_under_a_prompt(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.client("--no-cold-fork") as desk:
        await desk.say("say one")
    async with world.client("--no-cold-fork", resume=desk) as again:
        forked = await again.conversations.fork(again.conversation, window_id=again.window_id)
        gate = held_up(monkeypatch, Claim, "take")
        await again.window.say("echo")
        await gate.reached.wait()
        forked.conversation.leave(forked.window.id)
        await again.conversations.close(forked.conversation.id)
        gate.open()
        over = await again.until_told(TurnEnded)
        await again.window.wait_idle()
        assert over.turn is not None and over.turn.how is ContextSource.RESUMED
        assert [link.state for link in await again.links()] == [LinkState.OPEN]


async def test_r16_a_turn_of_before_does_not_take_away_a_conversation_that_was_taken_over_again(
    world: World,
) -> None:
    async with world.client() as desk:
        conversation = desk.conversation
        await desk.window.say("say busy; hang hard")
        await desk.until_told(MessageAdded, lambda news: news.message.kind is Kind.AGENT)
        async with desk.db.write() as tx:
            await seize_lease(tx, conversation.id, Owner("another", "elsewhere", 1, ""))
        conversation.lose()
        assert conversation.read_only
        async with desk.db.write() as tx:
            await leases.release(tx, conversation.id, "another")
        await conversation.window(await second_window(desk)).take_over()
        await desk.window.kill_agent()
        await desk.until_told(TurnEnded)
        assert not conversation.read_only


async def test_r16_where_the_person_goes_elsewhere_during_a_look_nothing_of_the_other_branch_is_told(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        first_answer = (await desk.branch())[1].id
        await desk.say("say two")
        async with world.client(resume=desk) as second:
            second.window_id = await open_window(
                second.db, second.conversation.id, (await desk.stored_window()).leaf_id
            )
            second.conversation.window(second.window_id)
            await desk.say("say three")
            await second.until_told(
                MessageAdded, lambda news: news.window_id == second.window_id and news.message.text == "three"
            )
            gate = first_write_held(monkeypatch, second.db)  # the next one is that of a look
            await desk.say("say four")
            await gate.reached.wait()
            await second.window.go_to(first_answer)
            gate.open()
            await desk.conversation.rename("The end")
            await second.until_told(
                Renamed, lambda news: news.window_id == second.window_id and news.title == "The end"
            )
            mine = [news for news in second.told if news.window_id == second.window_id]
            moved = next(
                at for at, news in enumerate(mine) if news == LeafMoved(second.window_id, first_answer)
            )
            assert not [news for news in mine[moved:] if isinstance(news, MessageAdded)]
            assert (await second.stored_window()).leaf_id == first_answer


def first_write_held(monkeypatch: pytest.MonkeyPatch, db: Database) -> Gate:
    true, gate = db.write, Gate()

    @asynccontextmanager
    async def write() -> AsyncIterator[Writer]:
        await gate.wait()
        async with true() as tx:
            yield tx

    monkeypatch.setattr(db, "write", write)
    return gate


async def test_h02_a_search_that_is_given_up_as_it_begins_does_not_break_the_next_one(tmp_path: Path) -> None:
    for steps in range(8):
        async with Database.open(tmp_path / f"{steps}.db") as db:

            async def look(db: Database = db) -> list[tuple[Any, ...]]:
                async with db.read_concurrently() as reader:
                    return await reader.all("SELECT 1")

            first = asyncio.ensure_future(look())
            for _ in range(steps):
                await asyncio.sleep(0)
            first.cancel()
            await asyncio.wait({first})
            assert await look() == [(1,)]
