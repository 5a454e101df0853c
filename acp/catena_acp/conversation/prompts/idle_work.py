"""Idle work on a window's session after a clean turn: the probe of forks, then parking.

A prompt never waits for it. The probe goes on beside it; parking is broken off in one piece, and what an agent still
answers is taken away beside the prompt.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any

from catena_acp.continuity.cancellation import outlived
from catena_acp.continuity.parking import park, probe
from catena_acp.continuity.sending.context import SendContext
from catena_acp.continuity.sessions.sessions import LiveSession
from catena_acp.conversation.live import LiveConversation
from catena_acp.errors import AgentError, ReadOnly
from catena_store.chains import links
from catena_store.errors import StoreError
from catena_store.records import Link, LinkState, Turn

_PATIENCE = 10.0  # seconds for parking; an agent that takes longer is not asked for so much
_CLOSING_SECONDS = 1.0  # that what was broken off may take where its conversation is closed


class IdleWork:
    """The idle work of one window."""

    def __init__(self, conversation: LiveConversation, window_id: str) -> None:
        self._conversation = conversation
        self._window_id = window_id
        self._work: asyncio.Task[None] | None = None
        self._late: set[asyncio.Task[None]] = set()

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
            self._late.add(self._work)
            self._work.add_done_callback(self._late.discard)
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
                    await park(context, live, turn, self._window_id, self._later)
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
                await probe(context, live, self._later)

        return self._later(probed())

    def _later(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._late.add(task)
        task.add_done_callback(self._late.discard)
        return task


def _at_rest(link: Link, live: LiveSession, turn: Turn) -> bool:
    """True if the session is known to hold just what there was when the turn ended."""
    holds = link.state is LinkState.OPEN and link.knows == link.reach == turn.last_id
    return holds and link.version == live.version
