"""Every conversation that is live in this client process, the leases it holds, and the agents that run for them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any

from catena_acp.conversation.agents import Agents
from catena_acp.conversation.conversation import Conversation
from catena_acp.conversation.core import Core
from catena_acp.conversation.machine import this_machine
from catena_acp.conversation.prior_context import Budget
from catena_acp.conversation.recovery import EndGroup, recover
from catena_acp.conversation.services import Services, StartAgent, Tenure
from catena_acp.conversation.sessions import Sessions
from catena_acp.errors import AgentMissing
from catena_acp.port import AgentPort, AgentSpec
from catena_store import conversations, leases
from catena_store.database import Database
from catena_store.errors import NotFound, StoreError
from catena_store.ids import new_id as random_id
from catena_store.ids import utc_now
from catena_store.records import AgentGroup, Lease, Owner

HEARTBEAT_SECONDS = 5.0
_FOREIGN_HOST_SILENCE = timedelta(seconds=60)


class Conversations:
    """Opens conversations, each once, and keeps what they share."""

    def __init__(
        self,
        services: Services,
        spec_of: Callable[[str], AgentSpec],
        end_group: EndGroup,
        start_time_of: Callable[[int], str | None],
    ) -> None:
        self._services = services
        self._spec_of = spec_of
        self._end_group = end_group
        self._start_time_of = start_time_of
        self._agents = Agents(services.start_agent)
        self._live: dict[str, Conversation] = {}
        self._sessions: dict[str, Sessions] = {}  # by family
        self._opening: dict[str, asyncio.Lock] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @classmethod
    @asynccontextmanager
    async def serve(
        cls,
        db: Database,
        *,
        client_version: str = "",
        specs: Mapping[str, AgentSpec] | None = None,
        start_agent: StartAgent | None = None,
        spec_of: Callable[[str], AgentSpec] | None = None,
        end_group: EndGroup | None = None,
        start_time_of: Callable[[int], str | None] | None = None,
        new_id: Callable[[], str] = random_id,
        clock: Callable[[], datetime] = utc_now,
        budget: Budget | None = None,
    ) -> AsyncIterator[Conversations]:
        """Serve conversations until the end of the block; then end turns and agents, and give the leases back.

        ``specs`` are agents beside those of the catalogue, by name. Agents and processes are this machine's, where
        the caller brings no others.
        """
        machine = this_machine(client_version, specs or {})
        start_time_of = start_time_of or machine.start_time_of
        owner = Owner(
            id=new_id(),
            host=socket.gethostname(),
            pid=os.getpid(),
            started=start_time_of(os.getpid()) or "",
        )
        start_agent = start_agent or machine.start_agent
        services = Services(db, owner, new_id, clock, start_agent, budget=budget or Budget())
        served = cls(services, spec_of or machine.spec_of, end_group or machine.end_group, start_time_of)
        beat = asyncio.ensure_future(served._beat())
        try:
            yield served
        finally:
            beat.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await beat
            await served._end()

    @property
    def owner(self) -> Owner:
        """This client process, as leases name it."""
        return self._services.owner

    async def create(self, *, agent: AgentSpec, cwd: str) -> Conversation:
        """A conversation of its own; no agent is started for it yet."""
        conversation_id = self._services.new_id()
        async with self._services.db.write() as tx:
            await conversations.create(
                tx, id=conversation_id, agent=agent.name, profile=agent.profile, cwd=cwd
            )
        return await self.open(conversation_id)

    async def open(self, conversation_id: str) -> Conversation:
        """The live conversation of this id: the same object every time.

        Taken over where its owner is dead, read-only where another client holds it. Raises NotFound, StoreError.
        """
        # Opened twice at once, the second would recover turns that the first has begun.
        async with self._opening.setdefault(conversation_id, asyncio.Lock()):
            if conversation_id not in self._live:
                self._live[conversation_id] = await self._opened(conversation_id)
            return self._live[conversation_id]

    async def _opened(self, conversation_id: str) -> Conversation:
        async with self._services.db.write() as tx:
            record = await conversations.get(tx, conversation_id)
            if record is None:
                raise NotFound("conversation", conversation_id)
            taken = await leases.acquire(tx, conversation_id, self.owner, is_dead=self._is_dead)
        tenure = None
        if isinstance(taken, leases.Acquired):
            tenure = Tenure(self._services, conversation_id, taken.lease.epoch)
            own = self._agents.groups(record.family)
            await recover(tenure, taken.taken_from, self._end_group, self._title_of(record.agent), own)
        sessions = self._sessions.setdefault(record.family, Sessions(self._services))
        core = Core(
            self._services, record, tenure, self._agents, sessions, self._spec_of, self._agent_started
        )
        return Conversation(core)

    async def close(self, conversation_id: str) -> None:
        """No window shows it any more: end its turns, its agents and its lease; an empty one leaves no trace."""
        async with self._opening.setdefault(conversation_id, asyncio.Lock()):
            conversation = self._live.get(conversation_id)
            if conversation is None:
                return
            await conversation.aclose()
            del self._live[conversation_id]
            family = conversation.record.family
            if not any(other.record.family == family for other in self._live.values()):
                await self._agents.end_family(family)
                self._sessions.pop(family, None)
            await self._give_back(conversation_id)

    async def _end(self) -> None:
        await asyncio.gather(*(conversation.aclose() for conversation in self._live.values()))
        await self._agents.end_all()
        for conversation_id in list(self._live):
            with contextlib.suppress(StoreError):
                await self._give_back(conversation_id)
        if self._tasks:
            await asyncio.wait(set(self._tasks))

    async def _give_back(self, conversation_id: str) -> None:
        async with self._services.db.write() as tx:
            lease = await leases.get(tx, conversation_id)
            if lease and lease.owner.id == self.owner.id:
                await leases.release(tx, conversation_id, self.owner.id)
                await conversations.delete_if_empty(tx, conversation_id)

    def _agent_started(self, family: str, agent: AgentPort) -> None:
        """Note the process in the lease, so that who takes over can end it; and notice its death."""
        self._spawn(self._note_groups(family))

        def died() -> None:
            for live in self._live.values():
                live.agent_died(agent)
            for sessions in self._sessions.values():
                sessions.forget_agent(agent)

        agent.on_death(died)

    async def _note_groups(self, family: str) -> None:
        groups: list[AgentGroup] = self._agents.groups(family)
        with contextlib.suppress(StoreError):
            async with self._services.db.write() as tx:
                for conversation in self._live.values():
                    if conversation.record.family == family and not conversation.read_only:
                        await leases.set_agents(tx, conversation.id, self.owner.id, groups)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            if any(not conversation.read_only for conversation in self._live.values()):
                with contextlib.suppress(StoreError):
                    async with self._services.db.write() as tx:
                        await leases.heartbeat(tx, self.owner.id)

    def _is_dead(self, lease: Lease) -> bool:
        """A process of this machine is known to be dead; one of another is taken to be after a long silence."""
        if lease.owner.host == self.owner.host:
            return self._start_time_of(lease.owner.pid) != lease.owner.started
        return self._services.clock() - lease.heartbeat_at > _FOREIGN_HOST_SILENCE

    def _title_of(self, agent: str) -> str:
        try:
            return self._spec_of(agent).title
        except AgentMissing:
            return agent

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
