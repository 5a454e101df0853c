"""Starting an agent, or a login to it, without importing the SDK or pydantic before its process starts."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from catena_acp.agents.process import GRACE, AgentProcess, agent_environment
from catena_acp.errors import LoginNeeded
from catena_acp.port.abilities import AuthMethod
from catena_acp.port.port import AgentSpec, Limits
from catena_acp.process_group import Guards, end_group, process_start_time
from catena_acp.protocol.answers import auth_methods_of
from catena_acp.protocol.files import FileAccess
from catena_acp.protocol.sdk_import import import_sdk
from catena_acp.protocol.wire_record import begin_record

if TYPE_CHECKING:
    from catena_acp.agents.running_agent import Agent


__all__ = [
    "ENVIRONMENT",
    "TERMINAL",
    "TerminalLogin",
    "Variable",
    "end_group",
    "offered_methods",
    "process_start_time",
    "start_agent",
    "terminal_login",
    "variables_of",
]

# Kinds of method; every other kind is carried out by the agent itself.
TERMINAL = "terminal"  # a command that a person runs in a terminal
ENVIRONMENT = "env_var"  # variables that must be set before the agent starts


@dataclass(frozen=True, slots=True)
class TerminalLogin:
    """Command of a terminal login, to be run in ``cwd`` with exactly ``env``."""

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable of a login; its value is never read."""

    name: str
    is_set: bool


def offered_methods(error: LoginNeeded) -> tuple[AuthMethod, ...]:
    """The login methods in a -32000 error, the only place for them when ``initialize`` itself is refused.

    Methods that the agent carries out are left out, since it does not run.
    """
    offered = auth_methods_of(error.data.get("authMethods")) if isinstance(error.data, dict) else ()
    return tuple(method for method in offered if method.kind in (TERMINAL, ENVIRONMENT))


def terminal_login(
    spec: AgentSpec, method: AuthMethod, cwd: str, environment: Mapping[str, str]
) -> TerminalLogin:
    """The command of a terminal method: the one that the agent names, or the agent's own with further arguments."""
    return TerminalLogin(
        argv=method.command or (*spec.command, *method.args),
        env=agent_environment(environment, (*spec.env, *method.env)),
        cwd=cwd,
    )


def variables_of(spec: AgentSpec, method: AuthMethod, environment: Mapping[str, str]) -> tuple[Variable, ...]:
    """The variables of an environment method, and whether each is set for the agent now."""
    environment_of_agent = agent_environment(environment, spec.env)
    return tuple(Variable(name, bool(environment_of_agent.get(name))) for name in method.variables)


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
