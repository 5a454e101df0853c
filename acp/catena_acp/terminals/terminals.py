"""The terminals of one agent: which session each belongs to, how many there may be, and what of them is shown."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from catena_acp.errors import TerminalRefused
from catena_acp.port.session_events import TerminalChanged
from catena_acp.process_group import Guards
from catena_acp.tasks import TaskSet
from catena_acp.terminals.terminal import AgentTerminal, TerminalCommand, TerminalExit, shown_text

MAX_RUNNING = 16  # commands of an agent, all its sessions together
MAX_OPEN = 64  # terminals that were not released
MAX_WAITING = 200  # requests that wait for an end
FRAME = 0.2  # seconds between two looks at outputs that change


@dataclass(slots=True)
class _TerminalPlace:
    """A terminal of a session, or the place for one that is being started."""

    session_id: str
    terminal: AgentTerminal | None = None
    frame: asyncio.TimerHandle | None = None  # when its output is looked at next
    told_end: asyncio.Task[None] | None = None
    closing: bool = False
    told: asyncio.Event = field(default_factory=asyncio.Event)  # its end was

    @property
    def runs(self) -> bool:
        return self.terminal is None or self.terminal.status is None


class Terminals:
    """The terminals of one agent's sessions.

    ``deliver`` gets a ``TerminalChanged`` five times a second at most while outputs grow, and a last one with the
    end of each. All requests raise TerminalRefused where the session has no such terminal.
    """

    def __init__(
        self,
        deliver: Callable[[str, TerminalChanged], None],
        environment: Mapping[str, str],
        new_id: Callable[[int], str],
        log: Callable[[str], None],
        guards: Guards | None = None,
    ) -> None:
        self._deliver = deliver
        self._environment = environment
        self._new_id = new_id
        self._log = log
        self._guards = guards
        self._count = 0
        self._waiting = 0
        self._closed = False
        self._places: dict[str, _TerminalPlace] = {}
        self._closing = TaskSet()

    @property
    def run(self) -> bool:
        """True while a command runs in any of them."""
        return any(place.runs for place in self._places.values())

    async def create(self, session_id: str, command: TerminalCommand, limit: int | None) -> str:
        """Start a command; return the terminal's id. ``limit`` is the agent's for the output, in bytes."""
        if self._closed:
            raise TerminalRefused("the connection is being closed")
        if len(self._places) >= MAX_OPEN:
            raise TerminalRefused(f"there are {MAX_OPEN} terminals; release some")
        if sum(place.runs for place in self._places.values()) >= MAX_RUNNING:
            raise TerminalRefused(f"{MAX_RUNNING} commands run already; wait for one, or kill it")
        self._count += 1
        terminal_id = f"terminal-{self._new_id(self._count)}"
        place = self._places[terminal_id] = _TerminalPlace(session_id)
        with contextlib.ExitStack() as undoing:
            undoing.callback(self._places.pop, terminal_id, None)
            place.terminal = await AgentTerminal.start(
                command,
                self._environment,
                limit,
                lambda: self._changed(terminal_id, place),
                self._log,
                self._guards,
            )
            undoing.pop_all()
        if place.closing:  # its session ended while it was started
            self._close(terminal_id, place)
            raise TerminalRefused("the session was closed")
        return terminal_id

    def find(self, session_id: str, terminal_id: str) -> AgentTerminal:
        """The terminal of this id, if it is the session's."""
        place = self._places.get(terminal_id)
        if place is None or place.terminal is None or place.session_id != session_id:
            raise TerminalRefused(f"this session has no terminal {terminal_id[:100]!r}", missing=True)
        return place.terminal

    async def wait(self, session_id: str, terminal_id: str) -> TerminalExit:
        """Wait for the end of a command; what is shown of it is delivered by then."""
        terminal = self.find(session_id, terminal_id)
        if self._waiting >= MAX_WAITING:
            raise TerminalRefused(f"{MAX_WAITING} requests wait for commands already")
        self._waiting += 1
        told = self._places[terminal_id].told
        try:
            status = await terminal.wait()
            await told.wait()
        finally:
            self._waiting -= 1
        return status

    async def kill(self, session_id: str, terminal_id: str) -> None:
        """End a command; its terminal stays."""
        await self.find(session_id, terminal_id).kill()

    async def release(self, session_id: str, terminal_id: str) -> None:
        """End a command and forget its terminal, whose id means nothing from now on."""
        self.find(session_id, terminal_id)
        await self._close(terminal_id, self._places[terminal_id])

    def look(self, session_id: str) -> None:
        """Deliver what the session's terminals show now: its turn is over."""
        for terminal_id, place in self._places.items():
            if place.session_id == session_id and place.frame is not None:
                place.frame.cancel()
                self._show(terminal_id, place)

    def forget(self, session_id: str) -> None:
        """End all commands of a session that was closed; it may make new ones if it is opened again."""
        self._forget([key for key, place in self._places.items() if place.session_id == session_id])

    def close(self) -> None:
        """End all commands, and start no more; ``ended`` waits until that is done."""
        self._closed = True
        self._forget(list(self._places))

    async def ended(self) -> None:
        """Wait for the ends that ``forget`` and ``close`` began."""
        while self._closing:
            await asyncio.wait(set(self._closing))

    def _forget(self, terminal_ids: list[str]) -> None:
        for terminal_id in terminal_ids:
            place = self._places[terminal_id]
            if place.terminal is not None:
                if place.frame is not None:
                    place.frame.cancel()
                self._show(terminal_id, place, running=False)
                self._close(terminal_id, place)
            place.closing = True

    def _close(self, terminal_id: str, place: _TerminalPlace) -> asyncio.Task[None]:
        self._places.pop(terminal_id, None)
        return self._closing.begin(self._end(place))

    async def _end(self, place: _TerminalPlace) -> None:
        assert place.terminal is not None
        await place.terminal.close()
        if place.terminal.status is not None:
            await place.told.wait()

    def _changed(self, terminal_id: str, place: _TerminalPlace) -> None:
        """There is more output, or the end: look at it soon, or now."""
        terminal = place.terminal
        if terminal is not None and terminal.status is not None:
            if place.frame is not None:
                place.frame.cancel()
            if place.told_end is None:
                place.told_end = asyncio.create_task(self._tell_end(terminal_id, place, terminal))
        elif place.frame is None:
            loop = asyncio.get_running_loop()
            # Looking takes time of the loop: all that run share what one may take.
            running = sum(each.runs for each in self._places.values())
            place.frame = loop.call_later(FRAME * max(1, running), self._show, terminal_id, place)

    def _show(self, terminal_id: str, place: _TerminalPlace, *, running: bool = True) -> None:
        place.frame = None
        terminal = place.terminal
        if terminal is None or terminal.status is not None:
            return
        data, hidden = terminal.output.shown(running=running)
        self._deliver(place.session_id, TerminalChanged(terminal_id, shown_text(data), hidden))

    async def _tell_end(self, terminal_id: str, place: _TerminalPlace, terminal: AgentTerminal) -> None:
        data, hidden = terminal.output.shown(running=False)
        status = terminal.status
        try:
            text = await asyncio.to_thread(shown_text, data)
            code, name = (status.exit_code, status.signal) if status else (None, None)
            if not place.closing:
                ended = TerminalChanged(terminal_id, text, hidden, code, name, over=True)
                self._deliver(place.session_id, ended)
        finally:
            place.told.set()
