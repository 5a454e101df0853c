"""Sessions that Claude and OpenCode made without Catena: listed, previewed, resumed and forked with their context."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from catena.app.services import serve_conversations
from catena.settings.settings import Settings
from catena_acp.agents.agent import start_agent
from catena_acp.agents.catalog import command_spec
from catena_acp.conversation.adoption.adoption import Adopter
from catena_acp.conversation.adoption.rows import preview
from catena_acp.conversation.conversations.conversations import Conversations
from catena_acp.port.port import SessionSetup
from catena_acp.port.session_events import Event, PermissionRequested, TextBlock
from catena_acp.transcripts.claude import encoded_directory
from catena_acp.transcripts.folding import fold, merged
from catena_acp.transcripts.session import ForeignSession
from catena_acp.transcripts.sources import Scanner, places, read_session
from catena_store import places as stored_places
from catena_store.chains import links, turns
from catena_store.conversations import messages
from catena_store.database.database import Database
from catena_store.ids import new_id
from catena_store.records import ContextSource, Kind, LinkState
from catena_store.windows import windows
from support.agents.real import RealAgent, fake_model
from support.transcripts.adopted import adopt_session

pytestmark = [pytest.mark.real, pytest.mark.timeout(180)]

PROMPTS = ["remember the kingfisher", "TOOLWRITE", "THINK"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    log = tmp_path_factory.mktemp("model") / "requests.jsonl"
    with fake_model(log) as port:
        yield port, log


@pytest.fixture(params=["opencode", "claude"])
def agent(request: pytest.FixtureRequest, model: tuple[int, Path], tmp_path: Path) -> Iterator[RealAgent]:
    real = RealAgent(request.param, tmp_path, *model)
    yield real
    real.kill()


async def spoken_elsewhere(agent: RealAgent, cwd: Path, prompts: list[str]) -> str:
    """A session that another client had with the agent; returns its id."""
    other = await start_agent(command_spec(agent.command), cwd=str(cwd), client_version="0")
    try:
        opened = await other.new_session(SessionSetup(str(cwd)))

        def allow(event: Event) -> None:
            if isinstance(event, PermissionRequested):
                once = next(each for each in event.options if each.kind == "allow_once")
                other.answer_permission(event.ask_id, once.id)

        other.listen(opened.session_id, allow)
        for prompt in prompts:
            await other.prompt(opened.session_id, [TextBlock(prompt)])
        return opened.session_id
    finally:
        await other.stop()


async def sessions_of(agent: RealAgent) -> list[ForeignSession]:
    return await Scanner(places({"HOME": str(agent.home)})).sessions()


async def foreign_now(agent: RealAgent, conversations: Conversations, db: Database) -> list[ForeignSession]:
    """The sessions on disk and of running agents that are none of ours."""
    rows = merged(await sessions_of(agent), await conversations.foreign.listed())
    async with db.read() as reader:
        return list((await fold(reader, rows)).foreign)


async def test_h07_a_real_session_is_listed_previewed_resumed_and_forked_with_its_context(
    agent: RealAgent,
) -> None:
    session_id = await spoken_elsewhere(agent, agent.project, PROMPTS)

    (session,) = await sessions_of(agent)
    assert (session.source, session.session_id, session.cwd) == (agent.name, session_id, str(agent.project))
    assert (session.first_prompt, session.last_prompt) == (PROMPTS[0], PROMPTS[-1])
    shown = preview(read_session(session), new_id=new_id)
    assert [row.text for row in shown if row.kind is Kind.USER] == PROMPTS
    (change,) = (part for row in shown if row.kind is Kind.TOOL for part in row.data["content"])
    assert change["type"] == "diff"
    assert any(row.kind is Kind.THOUGHT for row in shown)

    spec = command_spec(agent.command)
    async with (
        Database.open(agent.data / "catena.db") as db,
        serve_conversations(db, Settings(), chosen=spec) as conversations,
    ):
        adopted = await adopt_session(db, session, new_id=new_id, adopter=Adopter(spec.name, spec.profile))
        async with db.read() as reader:
            leaf = await stored_places.of(reader, adopted.conversation_id)
        async with db.write() as tx:
            await windows.open(tx, id="window", conversation_id=adopted.conversation_id, leaf_id=leaf)
        conversation = await conversations.open(adopted.conversation_id)
        fork = await conversations.fork(conversation, window_id="window")
        await fork.window.say("on a branch of its own")
        await fork.window.wait_idle()
        await conversation.window("window").say("and now resume")
        await conversation.window("window").wait_idle()
        async with db.read() as reader:
            kept = await turns.of_conversation(reader, adopted.conversation_id)
            (link,) = await links.of_conversation(reader, adopted.conversation_id)
            branch = await messages.page(reader, kept[-1].last_id, 100)
        async with asyncio.timeout(60):  # a fork that is tried or saved after a turn is no link for a moment
            while await foreign_now(agent, conversations, db):  # noqa: ASYNC110 - files say nothing when they change
                await asyncio.sleep(0.05)

    assert agent.heard("on a branch of its own").users == [*PROMPTS, "on a branch of its own"]
    assert agent.heard("and now resume").users == [*PROMPTS, "and now resume"]
    assert [turn.how for turn in kept[-2:]] == [ContextSource.CONTINUED, ContextSource.RESUMED]
    assert (link.session_id, link.state, link.knows) == (session_id, LinkState.OPEN, branch[-1].id)


async def test_a_real_session_that_went_on_elsewhere_is_told_and_not_mixed_up(agent: RealAgent) -> None:
    session_id = await spoken_elsewhere(agent, agent.project, PROMPTS[:1])
    (session,) = await sessions_of(agent)
    spec = command_spec(agent.command)
    async with (
        Database.open(agent.data / "catena.db") as db,
        serve_conversations(db, Settings(), chosen=spec) as conversations,
    ):
        adopted = await adopt_session(db, session, new_id=new_id, adopter=Adopter(spec.name, spec.profile))
        other = await start_agent(spec, cwd=str(agent.project), client_version="0")
        await other.resume_session(session_id, SessionSetup(str(agent.project)))
        await other.prompt(session_id, [TextBlock("said in the other tool")])
        await other.stop()
        async with db.read() as reader:
            leaf = await stored_places.of(reader, adopted.conversation_id)
        async with db.write() as tx:
            await windows.open(tx, id="window", conversation_id=adopted.conversation_id, leaf_id=leaf)
        conversation = await conversations.open(adopted.conversation_id)
        await conversation.window("window").say("and now resume")
        await conversation.window("window").wait_idle()

    heard = agent.heard("and now resume")
    assert PROMPTS[0] in heard.everything
    assert "said in the other tool" not in heard.everything


@pytest.mark.parametrize(
    "name",
    [
        "a b.c",
        "naïve-漢字",
        "emoji-🐈‍⬛-x",
        "dots..and__under",
        "long-" + 230 * "y",
        "deep/" + 5 * (45 * "ö" + "/"),
    ],
)
async def test_h05_claude_keeps_a_session_where_we_look_for_it(
    model: tuple[int, Path], tmp_path: Path, name: str
) -> None:
    agent = RealAgent("claude", tmp_path, *model)
    cwd = tmp_path / name
    cwd.mkdir(parents=True)
    session_id = await spoken_elsewhere(agent, cwd, ["hello"])
    (session,) = await sessions_of(agent)
    assert (session.session_id, session.cwd) == (session_id, str(cwd))
    assert session.path
    assert session.path.parent.name == encoded_directory(str(cwd))
