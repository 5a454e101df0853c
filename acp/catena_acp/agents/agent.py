"""Starting an agent, without importing the SDK or pydantic before its process starts."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from catena_acp.agents.process import GRACE, AgentProcess, agent_environment
from catena_acp.port.port import AgentSpec, Limits
from catena_acp.process_group import Guards, end_group, process_start_time
from catena_acp.protocol.files import FileAccess
from catena_acp.protocol.sdk_import import import_sdk
from catena_acp.protocol.wire_record import begin_record

if TYPE_CHECKING:
    from catena_acp.agents.running_agent import Agent

__all__ = ["end_group", "process_start_time", "start_agent"]


def _discard(_line: str) -> None:
    pass


async def start_agent(
    spec: AgentSpec,
    *,
    cwd: str,
    client_version: str,
    files: FileAccess | None = None,
    terminals: bool = False,
    log: Callable[[str], None] = _discard,
    environment: Mapping[str, str] | None = None,
    init_timeout: float = 60,
    limits: Limits | None = None,
    printed: Callable[[str], None] = lambda _text: None,
    guards: Guards | None = None,
) -> Agent:
    """Start an agent in ``cwd`` and initialise the connection.

    The process inherits ``environment``, or ours, without the variables that would confuse it, and with those of
    the spec. ``printed`` is told what it prints instead of a message that is waited for. ``files`` is what the
    agent may read and write through the client, None for nothing; with ``terminals`` it may run commands in its
    directories. ``guards`` end it and its commands when we are gone; with None each has a guard of its own.
    Raises AgentMissing, AgentGone, AgentSilent (after ``init_timeout`` seconds), LoginNeeded, AgentRefused and
    ProtocolBroken, with nothing left running.
    """
    inherited = os.environ if environment is None else environment
    env = agent_environment(inherited, spec.env)
    process = await AgentProcess.start(spec.command, cwd=cwd, env=env, log=log, guards=guards)
    commands = agent_environment(inherited, ()) if terminals and files is not None else None
    async with AsyncExitStack() as undoing:
        undoing.push_async_callback(_give_up, process)
        await asyncio.to_thread(import_sdk)
        from catena_acp.agents.running_agent import Agent

        record = begin_record(spec.name.partition(":")[0], process.pid, inherited, dict(spec.env), log)
        agent = Agent(spec, process, files, commands, log, limits or Limits(), printed, guards, record)
        undoing.pop_all()
        undoing.push_async_callback(agent.stop)
        await agent.initialize(client_version, init_timeout)
        undoing.pop_all()
    return agent


async def _give_up(process: AgentProcess) -> None:
    """End a process that was never spoken to, to its end even if the caller is cancelled."""
    process.close_pipes()
    await asyncio.shield(asyncio.ensure_future(process.end(GRACE)))
