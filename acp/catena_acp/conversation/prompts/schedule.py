"""Schedule of a window: who may move its leaf, what its next prompt waits for, and what is done while none does.

The leaf is free; or one move has it; or the prompts have it, from before the first one's row is born until none waits
that may go out. Whoever asks for it meanwhile comes next.

A prompt never waits for idle work. The probe goes on beside it; parking is broken off in one piece, and what an agent
still answers is taken away beside the prompt.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from catena_acp.continuity.parking import park, probe
from catena_acp.continuity.sending.context import SendContext
from catena_acp.continuity.sessions.sessions import LiveSession
from catena_acp.conversation.live import LiveConversation
from catena_acp.errors import AgentError, GivenUp, ReadOnly, StillAtWork
from catena_acp.tasks import TaskSet, outlived, shielded
from catena_store.chains import links
from catena_store.errors import StoreError
from catena_store.records import Link, LinkState, Turn

T = TypeVar("T")
Consumer = Callable[[], Coroutine[Any, Any, None]]  # sends prompts until none waits


@dataclass(frozen=True, slots=True)
class Free:
    """Nobody has the leaf."""


@dataclass(frozen=True, slots=True)
class Moving:
    """A move has it; ``then`` follows one that only ``catches_up`` with what was told: it leads nowhere else."""

    catches_up: bool = False
    then: Consumer | None = None


@dataclass(frozen=True, slots=True)
class Sending:
    """A prompt has it."""

    consumer: asyncio.Task[None]


@dataclass(frozen=True, slots=True)
class Looking:
    """The prompt before is done, and its consumer looks what waits; ``then`` follows where nothing does."""

    consumer: asyncio.Task[None]
    then: Consumer | None = None


class WindowSchedule:
    """Order of what moves a window's leaf.

    ``stop`` stops the turn that runs; ``freed`` is called when the leaf is free and nobody waits for it, with the
    consumer that was to follow.
    """

    def __init__(self, stop: Callable[[], Awaitable[None]], freed: Callable[[Consumer | None], None]) -> None:
        self._stop = stop
        self._on_freed = freed
        self.state: Free | Moving | Sending | Looking = Free()
        self._free = asyncio.Event()  # set while the state is Free
        self._free.set()
        self.waiting = 0  # number of those who wait for the leaf; the queue is not served meanwhile
        self.begun = 0  # number of prompts that have had the leaf

    @property
    def sending(self) -> bool:
        """True while the prompts have the leaf."""
        return isinstance(self.state, Sending | Looking)

    @property
    def carrying(self) -> bool:
        """True while a prompt is on its way or its turn runs, and not only looked what waits behind it."""
        return isinstance(self.state, Sending)

    @property
    def at_rest(self) -> bool:
        """True if a prompt can have the leaf at once."""
        return isinstance(self.state, Free) and not self.waiting

    async def move(
        self,
        work: Callable[[], Coroutine[Any, Any, T]],
        *,
        stop: bool = False,
        wait: bool = False,
        catches_up: bool = False,
    ) -> T:
        """Run a move to its end when it is its turn; one that ``catches_up`` stores what was told before.

        A running turn is stopped first (``stop``) or waited for (``wait``); else raises StillAtWork.
        """
        await self._turn(stop=stop, wait=wait)
        self._take(Moving(catches_up))
        try:
            return await shielded(work())
        finally:
            self._leave()

    async def send(self, consumer: Consumer, *, stop: bool = False) -> asyncio.Task[None]:
        """Let a consumer begin when it is its turn. Raises StillAtWork while one runs that is not to be stopped."""
        await self._turn(stop=stop, wait=False)
        return self.begin(consumer)

    def begin(self, consumer: Consumer) -> asyncio.Task[None]:
        """Give the free leaf to a consumer."""

        async def run() -> None:
            try:
                await consumer()
            finally:
                self._leave()

        task = asyncio.ensure_future(run())
        self._take(Sending(task))
        self.begun += 1
        task.add_done_callback(self._over)
        return task

    def begin_behind(self, consumer: Consumer) -> None:
        """Let a consumer begin at once, or behind a look that finds nothing or a move that catches up; else never."""
        match self.state:
            case Free() if not self.waiting:
                self.begin(consumer)
            case Looking() | Moving(catches_up=True) if not self.waiting:
                self.state = replace(self.state, then=consumer)
            case _:
                pass

    def look(self) -> None:
        """The consumer has brought a prompt to its end, and looks what waits."""
        if isinstance(self.state, Sending):
            self.state = Looking(self.state.consumer)

    def found(self) -> None:
        """The consumer goes on with a prompt that waited."""
        if isinstance(self.state, Looking):
            self.state = Sending(self.state.consumer)
            self.begun += 1

    def cancel(self) -> None:
        """Cancel the consumer, and what was to follow it or a move."""
        match self.state:
            case Sending(consumer):
                consumer.cancel()
            case Looking(consumer):
                self.state = Looking(consumer)
                consumer.cancel()
            case Moving():
                self.state = replace(self.state, then=None)
            case _:
                pass

    async def sent(self) -> None:
        """Wait until the prompts have left the leaf."""
        while self.sending:
            await self._free.wait()

    async def _turn(self, *, stop: bool, wait: bool) -> None:
        """Wait for the free leaf; the caller takes it in the same tick. Raises StillAtWork."""
        self.waiting += 1
        arrived = False
        try:
            while not isinstance(self.state, Free):
                if self.sending and not (stop or wait):
                    raise StillAtWork
                if self.sending and stop:
                    await self._stop()
                await self._free.wait()
            arrived = True
        finally:
            self.waiting -= 1
            if not arrived:
                self._rest(None)

    def _take(self, state: Moving | Sending) -> None:
        self.state = state
        self._free.clear()

    def _leave(self) -> None:
        then = self.state.then if isinstance(self.state, Looking | Moving) else None
        self.state = Free()
        self._free.set()
        self._rest(then)

    def _over(self, consumer: asyncio.Task[None]) -> None:
        """Leave for a consumer that was cancelled before it began."""
        if isinstance(self.state, Sending) and self.state.consumer is consumer:
            self._leave()

    def _rest(self, then: Consumer | None) -> None:
        if self.at_rest:
            self._on_freed(then)


class Preparation:
    """Work that must be done before the next prompt is sent, one piece at a time; ``over`` is called after each."""

    def __init__(self, over: Callable[[], None]) -> None:
        self._over = over
        self._work: asyncio.Future[Any] | None = None

    @property
    def under_way(self) -> bool:
        """True while something is prepared."""
        return self._work is not None

    async def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run work, after what is prepared now. Raises GivenUp if it was given up."""
        await self.done()
        self._work = task = asyncio.ensure_future(work())
        task.add_done_callback(self._end)
        await asyncio.wait({task})
        if task.cancelled():
            raise GivenUp
        return task.result()

    async def done(self) -> None:
        """Wait until nothing is prepared."""
        while self._work:
            await asyncio.wait({self._work})

    def give_up(self) -> None:
        """Cancel what is prepared now."""
        if self._work:
            self._work.cancel()

    async def close(self) -> None:
        """Give up all of it."""
        while self._work:
            self._work.cancel()
            await asyncio.wait({self._work})

    def _end(self, work: asyncio.Future[Any]) -> None:
        self._work = None
        if not work.cancelled():
            work.exception()  # raised where it is waited for, if anybody still does
        self._over()


_PATIENCE = 10.0  # seconds for parking; an agent that takes longer is not asked for so much
_CLOSING_SECONDS = 1.0  # that what was broken off may take where its conversation is closed


class IdleWork:
    """The idle work of one window."""

    def __init__(self, conversation: LiveConversation, window_id: str) -> None:
        self._conversation = conversation
        self._window_id = window_id
        self._work: asyncio.Task[None] | None = None
        self._late = TaskSet()

    @property
    def under_way(self) -> bool:
        """True while anything is done."""
        return bool(self._late) or (self._work is not None and not self._work.done())

    def begin(self, turn: Turn | None) -> None:
        """The window has come to rest after this turn."""
        wanted = self._conversation.services.while_idle
        if (
            turn
            and turn.clean
            and (wanted.probe or wanted.park)
            and not self._conversation.closing
            and self._conversation.tenure
        ):
            self.give_way()
            self._work = asyncio.ensure_future(self._done_after(turn))

    def give_way(self) -> None:
        """A prompt comes: break it off, without waiting for that."""
        if self._work and not self._work.done():
            self._work.cancel()
            # What must not be left half done is brought to its end beside the prompt.
            self._late.keep(self._work)
        self._work = None

    async def settled(self) -> None:
        """Wait until it is done, and what was broken off is cleared away."""
        while self.under_way:
            await asyncio.wait({task for task in (self._work, *self._late) if task and not task.done()})

    async def close(self) -> None:
        """Break it off for good."""
        self.give_way()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CLOSING_SECONDS):
                await self.settled()
        for task in self._late:
            task.cancel()

    async def _done_after(self, turn: Turn) -> None:
        wanted = self._conversation.services.while_idle
        try:
            at_rest = await self._at_rest(turn)
            if at_rest is None:
                return
            context, live = at_rest
            if wanted.probe:
                # It is away from the next prompt: what an agent was asked for once is heard to its end.
                await outlived(asyncio.ensure_future(self._probing(context, live)))
            if wanted.park:
                async with asyncio.timeout(_PATIENCE):
                    await park(context, live, turn, self._window_id, self._late.begin)
        except (AgentError, ReadOnly, StoreError, TimeoutError):
            return  # nothing was promised: the next edit there is told

    async def _at_rest(self, turn: Turn) -> tuple[SendContext, LiveSession] | None:
        """The session of a turn, if it is known to hold just what there was when that ended."""
        async with self._conversation.services.db.read() as reader:
            link = await links.get(reader, turn.link_id)
        live = self._conversation.sessions.of(link) if link else None
        if link is None or live is None or not _at_rest(link, live, turn):
            return None
        context = self._conversation.send_context(link.cwd)
        same = (context.spec.name, context.spec.profile) == (link.agent, link.profile)
        return (context, live) if same else None

    def _probing(self, context: SendContext, live: LiveSession) -> asyncio.Task[None]:
        async def probed() -> None:
            with contextlib.suppress(AgentError, ReadOnly, StoreError):
                await probe(context, live, self._late.begin)

        return self._late.begin(probed())


def _at_rest(link: Link, live: LiveSession, turn: Turn) -> bool:
    """True if the session is known to hold just what there was when the turn ended."""
    holds = link.state is LinkState.OPEN and link.knows == link.reach == turn.last_id
    return holds and link.version == live.version
