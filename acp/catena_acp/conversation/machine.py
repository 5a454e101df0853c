"""The agents and processes of this machine, as conversations use them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from catena_acp.conversation.recovery import EndGroup
from catena_acp.conversation.services import SpecOf, StartAgent
from catena_acp.errors import AgentMissing
from catena_acp.port import AgentPort, AgentSpec
from catena_store.records import AgentGroup


@dataclass(frozen=True, slots=True)
class Machine:
    """How agents are found, started and ended, and processes told apart."""

    start_agent: StartAgent
    spec_of: SpecOf
    end_group: EndGroup
    start_time_of: Callable[[int], str | None]


def this_machine(client_version: str, specs: Mapping[str, AgentSpec]) -> Machine:
    """The real one; ``specs`` are agents beside those of the catalogue, by name."""
    from catena_acp import process_group

    async def start(spec: AgentSpec, cwd: str) -> AgentPort:
        from catena_acp.agent import start_agent
        from catena_acp.file_access import FileAccess

        files = FileAccess(roots=(Path(cwd),))
        return await start_agent(spec, cwd=cwd, client_version=client_version, files=files)

    def spec_of(name: str, profile: str) -> AgentSpec:
        from catena_acp.catalog import spec_named

        for spec in specs.values():
            if (spec.name, spec.profile) == (name, profile):
                return spec
        if profile:
            raise AgentMissing(f"{name} ({profile})", "no such profile is known here")
        return spec_named(name)

    async def end_group(group: AgentGroup) -> bool:
        return await process_group.end_group(group.pid, group.started)

    return Machine(start, spec_of, end_group, process_group.process_start_time)
