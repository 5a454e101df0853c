"""Every cause of trouble in a whole conversation, with another one beside it that streams on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from catena_acp.continuity.conversation_events import (
    LinkChanged,
    MessageAdded,
    Problem,
    QueueChanged,
    TurnEnded,
)
from catena_acp.continuity.routing.prior_context import Budget, read_prior_context
from catena_acp.continuity.wording.problems import problem_of_notice
from catena_acp.port.port import AgentSpec
from catena_acp.port.session_events import ContextCompacted
from catena_acp.trouble.reset_times import format_time
from catena_acp.trouble.troubles import Offer, Trouble
from catena_store import ancestry
from catena_store.records import ContextSource, Kind, LinkState, Message, MessageState, StopReason
from support.agents.model import ModelAgent, Running, Upstream
from support.conversations.modelled import answering, client
from support.conversations.rehearsed import Desk, World, open_window


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def calm(world: World) -> dict[str, AgentSpec]:
    """An agent of its own for the conversation beside, which no fault reaches."""
    return {"calm": world.spec(name="calm", CATENA_REHEARSAL_FAULTS=str(world.place / "no-faults.json"))}


@asynccontextmanager
async def beside(world: World, desk: Desk) -> AsyncIterator[None]:
    """Another conversation of the same client answers meanwhile, and notices nothing."""
    conversation = await desk.conversations.create(agent=calm(world)["calm"], cwd=str(world.project))
    other = Desk(desk.db, desk.conversations, conversation, await open_window(desk.db, conversation.id))
    conversation.subscribe(other.hear)
    await conversation.window(other.window_id).say("stream 20 rate 60; cue go-on; say CURTAIN")
    await other.until_told(MessageAdded, lambda news: news.message.kind is Kind.AGENT)
    assert conversation.busy
    yield
    world.cue("go-on", "calm")
    over = await other.until_told(TurnEnded)
    await conversation.window(other.window_id).wait_idle()
    assert over.problem is None and over.turn is not None
    assert over.turn.stop_reason is StopReason.END_TURN
    prompt, answer = await other.branch()
    assert (prompt.kind, answer.kind, answer.state) == (Kind.USER, Kind.AGENT, MessageState.FINAL)
    assert answer.text.endswith("CURTAIN")
    assert [link.state for link in await other.links()] == [LinkState.OPEN]


def notice_of(rows: list[Message]) -> Message:
    return next(row for row in reversed(rows) if row.kind is Kind.NOTICE)


async def retried(desk: Desk) -> TurnEnded:
    at = len(desk.told)
    await desk.window.retry()
    over = await desk.until(lambda: next((n for n in desk.told[at:] if isinstance(n, TurnEnded)), None))
    await desk.window.wait_idle()
    return over


@dataclass(frozen=True)
class Cause:
    """A scene of the rehearsal agent, and what is made of it."""

    scene: str
    trouble: Trouble
    says: str
    offers: tuple[Offer, ...]
    seam: str


CAUSES = {
    "r01 rate limit": Cause(
        "ratelimit 3600",
        Trouble.RATE_LIMIT,
        "Rehearsal is rate limited until {until}. Its partial answer is saved. Retry then, "
        "or continue with another agent.",
        (Offer.WAIT, Offer.RETRY, Offer.OTHER_AGENT),
        "rate limit until {until} · 2 messages replayed that it may have lost",
    ),
    "r01 rate limit without a time": Cause(
        "error -32603 Too many requests",
        Trouble.RATE_LIMIT,
        "Rehearsal is rate limited: Too many requests. Its partial answer is saved. Retry later, "
        "or continue with another agent.",
        (Offer.RETRY, Offer.OTHER_AGENT),
        "rate limit at {began} · 2 messages replayed that it may have lost",
    ),
    "r02 credit": Cause(
        "credit",
        Trouble.CREDIT,
        "Rehearsal has no credit left: Your credit balance is too low for this month. Its partial answer is saved. "
        "Continue with another agent, or retry when that is settled.",
        (Offer.OTHER_AGENT, Offer.RETRY, Offer.LOGIN),
        "no credit left at {began} · 2 messages replayed that it may have lost",
    ),
    "r03 overload": Cause(
        "overload",
        Trouble.OVERLOAD,
        "Rehearsal's provider is overloaded or failing: API Error: 529 Overloaded. Its partial answer is saved. "
        "Retry in a while, or continue with another agent.",
        (Offer.RETRY, Offer.OTHER_AGENT),
        "overload at {began} · 2 messages replayed that it may have lost",
    ),
    "not known": Cause(
        "error -32603 Something broke",
        Trouble.REFUSED,
        "Rehearsal refused: Something broke. Its partial answer is saved.",
        (Offer.RETRY, Offer.OTHER_AGENT),
        "Something broke · 2 messages replayed that it may have lost",
    ),
}


@pytest.mark.parametrize("case", CAUSES)
async def test_r01_r02_r03_limits_are_told_apart_keep_the_partial_text_and_the_conversation_goes_on(
    world: World, case: str
) -> None:
    cause = CAUSES[case]
    async with world.client(specs=calm(world)) as desk:
        await desk.say("say one")
        async with beside(world, desk):
            over = await desk.say(f"say half of it; {cause.scene}")
            problem = over.problem
            assert problem is not None and over.turn is not None
            assert over.turn.stop_reason is StopReason.ERROR
            rows = await desk.branch()
            notice = notice_of(rows)
            until = format_time(problem.resets_at, notice.created_at) if problem.resets_at else ""
            began = f"{notice.created_at.astimezone():%H:%M}"
            assert (problem.trouble, problem.offers) == (cause.trouble, cause.offers)
            assert problem.text == notice.text == cause.says.format(until=until)
            assert not problem.returned
            kept = [row for row in rows if row.text.startswith("half of it")]
            assert [row.state for row in kept] == [MessageState.INTERRUPTED]
            assert len(world.prompts()) == 3  # one of them beside: nothing went out again by itself
            after = await desk.say("echo")
            rows = await desk.branch()
    assert after.problem is None
    assert after.turn is not None and after.turn.how is ContextSource.CAUGHT_UP
    (seam,) = (row for row in rows if row.kind is Kind.SEAM)
    assert seam.text == cause.seam.format(until=until, began=began)
    assert after.turn.cause == seam.text.split(" · ")[0]
    assert rows[-1].text.startswith("[heard] users=")
    assert "half of it" in world.prompts()[-1][0]
    # A screen that opens tomorrow offers the same.
    async with world.client(resume=desk) as again:
        assert problem_of_notice(notice_of(await again.branch())) == problem


async def test_r01_the_time_at_which_a_limit_ends_is_kept_with_the_turn(world: World) -> None:
    async with world.client() as desk:
        before = datetime.now(UTC)
        over = await desk.say("say half; ratelimit 600")
        notice = notice_of(await desk.branch())
    assert over.problem is not None and over.problem.resets_at is not None
    assert timedelta(seconds=598) < over.problem.resets_at - before < timedelta(seconds=660)
    assert notice.data["trouble"] == "rate_limit"
    assert datetime.fromisoformat(notice.data["resets_at"]) == over.problem.resets_at
    assert notice.data["detail"] == list(over.problem.detail)
    assert over.problem.detail[0].startswith("You have reached your rate limit.")  # in its own words, too


async def test_p09_a_session_whose_first_turn_came_to_nothing_is_told_again_and_the_seam_says_so(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.say("say half; ratelimit 600")
        after = await desk.say("echo")
        (seam,) = (row for row in await desk.branch() if row.kind is Kind.SEAM)
        assert len(await desk.links()) == 1
    assert after.turn is not None and after.turn.how is ContextSource.TOLD
    assert seam.text.endswith(" · 2 messages replayed again")


async def test_r01_who_goes_on_with_another_agent_reads_in_the_seam_which_limit_it_was(world: World) -> None:
    async with world.client(specs=calm(world)) as desk:
        await desk.say("say canary-one")
        over = await desk.say("say half; ratelimit 7200")
        assert over.problem is not None and over.problem.resets_at is not None
        notice = notice_of(await desk.branch())
        await desk.window.set_agent(calm(world)["calm"])
        after = await desk.say("echo")
    until = format_time(over.problem.resets_at, notice.created_at)
    assert after.turn is not None and after.turn.how is ContextSource.TOLD
    assert after.turn.cause == f"rate limit until {until}, switched from Rehearsal to Calm"
    assert "canary-one" in world.prompts()[-1][0]


async def test_r02_the_account_is_one_for_all_sessions_so_no_other_one_is_tried(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        for words in ("Credit balance is too low", "429 Too Many Requests", "API Error: 529 Overloaded"):
            world.fail({"prompt": {"error": [-32603, words], "times": 1}})
            over = await desk.say("go on")
            assert over.turn is not None and over.turn.stop_reason is StopReason.ERROR
        after = await desk.say("echo")
        assert after.turn is not None and after.turn.how is ContextSource.CAUGHT_UP
        assert len(await desk.links()) == 1
    assert len(world.requests("session/new")) == 1
    assert len(world.prompts()) == 5


async def test_m07_a_limit_while_a_session_is_opened_gives_the_prompt_back_and_keeps_the_chain(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.say("say one")
    limited = [-32603, "API Error: 429 slow down", {"errorKind": "rate_limit", "retryAfter": 90}]
    world.fail({"load": {"error": limited, "times": 1}})
    async with world.client(resume=desk) as again:
        over = await again.say("echo")
        assert over.turn is None and over.problem is not None
        assert (over.problem.trouble, over.problem.returned) == (Trouble.RATE_LIMIT, True)
        assert over.problem.offers[0] is Offer.WAIT
        assert "Your text is back in the composer." in over.problem.text
        assert (await again.stored_window()).draft == "echo"
        after = await again.say("echo")
        assert after.turn is not None and after.turn.how is ContextSource.RESUMED
        assert len(await again.links()) == 1
    assert len(world.requests("session/new")) == 1


@pytest.mark.parametrize(
    "error", [[-31002, "Invalid API key. Check it."], [-32000, "Authentication required"]]
)
async def test_p08_a_login_that_is_wanted_is_no_reason_for_another_session(
    world: World, error: list[Any]
) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        world.fail({"prompt": {"error": error, "times": 1}})
        over = await desk.say("echo")
        assert over.problem is not None
        assert (over.problem.trouble, over.problem.offers[0]) == (Trouble.LOGIN_NEEDED, Offer.LOGIN)
        after = await retried(desk)
        assert after.turn is not None and after.turn.how is ContextSource.CONTINUED
        assert [row.text for row in await desk.branch() if row.kind is Kind.USER] == ["say one", "echo"]
    assert len(world.requests("session/new")) == 1
    assert world.prompts()[-1] == ["echo"]


async def test_p08_a_full_session_is_left_for_a_told_one_only_where_the_same_prompt_is_sent_again(
    world: World,
) -> None:
    full = {"prompt": {"error": [-32603, "API Error: 400 prompt is too long: 210000 tokens"], "times": 1}}
    async with world.client() as desk:
        await desk.say("say canary-one")
        world.fail(full)
        over = await desk.say("echo")
        assert over.problem is not None and over.problem.trouble is Trouble.CONTEXT_FULL
        (link,) = await desk.links()
        after = await retried(desk)
        assert after.turn is not None and after.turn.how is ContextSource.TOLD
        assert after.turn.link_id != link.id
        context = await desk.conversation.chain.context(desk.window)
        assert context is not None
        assert [(other.session_id, other.words) for other in context.others] == [
            (link.session_id, "not used: its context window was full for this prompt")
        ]
        told, prompt = world.prompts()[-1]
        assert "canary-one" in told and prompt == "echo"
        assert [row.text for row in await desk.branch() if row.kind is Kind.USER] == [
            "say canary-one",
            "echo",
        ]
        # Another prompt goes to the session that is there: its agent may have made room.
        world.fail(full)
        await desk.say("say three")
        after = await desk.say("say four")
        assert after.turn is not None and after.turn.how is ContextSource.CAUGHT_UP
    assert len(world.requests("session/new")) == 2


async def test_r08_an_empty_turn_says_so_and_its_session_is_left_while_another_conversation_goes_on(
    world: World,
) -> None:
    async with world.client(specs=calm(world)) as desk:
        await desk.say("say one")
        async with beside(world, desk):
            over = await desk.say("empty")
            (link,) = await desk.links()
            after = await desk.say("echo")
    assert over.problem is not None
    assert over.problem.trouble is Trouble.EMPTY_TURN
    assert over.problem.offers == (Offer.RETRY, Offer.OTHER_AGENT)
    assert after.turn is not None and after.turn.link_id != link.id
    changed = [(news.link.state, news.why) for news in desk.told if isinstance(news, LinkChanged)]
    assert (LinkState.SUSPECT, "previous turn returned nothing") in changed
    assert "say one" in world.prompts()[-1][0] or after.turn.how is ContextSource.FORKED_AT


async def test_r09_an_error_as_the_only_text_stays_the_agent_s_words_and_says_what_can_be_done(
    world: World,
) -> None:
    words = "exceeded retry limit, last status: 429 Too Many Requests"
    async with world.client(specs=calm(world)) as desk:
        async with beside(world, desk):
            await desk.window.say("cue go-on; errortext")
            await desk.window.say("say what waited")
            world.cue("go-on")
            over = await desk.until_told(TurnEnded)
            await desk.window.wait_idle()
            rows = await desk.branch()
            (link,) = [link for link in await desk.links() if link.source_id is None]
        problem = over.problem
        assert over.turn is not None and over.turn.stop_reason is StopReason.END_TURN
        assert (link.knows, link.reach) == (None, rows[-1].id), "what only says its error was not answered"
        assert (rows[-1].kind, rows[-1].text, rows[-1].state) == (Kind.AGENT, words, MessageState.FINAL)
        assert problem is not None and problem.trouble is Trouble.RATE_LIMIT
        assert problem.offers == (Offer.RETRY, Offer.OTHER_AGENT)
        assert problem.text.startswith(f"Rehearsal is rate limited: {words}. ")
        held = [news.items for news in desk.told if isinstance(news, QueueChanged)][-1]
        assert [(item.text, item.held) for item in held] == [("say what waited", True)]
        await retried(desk)
        said = [row.text for row in await desk.branch() if row.kind is Kind.AGENT]
        assert said == [words]  # the same words again: a sibling, and nothing was taken out
    async with world.client(resume=desk) as again:
        assert problem_of_notice((await again.branch())[-1]) == problem


@pytest.mark.parametrize(
    "prompt",
    [
        "say Error: 429 means that there were too many requests.",
        "tool read a; errortext",
        "say The words: exceeded retry limit, last status: 429 Too Many Requests",
    ],
)
async def test_r09_what_may_be_an_answer_is_one(world: World, prompt: str) -> None:
    async with world.client() as desk:
        over = await desk.say(prompt)
        last = (await desk.branch())[-1]
    assert over.problem is None
    assert last.kind is Kind.AGENT and problem_of_notice(last) is None


async def test_r09_a_refusal_whose_only_text_is_an_error_is_known_too(world: World) -> None:
    async with world.client() as desk:
        over = await desk.say("say Credit balance is too low; stopreason refusal")
        said = (await desk.branch())[-1]
        async with desk.db.read() as reader:
            told = await read_prior_context(
                reader, await ancestry.path(reader, said.id, []), None, said.id, Budget()
            )
    assert over.turn is not None and over.turn.stop_reason is StopReason.REFUSAL
    assert over.problem is not None and over.problem.trouble is Trouble.CREDIT
    assert said.kind is Kind.AGENT and problem_of_notice(said) == over.problem
    assert told is not None and "assistant did not answer. It failed with this error:" in told.text
    assert "It ended here with an error: Credit balance is too low)" in told.text


async def test_an_answer_that_was_cut_says_so_and_is_no_trouble_to_be_acted_on(world: World) -> None:
    async with world.client() as desk:
        over = await desk.say("maxtokens")
        notice = notice_of(await desk.branch())
    assert over.problem is None
    assert notice.text == "The answer was cut off: the model's token limit was reached."
    assert problem_of_notice(notice) is None


async def test_r14_clear_is_ours_while_another_conversation_goes_on(world: World) -> None:
    async with world.client(specs=calm(world)) as desk:
        await desk.say("say canary-old")
        async with beside(world, desk):
            await desk.window.say("/clear")
            over = await desk.say("echo")
            rows = await desk.branch()
    assert over.turn is not None and over.turn.how is ContextSource.FRESH
    assert [row.text for row in rows if row.barrier] == ["context cleared"]
    assert "canary-old" in rows[0].text
    heard = [blocks for blocks in world.prompts() if "echo" in blocks[-1]]
    assert heard == [["echo"]]
    assert rows[-1].text.startswith("[heard] users=1 ")


async def test_r15_compaction_is_a_divider_and_what_is_above_it_stays_and_counts_as_abridged(
    world: World,
) -> None:
    async with world.client(specs=calm(world)) as desk:
        await desk.say("say one")
        async with beside(world, desk):
            over = await desk.say("say before; compact; say after")
            rows = await desk.branch()
            (link,) = await desk.links()
            after = await desk.say("echo")
    said = [row.text.strip() for row in rows if row.kind in (Kind.USER, Kind.AGENT)]
    assert said == ["say one", "one", "say before; compact; say after", "before", "after"]
    (divider,) = (row for row in rows if "compacted" in row.data)
    assert divider.kind is Kind.NOTICE and rows.index(divider) == 4
    assert divider.data == {"compacted": "completed", "detail": ["We talked for a while."]}
    assert divider.text == "the agent shortened its own context (the transcript stays)"
    assert over.turn is not None and over.turn.unabridged_from == over.turn.prompt_id == link.unabridged_from
    assert after.turn is not None and after.turn.how is ContextSource.CONTINUED
    assert after.turn.unabridged_from == over.turn.prompt_id
    assert problem_of_notice(divider) is None


async def test_r07_a_link_that_is_lost_and_the_one_that_takes_its_place_are_told(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        (born,) = (news for news in desk.told if isinstance(news, LinkChanged))
        assert (born.link.state, born.why) == (LinkState.OPEN, None)
        await desk.say("crash")
        world.fail({"load": {"error": [-32002, "Resource not found"], "times": 1}})
        at = len(desk.told)
        over = await desk.say("echo")
        lost, new = (news for news in desk.told[at:] if isinstance(news, LinkChanged))
    assert over.turn is not None and over.turn.how is ContextSource.TOLD
    assert (lost.link.id, lost.link.state) == (born.link.id, LinkState.LOST)
    assert lost.why == "Resource not found"
    assert (new.link.id, new.link.state, new.why) == (over.turn.link_id, LinkState.OPEN, None)


async def test_a_problem_says_whether_the_prompt_is_back_in_the_composer(world: World) -> None:
    world.fail({"new": {"error": [-32603, "API Error: 529 Overloaded"]}})
    async with world.client() as desk:
        over = await desk.say("say one")
        problem = over.problem
        assert isinstance(problem, Problem) and over.turn is None
        assert (problem.trouble, problem.returned) == (Trouble.OVERLOAD, True)
        assert problem.offers == (Offer.RETRY, Offer.OTHER_AGENT)
        assert (await desk.stored_window()).draft == "say one"


async def test_r15_a_compaction_between_turns_counts_as_abridged_too(tmp_path: Path) -> None:
    agents: list[ModelAgent] = []

    def answering_and_seen(running: Running) -> None:
        agents.append(running.agent)
        answering(running)

    async with client(tmp_path, Upstream(scene=answering_and_seen)) as desk:
        await desk.say("one")
        session_id = (await desk.links())[0].session_id
        for event in (
            ContextCompacted(None, "in_progress"),
            ContextCompacted("sum", None),
            ContextCompacted("sum", "completed"),
        ):
            agents[0].tell(session_id, event)
        divider = await desk.until_told(MessageAdded, lambda news: "compacted" in news.message.data)
        over = await desk.say("two")
        assert over.turn is not None and over.turn.how is ContextSource.CONTINUED
        assert over.turn.unabridged_from == divider.message.id
        kept = [row.data for row in await desk.branch() if "compacted" in row.data]
    assert kept == [{"compacted": "completed", "detail": ["sum"]}]


async def test_r15_a_compaction_that_failed_abridges_nothing(tmp_path: Path) -> None:
    def failing(running: Running) -> None:
        running.tell(ContextCompacted(None, "in_progress"))
        running.tell(ContextCompacted("no room", "failed"))
        answering(running)

    async with client(tmp_path, Upstream(scene=failing)) as desk:
        over = await desk.say("one")
    assert over.turn is not None and over.turn.unabridged_from is None
