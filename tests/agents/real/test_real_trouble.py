"""Claude and OpenCode as they are, offline, in real trouble: limits, logins, silence, lost sessions, killed processes.

``tests/rig/rig install claude opencode`` installs them. What each heard is proved by the model behind it.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from catena_acp.agents.catalog import command_spec
from catena_acp.continuity.conversation_events import (
    MessageGrew,
    PermissionClosed,
    PermissionOpened,
    TurnEnded,
)
from catena_acp.continuity.routing.prior_context import BEGIN
from catena_acp.conversation.access.logins import UnansweredPrompt
from catena_acp.conversation.conversations.conversations import Conversations
from catena_acp.conversation.inspection.chain import Loads
from catena_acp.errors import LogoutNotOffered
from catena_acp.trouble.troubles import Offer, Trouble
from catena_store.database.database import Database
from catena_store.records import ContextSource, Kind, LinkState, Message, QueueItem, StopReason
from catena_store.windows import queue
from support.agents.real import RealAgent, fake_model, wait_until
from support.conversations.rehearsed import Desk, open_window
from support.places import ASKING_CLIENT

pytestmark = [pytest.mark.real, pytest.mark.timeout(180)]

Model = tuple[int, Path]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    log = tmp_path_factory.mktemp("model") / "requests.jsonl"
    with fake_model(log) as port:
        yield port, log


@pytest.fixture(params=["opencode", "claude"])
def agent(request: pytest.FixtureRequest, model: Model, tmp_path: Path) -> Iterator[RealAgent]:
    real = RealAgent(request.param, tmp_path, *model)
    yield real
    real.kill()


@pytest.fixture
def claude(model: Model, tmp_path: Path) -> Iterator[RealAgent]:
    real = RealAgent("claude", tmp_path, *model)
    yield real
    real.kill()


@pytest.fixture
def opencode(model: Model, tmp_path: Path) -> Iterator[RealAgent]:
    real = RealAgent("opencode", tmp_path, *model)
    yield real
    real.kill()


@asynccontextmanager
async def client(agent: RealAgent, resume: tuple[str, str] | None = None) -> AsyncIterator[Desk]:
    """One life of a client: a new conversation, or one of an earlier life by its id and its window's."""
    spec = command_spec(agent.command)
    async with (
        Database.open(agent.data / "catena.db") as db,
        Conversations.serve(db, specs={spec.name: spec}, client_version="test") as served,
    ):
        if resume:
            conversation, window_id = await served.open(resume[0]), resume[1]
        else:
            conversation = await served.create(agent=spec, cwd=str(agent.project))
            window_id = await open_window(db, conversation.id)
        desk = Desk(db, served, conversation, window_id)
        conversation.subscribe(desk.hear)
        yield desk


def known(desk: Desk) -> tuple[str, str]:
    return desk.conversation.id, desk.window_id


async def retried(desk: Desk) -> TurnEnded:
    at = len(desk.told)
    await desk.window.retry()
    await desk.window.wait_idle()
    return next(news for news in desk.told[at:] if isinstance(news, TurnEnded))


async def says(desk: Desk, prompt: str, words: str, times: int = 1) -> None:
    """Say something, and wait until the answer holds the words so many times."""
    at = len(desk.told)
    await desk.window.say(prompt)

    def said() -> bool | None:
        grown = "".join(news.text for news in desk.told[at:] if isinstance(news, MessageGrew))
        return True if grown.count(words) >= times else None

    await desk.until(said)


async def stopped(desk: Desk) -> None:
    await desk.window.stop()
    await desk.window.wait_idle()


async def asks_its_model(agent: RealAgent, prompt: str, times: int = 1) -> None:
    """Wait until the model behind the agent has been asked so many times."""
    await asyncio.to_thread(wait_until, lambda: agent.asked(prompt) >= times, f"the model is asked {prompt}")


async def waiting(desk: Desk) -> list[QueueItem]:
    async with desk.db.read() as reader:
        return await queue.items(reader, desk.window_id)


def spoken(rows: list[Message]) -> list[tuple[Kind, str]]:
    return [(row.kind, row.text) for row in rows if row.kind in (Kind.USER, Kind.AGENT)]


def lines_heard(agent: RealAgent, prompt: str) -> list[str]:
    """Every line that the model knew as the person's when it answered the prompt."""
    return [line for user in agent.heard(prompt).users for line in user.splitlines() if line.strip()]


def killed_while_it_is_asked(agent: RealAgent, prompt: str) -> tuple[str, str]:
    """A client that was killed while a permission was open; its conversation's id and its window's."""
    store = str(agent.data / "catena.db")
    command = [sys.executable, str(ASKING_CLIENT), store, str(agent.project), agent.command, prompt]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        conversation_id, window_id = process.stdout.readline().split()
        process.kill()
    return conversation_id, window_id


async def test_r01_r19_a_rate_limited_prompt_goes_to_a_real_agent_again_as_the_same_row(
    agent: RealAgent,
) -> None:
    prompt = "FAILNR429 ONCE"
    async with client(agent) as desk:
        await desk.say("before the limit")
        limited = await desk.say(prompt)
        assert limited.problem is not None
        assert (limited.problem.trouble, limited.problem.offers[0]) == (Trouble.RATE_LIMIT, Offer.RETRY)
        again = await retried(desk)
        assert again.problem is None
        await desk.say("after the limit")
        turns, links, branch = await desk.turns(), await desk.links(), await desk.branch()

    assert [turn.how for turn in turns] == [
        ContextSource.FRESH,
        ContextSource.CONTINUED,
        ContextSource.CONTINUED,
        ContextSource.CONTINUED,
    ]
    assert turns[1].prompt_id == turns[2].prompt_id
    assert (turns[1].stop_reason, turns[2].stop_reason) == (StopReason.ERROR, StopReason.END_TURN)
    assert len(links) == 1
    assert [row.text for row in branch if row.kind is Kind.USER] == [
        "before the limit",
        prompt,
        "after the limit",
    ]
    # Both agents keep the prompt that failed; neither tells its model of the error.
    assert lines_heard(agent, "after the limit") == ["before the limit", prompt, prompt, "after the limit"]
    assert "fake error" not in agent.heard("after the limit").everything


async def test_r03_the_overload_that_claude_says_in_words_and_answers_is_told_once_and_brings_nothing(
    claude: RealAgent,
) -> None:
    async with client(claude) as desk:
        over = await desk.say("FAILNR529 ONCE")
        branch = await desk.branch()
        assert over.problem is not None and over.problem.trouble is Trouble.OVERLOAD
        assert (await retried(desk)).problem is None
        turns, links = await desk.turns(), await desk.links()
        # A prompt that is another one leaves the failed one where it is, and the session is told of it.
        await desk.say("FAILNR529")
        await desk.say("another one")
        last = (await desk.turns())[-1]

    assert [row.kind for row in branch] == [Kind.USER, Kind.AGENT, Kind.NOTICE]
    assert branch[1].text.startswith("API Error: 529")
    assert turns[0].prompt_id == turns[1].prompt_id
    assert len(links) == 1
    assert (last.how, last.link_id) == (ContextSource.CAUGHT_UP, links[0].id)


async def test_r06_m07_a_prompt_that_wanted_a_login_goes_out_again_after_it_in_the_same_session(
    claude: RealAgent,
) -> None:
    prompt = "FAILNR401 ONCE"
    async with client(claude) as desk:
        await desk.say("before the login")
        refused = await desk.say(prompt)
        assert refused.problem is not None and refused.problem.trouble is Trouble.LOGIN_NEEDED
        assert await desk.conversation.logins.owed(desk.window) == UnansweredPrompt(None, begun=False)
        await desk.conversation.logins.logged_in(desk.window)
        assert (await retried(desk)).problem is None
        turns, links = await desk.turns(), await desk.links()

    assert turns[1].prompt_id == turns[2].prompt_id
    assert [turn.how for turn in turns] == [
        ContextSource.FRESH,
        ContextSource.CONTINUED,
        ContextSource.RESUMED,
    ]
    assert len(links) == 1
    assert lines_heard(claude, prompt) == ["before the login", prompt, prompt]


async def test_r06_opencode_that_is_refused_by_its_provider_wants_a_login(opencode: RealAgent) -> None:
    async with client(opencode) as desk:
        refused = await desk.say("FAIL401 ONCE")
        assert refused.problem is not None
        assert (refused.problem.trouble, refused.problem.offers[0]) == (Trouble.LOGIN_NEEDED, Offer.LOGIN)
        assert (await retried(desk)).problem is None
        with pytest.raises(LogoutNotOffered, match="OpenCode cannot be logged out"):
            await desk.conversation.logins.log_out(desk.window)
        turns = await desk.turns()
    assert turns[0].prompt_id == turns[1].prompt_id


async def test_r11_a_real_agent_that_is_stopped_in_whatever_it_does_keeps_its_session(
    agent: RealAgent,
) -> None:
    async with client(agent) as desk:
        await desk.say("before")
        await desk.window.say("HANG")
        await asks_its_model(agent, "HANG")
        await stopped(desk)
        # The line is cut again and again, and both agents begin anew each time.
        await says(desk, "CUT 3", "w3", times=2)
        await stopped(desk)
        cut = next(row for row in await desk.branch() if row.kind is Kind.AGENT and "w3" in row.text)
        # Silent, they wait to ask once more.
        await desk.window.say("FAIL500")
        await asks_its_model(agent, "FAIL500", times=2)
        await stopped(desk)
        await desk.window.say("TOOLWRITE")
        asked = await desk.until_told(PermissionOpened)
        await stopped(desk)
        assert desk.window.asked == []
        assert any(isinstance(news, PermissionClosed) and news.ask_id == asked.ask_id for news in desk.told)
        (tool,) = [row for row in await desk.branch() if row.kind is Kind.TOOL]
        await desk.say("after")
        turns, links, branch = await desk.turns(), await desk.links(), await desk.branch()

    ends = [turn.stop_reason for turn in turns]
    assert ends == [StopReason.END_TURN, *[StopReason.CANCELLED] * 4, StopReason.END_TURN]
    assert [link.state for link in links] == [LinkState.OPEN]
    assert cut.text.count("[cut 3]") + sum("[cut 3]" in row.text for row in branch if row.id != cut.id) >= 2
    assert tool.data["status"] in ("cancelled", "failed")
    assert not list(agent.project.glob("fake*.txt"))
    heard = agent.heard("after").everything
    for said in ("before", "HANG", "CUT 3", "w3", "FAIL500", "TOOLWRITE"):
        assert said in heard


async def test_r15_claude_that_cannot_shorten_its_context_enough_says_so_and_goes_on(
    claude: RealAgent,
) -> None:
    async with client(claude) as desk:
        await desk.say("before it is full")
        full = await desk.say("FAILCTX")
        assert full.problem is not None and full.problem.trouble is Trouble.CONTEXT_FULL
        await desk.say("go on")
        turns, branch = await desk.turns(), await desk.branch()
        (link,) = await desk.links()

    assert any(row.kind is Kind.NOTICE and row.data.get("compacted") for row in branch)
    assert spoken(branch)[0] == (Kind.USER, "before it is full")
    assert (turns[-1].stop_reason, turns[-1].how) == (StopReason.END_TURN, ContextSource.CAUGHT_UP)
    assert link.unabridged_from is not None
    (seam,) = [row for row in branch if row.kind is Kind.SEAM]
    assert "shortened" in seam.text
    assert "FAILCTX" in claude.heard("go on").everything


async def test_r08_r15_opencode_shortens_its_context_in_its_own_words_and_an_empty_turn_is_left(
    opencode: RealAgent,
) -> None:
    async with client(opencode) as desk:
        await desk.say("before it is full")
        full = await desk.say("FAILCTX")
        assert full.problem is None
        summary = (await desk.branch())[2:]
        assert {row.kind for row in summary} == {Kind.USER, Kind.AGENT}
        empty = await desk.say("EMPTY")
        assert empty.problem is not None and empty.problem.trouble is Trouble.EMPTY_TURN
        await desk.say("after the empty turn")
        turns, links = await desk.turns(), await desk.links()

    assert [link.state for link in links] == [LinkState.SUSPECT, LinkState.OPEN]
    assert (turns[-1].how, turns[-1].link_id) == (ContextSource.TOLD, links[1].id)
    told, _ = opencode.heard("after the empty turn").last
    assert told.startswith(BEGIN)
    assert all(said in told for said in ("before it is full", "FAILCTX", "EMPTY"))
    assert all(row.text.splitlines()[0] in told for row in summary)


async def test_r07_a_real_agent_whose_transcript_is_gone_is_told_everything(agent: RealAgent) -> None:
    async with client(agent) as desk:
        await desk.say("the canary is called Frida")
        await desk.say("and it sings")
        (link,) = await desk.links()
    claude_keeps = list(agent.home.glob(f".claude/projects/*/{link.session_id}.jsonl"))
    opencode_keeps = list(agent.home.glob(".local/share/opencode/opencode*.db*"))
    assert claude_keeps or opencode_keeps
    for kept in (*claude_keeps, *opencode_keeps):
        kept.unlink()

    async with client(agent, known(desk)) as desk:
        ended = await desk.say("what is its name?")
        assert ended.problem is None
        await desk.say("and what does it do?")
        turns, links, branch = await desk.turns(), await desk.links(), await desk.branch()
        probe = await desk.conversation.chain.check_session(link.id)
        chain = await desk.conversation.chain.read(desk.window)

    assert [kept.state for kept in links] == [LinkState.LOST, LinkState.OPEN]
    assert [turn.how for turn in turns[2:]] == [ContextSource.TOLD, ContextSource.CONTINUED]
    (seam,) = [row for row in branch if row.kind is Kind.SEAM]
    assert seam.text.startswith("session lost") and "4 messages replayed" in seam.text
    told, _ = agent.heard("what is its name?").last
    assert "Frida" in told and "and it sings" in told
    assert probe.loads is Loads.NO
    assert (chain.entries[0].ended or "").startswith("lost: ")


async def test_r14_clear_never_reaches_claude_and_nothing_above_it_does_after_a_restart(
    claude: RealAgent,
) -> None:
    async with client(claude) as desk:
        await desk.say("above")
        await desk.window.say("/clear")
        await desk.say("below")
    async with client(claude, known(desk)) as desk:
        await desk.say("further below")
        branch, turns = await desk.branch(), await desk.turns()

    assert claude.asked("/clear") == 0
    assert claude.heard("below").users == ["below"]
    assert claude.heard("further below").users == ["below", "further below"]
    assert [turn.how for turn in turns] == [ContextSource.FRESH, ContextSource.FRESH, ContextSource.RESUMED]
    assert [text for kind, text in spoken(branch) if kind is Kind.USER] == ["above", "below", "further below"]


async def test_m08_w13_after_a_logout_claude_knows_nothing_of_what_was_said_before(claude: RealAgent) -> None:
    async with client(claude) as desk:
        await desk.say("a secret of the first account")
        await desk.conversation.logins.log_out(desk.window)
        await desk.say("hello again")
        branch = await desk.branch()

    assert claude.heard("hello again").users == ["hello again"]
    assert spoken(branch)[0] == (Kind.USER, "a secret of the first account")


async def test_m09_from_the_oldest_link_a_real_agent_goes_on_natively_after_three_rollovers(
    agent: RealAgent,
) -> None:
    async with client(agent) as desk:
        await desk.say("one")
        await desk.say("two")
        (oldest,) = await desk.links()
        for _ in range(3):
            assert (await retried(desk)).problem is None
        links = await desk.links()
        assert len({link.session_id for link in links}) == 4
        await desk.conversation.chain.pick(desk.window, oldest.id)
        probe = await desk.conversation.chain.check_session(oldest.id)
        await desk.say("three")
        last = (await desk.turns())[-1]

    assert probe.loads is Loads.YES
    assert (last.link_id, last.told, last.prior_context) == (oldest.id, 0, None)
    assert agent.heard("three").users == ["one", "two", "three"]


async def test_w16_a_prompt_sent_now_is_heard_once_whether_the_agent_can_be_steered_or_not(
    agent: RealAgent,
) -> None:
    async with client(agent) as desk:
        await desk.say("one")
        await says(desk, "SLOW 30", "w2")
        await desk.window.say("mind the gap")
        (item,) = await waiting(desk)
        steered = await desk.window.send_now(item.id)
        await desk.window.wait_idle()
        await desk.say("what did you hear?")
        turns, links, branch = await desk.turns(), await desk.links(), await desk.branch()
        assert await waiting(desk) == []

    prompts = ["one", "SLOW 30", "mind the gap", "what did you hear?"]
    assert [text for kind, text in spoken(branch) if kind is Kind.USER] == prompts
    assert len(links) == 1
    heard = agent.heard("what did you hear?")
    assert "w2" in heard.everything
    if agent.project.name == "acp-cwd-claude":
        assert steered
        assert [turn.stop_reason for turn in turns] == [StopReason.END_TURN] * 3
        assert heard.users == prompts
        assert any(row.data.get("steered") for row in branch)
    else:
        assert not steered
        assert [turn.stop_reason for turn in turns][1] is StopReason.CANCELLED
        assert [user.splitlines()[-1] for user in heard.users] == prompts


async def test_w16_what_waits_when_claude_is_killed_is_held_and_then_sent_with_all_that_it_needs(
    claude: RealAgent,
) -> None:
    async with client(claude) as desk:
        await desk.say("before")
        await says(desk, "SLOW 60", "w2")
        await desk.window.say("it waited")
        claude.kill()
        gone = await desk.until_told(
            TurnEnded, lambda news: news.turn is not None and news.turn.stop_reason is StopReason.AGENT_GONE
        )
        assert gone.problem is not None and gone.problem.trouble is Trouble.AGENT_GONE
        await desk.window.wait_idle()
        (item,) = await waiting(desk)
        assert (item.text, item.held) == ("it waited", True)
        await desk.window.send_queued()
        await desk.window.wait_idle()
        assert await waiting(desk) == []
        last = (await desk.turns())[-1]

    assert (last.how, last.stop_reason) == (ContextSource.CAUGHT_UP, StopReason.END_TURN)
    heard = claude.heard("it waited").everything
    assert all(said in heard for said in ("before", "SLOW 60", "w2"))


async def test_r04_p07_a_client_killed_while_a_permission_is_open_lists_the_call_as_of_unknown_outcome(
    claude: RealAgent,
) -> None:
    left = await asyncio.to_thread(killed_while_it_is_asked, claude, "TOOLWRITE")
    await asyncio.to_thread(wait_until, lambda: not claude.processes(), "the agent ends with its client")

    async with client(claude, left) as desk:
        assert desk.window.asked == []
        ended = await desk.say("did you write it?")
        assert ended.problem is None
        turns, branch = await desk.turns(), await desk.branch()

    assert [turn.stop_reason for turn in turns] == [StopReason.INTERRUPTED, StopReason.END_TURN]
    (tool,) = [row for row in branch if row.kind is Kind.TOOL]
    assert tool.data["status"] == "unknown"
    assert not list(claude.project.glob("fake*.txt"))
    heard = claude.heard("did you write it?").everything
    assert "TOOLWRITE" in heard
    assert "outcome unknown" in heard


async def test_r01_one_conversation_s_limit_leaves_the_other_with_the_same_claude_streaming(
    claude: RealAgent,
) -> None:
    async with client(claude) as desk:
        spec = command_spec(claude.command)
        second = await desk.conversations.create(agent=spec, cwd=str(claude.project))
        other = Desk(desk.db, desk.conversations, second, await open_window(desk.db, second.id))
        second.subscribe(other.hear)
        await other.say("hello")
        await says(desk, "SLOW 5", "w1")
        limited = await other.say("FAILNR429")
        assert desk.conversation.busy
        await desk.window.wait_idle()
        (turn,) = await desk.turns()
        answer = (await desk.branch())[-1]

    assert limited.problem is not None and limited.problem.trouble is Trouble.RATE_LIMIT
    assert turn.stop_reason is StopReason.END_TURN
    assert "w5 [end]" in answer.text
