"""What happens when things go wrong, with real agent processes: section R, and what is told then: section P."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from catena_acp.continuity.conversation_events import (
    Doing,
    DoingChanged,
    MessageAdded,
    PermissionClosed,
    PermissionOpened,
    PromptReturned,
    SessionChanged,
    TurnEnded,
)
from catena_acp.continuity.routing.prior_context import BEGIN, END
from catena_acp.spoken.spoken import spoken_of
from catena_acp.trouble.troubles import Trouble
from catena_store.records import ContextSource, Kind, LinkState, MessageState, StopReason
from support.clients.protocol import spec
from support.conversations.rehearsed import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def pids(world: World) -> list[int]:
    return [entry["pid"] for entry in world.requests("initialize")]


async def test_p01_on_the_happy_path_the_agent_hears_the_bare_prompt_byte_for_byte(world: World) -> None:
    said = ["say one", "  say two  with   spaces\n\nand a line", "say drei · ✓ 漢字"]
    async with world.client() as desk:
        for text in said:
            await desk.say(text)
        turns = await desk.turns()
    assert world.prompts() == [[text] for text in said]
    assert [turn.how for turn in turns] == [
        ContextSource.FRESH,
        ContextSource.CONTINUED,
        ContextSource.CONTINUED,
    ]
    assert all(turn.prior_context is None for turn in turns)


async def test_p02_prior_context_spans_the_whole_chain(world: World) -> None:
    async with world.client() as desk:
        for word in ("alpha", "beta", "gamma"):
            await desk.say(f"say {word}")
            world.fail({"load": {"error": [-32002, "Resource not found"]}})
            await desk.say("crash")
        over = await desk.say("echo")
    assert over.turn is not None
    told, prompt = world.prompts()[-1]
    assert prompt == "echo"
    assert all(f"say {word}" in told for word in ("alpha", "beta", "gamma"))
    assert told.startswith(BEGIN) and told.endswith(END)
    assert over.turn.prior_context == told


async def test_p07_a_tool_call_in_flight_when_the_agent_died_is_listed_as_unknown_and_not_repeated(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.say("tool edit Rename the table; begin Drop the index; crash")
        rows = await desk.branch()
        states = {row.data["title"]: row.data["status"] for row in rows if row.kind is Kind.TOOL}
        world.fail({"load": {"error": [-32002, "Resource not found"]}})
        over = await desk.say("redo Rename the table; redo Drop the index; redo Paint the shed; say done")
        again = (await desk.branch())[len(rows) :]
    assert list(states.values()) == ["completed", "unknown"]
    told, _ = world.prompts()[-1]
    assert re.search(r"^- .* tool call Rename the table .*: done$", told, re.M)
    assert re.search(r"^- .* tool call Drop the index .*: outcome unknown", told, re.M)
    assert over.turn is not None and over.turn.tools_listed == 2
    # The agent does again whatever it did not hear is done.
    assert [row.data["title"] for row in again if row.kind is Kind.TOOL] == ["Paint the shed"]


async def test_w05_the_line_of_a_seam_leaves_out_the_trouble_that_the_row_above_tells_of(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        await desk.say("crash")
        await desk.say("say two")
        await desk.say("say half; ratelimit 600")
        await desk.window.retry()
        await desk.window.wait_idle()
        seams = [row for row in await desk.branch() if row.kind is Kind.SEAM]
    assert seams[0].text == "Rehearsal was killed by signal 9 · 1 message replayed that it may have lost"
    assert spoken_of(seams[0]).head == "same session · 1 message replayed that it may have lost"
    assert all("line" not in seam.data for seam in seams[1:]), (
        "a prompt that is sent again hangs from above it"
    )


async def test_p08_an_agent_that_always_refuses_is_asked_at_most_once_on_a_new_session(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        world.fail({"prompt": {"error": [-32603, "Internal error"]}})
        over = await desk.say("please go on")
        window = await desk.stored_window()
    assert over.turn is None and over.problem is not None
    assert "Internal error" in over.problem.text
    assert window.draft == "please go on"
    assert len(world.requests("session/new")) == 2
    assert len(world.prompts()) == 3  # one that was answered, one refused by each session


async def test_p09_each_turn_records_how_its_context_got_there_and_a_seam_survives_a_restart(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        await desk.say("crash")
        await desk.say("say two")
        seams = [row.text for row in await desk.branch() if row.kind is Kind.SEAM]
    async with world.client(resume=desk) as again:
        kept = [row.text for row in await again.branch() if row.kind is Kind.SEAM]
        turns = await again.turns()
    assert seams == kept == ["Rehearsal was killed by signal 9 · 1 message replayed that it may have lost"]
    assert [turn.how for turn in turns] == [
        ContextSource.FRESH,
        ContextSource.CONTINUED,
        ContextSource.CAUGHT_UP,
    ]


async def test_r04_an_agent_killed_in_mid_turn_leaves_its_partial_text_and_is_started_again(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        await desk.window.say("say half an answer; hang")
        await desk.until_told(
            MessageAdded, lambda news: "half" in news.message.text and news.message.link_id is not None
        )
        os.kill(pids(world)[-1], signal.SIGKILL)
        async with asyncio.timeout(60):
            await desk.until_told(TurnEnded, lambda news: news.problem is not None)
        rows = await desk.branch()
        assert [row.state for row in rows if row.text.startswith("half")] == [MessageState.INTERRUPTED]
        assert rows[-1].kind is Kind.NOTICE
        await desk.window.wait_idle()
        over = await desk.say("echo")
    assert over.turn is not None and over.turn.how is ContextSource.CAUGHT_UP
    assert "half an answer" in world.prompts()[-1][0]


async def test_r04_an_agent_killed_between_turns_is_resumed_with_nothing_told(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        os.kill(pids(world)[-1], signal.SIGKILL)
        async with asyncio.timeout(60):
            await desk.until_told(SessionChanged, lambda news: news.session.link_id is None)
        over = await desk.say("echo")
    assert over.turn is not None and over.turn.how is ContextSource.RESUMED
    assert world.prompts()[-1] == ["echo"]


async def test_r04_an_agent_killed_while_it_asks_withdraws_the_question(world: World) -> None:
    async with world.client() as desk:
        await desk.window.say("ask")
        asked = await desk.until_told(PermissionOpened)
        os.kill(pids(world)[-1], signal.SIGKILL)
        await desk.until_told(PermissionClosed, lambda news: news.ask_id == asked.ask_id)
        over = await desk.until_told(TurnEnded)
    assert over.turn is not None and over.turn.stop_reason is StopReason.AGENT_GONE


async def test_r04_an_agent_that_dies_while_its_session_is_opened_gives_the_prompt_back(world: World) -> None:
    world.fail({"new": {"kill": True}})
    async with world.client() as desk:
        over = await desk.say("say one")
        assert over.turn is None and over.problem is not None
        assert over.problem.trouble is Trouble.AGENT_GONE
        assert (await desk.stored_window()).draft == "say one"
        world.fail({})
        over = await desk.say("say one")
        assert over.turn is not None and over.turn.stop_reason is StopReason.END_TURN


@pytest.mark.parametrize("way", ["exit 0", "orphan 5"])
async def test_r05_an_agent_that_ends_by_itself_in_mid_turn_is_noticed(world: World, way: str) -> None:
    async with world.client() as desk:
        over = await desk.say(f"say half; {way}")
    assert over.turn is not None and over.turn.stop_reason is StopReason.AGENT_GONE


STALE: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "load -32002": ((), {"load": {"error": [-32002, "Resource not found"]}}),
    "load -32602": ((), {"load": {"error": [-32602, "Session not found: x"]}}),
    "load -32603": ((), {"load": {"error": [-32603, "Internal error", {"details": "no rollout found"}]}}),
    "load another id": ((), {"load": {"other_id": True}}),
    "load empty": ((), {"load": {"empty": True}}),
    "load half": ((), {"load": {"last": 1}}),
    "load null": ((), {"load": {"result": None}}),
    "resume -32002": (("--no-load",), {"resume": {"error": [-32002, "Resource not found"]}}),
    "resume another id": (("--no-load",), {"resume": {"other_id": True}}),
    "success, then refusal": (
        ("--no-load",),
        {"prompt": {"error": [-32002, "Session not found"], "times": 1}},
    ),
    "nothing can reopen": (("--no-load", "--no-resume", "--no-fork"), {}),
}


@pytest.mark.parametrize("case", STALE)
async def test_r07_a_stale_session_ends_in_a_seam_and_a_working_turn(world: World, case: str) -> None:
    flags, faults = STALE[case]
    async with world.client(*flags) as desk:
        await desk.say("say canary-one")
        await desk.say("say two")
    world.fail(faults)
    async with world.client(*flags, resume=desk) as again:
        over = await again.say("echo")
        rows = await again.branch()
        assert over.turn is not None and over.turn.stop_reason is StopReason.END_TURN
        assert any(row.kind is Kind.SEAM and row.turn_id == over.turn.id for row in rows)
        assert over.turn.how is ContextSource.TOLD
        assert "canary-one" in world.prompts()[-1][0]
        assert rows[-1].text.startswith("[heard] users=1")


async def test_r08_a_turn_without_a_word_says_so_and_the_next_prompt_goes_by_another_session(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        over = await desk.say("empty")
        assert over.problem is not None and over.problem.trouble is Trouble.EMPTY_TURN
        (link,) = await desk.links()
        assert link.state is LinkState.SUSPECT
        after = await desk.say("echo")
        assert after.turn is not None and after.turn.link_id != link.id
        assert (await desk.branch())[-1].kind is Kind.AGENT


async def test_r09_an_error_that_comes_as_the_agents_only_text_is_shown_as_its_words(world: World) -> None:
    async with world.client() as desk:
        await desk.say("errortext")
        assert (await desk.branch())[-1].text == "exceeded retry limit, last status: 429 Too Many Requests"


async def test_r10_a_silent_agent_is_left_alone_for_a_day_until_it_is_stopped(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.client() as desk:
        await desk.window.say("hang")
        await world.heard("session/prompt")
        loop, day, passed = asyncio.get_running_loop(), 86_400, asyncio.Event()
        loop.call_later(day, passed.set)
        monkeypatch.setattr(loop, "time", lambda: time.monotonic() + 2 * day)
        await passed.wait()  # every timer that was set for less has run out before
        async with world.client() as other:  # and has had its effect by the end of a turn elsewhere
            await other.say("say something")
        assert desk.window.busy and not [news for news in desk.told if isinstance(news, TurnEnded)]
        await desk.window.stop()
        over = await desk.until_told(TurnEnded)
        assert over.turn is not None and over.turn.stop_reason is StopReason.CANCELLED


async def test_r11_stop_cancels_the_turn_and_its_questions_and_keeps_the_session(world: World) -> None:
    async with world.client() as desk:
        await desk.window.say("say half; begin Something long; ask")
        asked = await desk.until_told(PermissionOpened)
        await desk.window.stop()
        await desk.until_told(PermissionClosed, lambda news: news.ask_id == asked.ask_id)
        over = await desk.until_told(TurnEnded)
        assert over.turn is not None and over.turn.stop_reason is StopReason.CANCELLED
        rows = await desk.branch()
        tools = [row.data["status"] for row in rows if row.kind is Kind.TOOL]
        assert set(tools) == {"cancelled"}
        assert any(row.text == "half" for row in rows)
        after = await desk.say("echo")
        assert after.turn is not None and after.turn.link_id == over.turn.link_id
        assert len(await desk.links()) == 1
    answers = [entry["result"] for entry in world.requests() if entry.get("event") == "answer"]
    assert {"outcome": {"outcome": "cancelled"}} in answers


async def test_r11_an_agent_that_does_not_heed_a_stop_can_be_ended(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        await desk.window.say("say half; hang hard")
        await desk.until_told(MessageAdded, lambda news: news.message.text == "half")
        await desk.window.stop()
        await desk.window.kill_agent()
        over = await desk.until_told(
            TurnEnded, lambda news: news.turn is not None and news.turn.how is ContextSource.CONTINUED
        )
        assert over.turn is not None and over.turn.stop_reason in (
            StopReason.AGENT_GONE,
            StopReason.CANCELLED,
        )
        await desk.window.wait_idle()
        if over.turn.stop_reason is StopReason.AGENT_GONE:
            assert (await desk.branch())[-1].text.startswith("Rehearsal was stopped by you.")
        after = await desk.say("echo")
        assert after.turn is not None and after.turn.stop_reason is StopReason.END_TURN


@pytest.mark.parametrize("status", [0, 3])
async def test_r11_an_agent_that_is_ended_by_the_person_did_not_end_by_itself(
    world: World, status: int
) -> None:
    agent = spec(
        world.place,
        f"""
        def session_prompt(agent, request):
            agent.send(agent.text(request["params"]["sessionId"], "half"))

        def session_close(agent, request):
            sys.exit({status})
        """,
    )
    async with world.client(specs={"scripted": agent}, agent="scripted") as desk:
        await desk.window.say("go on for ever")
        await desk.until_told(MessageAdded, lambda news: news.message.text == "half")
        await desk.window.kill_agent()
        await desk.until_told(TurnEnded)
        assert (await desk.branch())[-1].text == (
            "Scripted was stopped by you. Its partial answer is saved. Your next prompt restarts it."
        )


@pytest.mark.parametrize(
    ("prompt", "answer", "words"),
    [
        ("say well; stopreason cancelled", None, "Rehearsal cancelled the turn."),
        (
            "ask May I?; stopreason cancelled",
            "no",
            "Rehearsal ended the turn because a permission was rejected.",
        ),
        ("ask May I?; stopreason cancelled", "yes", "Rehearsal cancelled the turn."),
    ],
)
async def test_r11_a_turn_that_nobody_stopped_is_not_said_to_be_stopped_by_the_person(
    world: World, prompt: str, answer: str | None, words: str
) -> None:
    async with world.client() as desk:
        over = await desk.say(prompt, answer)
        assert over.turn is not None and over.turn.stop_reason is StopReason.CANCELLED
        assert (await desk.branch())[-1].text == words


async def test_m04_the_reason_why_a_session_is_lost_may_stand_in_the_data_of_the_error(world: World) -> None:
    async with world.client("--no-load") as desk:
        await desk.say("say one")
    world.fail({"resume": {"error": [-32602, "Invalid params", {"session_id": "Session not found"}]}})
    async with world.client("--no-load", resume=desk) as again:
        await again.say("say two")
        seam = next(row for row in await again.branch() if row.kind is Kind.SEAM)
        assert seam.text.startswith("session lost (Invalid params: Session not found)")


async def test_c05_what_was_cut_is_told_as_what_the_session_may_not_hold(world: World) -> None:
    async with world.client("--cancel-keeps=user") as desk:
        await desk.say("say one")
        await desk.window.say("say half; hang")
        await desk.until_told(MessageAdded, lambda news: news.message.text == "half")
        await desk.window.stop()
        await desk.window.wait_idle()
        await desk.say("say on")
    told = world.prompts()[-1][0]
    assert "this session may not hold it" in told and "does not hold" not in told


async def test_r19_a_prompt_whose_turn_brought_text_is_never_sent_again_by_itself(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        over = await desk.say("say half; error -32603 Something broke")
        assert over.turn is not None and over.turn.stop_reason is StopReason.ERROR
    assert len(world.prompts()) == 2


async def test_r19_a_rate_limited_prompt_is_sent_again_as_the_same_row(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        world.fail({"prompt": {"error": [-32603, "rate limit exceeded (429)"], "times": 1}})
        over = await desk.say("echo")
        assert over.turn is not None and over.turn.stop_reason is StopReason.ERROR
        at = len(desk.told)
        await desk.window.retry()
        await desk.until(lambda: next((n for n in desk.told[at:] if isinstance(n, TurnEnded)), None))
        users = [row for row in await desk.branch() if row.kind is Kind.USER]
        assert [row.text for row in users] == ["say one", "echo"]
        turns = await desk.turns()
        assert turns[-1].prompt_id == turns[-2].prompt_id == users[-1].id
        assert turns[-1].how is ContextSource.CONTINUED
    assert world.prompts()[-1] == ["echo"]


async def test_r06_a_login_that_is_needed_is_told_and_the_prompt_is_given_back(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        world.fail({"prompt": {"login": True, "times": 1}})
        over = await desk.say("please")
        assert over.problem is not None and over.problem.trouble is Trouble.LOGIN_NEEDED


async def test_r14_nothing_above_a_clear_is_told_again_and_all_of_it_stays(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say canary-old")
        await desk.window.clear()
        over = await desk.say("say new")
        assert over.turn is not None and over.turn.how is ContextSource.FRESH
        await desk.say("crash")
        world.fail({"load": {"error": [-32002, "Resource not found"]}})
        await desk.say("echo")
        texts = [row.text for row in await desk.branch()]
    assert "say canary-old" in texts and "context cleared" in texts
    after_clear = world.prompts()[1:]
    assert not any("canary-old" in block for blocks in after_clear for block in blocks)


async def test_w16_prompts_said_while_busy_wait_and_go_out_in_order(world: World) -> None:
    async with world.client() as desk:
        await desk.window.say("cue go-on; say one")
        await desk.window.say("say two")
        await desk.window.say("say three")
        world.cue("go-on")
        await desk.window.wait_idle()
        users = [row.text for row in await desk.branch() if row.kind is Kind.USER]
    assert users == ["cue go-on; say one", "say two", "say three"]
    assert [blocks[-1] for blocks in world.prompts()] == users


async def test_w16_an_error_holds_what_waits_until_the_person_says_go(world: World) -> None:
    async with world.client() as desk:
        await desk.window.say("cue go-on; error -32603 no")
        await desk.window.say("say two")
        world.cue("go-on")
        await desk.window.wait_idle()
        assert len(world.prompts()) == 1
        await desk.window.send_queued()
        await desk.window.wait_idle()
    assert [blocks[-1] for blocks in world.prompts()][-1] == "say two"


async def test_a_stop_before_the_agent_is_up_gives_the_prompt_back(world: World) -> None:
    slow = world.spec(name="slow", CATENA_REHEARSAL_START_DELAY="30")
    async with world.client(specs={"slow": slow}, agent="slow") as desk:
        await desk.window.say("say one")
        await desk.until_told(DoingChanged, lambda news: news.doing is Doing.STARTING)
        await desk.window.stop()
        await desk.until_told(PromptReturned, lambda news: news.text == "say one")
        assert (await desk.stored_window()).draft == "say one"


async def test_closing_in_mid_turn_records_the_turn_as_interrupted_and_goes_on_later(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        await desk.window.say("say half; hang")
        await desk.until_told(MessageAdded, lambda news: news.message.text == "half")
    async with world.client(resume=desk) as again:
        turns = await again.turns()
        assert turns[-1].stop_reason is StopReason.INTERRUPTED
        assert any(
            row.text == "half" and row.state is MessageState.INTERRUPTED for row in await again.branch()
        )
        over = await again.say("echo")
        assert over.turn is not None and over.turn.stop_reason is StopReason.END_TURN
