"""Starting scripted agents, and waiting for what they do."""

from __future__ import annotations

import asyncio
import os
import sys
import textwrap
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from catena_acp.agents.agent import start_agent
from catena_acp.agents.running_agent import Agent
from catena_acp.port.port import AgentSpec, Limits, SessionSetup
from catena_acp.port.session_events import Event, TextBlock, TextChunk
from catena_acp.protocol.files import FileAccess
from support.json_lines import json_lines
from support.places import SCRIPTED_AGENT

AGENT = (sys.executable, "-S", str(SCRIPTED_AGENT))
HELLO = (TextBlock("hello"),)


@asynccontextmanager
async def scripted(
    tmp_path: Path,
    script: str = "",
    *,
    env: Mapping[str, str] | None = None,
    files: FileAccess | None = None,
    terminals: bool = False,
    log: Callable[[str], None] = lambda _line: None,
    limits: Limits | None = None,
    init_timeout: float = 60,
    printed: Callable[[str], None] = lambda _words: None,
) -> AsyncIterator[Agent]:
    """A scripted agent that has shaken hands; it is stopped at the end."""
    agent = await start_agent(
        spec(tmp_path, script, env),
        cwd=str(tmp_path),
        client_version="0",
        files=files,
        terminals=terminals,
        log=log,
        limits=limits,
        init_timeout=init_timeout,
        printed=printed,
    )
    try:
        yield agent
    finally:
        await agent.stop()


def spec(tmp_path: Path, script: str = "", env: Mapping[str, str] | None = None) -> AgentSpec:
    """How to start a scripted agent that keeps what it hears below ``tmp_path``."""
    variables = {"SCRIPT": textwrap.dedent(script), "HEARD": str(tmp_path / "heard"), **(env or {})}
    return AgentSpec("scripted", "Scripted", AGENT, tuple(variables.items()))


def place(tmp_path: Path, **more: Any) -> SessionSetup:
    return SessionSetup(str(tmp_path), **more)


def heard(tmp_path: Path, method: str | None = None) -> list[dict[str, Any]]:
    """The messages that the agent read: all of them, or those of one method."""
    messages = json_lines(tmp_path / "heard")
    return [message for message in messages if method in (None, message.get("method"))]


def answer_to(tmp_path: Path, request_id: object) -> dict[str, Any] | None:
    """What we answered to a request of the agent's."""
    answers = [message for message in heard(tmp_path) if "method" not in message]
    return next((answer for answer in answers if answer.get("id") == request_id), None)


async def until(condition: Callable[[], object], seconds: float = 60) -> None:
    """Wait until ``condition`` holds; fail where it does not within ``seconds``."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        await asyncio.sleep(0.005)


def text_of(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextChunk))


def runs(pid: int) -> bool:
    """True while a process runs; a zombie does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except ProcessLookupError:  # it ended between the two looks
        return False
    except FileNotFoundError:  # so it may have, or there is no /proc to tell a zombie by
        return not Path("/proc/self").exists()
