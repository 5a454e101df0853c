"""A client process of a walk: real conversations over a real store file, which can be stopped and crashed at any step.

Every durable write and every request to an agent passes a gate. There a prompt's way can be held until the walk lets it
go on, and there the whole client can crash: whatever it would do after that does not happen, and nothing is cleaned
up.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol, cast

import aiosqlite

from catena_acp.continuity.routing.prior_context import Budget
from catena_acp.continuity.services import Printed, Services, SessionPlace, WhileIdle
from catena_acp.conversation.conversation import Conversation
from catena_acp.conversation.conversations.conversations import Conversations
from catena_acp.conversation.prompts.schedule import IdleWork
from catena_acp.port.port import AgentPort, AgentSpec
from catena_store.database.database import Database, Writer
from catena_store.records import AgentGroup, Owner
from support.agents.model import ModelAgent, Upstream
from support.walks.loop import StraightConnection


class Crash(BaseException):
    """The client process is no more."""


@dataclass(slots=True)
class Journey:
    """What one window's prompt has done so far, and how far it may go on."""

    window_id: str
    steps: int | None = None  # None: as far as it likes
    prepares: bool = False  # gets a session ready, of each agent that is chosen meanwhile
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    new_sessions: int = 0
    texts: int = 0
    requests: int = 0

    def begin(self) -> None:
        """The next prompt of the window."""
        self.new_sessions = self.texts = self.requests = 0

    def go_on(self, steps: int | None) -> None:
        """Let it take so many steps more."""
        self.steps = None if steps is None or self.steps is None else self.steps + steps
        self.wake.set()

    async def step(self) -> None:
        while self.steps is not None and self.steps <= 0:
            self.wake.clear()
            await self.wake.wait()
        if self.steps is not None:
            self.steps -= 1


class Window:
    """A tab of one of the clients."""

    def __init__(self, id: str, conversation_id: str, slot: int) -> None:
        self.id = id
        self.conversation_id = conversation_id
        self.slot = slot
        self.open = True
        self.moved = False  # the person went elsewhere while its prompt was on its way
        self.journey: Journey | None = None
        self.getting_ready: Journey | None = None
        self.act: asyncio.Task[None] | None = None  # what the person does in it now


# Few are kept, so that some are pruned in every longer walk; nothing takes time here.
WHILE_IDLE = WhileIdle(probe=True, park=True, kept=3)


class FoundAnywhere:
    """Sessions whose agents find them from any directory, so that to copy one is to do nothing."""

    def knows(self, agents: Iterable[str]) -> bool:
        return True

    def path_of(self, agents: Iterable[str], session_id: str, home: SessionPlace) -> Path | None:
        return None

    def can_copy(
        self, agents: Iterable[str], session_id: str, here: SessionPlace, there: SessionPlace
    ) -> bool:
        return here.profile == there.profile

    def copy(self, agents: Iterable[str], session_id: str, here: SessionPlace, there: SessionPlace) -> None:
        pass


JOURNEY: ContextVar[Journey | None] = ContextVar("JOURNEY", default=None)
CLIENT: ContextVar[Client | None] = ContextVar("CLIENT", default=None)


class Place(Protocol):
    """What a client needs of the world around it."""

    path: Path
    one_writer: asyncio.Lock
    upstreams: dict[str, Upstream]

    def new_id(self) -> str: ...
    def clock(self) -> datetime: ...
    def start_time_of(self, pid: int) -> str | None: ...
    async def end_group(self, group: AgentGroup) -> bool: ...
    def violate(self, what: str) -> None: ...


class GatedDatabase(Database):
    """The store, with a gate before and behind every transaction that writes."""

    gate: Callable[[str], Coroutine[Any, Any, None]]

    @asynccontextmanager
    async def write(self) -> AsyncIterator[Writer]:
        await self.gate("write")
        async with super().write() as tx:
            yield tx
        await self.gate("written")


class Client:
    """One client process."""

    def __init__(self, place: Place, slot: int, number: int) -> None:
        self.slot = slot
        self.owner = Owner(f"owner-{number}", "here", number, f"at-{number}")
        self.dead = False
        self.fuse: int | None = None  # gates that may still be passed before the crash
        self.tasks: set[asyncio.Task[Any]] = set()
        self.agents: list[ModelAgent] = []
        self.live: dict[str, Conversation] = {}
        self.said: dict[str, int] = {}
        self.ended: dict[str, int] = {}
        self.idle_steps: int | None = None  # how far what is done while a window is idle goes by itself
        self.idle_work: list[Journey] = []
        self._place = place
        self._connection = StraightConnection(place.path, place.one_writer)
        self.db = GatedDatabase(cast("aiosqlite.Connection", self._connection), place.path, place.clock)
        self.db.gate = self.gate
        self.services = Services(
            self.db,
            self.owner,
            place.new_id,
            place.clock,
            self.start_agent,
            monotonic=asyncio.get_running_loop().time,
            while_idle=WHILE_IDLE,
            session_files=FoundAnywhere(),
        )
        self.served = Conversations(self.services, self._spec_of, place.end_group, place.start_time_of)

    def set_budget(self, budget: Budget) -> None:
        """What the next prompts may tell."""
        object.__setattr__(self.services, "budget", budget)

    # --- the gate

    async def gate(self, request: str) -> None:
        self._check()
        journey = JOURNEY.get()
        if journey:
            self._count(journey, request)
            if request not in ("written", "answered"):
                await journey.step()
                self._check()
        if self.fuse is not None:
            self.fuse -= 1
            if self.fuse < 0:
                self.crash()
                raise Crash

    def _check(self) -> None:
        if self.dead:
            raise Crash

    def _count(self, journey: Journey, request: str) -> None:
        journey.requests += request not in ("write", "written", "answered")
        journey.new_sessions += request == "new"
        journey.texts += request == "prompt"
        if journey.new_sessions > 1 and not journey.prepares:
            self._place.violate("P4: two new sessions for one prompt")
        if journey.texts > 2:
            self._place.violate("P4: the text went out a third time")
        if journey.requests > 80:
            self._place.violate("P4: routing does not end")
            raise Crash

    def crash(self) -> None:
        """End at once; the guard ends the agents."""
        self.dead = True
        for agent in self.agents:
            agent.die(orphaned=True)

    async def bury(self) -> None:
        """Take away what is left of a crashed client."""
        for conversation in self.served.live:
            conversation.closing = True  # what ends now lets nothing else begin in its place
        while self.tasks:
            tasks = set(self.tasks)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        self._connection.close()

    # --- what it does

    async def start_agent(self, spec: AgentSpec, cwd: str, printed: Printed) -> AgentPort:
        await self.gate("start")
        agent = self._place.upstreams[spec.name].start(self.gate)
        self.agents.append(agent)
        return agent

    def _spec_of(self, name: str, profile: str) -> AgentSpec:
        return self._place.upstreams[name].spec

    def begin(self, work: Coroutine[Any, Any, None], journey: Journey | None = None) -> asyncio.Task[None]:
        """Let the client do something, as a task of its own."""
        context = copy_context()
        context.run(CLIENT.set, self)
        context.run(JOURNEY.set, journey)
        return asyncio.get_running_loop().create_task(work, context=context)

    def idle(self, window_id: str) -> bool:
        """No prompt of the window is on its way."""
        return self.said.get(window_id, 0) == self.ended.get(window_id, 0)


def owned_task(
    loop: asyncio.AbstractEventLoop, coro: Any, *, context: Context | None = None, **more: Any
) -> asyncio.Task[Any]:
    """A task factory that tells each client which tasks are its own."""
    client = context.get(CLIENT) if context is not None else CLIENT.get()
    if client is not None and coro.__qualname__ == IdleWork._done_after.__qualname__:
        # It goes its own way beside the prompts.
        client.idle_work = [journey for journey in client.idle_work if journey.steps is not None]
        client.idle_work.append(journey := Journey("", client.idle_steps))
        context = copy_context()
        context.run(JOURNEY.set, journey)
    task: asyncio.Task[Any] = asyncio.Task(coro, loop=loop, context=context, **more)
    if client is not None:
        client.tasks.add(task)
        task.add_done_callback(client.tasks.discard)
    return task
