"""Subagents and work in the background, offline: as Claude and OpenCode tell of them, and replay them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from catena_acp.agents.catalog import command_spec
from catena_acp.continuity.conversation_events import BackgroundChanged, PermissionOpened, TurnEnded
from catena_acp.conversation.conversations.conversations import Conversations
from catena_store.database.database import Database
from catena_store.records import ContextSource, Kind
from support.agents.real import RealAgent, fake_model
from support.conversations.rehearsed import Desk, open_window

pytestmark = [pytest.mark.real, pytest.mark.timeout(240)]

TASKS = {"claude": ("Agent", "general-purpose"), "opencode": ("task", "general")}


@pytest.fixture
def model(tmp_path: Path) -> Iterator[tuple[int, Path]]:
    log = tmp_path / "requests.jsonl"
    with fake_model(log) as port:
        yield port, log


@asynccontextmanager
async def at_a_desk(real: RealAgent, conversation_id: str | None = None) -> AsyncIterator[Desk]:
    spec = command_spec(real.command)
    async with (
        Database.open(real.data / "catena.db") as db,
        Conversations.serve(db, specs={spec.name: spec}, client_version="test") as served,
    ):
        if conversation_id is None:
            conversation = await served.create(agent=spec, cwd=str(real.project))
        else:
            conversation = await served.open(conversation_id)
        desk = Desk(db, served, conversation, await open_window(db, conversation.id))
        conversation.subscribe(desk.hear)
        yield desk


async def over(desk: Desk) -> None:
    """Wait for the end of the turn, before which a real agent may take its time to start."""
    await desk.until(lambda: next((told for told in desk.told if isinstance(told, TurnEnded)), None), 120)


def delegated(agent: str, prompt: str) -> str:
    """A prompt at which the model hands this one to a subagent."""
    tool, kind = TASKS[agent]
    task: dict[str, object] = {"description": "Explore the code", "prompt": prompt, "subagent_type": kind}
    if agent == "claude":
        task["run_in_background"] = False
    return f"TOOLNAMED {tool} {json.dumps(task)}"


async def test_w28_what_a_subagent_of_claude_says_does_and_asks_stands_below_its_call_and_replays_agree(
    model: tuple[int, Path], tmp_path: Path
) -> None:
    real = RealAgent("claude", tmp_path, *model)
    try:
        async with at_a_desk(real) as desk:
            await desk.say(delegated("claude", "THINK TOOLSHELL"), "allow-once")
            asked = next(told for told in desk.told if isinstance(told, PermissionOpened))
            assert asked.subagent == "Explore the code"
            rows = await desk.branch()
            (task,) = [row for row in rows if row.kind is Kind.TOOL and not row.data.get("subagent_of")]
            inside = [row for row in rows if row.data.get("subagent_of") == task.agent_message_id]
            assert [row.data.get("kind") for row in inside if row.kind is Kind.TOOL] == ["execute"]
            said = [row.text for row in inside if row.kind is Kind.THOUGHT and row.data["words"]]
            assert said[0] == "Calling Bash now." and said[-1].startswith("[after-tool] [echo]")
            assert any(row.kind is Kind.THOUGHT and not row.data["words"] for row in inside)
            answers = [row.text for row in rows if row.kind is Kind.AGENT]
            assert not [text for text in answers if 'THINK TOOLSHELL" all=THINK' in text]
            conversation_id, window = desk.conversation.id, desk.window_id
        async with at_a_desk(real, conversation_id) as desk:
            desk.window_id = window
            await desk.window.say("and now?")
            await over(desk)
            turn = (await desk.turns())[-1]
            assert (turn.how, turn.told) == (ContextSource.RESUMED, 0), "its replay agreed"
    finally:
        real.kill()


async def test_w28_a_command_that_claude_leaves_running_is_counted_until_it_says_that_it_ended(
    model: tuple[int, Path], tmp_path: Path
) -> None:
    real = RealAgent("claude", tmp_path, *model)
    try:
        async with at_a_desk(real) as desk:
            go = real.project / "go"
            command = f"until [ -e {go} ]; do sleep 0.1; done"
            arguments = {"command": command, "description": "wait", "run_in_background": True}
            await desk.say(f"TOOLNAMED Bash {json.dumps(arguments)}", "allow-once")
            (task,) = desk.window.background
            assert task.title.startswith("until") and desk.window.background_count == 1
            began = len([told for told in desk.told if isinstance(told, BackgroundChanged)])
            go.touch()
            await desk.until(lambda: None if desk.window.background else True, 60)
            assert len([told for told in desk.told if isinstance(told, BackgroundChanged)]) > began
    finally:
        real.kill()


async def test_w28_a_task_of_opencode_is_one_call_with_its_report(
    model: tuple[int, Path], tmp_path: Path
) -> None:
    real = RealAgent("opencode", tmp_path, *model)
    try:
        async with at_a_desk(real) as desk:
            await desk.window.say(delegated("opencode", "THINK"))
            await over(desk)
            (task,) = [row for row in await desk.branch() if row.kind is Kind.TOOL]
            assert task.data["raw_input"]["subagent_type"] == "general"
            assert "[echo]" in task.data["content"][0]["text"]
            assert not desk.window.background
    finally:
        real.kill()
