"""Claude and OpenCode as they are, offline: the conversation survives whatever happens to their processes.

``tests/rig/rig install claude opencode`` installs them. What each heard is proved by the model behind it.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from catena.app.services import serve_conversations
from catena.settings.settings import Settings
from catena_acp.agents.catalog import command_spec
from catena_acp.continuity.conversation_events import ConversationEvent, MessageGrew
from catena_acp.continuity.routing.prior_context import BEGIN, END
from catena_acp.conversation.conversation import Conversation
from catena_store.chains import turns
from catena_store.database.database import Database
from catena_store.records import ContextSource, StopReason, Turn
from catena_store.windows import windows
from support.agents.real import PATIENCE, RealAgent, fake_model, read_until, wait_until

pytestmark = [pytest.mark.real, pytest.mark.timeout(180)]

Model = tuple[int, Path]
PATIENCE_AFTER_A_CRASH = 60.0


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


@asynccontextmanager
async def window_on(agent: RealAgent) -> AsyncIterator[tuple[Database, Conversation]]:
    """A conversation with the agent in this process, shown by the window "window"."""
    spec = command_spec(agent.command)
    async with (
        Database.open(agent.data / "catena.db") as db,
        serve_conversations(db, Settings(), chosen=spec) as conversations,
    ):
        conversation = await conversations.create(agent=spec, cwd=str(agent.project))
        async with db.write() as tx:
            await windows.open(tx, id="window", conversation_id=conversation.id, leaf_id=None)
        yield db, conversation


async def turns_of(db: Database, conversation: Conversation) -> list[Turn]:
    async with db.read() as reader:
        return await turns.of_conversation(reader, conversation.id)


def test_p01_a_real_agent_hears_the_bare_prompt_byte_for_byte(agent: RealAgent) -> None:
    prompt = "Say it back: «quotes», a tab\there,\n\n  an indented line,\nand {braces} & <angles> ✓"
    ran = agent.run(prompt)

    assert (ran.status, ran.errors) == (0, "")
    assert ran.output.startswith("[echo] users=1 assistants=0 ")
    assert agent.heard(prompt).last == [prompt]
    (turn,) = agent.kept()["turns"]
    assert (turn["how"], turn["stop_reason"], turn["prior_context"]) == ("fresh", "end_turn", None)


async def test_p01_a_real_agent_hears_only_bare_prompts_while_its_session_lives(agent: RealAgent) -> None:
    async with window_on(agent) as (db, conversation):
        for prompt in ("first prompt", "second prompt", "third prompt"):
            await conversation.window("window").say(prompt)
            await conversation.window("window").wait_idle()
        kept = await turns_of(db, conversation)

    assert [turn.how for turn in kept] == [
        ContextSource.FRESH,
        ContextSource.CONTINUED,
        ContextSource.CONTINUED,
    ]
    assert agent.heard("third prompt").users == ["first prompt", "second prompt", "third prompt"]


async def test_r11_a_real_agent_that_was_stopped_keeps_its_session_and_hears_what_it_said(
    agent: RealAgent,
) -> None:
    said = asyncio.Event()
    words: list[str] = []

    def listen(news: ConversationEvent) -> None:
        if isinstance(news, MessageGrew):
            words.append(news.text)
            if "w3" in "".join(words):
                said.set()

    async with window_on(agent) as (db, conversation):
        conversation.subscribe(listen)
        await conversation.window("window").say("before the stop")
        await conversation.window("window").wait_idle()
        await conversation.window("window").say("SLOW 60")
        async with asyncio.timeout(PATIENCE):
            await said.wait()
        await conversation.window("window").stop()
        await conversation.window("window").wait_idle()
        await conversation.window("window").say("after the stop")
        await conversation.window("window").wait_idle()
        kept = await turns_of(db, conversation)

    assert [turn.stop_reason for turn in kept] == [
        StopReason.END_TURN,
        StopReason.CANCELLED,
        StopReason.END_TURN,
    ]
    assert len({turn.link_id for turn in kept}) == 1
    heard = agent.heard("after the stop").everything
    assert "before the stop" in heard
    assert "SLOW 60" in heard
    assert "w3" in heard


def test_p01_a_real_agent_is_resumed_after_a_restart_and_told_nothing(agent: RealAgent) -> None:
    agent.run("first prompt")
    agent.run("second prompt", "--continue")
    ran = agent.run("third prompt", "--continue")

    assert ran.status == 0
    assert "users=3 assistants=2" in ran.output
    assert "all=first prompt|second prompt|third prompt" in ran.output
    assert agent.heard("third prompt").users == ["first prompt", "second prompt", "third prompt"]
    kept = agent.kept()
    assert [turn["how"] for turn in kept["turns"]] == ["fresh", "resumed", "resumed"]
    assert len(kept["links"]) == 1


def test_r07_claude_goes_on_after_a_restart_though_it_does_not_replay_a_command_that_it_ran_itself(
    model: Model, tmp_path: Path
) -> None:
    agent = RealAgent("claude", tmp_path, *model)
    try:
        agent.run("<div> is not closed, it says")
        assert "Context" in agent.run("/context", "--continue").output
        ran = agent.run("third prompt", "--continue")
    finally:
        agent.kill()

    assert ran.status == 0
    kept = agent.kept()
    assert [turn["how"] for turn in kept["turns"]] == ["fresh", "resumed", "resumed"]
    assert [link["state"] for link in kept["links"]] == ["open"]
    heard = agent.heard("third prompt").everything
    assert "<div> is not closed, it says" in heard
    assert BEGIN not in heard


def test_w01_a_real_agent_that_was_allowed_to_runs_its_tool(agent: RealAgent) -> None:
    ran = agent.run("TOOLSHELL please", "--permissions", "allow")

    assert ran.status == 0
    assert "[after-tool]" in ran.output
    (made,) = agent.project.glob("shell*.txt")
    assert made.read_text().startswith("fake-shell-")
    (tool,) = [row for row in agent.kept()["messages"] if row["kind"] == "tool"]
    assert tool["data"]["status"] == "completed"


def test_c01_a_real_agent_that_was_denied_does_not_run_its_tool(agent: RealAgent) -> None:
    ran = agent.run("TOOLSHELL please", "--permissions", "deny")

    assert ran.status == 4
    assert not list(agent.project.glob("shell*.txt"))


def test_r04_a_real_agent_killed_in_mid_turn_hears_all_of_it_in_the_next(agent: RealAgent) -> None:
    agent.run("before the crash")
    with agent.running("SLOW 60", "--continue") as process:
        read_until(process, "w3")
        agent.kill()
        assert process.wait(PATIENCE_AFTER_A_CRASH) == 3
    ran = agent.run("after the crash", "--continue")

    assert ran.status == 0
    heard = agent.heard("after the crash").everything
    assert "before the crash" in heard
    assert "SLOW 60" in heard
    assert "w3" in heard
    _, interrupted, last = agent.kept()["turns"]
    assert (interrupted["stop_reason"], last["how"]) == ("agent_gone", "caught_up")
    (partial,) = [
        row
        for row in agent.kept()["messages"]
        if row["turn_id"] == interrupted["id"] and row["kind"] == "agent"
    ]
    assert partial["state"] == "interrupted"
    assert "w3" in partial["text"]


def test_r13_nothing_of_a_real_agent_is_left_when_the_client_is_killed_in_mid_turn(agent: RealAgent) -> None:
    with agent.running("SLOW 60") as process:
        read_until(process, "w3")
        assert agent.processes()
        process.kill()
        wait_until(lambda: not agent.processes(), "the guard ends the agent of a client that is gone")


def test_r17_after_the_client_was_killed_in_mid_turn_a_real_agent_hears_all_of_it(agent: RealAgent) -> None:
    agent.run("before the crash")
    with agent.running("SLOW 60", "--continue") as process:
        read_until(process, "w5")
        wait_until(lambda: "w3" in agent.kept()["messages"][-1]["text"], "an answer is kept while it comes")
        process.kill()
    ran = agent.run("after the crash", "--continue")

    assert ran.status == 0
    heard = agent.heard("after the crash").everything
    assert "before the crash" in heard
    assert "SLOW 60" in heard
    assert "w3" in heard, "what was kept of the answer is told"
    assert [turn["stop_reason"] for turn in agent.kept()["turns"]] == ["end_turn", "interrupted", "end_turn"]


def test_r07_a_real_agent_that_lost_its_session_is_told_the_conversation(agent: RealAgent) -> None:
    agent.run("the canary is called Frida")
    agent.run("and it sings", "--continue")
    shutil.rmtree(agent.home)
    agent.home.mkdir()
    ran = agent.run("what is its name?", "--continue")

    assert ran.status == 0
    told, _ = agent.heard("what is its name?").last
    assert (told.startswith(BEGIN), told.endswith(END)) == (True, True)
    assert "Frida" in told
    assert "and it sings" in told
    kept = agent.kept()
    assert kept["turns"][-1]["how"] == "told"
    assert kept["turns"][-1]["prior_context"] == told
    assert [link["state"] for link in kept["links"]] == ["lost", "open"]
