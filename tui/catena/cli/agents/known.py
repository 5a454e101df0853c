"""All known agents, each with its install, its registry entry, and what it was seen to be able to do."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass

from catena.settings.agent_choices import AgentStatus, Origin, agent_statuses
from catena.settings.agents import find_agent
from catena.settings.settings import Settings
from catena_acp.agents.catalog import agent_name, catalog, how_to_install, install_command, registry_id
from catena_acp.agents.registry.data import RegistryData, load_registry
from catena_acp.agents.registry.entries import RegistryEntry
from catena_acp.agents.registry.installs import Install, find_install
from catena_acp.agents.registry.plans import InstallPlan, plan_install
from catena_acp.agents.sightings import AgentRecord, Sighting, record_of, sightings
from catena_acp.errors import AgentMissing
from catena_store.database.database import Database, default_path
from catena_store.errors import StoreError


@dataclass(frozen=True, slots=True)
class KnownAgent:
    """One agent, with all that is known of it without starting it."""

    status: AgentStatus
    entry: RegistryEntry | None  # what the registry has on it
    install: Install | None  # where Catena installed it
    sighting: Sighting | None  # of this machine
    record: AgentRecord | None  # of elsewhere

    @property
    def name(self) -> str:
        """What `--agent` takes."""
        return self.status.name

    @property
    def path(self) -> str | None:
        """The path of the agent's program; None if it is not installed."""
        return shutil.which(self.status.command[0]) if self.status.found else None

    @property
    def plan(self) -> InstallPlan | None:
        """How Catena would install it here; None if it cannot."""
        return plan_install(self.entry) if self.entry else None

    @property
    def seen(self) -> Sighting | AgentRecord | None:
        """What it can do: as it was seen here, else elsewhere."""
        return self.sighting or self.record

    @property
    def newer(self) -> str | None:
        """The registry's version, where Catena installed another one."""
        plan = self.plan
        if self.install is None or plan is None or plan.version == self.install.version:
            return None
        return plan.version

    @property
    def can_begin(self) -> bool:
        """True if it is installed, and has an account or needs none, as far as can be seen."""
        return self.status.found and not self.status.lacks_account


async def known_agents(settings: Settings) -> tuple[list[KnownAgent], RegistryData]:
    """The agents of the settings, the catalogue and the registry, installed ones first, rehearsal last."""
    registry = load_registry()
    seen = await _sightings()
    listed = [_known(status, settings, registry, seen) for status in await agent_statuses(settings)]
    there = {registry_id(agent.name) for agent in listed}
    others = [_only_offered(entry, seen) for entry in registry.entries if entry.id not in there]
    return [*listed[:-1], *others, listed[-1]], registry


def _known(
    status: AgentStatus, settings: Settings, registry: RegistryData, seen: Mapping[str, Sighting]
) -> KnownAgent:
    id = registry_id(status.name)
    of_settings = status.origin is Origin.SETTINGS
    entry = None if of_settings else registry.entry(id)
    known = next((each for each in catalog() if each.name == status.name), None)
    if entry and known and not status.found:
        status = AgentStatus(status.name, status.title, (), None, how_to_install(known, entry), status.login)
    return KnownAgent(
        status,
        entry,
        None if of_settings else find_install(id),
        seen.get(_stored_name(status, settings)),
        None if of_settings else record_of(id),
    )


def _stored_name(status: AgentStatus, settings: Settings) -> str:
    try:
        return find_agent(status.name, settings).name
    except AgentMissing:
        return status.name


def _only_offered(entry: RegistryEntry, seen: Mapping[str, Sighting]) -> KnownAgent:
    name = agent_name(entry.id)
    get = (
        install_command(name) if plan_install(entry) else f"see {entry.homepage}" if entry.homepage else None
    )
    status = AgentStatus(name, entry.name, (), None, get, None)
    return KnownAgent(status, entry, None, seen.get(name), record_of(entry.id))


async def _sightings() -> dict[str, Sighting]:
    """What the store has; nothing where it cannot be read, which is `catena doctor`'s to tell."""
    if not default_path().exists():
        return {}
    try:
        async with Database.open(default_path()) as db, db.read() as reader:
            return await sightings(reader)
    except StoreError:
        return {}
