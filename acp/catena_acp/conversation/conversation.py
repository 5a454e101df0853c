"""One live conversation: it owns its turns, whatever becomes of the windows that show it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from catena_acp.conversation.core import Core
from catena_acp.conversation.news import Asked, Doing, News, SessionState
from catena_acp.conversation.seat import Seat
from catena_acp.conversation.session_settings import set_mode, set_option
from catena_acp.port import AgentPort, AgentSpec
from catena_store import conversations
from catena_store.records import Conversation as Record


class Conversation:
    """A conversation that can be talked to; made by ``Conversations``.

    What a person does is named by the window it is done in. Anything that writes raises StoreError, and ReadOnly where
    another client holds the lease.
    """

    def __init__(self, core: Core) -> None:
        self._core = core
        self._seats: dict[str, Seat] = {}
        self._left: set[Seat] = set()  # of windows that were closed in mid-turn

    @property
    def id(self) -> str:
        return self._core.record.id

    @property
    def record(self) -> Record:
        return self._core.record

    @property
    def read_only(self) -> bool:
        """True where another client holds the conversation."""
        return self._core.tenure is None

    @property
    def busy(self) -> bool:
        """True while any window's turn is under way."""
        return any(seat.busy for seat in (*self._seats.values(), *self._left))

    def subscribe(self, listener: Callable[[News], None]) -> Callable[[], None]:
        """Tell ``listener`` everything from now on; returns the end of it."""
        return self._core.subscribe(listener)

    def session(self, window_id: str) -> SessionState:
        """What is known of the session that carries a window."""
        return self._core.session(window_id)

    def doing(self, window_id: str) -> Doing:
        """What a window's turn does now."""
        return self._core.doing(window_id)

    def asked(self, window_id: str) -> list[Asked]:
        """The permissions that a window's turn waits for, oldest first."""
        return self._core.asks.of_window(window_id)

    # --- prompts

    async def say(self, window_id: str, text: str) -> None:
        """Send a prompt, or queue it while a turn runs; returns when the row or the queue item is committed."""
        await self._seat(window_id).say(text)

    async def retry(self, window_id: str) -> None:
        """Send the last prompt again: the same row where its turn brought nothing, else as a sibling."""
        await self._seat(window_id).retry()

    async def stop(self, window_id: str) -> None:
        """Stop the turn: the agent is asked to, its open questions are answered `cancelled`."""
        await self._seat(window_id).stop()

    async def kill_agent(self, window_id: str) -> None:
        """End the agent's process, for a stop that is not heeded; what it said is kept."""
        await self._seat(window_id).kill_agent()

    async def prepare(self, window_id: str) -> None:
        """Open a session for what comes next, where that needs no telling, so that its commands and modes can be shown.

        Trouble is told, not raised; the next prompt tries again.
        """
        await self._seat(window_id).prepare()

    async def answer(self, ask_id: str, option_id: str | None) -> None:
        """Answer a permission with one of the agent's options; None is `cancelled`."""
        window_id = self._core.asks.answer(ask_id, option_id)
        if window_id and self.doing(window_id) is Doing.ASKING and not self.asked(window_id):
            self._core.now(window_id, Doing.WORKING)

    async def unqueue(self, window_id: str, item_id: str) -> None:
        """Take a waiting prompt out of the queue."""
        await self._seat(window_id).unqueue(item_id)

    async def send_queued(self, window_id: str) -> None:
        """Let the queue go on after an error held it."""
        await self._seat(window_id).send_queued()

    async def wait_idle(self, window_id: str) -> None:
        """Wait until no turn of the window is under way and its queue has come to rest."""
        await self._seat(window_id).wait_idle()

    # --- what the next prompt meets

    async def set_mode(self, window_id: str, mode_id: str) -> None:
        """Switch the session's mode. Raises AgentError."""
        await set_mode(self._core.live(window_id), mode_id)

    async def set_option(self, window_id: str, option_id: str, value: str | bool) -> None:
        """Set one of the session's options. Raises AgentError."""
        await set_option(self._core.live(window_id), option_id, value)

    async def set_agent(self, window_id: str, spec: AgentSpec) -> None:
        """Go on with another agent from the next prompt on."""
        async with self._core.writable().write() as tx:
            await conversations.set_agent(tx, self.id, spec.name, spec.profile)
        self._core.record = replace(self.record, agent=spec.name, profile=spec.profile)
        self._core.carried_by_none(window_id)

    async def clear(self, window_id: str) -> None:
        """`/clear`: nothing above is told again, all of it stays on the screen, nothing is sent."""
        await self._seat(window_id).clear()

    async def rename(self, title: str | None) -> None:
        """Give the conversation a title."""
        await self._core.rename(title)

    # --- its life

    def enter(self, window_id: str) -> None:
        """The window is open in this client: the session that carries it is its own."""
        self._core.enter(window_id)

    def leave(self, window_id: str) -> None:
        """The window was closed for good: what it owned is anybody's. Its turn goes on."""
        seat = self._seats.pop(window_id, None)
        self._left = {left for left in self._left if left.busy}
        if seat and seat.busy:
            self._left.add(seat)
        self._core.leave(window_id)

    async def aclose(self) -> None:
        """End every turn as interrupted, and record it; the agents are ended by whoever owns them."""
        self._core.closing = True
        await asyncio.gather(*(seat.close() for seat in (*self._seats.values(), *self._left)))
        await self._core.close()

    def agent_died(self, agent: AgentPort) -> None:
        """A process of ours ended; its sessions are cold from now on."""
        self._core.agent_died(agent)

    def _seat(self, window_id: str) -> Seat:
        seat = self._seats.get(window_id)
        if seat is None:
            seat = self._seats[window_id] = Seat(self._core, window_id)
        return seat
