"""Claude and OpenCode as they are, offline: edits, forks and asides reach exactly the context of their branch.

``tests/rig/rig install claude opencode`` installs them. What each heard is proved by the model behind it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from catena.app.mcp_server import tool_server
from catena_acp.agents.catalog import command_spec
from catena_acp.changes.reading import ChangeScope, Since
from catena_acp.continuity.conversation_events import (
    ConversationEvent,
    LeafMoved,
    PermissionOpened,
    TurnEnded,
)
from catena_acp.continuity.routing.prior_context import BEGIN
from catena_acp.continuity.services import Checkpointing, WhileIdle
from catena_acp.conversation.asides.asides import AsideEnded
from catena_acp.conversation.conversations.conversations import Conversations
from catena_acp.conversation.conversations.undo import ConversationUndo, Scope
from catena_acp.snapshots import keeping
from catena_acp.snapshots.keeping import FileSnapshots
from catena_acp.snapshots.restoring import FileChoice
from catena_acp.snapshots.scope import SnapshotScope
from catena_store.conversations.checkpoints import Frequency
from catena_store.database.database import Database
from catena_store.ids import utc_now
from catena_store.records import Cause, ContextSource, Kind, Link, LinkState, Message, StopReason
from catena_store.snapshots.repository import snapshots_beside
from support.agents.real import RealAgent, fake_model
from support.conversations.rehearsed import Desk, open_window
from support.storage.work_trees import GIT

pytestmark = [pytest.mark.real, pytest.mark.timeout(180)]

Model = tuple[int, Path]
# However busy the machine is: whether a fork is cheap enough to be parked is not what is asked here.
ALWAYS = WhileIdle(probe=True, park=True, longest=math.inf, share=math.inf)
NEVER = WhileIdle(probe=False, park=False)


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
async def client(
    agent: RealAgent,
    while_idle: WhileIdle,
    resume: tuple[str, str] | None = None,
    checkpointing: Checkpointing | None = None,
) -> AsyncIterator[Desk]:
    """One life of a client: a new conversation, or one of an earlier life by its id and its window's."""
    spec = command_spec(agent.command)
    async with (
        Database.open(agent.data / "catena.db") as db,
        Conversations.serve(
            db,
            specs={spec.name: spec},
            client_version="test",
            while_idle=while_idle,
            asks_first=True,  # Claude's own default mode asks for nothing
            checkpointing=checkpointing,
            snapshots=_snapshots(db),
        ) as served,
    ):
        if resume:
            conversation, window_id = await served.open(resume[0]), resume[1]
        else:
            conversation = await served.create(agent=spec, cwd=str(agent.project))
            window_id = await open_window(db, conversation.id)
        desk = Desk(db, served, conversation, window_id)
        conversation.subscribe(desk.hear)
        yield desk


def _snapshots(db: Database) -> FileSnapshots:
    scope = SnapshotScope.REPOSITORIES
    return FileSnapshots(db, snapshots_beside(db.path), GIT, scope, clock=utc_now, monotonic=lambda: 0.0)


async def said(desk: Desk, text: str) -> TurnEnded:
    """A whole turn, and all that is done after it."""
    over = await desk.say(text)
    await desk.window.settled()
    return over


async def said_with_a_tool(desk: Desk, text: str) -> TurnEnded:
    """A whole turn in which a tool asks once whether it may run, and may."""
    at = len(desk.told)
    await desk.window.say(text)
    asked = await desk.until_told(PermissionOpened)
    (option,) = [option for option in asked.options if option.kind == "allow_once"]
    await desk.conversation.answer(asked.ask_id, option.id)
    await desk.window.settled()
    return next(news for news in desk.told[at:] if isinstance(news, TurnEnded))


async def edited(desk: Desk, old: str, new: str) -> TurnEnded:
    """Say a prompt of the branch in other words, and wait for the end of its turn."""
    row = next(row for row in await desk.branch() if row.kind is Kind.USER and row.text == old)
    at = len(desk.told)
    await desk.window.edit(row.id, new)
    await desk.window.settled()
    return next(news for news in desk.told[at:] if isinstance(news, TurnEnded))


def how(over: TurnEnded) -> ContextSource:
    assert over.turn is not None, over.problem
    assert over.problem is None
    return over.turn.how


def parked(links: list[Link]) -> list[Link]:
    return [link for link in links if link.cause is Cause.PARK and link.state is LinkState.PARKED]


def answer_of(branch: list[Message]) -> str:
    return [row.text for row in branch if row.kind is Kind.AGENT][-1]


def kept_of(agent: RealAgent, session_id: str) -> str:
    """A hash of Claude's own transcript of a session."""
    (found,) = agent.home.rglob(f"{session_id}.jsonl")
    return hashlib.sha256(found.read_bytes()).hexdigest()


async def test_e02_after_a_restart_the_second_prompt_of_six_is_said_anew_to_exactly_the_first_turn(
    agent: RealAgent,
) -> None:
    native = ContextSource.FORKED_AT if agent.name == "claude" else ContextSource.FORKED
    prompts = [f"prompt {number}" for number in range(2, 7)]
    async with client(agent, ALWAYS) as desk:
        assert (await said_with_a_tool(desk, "TOOLSHELL first")).problem is None
        assert len(list(agent.project.glob("shell*.txt"))) == 1, "the tool ran"
        for prompt in prompts:
            assert (await said(desk, prompt)).problem is None
        forks = parked(await desk.links())
        known = desk.conversation.id, desk.window_id
    agent.kill()
    async with client(agent, ALWAYS, known) as desk:
        over = await edited(desk, "prompt 2", "another second")
        turns, links, branch = await desk.turns(), await desk.links(), await desk.branch()

    assert how(over) is native
    assert turns[-1].prior_context is None
    assert over.turn is not None and (over.turn.told, over.turn.told_total) == (0, 0)
    heard = agent.heard("another second")
    assert heard.users == ["TOOLSHELL first", "another second"]
    assert not any(prompt in heard.everything for prompt in prompts)
    assert heard.tool_results == 1
    assert heard.everything.count("[after-tool]") == 1, "the whole of the first turn, to its last words"
    assert BEGIN not in heard.everything
    assert answer_of(branch).startswith("[echo] users=2 ")
    carrier = next(link for link in links if link.id == turns[-1].link_id)
    if agent.name == "claude":
        assert forks == []
    else:
        assert carrier.source_id in [link.id for link in forks if link.knows == turns[0].last_id]


async def test_f03_f06_a_fork_of_a_real_agent_is_one_session_and_leaves_its_source_as_it_was(
    agent: RealAgent,
) -> None:
    async with client(agent, NEVER) as desk:
        for prompt in ("first prompt", "second prompt"):
            await said(desk, prompt)
        (source,) = await desk.links()
        rows = await desk.branch()
        before = kept_of(agent, source.session_id) if agent.name == "claude" else ""
        forked = await desk.conversations.fork(
            desk.conversation, at=None, window_id=desk.window_id, side_by_side=True
        )
        branch = Desk(desk.db, desk.conversations, forked.conversation, forked.window.id)
        forked.conversation.subscribe(branch.hear)
        assert forked.link is not None
        ways = [how(await said(branch, prompt)) for prompt in ("on the branch", "and again")]
        (carrier,) = await branch.links()
        assert await desk.branch() == rows
        if agent.name == "claude":
            assert kept_of(agent, source.session_id) == before
        await said(desk, "on the trunk")
        trunk = await desk.links()

    assert (carrier.id, carrier.source_id) == (forked.link.id, source.id)
    assert carrier.session_id != source.session_id
    assert ContextSource.TOLD not in ways and ways[-1] is ContextSource.CONTINUED
    assert agent.heard("and again").users == ["first prompt", "second prompt", "on the branch", "and again"]
    assert [agent.asked(prompt) for prompt in ("first prompt", "on the branch")] == [1, 1]
    assert [link.id for link in trunk] == [source.id]
    assert agent.heard("on the trunk").users == ["first prompt", "second prompt", "on the trunk"]


async def test_a01_an_aside_of_a_real_agent_knows_the_conversation_and_leaves_no_trace_in_it(
    agent: RealAgent,
) -> None:
    question = "what was the first prompt?"
    async with client(agent, NEVER) as desk:
        await said(desk, "first prompt")
        (source,) = await desk.links()
        rows = await desk.branch()
        before = kept_of(agent, source.session_id) if agent.name == "claude" else ""
        aside = await desk.conversation.asides.begin(desk.window)
        assert aside.price.native
        end = [news async for news in aside.ask(question)][-1]
        assert isinstance(end, AsideEnded)
        assert (end.stop, end.problem) == (StopReason.END_TURN, None)
        assert "first prompt" in aside.text
        await aside.close()
        assert await desk.branch() == rows
        if agent.name == "claude":
            assert kept_of(agent, source.session_id) == before
        assert how(await said(desk, "second prompt")) is ContextSource.CONTINUED

    assert "first prompt" in agent.heard(question).everything
    assert agent.heard("second prompt").users == ["first prompt", "second prompt"]


async def test_k09_a_real_agent_saves_and_lists_checkpoints_and_rewinds_to_one_where_the_person_grants_it(
    agent: RealAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(agent.data))
    tools = Checkpointing(Frequency.MANUAL, tools=tool_server)
    async with client(agent, NEVER, checkpointing=tools) as desk:
        with granting(desk):
            await said(desk, "first")
            await said(desk, 'TOOLNAMED save_checkpoint {"label": "by the model", "note": "as asked"}')
            (saved,) = await desk.conversation.checkpoints.all()
            assert (saved.label, saved.data["by"], saved.data["note"]) == (
                "by the model",
                "agent",
                "as asked",
            )
            await said(desk, "later")
            await said(desk, "TOOLNAMED list_checkpoints {}")
            listed = [row.data for row in await desk.branch() if row.kind is Kind.TOOL][-1]
            assert "“by the model”" in str(listed)
            await said(desk, 'TOOLNAMED rewind_to {"checkpoint": "by the model"}')
            await desk.until_told(LeafMoved)
        prompts = [row.text for row in await desk.branch() if row.kind is Kind.USER]
        assert prompts[0] == "first" and "later" not in prompts


async def test_g04_g05_files_of_a_real_agent_go_back_with_an_edit_and_undo_takes_both_back(
    agent: RealAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "PATIENCE", 60)  # however slow the machine is
    (agent.project / ".git").mkdir()
    (agent.project / "mine.txt").write_text("mine\n")
    prompts = [
        writes(agent, "first.txt", "one\n"),
        runs(agent, "mv first.txt moved.txt; echo two > second.txt"),
        writes(agent, "third.txt", "three\n"),
        runs(agent, "echo four >> third.txt; rm second.txt"),
    ]
    async with client(agent, NEVER) as desk:
        with granting(desk):
            for prompt in prompts:
                assert (await said(desk, prompt)).problem is None
                await files_kept(desk)
            after, leaf = files_of(agent), (await desk.stored_window()).leaf_id
            assert after == {"mine.txt": "mine\n", "moved.txt": "one\n", "third.txt": "three\nfour\n"}
            second, last = (row.id for row in await desk.branch() if row.text in (prompts[1], prompts[3]))
            for prompt_id, paths in (
                (second, {"moved.txt", "second.txt"}),
                (last, {"second.txt", "third.txt"}),
            ):
                changes = await desk.conversation.changes.read(leaf, ChangeScope(Since.TURN, prompt_id))
                assert (changes.caveat, {Path(file.path).name for file in changes.files}) == ("", paths)

            await desk.window.edit(second, "another second", choice=FileChoice())
            await desk.window.settled()
            await files_kept(desk)
        assert files_of(agent) == {"first.txt": "one\n", "mine.txt": "mine\n"}
        assert agent.asked("another second") == 1

        step = await ConversationUndo(desk.db, desk.conversations).undo(Scope(desk.window_id, None))
        assert step is not None and step.files is not None and step.files.left == ()
        assert files_of(agent) == after
        assert (await desk.stored_window()).leaf_id == leaf


def writes(agent: RealAgent, name: str, text: str) -> str:
    """A prompt that has the agent write a file with its own tool."""
    tool, path = ("Write", "file_path") if agent.name == "claude" else ("write", "filePath")
    return f"TOOLNAMED {tool} {json.dumps({path: str(agent.project / name), 'content': text})}"


def runs(agent: RealAgent, command: str) -> str:
    """A prompt that has the agent run a command in its shell."""
    tool = "Bash" if agent.name == "claude" else "bash"
    return f"TOOLNAMED {tool} {json.dumps({'command': command, 'description': 'As asked'})}"


def files_of(agent: RealAgent) -> dict[str, str]:
    return {path.name: path.read_text() for path in agent.project.iterdir() if path.is_file()}


async def files_kept(desk: Desk) -> None:
    """Wait until the snapshots of files are made that were begun."""
    snapshots = desk.conversations._services.snapshots
    assert snapshots is not None
    await snapshots.settled()


@contextmanager
def granting(desk: Desk) -> Iterator[None]:
    """Within the block the person allows whatever is asked, once."""
    answers: set[asyncio.Task[None]] = set()

    def answer(event: ConversationEvent) -> None:
        if isinstance(event, PermissionOpened):
            option = next(each for each in event.options if each.kind == "allow_once")
            answers.add(asyncio.ensure_future(desk.conversation.answer(event.ask_id, option.id)))

    stop = desk.conversation.subscribe(answer)
    yield
    stop()
