"""What every conversation of a client process shares."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime

from catena_acp.conversation.agent_titles import AgentTitles
from catena_acp.conversation.checkpointing import Checkpointing
from catena_acp.conversation.prior_context import Budget
from catena_acp.conversation.tries import Tries
from catena_acp.port import AgentPort, AgentSpec
from catena_store.clients import leases
from catena_store.database.database import Database, Writer
from catena_store.records import Owner

SpecOf = Callable[[str, str], AgentSpec]  # by the name and the profile that links are stamped with
StartAgent = Callable[[AgentSpec, str], Awaitable[AgentPort]]


@dataclass(frozen=True, slots=True)
class WhileIdle:
    """What is done with a session after a clean turn, while nobody waits for it."""

    probe: bool = False  # learn whether the agent honours a fork at a message
    park: bool = False  # keep a native fork of where the turn ended, where it does not
    kept: int = 20  # parked forks of a conversation, besides those of labelled checkpoints
    longest: float = 0.3  # seconds that the last parked fork of the session may have taken,
    share: float = 0.05  # … and of the turn that has just ended
    tells: Callable[[AgentSpec], bool] = lambda _: (
        True
    )  # whether a person is to read of an agent's first parked fork


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
    while_idle: WhileIdle = field(default_factory=WhileIdle)
    tries: Tries = field(default_factory=Tries)
    titles: AgentTitles = field(default_factory=AgentTitles)
    checkpointing: Checkpointing = field(default_factory=Checkpointing)


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
