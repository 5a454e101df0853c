"""Corners in which a conversation could lose its way, with real agent processes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from catena_acp.agents.agent import start_agent
from catena_acp.continuity.conversation_events import (
    Doing,
    DoingChanged,
    MessageAdded,
    PermissionOpened,
    PromptReturned,
    Troubled,
    TurnEnded,
)
from catena_acp.continuity.sending.claim import Claim
from catena_acp.continuity.services import Printed
from catena_acp.continuity.sessions.agent_pool import Agents
from catena_acp.continuity.sessions.sessions import LiveSession
from catena_acp.continuity.turns.turn import RunningTurn
from catena_acp.conversation.prompts.overdue import Overdue
from catena_acp.conversation.prompts.rows import Attempt
from catena_acp.conversation.recovery import foreign_conversations
from catena_acp.errors import AgentGone, AgentRefused
from catena_acp.port.port import AgentPort, AgentSpec
from catena_acp.trouble.troubles import Trouble
from catena_store.clients import leases
from catena_store.database.database import Reader
from catena_store.errors import StoreBusy
from catena_store.records import Attachment, ContextSource, Kind, QueueItem, StopReason
from catena_store.windows import attachments, queue, windows
from support.clients.protocol import until
from support.conversations.rehearsed import Desk, World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def pages(desk: Desk, limit: int | None) -> None:
    """Let the store grow by at most so many pages from here; None: as it likes."""
    async with desk.db.read() as reader:
        (now,) = await reader.one("PRAGMA page_count") or (0,)
        await reader.all(f"PRAGMA max_page_count = {now + limit if limit is not None else 2**30}")


async def test_s05_a_disk_that_fills_in_mid_turn_stops_the_agent_and_loses_nothing_once_there_is_room(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.window.say("say begun; cue go-on; stream 3000 rate 3000; hang")
        await desk.until_told(MessageAdded, lambda news: news.message.text == "begun")
        await pages(desk, 0)
        world.cue("go-on")
        await world.heard("session/cancel")
        await pages(desk, None)
        over = await desk.until_told(TurnEnded, lambda news: news.problem is not None)
        assert over.turn is not None and over.turn.stop_reason is StopReason.ERROR
        assert "cannot be saved" in (over.turn.error or "")
        shown = next(row for row in reversed(await desk.branch()) if row.kind is Kind.AGENT)
        assert len(shown.text) > 0
        await desk.window.wait_idle()
        after = await desk.say("echo")
        assert after.turn is not None and after.turn.stop_reason is StopReason.END_TURN
        assert all(turn.stop_reason for turn in await desk.turns())


def _methods(world: World) -> list[str]:
    return [str(entry.get("method")) for entry in world.requests()]


@pytest.mark.parametrize("command", ["/clear", "/new", "/reset", " /clear "])
async def test_r14_no_agent_ever_hears_a_command_to_forget(world: World, command: str) -> None:
    async with world.client() as desk:
        await desk.say("say canary-old")
        await desk.say(command)
        over = await desk.say("echo")
        assert over.turn is not None and over.turn.how is ContextSource.FRESH
        assert sum(row.barrier for row in await desk.branch()) == 1
    assert world.prompts() == [["say canary-old"], ["echo"]]


async def test_late_text_after_a_turn_that_was_cut_stays_on_the_branch_and_the_session_is_kept(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.say("between cue later; maxtokens")
        world.cue("later")
        late = await desk.until_told(
            MessageAdded, lambda news: news.message.kind is Kind.AGENT and news.message.turn_id is None
        )
        assert (await desk.branch())[-1].id == late.message.id
        over = await desk.say("echo")
        assert over.turn is not None and over.turn.how is not ContextSource.TOLD
        assert len(await desk.links()) == 1


async def test_one_message_that_comes_in_pieces_between_turns_is_one_row(world: World) -> None:
    async with world.client() as desk:
        await desk.say("late")
        await asyncio.wait_for(desk.window.wait_idle(), 60)
        await desk.until(lambda: True if len(_agent_rows(desk)) > 0 else None)
        assert len(_agent_rows(desk)) <= 2


def _agent_rows(desk: Desk) -> list[str]:
    added = (news.message for news in desk.told if isinstance(news, MessageAdded))
    return [message.text for message in added if message.kind is Kind.AGENT]


async def test_a_retry_asked_for_twice_at_once_is_one_retry(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        await asyncio.gather(*(desk.window.retry() for _ in range(3)))
        await desk.window.wait_idle()
        assert len(world.prompts()) == 2
        assert [turn.stop_reason for turn in await desk.turns()] == [StopReason.END_TURN] * 2


async def test_a_retry_that_no_agent_takes_leaves_the_earlier_answer_where_it_was(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        before = [row.id for row in await desk.branch()]
        world.fail({"any": {"error": [-32603, "Internal error"]}})
        at = len(desk.told)
        await desk.window.retry()
        await desk.until(lambda: next((n for n in desk.told[at:] if isinstance(n, TurnEnded)), None))
        assert [row.id for row in await desk.branch()] == before
        assert (await desk.stored_window()).draft == ""


async def test_a_conversation_opened_while_it_is_being_closed_can_be_written(world: World) -> None:
    async with world.client("--stubborn") as desk:
        await desk.say("say one")
        closing = asyncio.ensure_future(desk.conversations.close(desk.conversation.id))
        await asyncio.sleep(0)
        again = await desk.conversations.open(desk.conversation.id)
        await closing
        assert not again.read_only
        assert again is await desk.conversations.open(desk.conversation.id)


async def test_p05_a_prompt_said_again_after_a_refusal_is_the_same_row_and_needs_no_telling(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        world.fail({"prompt": {"error": [-32602, "Image too large"]}})
        over = await desk.say("echo")
        assert over.turn is None
        world.fail({})
        over = await desk.say("echo")
        assert over.turn is not None and over.turn.how in (ContextSource.CONTINUED, ContextSource.RESUMED)
        assert over.turn.told == 0
        assert [row.text for row in await desk.branch() if row.kind is Kind.USER] == ["say one", "echo"]


async def test_p05_a_path_is_no_command_and_goes_out_with_its_prior_context(world: World) -> None:
    async with world.client("--no-fork") as desk:
        await desk.say("say one")
        world.fail({"load": {"error": [-32002, "Resource not found"]}})
        await desk.say("crash")
        over = await desk.say("/etc/hosts has a wrong line, please look")
        assert over.turn is not None and over.turn.how is ContextSource.TOLD


async def test_p05_an_agents_own_command_is_held_back_where_it_would_travel_with_prior_context(
    world: World,
) -> None:
    async with world.client("--no-fork") as desk:
        await desk.say("say one")
        world.fail({"load": {"error": [-32002, "Resource not found"]}})
        await desk.say("crash")
        over = await desk.say("/markdown")
        assert over.turn is None and over.problem is not None
        assert over.problem.trouble is Trouble.NO_CARRIER
        assert (await desk.stored_window()).draft == "/markdown"


async def test_w02_a_new_session_comes_back_in_the_mode_and_with_the_model_of_the_one_before(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.window.prepare()
        await desk.window.set_mode("plan")
        await desk.window.set_option("model", "chorus")
        await desk.say("say one")
        world.fail({"load": {"error": [-32002, "Resource not found"]}})
        await desk.say("crash")
        await desk.say("say two")
        state = desk.window.session
        assert (state.mode, state.model) == ("plan", "Chorus")
        assert not any(isinstance(news, Troubled) for news in desk.told)


async def test_a_load_that_was_given_up_never_comes_back_as_new_messages(world: World) -> None:
    async with world.client("--no-resume") as desk:
        await desk.say("say one")
        await desk.say("say two")
    world.fail({"load": {"cue": "go-on", "times": 1}})
    async with world.client("--no-resume", resume=desk) as again:
        await again.window.say("say three")
        await world.heard("session/load")
        await again.window.stop()
        await again.until_told(TurnEnded)
        world.cue("go-on")
        await again.say("echo")
        texts = [row.text for row in await again.branch() if row.kind is Kind.USER]
        assert texts == ["say one", "say two", "echo"]


async def test_r07_a_session_that_lost_all_but_its_last_of_many_equal_turns_is_found_out(
    world: World,
) -> None:
    async with world.client() as desk:
        for _ in range(4):
            await desk.say("say ok")
    world.fail({"load": {"last": 1}})
    async with world.client(resume=desk) as again:
        over = await again.say("echo")
        assert over.turn is not None and over.turn.how is ContextSource.TOLD


async def test_w01_switching_the_agent_in_mid_turn_leaves_its_question_open(world: World) -> None:
    async with world.client(specs={"other": world.spec(name="other")}) as desk:
        await desk.window.say("cue go-on; ask")
        await desk.until_told(DoingChanged, lambda news: news.doing is Doing.WORKING)
        await desk.window.set_agent(world.spec(name="other"))
        world.cue("go-on")
        asked = await desk.until_told(PermissionOpened)
        await desk.conversation.answer(asked.ask_id, "yes")
        over = await desk.until_told(TurnEnded)
        assert over.turn is not None and over.turn.stop_reason is StopReason.END_TURN


async def test_r11_stopped_twice_while_its_session_is_claimed_a_prompt_comes_back_and_no_turn_stays_open(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    claimed, go_on = asyncio.Event(), asyncio.Event()
    take = Claim.take

    async def slowly(claim: Claim, live: LiveSession, agent: AgentPort) -> RunningTurn | None:
        running = await take(claim, live, agent)
        claimed.set()
        await go_on.wait()
        return running

    async with world.client() as desk:
        await desk.say("say one")
        monkeypatch.setattr(Claim, "take", slowly)
        await desk.window.say("say two")
        await claimed.wait()
        for _ in range(2):
            await desk.window.stop()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        go_on.set()
        await desk.window.wait_idle()
        assert all(turn.stop_reason for turn in await desk.turns())
        assert (await desk.stored_window()).draft == "say two"
        assert sum(isinstance(news, TurnEnded) for news in desk.told) == 2
    assert world.prompts() == [["say one"]]


async def test_r11_stopped_while_the_turn_before_is_still_being_closed_a_prompt_comes_back(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    closing, go_on = asyncio.Event(), asyncio.Event()

    async def slowly(_: Overdue) -> None:
        closing.set()
        await go_on.wait()

    async with world.client() as desk:
        await desk.say("say one")
        monkeypatch.setattr(Overdue, "write", slowly)
        saying = asyncio.ensure_future(desk.window.say("say two"))
        await closing.wait()
        await desk.window.stop()
        await asyncio.sleep(0)
        go_on.set()
        await saying
        await desk.window.wait_idle()
        assert (await desk.stored_window()).draft == "say two"
        assert any(isinstance(news, PromptReturned) for news in desk.told)
    assert world.prompts() == [["say one"]]


async def test_s05_a_store_that_fails_between_the_claim_and_the_prompt_gives_the_text_back(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_message, failures = attachments.of_message, [StoreBusy(world.store)]

    async def once(reader: Reader, message_id: str) -> list[Attachment]:
        if failures:
            raise failures.pop()
        return await of_message(reader, message_id)

    async with world.client() as desk:
        await desk.say("say one")
        monkeypatch.setattr(attachments, "of_message", once)
        over = await desk.say("say two")
        assert over.problem is not None
        assert (over.problem.trouble, over.problem.returned) == (Trouble.STORE, True)
        assert all(turn.stop_reason for turn in await desk.turns())
        assert (await desk.stored_window()).draft == "say two"
        again = await desk.say("say two")
        assert again.turn is not None and again.turn.how is ContextSource.CONTINUED
    assert world.prompts() == [["say one"], ["say two"]]


@pytest.mark.parametrize("locked", ["for a moment", "for long"])
async def test_s05_a_prompt_that_was_refused_at_once_survives_a_store_that_is_locked(
    world: World, monkeypatch: pytest.MonkeyPatch, locked: str
) -> None:
    mark, tries = RunningTurn.mark_not_sent, 0

    async def failing(self: RunningTurn, error: AgentRefused, *, unheard: bool) -> None:
        nonlocal tries
        tries += 1
        if locked == "for long" or tries == 1:
            raise StoreBusy(world.store)
        await mark(self, error, unheard=unheard)

    monkeypatch.setattr("catena_acp.tasks._PAUSES", (0.0, 0.0))
    async with world.client() as desk:
        await desk.say("say one")
        monkeypatch.setattr(RunningTurn, "mark_not_sent", failing)
        world.fail({"prompt": {"error": [-32603, "no"], "times": 1}})
        over = await desk.say("say two")
        turns = await desk.turns()
        assert all(turn.stop_reason for turn in turns)
        assert [turn.stop_reason for turn in turns][1] is StopReason.NOT_SENT
        if locked == "for a moment":
            assert over.problem is None and len(turns) == 3
        else:
            assert over.problem is not None and over.problem.trouble is Trouble.STORE
            assert over.problem.returned and (await desk.stored_window()).draft == "say two"
            assert tries == 3


async def test_s05_a_turn_that_cannot_be_kept_ends_though_its_agent_is_gone_before_it_can_be_stopped(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.client() as desk:
        await desk.window.say("say begun; cue go-on; stream 3000 rate 3000; hang")
        await desk.until_told(MessageAdded, lambda news: news.message.text == "begun")
        agent = next(iter(desk.conversation.sessions)).agent

        async def too_late(session_id: str) -> None:
            await agent.stop()
            await pages(desk, None)
            raise AgentGone(-9)

        monkeypatch.setattr(agent, "cancel", too_late)
        await pages(desk, 0)
        world.cue("go-on")
        over = await desk.until_told(TurnEnded)
        assert over.turn is not None and over.turn.stop_reason in (StopReason.ERROR, StopReason.AGENT_GONE)
        await desk.window.wait_idle()
        assert all(turn.stop_reason for turn in await desk.turns())


@pytest.mark.parametrize("fails_while", ["it is put there", "it is taken out"])
async def test_s05_a_queue_that_cannot_be_read_for_a_moment_loses_no_prompt_and_sends_none_twice(
    world: World, monkeypatch: pytest.MonkeyPatch, fails_while: str
) -> None:
    async def locked(*_: object) -> list[QueueItem]:
        raise StoreBusy(world.store)

    async with world.client() as desk:
        await desk.window.say("say begun; cue go-on; say ended")
        await desk.until_told(MessageAdded, lambda news: news.message.text == "begun")
        if fails_while == "it is taken out":
            await desk.window.say("say two")
        monkeypatch.setattr(queue, "items", locked)
        if fails_while == "it is put there":
            await desk.window.say("say two")
        world.cue("go-on")
        await desk.window.wait_idle()
        assert sum(isinstance(news, TurnEnded) for news in desk.told) == 2
    assert world.prompts() == [["say begun; cue go-on; say ended"], ["say two"]]


async def test_r16_an_agent_that_was_just_starting_when_its_conversation_was_closed_is_ended(
    world: World,
) -> None:
    begun, started = asyncio.Event(), list[AgentPort]()

    async def start(spec: AgentSpec, cwd: str, printed: Printed) -> AgentPort:
        begun.set()
        started.append(await start_agent(spec, cwd=cwd, client_version="test"))
        return started[0]

    agents = Agents(start)
    running = asyncio.ensure_future(
        agents.running(world.spec(), "family", str(world.project), lambda _: None)
    )
    await begun.wait()
    await agents.end_family("family")
    with pytest.raises(AgentGone):
        await running
    assert not started[0].alive


async def test_m08_an_agent_that_was_just_starting_when_its_account_was_logged_out_of_is_started_anew(
    world: World,
) -> None:
    begun, goes_on, started = asyncio.Event(), asyncio.Event(), list[AgentPort]()

    async def start(spec: AgentSpec, cwd: str, printed: Printed) -> AgentPort:
        begun.set()
        await goes_on.wait()
        started.append(await start_agent(spec, cwd=cwd, client_version="test"))
        return started[-1]

    def running() -> asyncio.Future[AgentPort]:
        asked = agents.running(world.spec(), "family", str(world.project), lambda _: None)
        return asyncio.ensure_future(asked)

    agents = Agents(start)
    asked = [running(), running()]
    await begun.wait()
    agents.retire(("rehearsal", ""), "family")
    goes_on.set()
    first, second = await asyncio.gather(*asked)
    assert started == [started[0], first] and first is second and first.alive and not started[0].alive
    await agents.end_all()


async def test_s09_the_process_of_a_family_is_noted_for_who_takes_over_though_a_conversation_of_it_is_closed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_agents, closings = leases.set_agents, list[asyncio.Future[None]]()
    monkeypatch.setattr(foreign_conversations, "PLACE_SECONDS", 3600.0)  # it is not looked at meanwhile
    async with world.client() as desk:
        fork = await desk.conversations.fork(desk.conversation, window_id=None)

        async def closed_meanwhile(*arguments: Any) -> None:
            monkeypatch.setattr(leases, "set_agents", set_agents)
            closings.append(asyncio.ensure_future(desk.conversations.close(fork.conversation.id)))
            await until(lambda: fork.conversation not in desk.conversations.live)
            await set_agents(*arguments)

        monkeypatch.setattr(leases, "set_agents", closed_meanwhile)
        await desk.say("say one")
        await until(lambda: bool(closings))
        await asyncio.gather(*closings)
        async with desk.db.read() as reader:
            lease = await leases.get(reader, desk.conversation.id)
        (group,) = desk.conversation.agents.groups(desk.conversation.record.family)
        assert lease is not None and lease.agents == (group,)


async def test_r12_a_prompt_that_is_given_back_stands_before_what_was_typed_meanwhile(world: World) -> None:
    async with world.client() as desk:
        rows = desk.window.rows
        async with desk.db.write() as tx:
            row = await rows.add(tx, "say well after all")
            await windows.set_draft(tx, desk.window_id, "typed meanwhile")
        await rows.restore(Attempt(row, came_from=row.parent_id), None)
        window = await desk.stored_window()
        assert (window.leaf_id, window.draft) == (None, "say well after all\ntyped meanwhile")
