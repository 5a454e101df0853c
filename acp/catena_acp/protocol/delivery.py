"""Delivery of events to the listeners of their session, in order, with a buffer for sessions without listeners."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from catena_acp.errors import AgentSilent
from catena_acp.port.session_events import (
    CommandsChanged,
    Event,
    QuestionEvent,
    TerminalChanged,
    TextChunk,
    ToolCallChanged,
)

Listener = Callable[[Event], None]

MAX_UNCLAIMED_EVENTS = 20_000  # per session without a listener
MAX_UNCLAIMED_SESSIONS = 32
MAX_UNCLAIMED_SIZE = 16 * 1024 * 1024  # characters over all these sessions


class Replay:
    """The events of a session while it is being opened, in order."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._added = asyncio.Event()

    def add(self, event: Event) -> None:
        self.events.append(event)
        self._added.set()

    async def until_commands(self, seconds: float) -> None:
        """Wait for the session's commands among the events that come from now on, for so long at most."""
        seen = len(self.events)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not any(isinstance(event, CommandsChanged) for event in self.events[seen:]):
                    self._added.clear()
                    await self._added.wait()


class EventDelivery:
    """Listeners of one agent's sessions.

    Events of a session without a listener are kept for its first listener. Beyond 20,000 events of a session, 32 such
    sessions or 16 million characters the oldest are dropped, since an agent may name any number of sessions.
    """

    def __init__(self, log: Callable[[str], None]) -> None:
        self._log = log
        self._listeners: dict[str, list[Listener]] = {}
        self._unclaimed: dict[str, deque[Event]] = {}
        self._unclaimed_size = 0  # an upper bound
        self._replays: dict[str, list[Replay]] = {}
        self._abandoned: set[str] = set()  # sessions whose opening request was cancelled or timed out

    def deliver(self, session_id: str, event: Event) -> None:
        """Deliver an event to the replay that is being collected, to the listeners, or to the buffer."""
        replays = self._replays.get(session_id)
        if replays and not isinstance(event, QuestionEvent | TerminalChanged):
            for replay in replays:
                replay.add(event)
            return
        if session_id in self._abandoned and not isinstance(event, QuestionEvent | TerminalChanged):
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
        # Last, since the session that was quiet longest is dropped first.
        self._unclaimed[session_id] = unclaimed
        self._unclaimed_size += _size(event)
        if self._unclaimed_size > MAX_UNCLAIMED_SIZE:
            self._trim()

    def listen(self, session_id: str, listener: Listener) -> Callable[[], None]:
        """Pass every event of a session to ``listener``, buffered ones at once; return the unsubscription."""
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
    def collect_replay(self, session_id: str) -> Iterator[Replay]:
        """Collect the session's events as its replay instead of delivering them."""
        replay = Replay()
        self._replays.setdefault(session_id, []).append(replay)
        try:
            yield replay
            self._abandoned.discard(session_id)
        except (asyncio.CancelledError, AgentSilent):
            # The agent does not know that the request was given up and goes on replaying.
            self._abandoned.add(session_id)
            raise
        finally:
            running = self._replays[session_id]
            running[:] = [other for other in running if other is not replay]
            if not running:
                del self._replays[session_id]

    def _trim(self) -> None:
        """Drop the oldest events of the sessions that were quiet longest, down to half the limit."""
        size = sum(_size(event) for unclaimed in self._unclaimed.values() for event in unclaimed)
        while size > MAX_UNCLAIMED_SIZE // 2:
            oldest = next(iter(self._unclaimed))
            unclaimed = self._unclaimed[oldest]
            size -= _size(unclaimed.popleft())
            if not unclaimed:
                del self._unclaimed[oldest]
        self._unclaimed_size = size

    def take_unclaimed(self, session_id: str) -> list[Event]:
        """Remove and return a new session's buffered events, the replay of a fork; questions stay."""
        unclaimed = self._unclaimed.pop(session_id, deque())
        asked = [event for event in unclaimed if isinstance(event, QuestionEvent)]
        if asked:
            self._unclaimed[session_id] = deque(asked, maxlen=MAX_UNCLAIMED_EVENTS)
        return [event for event in unclaimed if not isinstance(event, QuestionEvent)]

    def take_calls(self, session_id: str, call_id: str) -> list[Event]:
        """Remove and return what a session without a listener told of a tool call."""
        unclaimed = self._unclaimed.get(session_id, deque())
        told = [
            each for each in unclaimed if isinstance(each, ToolCallChanged) and each.tool_call_id == call_id
        ]
        for event in told:
            unclaimed.remove(event)
        return list(told)

    def forget(self, session_id: str) -> None:
        """Drop the buffered events of a closed session."""
        self._unclaimed.pop(session_id, None)


def _size(event: Event) -> int:
    """The approximate size of an event in characters."""
    match event:
        case TextChunk(text=text) | TerminalChanged(output=text):
            return len(text)
        case _:
            return len(repr(event))
