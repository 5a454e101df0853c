"""What every conversation of a client process shares."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime

from catena_acp.conversation.prior_context import Budget
from catena_acp.port import AgentPort, AgentSpec
from catena_store import leases
from catena_store.database import Database, Writer
from catena_store.records import Owner

StartAgent = Callable[[AgentSpec, str], Awaitable[AgentPort]]


@dataclass(frozen=True, slots=True)
class Services:
    """The store, and where ids, times and agents come from."""

    db: Database
    owner: Owner
    new_id: Callable[[], str]
    clock: Callable[[], datetime]
    start_agent: StartAgent  # of a spec, in a directory
    monotonic: Callable[[], float] = time.monotonic
    budget: Budget = field(default_factory=Budget)


@dataclass(slots=True)
class Tenure:
    """Our hold of a conversation's lease: every write of its tree goes through it.

    A client that slept while another took over must not put rows under a turn that the other has closed.
    """

    services: Services
    conversation_id: str
    epoch: int

    @asynccontextmanager
    async def write(self) -> AsyncIterator[Writer]:
        """A transaction that fails with ``Fenced`` where the lease is no longer ours."""
        async with self.services.db.write() as tx:
            await leases.guard(tx, self.conversation_id, self.services.owner.id, self.epoch)
            yield tx
