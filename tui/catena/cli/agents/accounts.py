"""``catena login`` and ``catena logout``: a person's login to an agent, without a conversation."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from catena import __version__
from catena.cli.run.answers import Terminal
from catena.errors import CommandRefused, ExitStatus
from catena.log import log_to_file
from catena.settings.agents import default_agent, requested_agent, require_command, stored_agent_name
from catena.settings.file.document import settings_path
from catena.settings.settings import Settings, load_settings
from catena.terminal.programs import run_program, was_interrupted
from catena.text import agent_text
from catena.text.json_shapes import dumps
from catena.text.safe_text import safe_line
from catena_acp.agents.agent import (
    ENVIRONMENT,
    TERMINAL,
    offered_methods,
    start_agent,
    terminal_login,
    variables_of,
)
from catena_acp.agents.catalog import login_hint, logout_hint
from catena_acp.errors import AgentError, AgentGone, AgentMissing, AgentSilent, LoginNeeded, NotOffered
from catena_acp.port.abilities import AuthMethod
from catena_acp.port.port import AgentSpec, SessionSetup
from catena_store.conversations import conversations, logouts
from catena_store.database.database import Database, data_directory, default_path

if TYPE_CHECKING:
    from catena_acp.agents.running_agent import Agent


@dataclass(frozen=True, slots=True)
class Account:
    """The agent of a login, as the command line names it."""

    agent: str | None = None
    agent_command: str | None = None


def log_in(account: Account, method_id: str | None) -> int:
    """Log in by the method with this id, by the only one, or by one that the person chooses on the terminal.

    Returns the exit status; raises CommandRefused.
    """
    return asyncio.run(_with_agent(account, lambda spec, settings: _log_in(spec, settings, method_id)))


def log_out(account: Account) -> int:
    """Log out if the agent offers that; returns the exit status, raises CommandRefused."""
    return asyncio.run(_with_agent(account, lambda spec, _: _log_out(spec)))


def print_methods(account: Account, *, json: bool) -> int:
    """Print the agent's login methods; returns the exit status, raises CommandRefused."""
    return asyncio.run(_with_agent(account, lambda spec, _: _print_methods(spec, json=json)))


async def _with_agent(account: Account, work: Callable[[AgentSpec, Settings], Awaitable[int]]) -> int:
    log_to_file(data_directory())
    settings = load_settings()
    try:
        spec = requested_agent(account.agent, account.agent_command, settings)
        spec = spec or default_agent(settings, await _last_used())
        require_command(spec)
        return await work(spec, settings)
    except (AgentMissing, AgentGone, AgentSilent) as error:
        raise CommandRefused(str(error), ExitStatus.NO_AGENT) from error


def _directory() -> str:
    return str(Path.cwd())


async def _last_used() -> tuple[str, str] | None:
    if not default_path().exists():
        return None
    async with Database.open(default_path()) as db, db.read() as reader:
        newest = await conversations.latest(reader, cwd=_directory()) or await conversations.latest(reader)
    return (newest.agent, newest.profile) if newest else None


@asynccontextmanager
async def _running_agent(spec: AgentSpec) -> AsyncIterator[tuple[Agent | None, tuple[AuthMethod, ...]]]:
    """The running agent and its login methods; None for an agent whose ``initialize`` requires a login."""
    agent: Agent | None = None
    try:
        agent = await start_agent(spec, cwd=_directory(), client_version=__version__)
        methods = agent.abilities.auth_methods
    except LoginNeeded as error:
        methods = offered_methods(error)
    try:
        yield agent, methods
    finally:
        if agent is not None:
            await agent.stop()


async def _log_in(spec: AgentSpec, settings: Settings, method_id: str | None) -> int:
    async with _running_agent(spec) as (agent, methods):
        method = await _choose_method(spec, methods, method_id)
        if agent_text.is_agent_method(method):
            if agent is None:
                raise CommandRefused(
                    agent_text.no_login_text(spec.title, login_hint(spec.name)), ExitStatus.FAILED
                )
            await _authenticate(agent, spec, method)
    if method.kind == ENVIRONMENT:
        _explain(spec, settings, method)
    elif method.kind == TERMINAL and (status := await _run_login(spec, method)) != ExitStatus.ANSWERED:
        return status
    return await _verify(spec)


async def _verify(spec: AgentSpec) -> int:
    """Open a session in the agent, started anew as for any prompt: one that still wants a login refuses that."""
    title = safe_line(spec.title)
    try:
        agent = await start_agent(spec, cwd=_directory(), client_version=__version__)
        try:
            opened = await agent.new_session(SessionSetup(_directory()))
            with contextlib.suppress(AgentError):
                await agent.close_session(opened.session_id)
                if agent.abilities.delete:
                    await agent.delete_session(opened.session_id)
        finally:
            await agent.stop()
    except LoginNeeded as error:
        words = agent_text.still_wanted_text(spec.title, str(error), login_hint(spec.name))
        raise CommandRefused(words, ExitStatus.LOGIN_NEEDED) from error
    except AgentError as error:
        words = f"the login to {title} could not be checked: {safe_line(str(error))}"
        raise CommandRefused(words, ExitStatus.FAILED) from error
    print(f"Logged in to {title}.")
    return ExitStatus.ANSWERED


async def _choose_method(spec: AgentSpec, methods: Sequence[AuthMethod], method_id: str | None) -> AuthMethod:
    if not methods:
        raise CommandRefused(agent_text.no_login_text(spec.title, login_hint(spec.name)), ExitStatus.FAILED)
    if method_id is not None:
        for method in methods:
            if method_id in (method.id, method.name):
                return method
    elif len(methods) == 1:
        return methods[0]
    elif terminal := Terminal.find():
        chosen = await terminal.choose(_question(spec, methods), len(methods))
        if chosen is not None:
            return methods[chosen]
    ways = ", ".join(f"--method {safe_line(each.id)} ({safe_line(each.name)})" for each in methods)
    asked = f"{safe_line(spec.title)} has no such login method" if method_id else "which login method"
    raise CommandRefused(f"{asked}: {ways}")


def _question(spec: AgentSpec, methods: Sequence[AuthMethod]) -> list[str]:
    lines = [f"? Log in to {safe_line(spec.title)}"]
    return lines + [f"  {at} {_method_text(method)}" for at, method in enumerate(methods, start=1)]


def _method_text(method: AuthMethod) -> str:
    about = f" – {safe_line(method.description)}" if method.description else ""
    return f"{safe_line(method.name)}{about} ({agent_text.method_kind_text(method)})"


async def _authenticate(agent: Agent, spec: AgentSpec, method: AuthMethod) -> None:
    print(agent_text.login_wait_text(spec.title, method), file=sys.stderr, flush=True)
    try:
        await agent.authenticate(method.id)
    except AgentError as error:
        words = agent_text.login_refused_text(spec.title, str(error), login_hint(spec.name))
        # Without the key, which nobody was asked for, a login is wanted as before.
        status = ExitStatus.LOGIN_NEEDED if method.by_key else ExitStatus.FAILED
        raise CommandRefused(words, status) from error


async def _run_login(spec: AgentSpec, method: AuthMethod) -> int:
    login = terminal_login(spec, method, _directory(), os.environ)
    command, leaving = agent_text.terminal_login_lines(login.argv)
    lines = [f"$ {command}", leaving]
    if terminal := Terminal.find():
        if await terminal.choose([*lines, "  1 run it", "  2 cancel"], 2) != 0:
            return ExitStatus.STOPPED
    else:
        print("\n".join(lines), file=sys.stderr, flush=True)
    try:
        status = await run_program(login.argv, environment=login.env, directory=login.cwd)
    except OSError as error:
        words = agent_text.login_not_started_text(login.argv[0], error.strerror)
        raise CommandRefused(words, ExitStatus.FAILED) from error
    if was_interrupted(status):
        return ExitStatus.STOPPED
    if status:
        raise CommandRefused(agent_text.login_failed_text(login.argv[0], status), ExitStatus.FAILED)
    return ExitStatus.ANSWERED


def _explain(spec: AgentSpec, settings: Settings, method: AuthMethod) -> None:
    """Print which variables the login takes. Raises CommandRefused if one of them is not set."""
    variables = variables_of(spec, method, os.environ)
    name = stored_agent_name(spec.name, spec.profile, settings)
    table = "NAME" if name.startswith("command:") else name
    for line in agent_text.variable_lines(spec.title, table, method, variables, str(settings_path())):
        print(line)
    unset = [each.name for each in variables if not each.is_set]
    if unset or not variables:
        words = agent_text.unset_variables_text(spec.title, unset)
        raise CommandRefused(words, ExitStatus.LOGIN_NEEDED)


async def _log_out(spec: AgentSpec) -> int:
    title = safe_line(spec.title)
    async with _running_agent(spec) as (agent, _):
        if agent is None:
            print(f"Not logged in to {title}.")
            return ExitStatus.ANSWERED
        try:
            await agent.logout()
        except NotOffered as error:
            words = f"{title} cannot be logged out from here. {logout_hint(spec.name)}."
            raise CommandRefused(words, ExitStatus.FAILED) from error
    if default_path().exists():
        async with Database.open(default_path()) as db, db.write() as tx:
            await logouts.note_logout(tx, agent=spec.name, profile=spec.profile)
    print(f"Logged out of {title}. Conversations stay; their messages so far are not sent to the next login.")
    return ExitStatus.ANSWERED


async def _print_methods(spec: AgentSpec, *, json: bool) -> int:
    async with _running_agent(spec) as (_, methods):
        pass
    if json:
        print(dumps([_shape(spec, method) for method in methods], indent=2))
        return ExitStatus.ANSWERED
    for method in methods:
        print(f"{safe_line(method.id)}  {_method_text(method)}")
    if not methods:
        print(agent_text.no_login_text(spec.title, login_hint(spec.name)))
    return ExitStatus.ANSWERED


def _shape(spec: AgentSpec, method: AuthMethod) -> dict[str, Any]:
    variables = variables_of(spec, method, os.environ) if method.kind == ENVIRONMENT else ()
    return {
        "id": method.id,
        "name": method.name,
        "description": method.description,
        "kind": method.kind,
        "variables": [{"name": each.name, "set": each.is_set} for each in variables],
    }
