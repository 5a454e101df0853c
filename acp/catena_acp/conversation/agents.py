"""The agents' processes: one for each agent, profile and family of conversations.

Started when first needed, never for every tab that comes back; ended after ten idle minutes. Killing one touches no
other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from catena_acp.conversation.services import StartAgent
from catena_acp.port import AgentPort, AgentSpec
from catena_store.records import AgentGroup

IDLE_SECONDS = 600.0

_Key = tuple[str, str, str]


@dataclass(slots=True)
class _Place:
    """Where one agent runs, or will."""

    starting: asyncio.Lock = field(default_factory=asyncio.Lock)
    agent: AgentPort | None = None
    users: int = 0  # turns under way
    idle: asyncio.TimerHandle | None = None


class Agents:
    """Starts, shares and ends the agents of this client."""

    def __init__(self, start: StartAgent, *, idle_seconds: float = IDLE_SECONDS) -> None:
        self._start = start
        self._idle_seconds = idle_seconds
        self._places: dict[_Key, _Place] = {}
        self._ending: set[asyncio.Task[None]] = set()

    async def running(
        self, spec: AgentSpec, family: str, cwd: str, started: Callable[[AgentPort], None]
    ) -> AgentPort:
        """The live agent of this family, started where there is none; ``started`` is called for a new one.

        Raises AgentMissing, AgentGone, AgentSilent, LoginNeeded.
        """
        place = self._places.setdefault((spec.name, spec.profile, family), _Place())
        async with place.starting:
            if place.agent is None or not place.agent.alive:
                place.agent = await self._start(spec, cwd)
                started(place.agent)
            self._rest(place)
            return place.agent

    def live(self, spec: AgentSpec, family: str) -> AgentPort | None:
        """The agent, if it runs."""
        place = self._places.get((spec.name, spec.profile, family))
        return place.agent if place and place.agent and place.agent.alive else None

    def groups(self, family: str) -> list[AgentGroup]:
        """The process groups that run for a family, as its lease keeps them."""
        return [
            AgentGroup(*place.agent.group)
            for key, place in self._places.items()
            if key[2] == family and place.agent and place.agent.alive
        ]

    def hold(self, agent: AgentPort) -> Callable[[], None]:
        """Keep the agent from being ended as idle; returns the end of it."""
        place = next((place for place in self._places.values() if place.agent is agent), None)
        if place is None:
            return lambda: None
        place.users += 1
        self._rest(place)

        def release() -> None:
            place.users -= 1
            self._rest(place)

        return release

    async def end_family(self, family: str) -> None:
        """End every agent of a family."""
        await self._end([key for key in self._places if key[2] == family])

    async def end_all(self) -> None:
        """End every agent, all at once."""
        await self._end(list(self._places))
        await asyncio.gather(*self._ending)

    async def _end(self, keys: list[_Key]) -> None:
        places = [self._places.pop(key) for key in keys]
        for place in places:
            if place.idle:
                place.idle.cancel()
        await asyncio.gather(*(place.agent.stop() for place in places if place.agent))

    def _rest(self, place: _Place) -> None:
        if place.idle:
            place.idle.cancel()
            place.idle = None
        if not place.users and place.agent:
            place.idle = asyncio.get_running_loop().call_later(self._idle_seconds, self._end_idle, place)

    def _end_idle(self, place: _Place) -> None:
        agent, place.agent = place.agent, None
        if agent:
            task = asyncio.ensure_future(agent.stop())
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)
