"""``catena agents check``: installed agents are started, and say what they can do."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from catena import __version__
from catena.cli.agents.known import KnownAgent, known_agents
from catena.settings.agents import REHEARSAL, find_agent
from catena.settings.settings import Settings
from catena.text.safe_text import safe_line
from catena_acp.agents.agent import start_agent
from catena_acp.agents.sightings import keep_sighting
from catena_acp.errors import AgentError
from catena_store.database.database import Database, default_path

_AT_ONCE = 3
_SECONDS = 30.0  # for an agent to answer


async def check_agents(settings: Settings, named: str | None) -> None:
    """Start the installed agents, or one of them, and keep what each tells of itself; failures are printed.

    Raises StoreError.
    """
    agents, _ = await known_agents(settings)
    wanted = [each for each in agents if each.status.found and _is_wanted(each, named)]
    turn = asyncio.Semaphore(_AT_ONCE)
    async with Database.open(default_path()) as db:
        await asyncio.gather(*(_check(each, settings, db, turn) for each in wanted))


def _is_wanted(agent: KnownAgent, named: str | None) -> bool:
    if named is None:
        return agent.name != REHEARSAL
    return named in (agent.name, agent.entry.id if agent.entry else agent.name)


async def _check(agent: KnownAgent, settings: Settings, db: Database, turn: asyncio.Semaphore) -> None:
    try:
        spec = find_agent(agent.name, settings)
        async with turn:
            running = await start_agent(
                spec, cwd=str(Path.cwd()), client_version=__version__, init_timeout=_SECONDS
            )
            try:
                abilities = running.abilities
            finally:
                await running.stop()
        async with db.write() as tx:
            await keep_sighting(tx, spec.name, abilities)
    except AgentError as error:
        print(safe_line(f"! {agent.name}: {error}"), file=sys.stderr, flush=True)
