"""The agents' processes: one for each agent, profile and family of conversations.

Started when first needed, never for every tab that comes back; ended when nobody prompted it for some time and it is
of no use meanwhile. Killing one touches no other. One that is retired, since somebody logged in or out of its
account, only ends its turns: whoever needs the agent meanwhile gets another process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from catena_acp.agents.catalog import registry_id
from catena_acp.agents.sightings import keep_sighting, record_of
from catena_acp.continuity.conversation_events import SessionState
from catena_acp.continuity.routing import route
from catena_acp.continuity.services import Printed, StartAgent
from catena_acp.errors import AgentGone
from catena_acp.port.port import AgentPort, AgentSpec
from catena_acp.tasks import TaskSet
from catena_store.chains import agents, usage
from catena_store.conversations.logouts import Account
from catena_store.database.database import Reader, Writer
from catena_store.records import AgentGroup

_LOOK_SECONDS = 60.0  # between looks at an idle agent that was still of use

_Key = tuple[str, str, str]


@dataclass(slots=True, eq=False)
class _Place:
    """One agent's place in the pool: its process, and the turns that use it."""

    starting: asyncio.Lock = field(default_factory=asyncio.Lock)
    agent: AgentPort | None = None
    users: int = 0  # turns under way
    idle: asyncio.TimerHandle | None = None
    retired: bool = False


class Agents:
    """The agent processes of this client: started, shared and ended here."""

    def __init__(
        self,
        start: StartAgent,
        *,
        idle_seconds: float = 0,
        is_of_use: Callable[[AgentPort, str], Awaitable[bool]] | None = None,
    ) -> None:
        """``idle_seconds`` without a prompt, and an agent is ended if it ``is_of_use`` no more, in words of its family.

        With 0 none is ended for being idle.
        """
        self._start = start
        self._idle_seconds = idle_seconds
        self._is_of_use = is_of_use
        self._places: dict[_Key, _Place] = {}
        self._retired: list[tuple[_Key, _Place]] = []  # whose turns go on
        self._logouts: Mapping[Account, int] = {}  # the last ones that were heard of
        self._ending = TaskSet()
        self._over = False  # none is started any more

    async def running(
        self,
        spec: AgentSpec,
        family: str,
        cwd: str,
        started: Callable[[AgentPort], None],
        printed: Printed = lambda _words: None,
    ) -> AgentPort:
        """The live agent of this family, started if there is none; ``started`` is called for a new one.

        ``printed`` is told what that one prints instead of messages, in words.

        Raises AgentMissing, AgentGone, AgentSilent, LoginNeeded.
        """
        key = (spec.name, spec.profile, family)
        place = self._places.setdefault(key, _Place())
        async with place.starting:
            if not place.retired and (place.agent is None or not place.agent.alive):
                if self._over:
                    raise AgentGone(None)
                agent = await self._start(spec, cwd, printed)
                if self._places.get(key) is place:
                    place.agent = agent
                    started(place.agent)
                else:  # it was retired, or its family was ended, meanwhile
                    await agent.stop()
                    if not place.retired:
                        raise AgentGone(None)
            if place.agent and not place.retired:
                self._rest(place)
                return place.agent
        return await self.running(spec, family, cwd, started, printed)

    def live(self, spec: AgentSpec, family: str) -> AgentPort | None:
        """The live agent; None if it does not run."""
        place = self._places.get((spec.name, spec.profile, family))
        return place.agent if place and place.agent and place.agent.alive else None

    def serves(self, agent: AgentPort) -> bool:
        """True if a prompt may go to the agent; False for one that is retired or ended."""
        return agent.alive and any(place.agent is agent for place in self._places.values())

    def all_live(self) -> list[AgentPort]:
        """The live agents, one of each agent and profile: all of those share their sessions."""
        live = {
            key[:2]: place.agent for key, place in self._places.items() if place.agent and place.agent.alive
        }
        return list(live.values())

    def groups(self, family: str) -> list[AgentGroup]:
        """The process groups that run for a family, as its lease keeps them."""
        return [
            AgentGroup(*place.agent.group)
            for key, place in self._all
            if key[2] == family and place.agent and place.agent.alive
        ]

    def hold(self, agent: AgentPort) -> Callable[[], None]:
        """Keep the agent from being ended as idle; return a function that releases it."""
        place = next((place for _, place in self._all if place.agent is agent), None)
        if place is None:
            return lambda: None
        place.users += 1
        self._rest(place)

        def release() -> None:
            place.users -= 1
            self._rest(place)

        return release

    def in_use(self, spec: AgentSpec) -> bool:
        """True while a turn of the agent is under way, in any family, or a login to it."""
        account = (spec.name, spec.profile)
        return any(place.users > 0 for key, place in self._all if key[:2] == account)

    def hear_logouts(self, last: Mapping[Account, int]) -> None:
        """Hear which logouts were the last, first before any process is started: one from before another is retired."""
        for name, profile, family in list(self._places):
            account = name, profile
            if last.get(account) != self._logouts.get(account):
                self.retire(account, family)
        self._logouts = last

    def retire(self, account: Account, family: str) -> None:
        """Let nothing new go to the process of one agent, and end it as soon as no turn of it is under way."""
        key = (*account, family)
        if place := self._places.pop(key, None):
            place.retired = True
            self._retired.append((key, place))
            self._rest(place)

    def drop(self, agent: AgentPort) -> None:
        """End an agent in the background, unless a turn of it is under way."""
        place = next((place for place in self._places.values() if place.agent is agent), None)
        if place and not place.users:
            self._end_idle(place)

    def drop_family(self, family: str) -> None:
        """End the agents of a family in the background, but for those of which a turn is under way."""
        for key, place in self._places.items():
            if key[2] == family and not place.users:
                self._end_idle(place)

    async def end_family(self, family: str) -> None:
        """End every agent of a family."""
        await self._end([(key, place) for key, place in self._all if key[2] == family])

    async def end_all(self) -> None:
        """End every agent, all at once, for good."""
        self._over = True
        await self._end(self._all)
        await asyncio.gather(*self._ending)

    @property
    def _all(self) -> list[tuple[_Key, _Place]]:
        return [*self._places.items(), *self._retired]

    async def _end(self, ended: list[tuple[_Key, _Place]]) -> None:
        for key, place in ended:
            if self._places.get(key) is place:
                del self._places[key]
            if place.idle:
                place.idle.cancel()
        self._retired = [each for each in self._retired if each not in ended]
        await asyncio.gather(*(place.agent.stop() for _, place in ended if place.agent))

    def _rest(self, place: _Place) -> None:
        if place.idle:
            place.idle.cancel()
            place.idle = None
        if place.retired and not place.users:
            self._retired = [each for each in self._retired if each[1] is not place]
            self._end_idle(place)
        elif not place.users and place.agent and self._idle_seconds:
            self._look_after(place, self._idle_seconds)

    def _look_after(self, place: _Place, seconds: float) -> None:
        place.idle = asyncio.get_running_loop().call_later(seconds, self._look, place)

    def _look(self, place: _Place) -> None:
        """Begin to look whether an idle agent is of use still; whoever asks for it meanwhile keeps it."""
        place.idle = None
        self._ending.begin(self._looked_at(place))

    async def _looked_at(self, place: _Place) -> None:
        agent = place.agent
        family = next((key[2] for key, each in self._places.items() if each is place), None)
        if agent is None or family is None:
            return
        of_use = self._is_of_use is not None and await self._is_of_use(agent, family)
        if place.agent is not agent or place.users or place.idle:
            return
        if of_use or place.starting.locked():
            self._look_after(place, min(self._idle_seconds, _LOOK_SECONDS))
        else:
            self._end_idle(place)

    def _end_idle(self, place: _Place) -> asyncio.Task[None] | None:
        agent, place.agent = place.agent, None
        if place.idle:
            place.idle.cancel()
            place.idle = None
        if agent is None:
            return None
        return self._ending.begin(agent.stop())


_BY_PROMPT = "by_prompt"  # it forks at a message, which has to be a prompt
_WHEN_LAST_RUN = ""  # in the place of a version: whichever that was
_NAME = "name"  # by which the agent calls itself, whatever its links are stamped with


async def keep_powers(tx: Writer, agent: AgentPort) -> None:
    """Keep what a running agent can do, under the name that its links are stamped with."""
    abilities = agent.abilities
    reopened = ("once" if abilities.reopens_once else "yes") if abilities.reopens else "no"
    known = {
        "reopens": reopened,
        "forks": "yes" if abilities.fork else "no",
        _NAME: abilities.name,
    }
    if abilities.quirks.usage_of:  # of any other agent, what was learnt of it stays
        known[usage.REPORTED_OF] = abilities.quirks.usage_of
    for name, power in known.items():
        await agents.set_ability(tx, agent.spec.name, _WHEN_LAST_RUN, name, power)
    await keep_sighting(tx, agent.spec.name, abilities)


async def keep_fork_at(tx: Writer, agent: AgentPort, *, honoured: bool) -> None:
    """Keep what was learnt of the version that runs: the next one will probably do the same."""
    by = _BY_PROMPT if agent.abilities.quirks.forks_by_prompt else "yes"
    known = by if honoured and agent.abilities.fork else "no"
    await agents.set_ability(tx, agent.spec.name, _WHEN_LAST_RUN, "forks_at", known)


async def keep_tool(tx: Writer, agent: str, tool: str) -> None:
    """Keep whose sessions an agent has, by the name of the tool, where it never ran and calls itself nothing yet."""
    if agent != tool and not await kept_name(tx, agent):
        await agents.set_ability(tx, agent, _WHEN_LAST_RUN, _NAME, tool)


async def kept_name(r: Reader, agent: str) -> str:
    """The agent's name for itself when it last ran; else the tool whose sessions it has, "" if that is not known."""
    return (await agents.abilities(r, agent, _WHEN_LAST_RUN)).get(_NAME, "")


async def kept_powers(r: Reader, agent: str) -> route.SessionCapabilities:
    """The agent's capabilities with sessions when it last ran.

    An agent that never ran is taken to open sessions again, and to fork them if that was seen elsewhere.
    """
    known = await agents.abilities(r, agent, _WHEN_LAST_RUN)
    if "forks" not in known:
        record = record_of(registry_id(known.get(_NAME, agent)))
        known = {**known, "forks": "yes" if record and "fork" in record.can else "no"}
    return route.SessionCapabilities(
        reopens=known.get("reopens") != "no",
        forks=known.get("forks") == "yes",
        forks_at=known.get("forks_at") in ("yes", _BY_PROMPT),
        forks_by_prompt=known.get("forks_at") == _BY_PROMPT,
        reopens_once=known.get("reopens") == "once",
    )


async def keep_offers(tx: Writer, agent: AgentPort, state: SessionState) -> None:
    """Keep whether a session that was just opened offers modes and models."""
    models = any(option.category == "model" for option in state.options)
    await keep_sighting(tx, agent.spec.name, agent.abilities, modes=bool(state.modes), models=models)
