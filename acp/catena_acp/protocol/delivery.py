"""Events to whoever listens to their session, in order, the early ones kept."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from catena_acp.errors import AgentSilent
from catena_acp.events import Event, PermissionRequested, PermissionWithdrawn, TextChunk

Listener = Callable[[Event], None]

MAX_UNCLAIMED_EVENTS = 20_000  # per session that nobody listens to
MAX_UNCLAIMED_SESSIONS = 32
MAX_UNCLAIMED_SIZE = 16 * 1024 * 1024  # characters, of all these sessions

_ASKS = (PermissionRequested, PermissionWithdrawn)


class Delivery:
    """The listeners of every session of one agent.

    What is told of a session before anybody listens is kept for the first one who does; the oldest is let go beyond
    20,000 events, 32 such sessions or 16 million characters, since an agent may name as many sessions as it likes.
    """

    def __init__(self, log: Callable[[str], None]) -> None:
        self._log = log
        self._listeners: dict[str, list[Listener]] = {}
        self._unclaimed: dict[str, deque[Event]] = {}
        self._unclaimed_size = 0  # never less than what is kept
        self._replays: dict[str, list[list[Event]]] = {}
        self._abandoned: set[str] = set()  # opened by a request that nobody waited for

    def deliver(self, session_id: str, event: Event) -> None:
        """Hand an event over: to the replay that is being collected, to the listeners, or to be kept."""
        replays = self._replays.get(session_id)
        if replays and not isinstance(event, _ASKS):
            for replay in replays:
                replay.append(event)
            return
        if session_id in self._abandoned and not isinstance(event, _ASKS):
            return
        listeners = self._listeners.get(session_id)
        if listeners:
            for listener in tuple(listeners):
                listener(event)
            return
        unclaimed = self._unclaimed.pop(session_id, None)
        if unclaimed is None:
            unclaimed = deque(maxlen=MAX_UNCLAIMED_EVENTS)
            if len(self._unclaimed) >= MAX_UNCLAIMED_SESSIONS:
                forgotten = next(iter(self._unclaimed))
                del self._unclaimed[forgotten]
                self._log(f"events of session {forgotten!r}, which nobody listens to, are let go")
        unclaimed.append(event)
        self._unclaimed[session_id] = unclaimed  # at the end: the session that was quiet longest goes first
        self._unclaimed_size += _size(event)
        if self._unclaimed_size > MAX_UNCLAIMED_SIZE:
            self._trim()

    def listen(self, session_id: str, listener: Listener) -> Callable[[], None]:
        """Hand every event of a session to ``listener``, the early ones at once. Returns the end of it."""
        listeners = self._listeners.setdefault(session_id, [])
        listeners.append(listener)
        for event in self._unclaimed.pop(session_id, ()):
            listener(event)

        def unsubscribe() -> None:
            if listener in listeners:
                listeners.remove(listener)
            if not listeners and self._listeners.get(session_id) is listeners:
                del self._listeners[session_id]

        return unsubscribe

    @contextmanager
    def collect_replay(self, session_id: str) -> Iterator[list[Event]]:
        """While it lasts, what is told of a session is its replay, and goes to nobody else."""
        replay: list[Event] = []
        self._replays.setdefault(session_id, []).append(replay)
        try:
            yield replay
            self._abandoned.discard(session_id)
        except (asyncio.CancelledError, AgentSilent):
            # The agent does not know that nobody waits any more: it goes on telling what has long been said.
            self._abandoned.add(session_id)
            raise
        finally:
            running = self._replays[session_id]
            running[:] = [other for other in running if other is not replay]
            if not running:
                del self._replays[session_id]

    def _trim(self) -> None:
        """Keep half of what may be kept: the oldest go first, of the session that was quiet longest."""
        size = sum(_size(event) for unclaimed in self._unclaimed.values() for event in unclaimed)
        while size > MAX_UNCLAIMED_SIZE // 2:
            oldest = next(iter(self._unclaimed))
            unclaimed = self._unclaimed[oldest]
            size -= _size(unclaimed.popleft())
            if not unclaimed:
                del self._unclaimed[oldest]
        self._unclaimed_size = size

    def take_unclaimed(self, session_id: str) -> list[Event]:
        """What was told of a session that nobody could know yet: the replay of a fork. Permissions are left."""
        unclaimed = self._unclaimed.pop(session_id, deque())
        asked = [event for event in unclaimed if isinstance(event, _ASKS)]
        if asked:
            self._unclaimed[session_id] = deque(asked, maxlen=MAX_UNCLAIMED_EVENTS)
        return [event for event in unclaimed if not isinstance(event, _ASKS)]

    def forget(self, session_id: str) -> None:
        """The session is over: keep nothing more for it."""
        self._unclaimed.pop(session_id, None)


def _size(event: Event) -> int:
    """About how many characters an event holds."""
    return len(event.text) if isinstance(event, TextChunk) else len(repr(event))
