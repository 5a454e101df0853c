"""A running agent: its process and its connection as one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping

from catena_acp.agents.process import GRACE, AgentProcess
from catena_acp.errors import AgentGone
from catena_acp.port.port import AgentSpec, Limits
from catena_acp.port.session_events import Event, TerminalChanged
from catena_acp.process_group import Guards
from catena_acp.protocol.connection import Connection
from catena_acp.protocol.delivery import EventDelivery
from catena_acp.protocol.files import FileAccess
from catena_acp.protocol.transport import StdioTransport
from catena_acp.protocol.wire_record import WireRecord
from catena_acp.terminals.terminals import Terminals

_EXIT_AFTER_CLOSING = 1.0  # seconds for the process to exit after it closed its pipes
_CLOSING_SESSIONS = 1.0


class Agent(Connection):
    """A connection with its process, from start to exit: an ``AgentPort``, made by ``start_agent``."""

    def __init__(
        self,
        spec: AgentSpec,
        process: AgentProcess,
        files: FileAccess | None,
        command_environment: Mapping[str, str] | None,
        log: Callable[[str], None],
        limits: Limits,
        printed: Callable[[str], None],
        guards: Guards | None,
        record: WireRecord | None,
    ) -> None:
        """``command_environment`` is that of the commands that it may run in terminals, None if it may run none."""
        self._spec = spec
        self._process = process
        self._command_environment = command_environment
        self._printed = printed
        self._guards = guards
        self._terminals: Terminals | None = None
        self._stop_task: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()
        self._final_stderr: tuple[str, ...] = ()
        self._exit_status: int | None = None
        self._exit_callbacks: list[Callable[[], None]] = []
        self._transport = StdioTransport(
            allowed_methods=_allowed_methods(files, terminals=command_environment is not None),
            switched_off=_SWITCHED_OFF,
            log=log,
            printed=self._say_printed,
            lost_message=self._say_lost,
            quiet=limits.quiet,
            record=record,
        )
        self._transport.connect(process.to_agent, process.from_agent)
        super().__init__(
            self._transport,
            EventDelivery(log),
            files=files,
            terminals=self._terminals_with if command_environment is not None else None,
            ask_id=lambda number: f"{self.pid}.{number}",
            exit_error=self._exit_error,
            limits=limits,
            log=log,
        )
        self._watch_task = asyncio.create_task(self._watch())

    def _say_printed(self, text: str) -> None:
        """Say what the agent printed while a message of it is waited for: in its turns, else where it was started."""
        words = f"{self._spec.title} printed: “{text}”"
        self._log(words)
        if not self.notice(words):
            self._printed(words)

    def _say_lost(self, words: str) -> None:
        """Say in the agent's turns, else where it was started, that something of it was dropped."""
        if not self.notice(words):
            self._printed(words)

    def _terminals_with(self, deliver: Callable[[str, TerminalChanged], None]) -> Terminals:
        self._terminals = Terminals(
            deliver,
            self._command_environment or {},
            lambda number: f"{self.pid}.{number}",
            self._log,
            self._guards,
        )
        return self._terminals

    @property
    def spec(self) -> AgentSpec:
        return self._spec

    @property
    def alive(self) -> bool:
        """True while the process runs and its pipes are open."""
        return self._stop_task is None and not self._ended.is_set() and not self._transport.lost.is_set()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def runs_commands(self) -> bool:
        return self._terminals is not None and self._terminals.run

    @property
    def group(self) -> tuple[int, str]:
        """Process group id and start time of its leader, as ``end_group`` takes them."""
        return (self._process.pid, self._process.started)

    @property
    def stderr_tail(self) -> tuple[str, ...]:
        """The last lines of its standard error, oldest first, at most 200."""
        return self._process.stderr_tail

    def listen(self, session_id: str, listener: Callable[[Event], None]) -> Callable[[], None]:
        return self._delivery.listen(session_id, listener)

    # Exit.

    def on_exit(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call ``callback`` once when the agent has ended, at once where it has; return the unsubscription."""
        if self._ended.is_set():
            callback()
            return lambda: None
        self._exit_callbacks.append(callback)

        def unsubscribe() -> None:
            if callback in self._exit_callbacks:
                self._exit_callbacks.remove(callback)

        return unsubscribe

    async def stop(self) -> None:
        """End the process and its process group.

        Close its sessions where it offers that, then its input, then send signals to the group. This takes up to a
        second for an agent that exits by itself, and about seven for one that does not.
        """
        if self._stop_task is None:
            self._stop_task = asyncio.create_task(self._stop())
        await asyncio.shield(self._stop_task)

    async def _stop(self) -> None:
        if not self._transport.lost.is_set():
            await self.close_open_sessions(_CLOSING_SESSIONS)
        self._transport.close_input()
        await self._process.end(GRACE)
        await self._watch_task

    async def _watch(self) -> None:
        """Wait for the exit of the process or the end of a pipe, then drain, disconnect and call the callbacks.

        The process may have exited while a child still holds its pipes.
        """
        exiting = asyncio.create_task(self._process.wait())
        losing = asyncio.create_task(self._transport.lost.wait())
        await asyncio.wait({exiting, losing}, return_when=asyncio.FIRST_COMPLETED)
        if not exiting.done():
            await asyncio.wait({exiting}, timeout=_EXIT_AFTER_CLOSING)
        losing.cancel()
        await self._transport.drain()
        await self._process.drain()
        self._exit_status, self._final_stderr = self._process.returncode, self.stderr_tail
        await self._drain_messages()
        await self.close()
        self._ended.set()
        for callback in self._exit_callbacks:
            callback()
        self._exit_callbacks.clear()
        await self._process.end(0)
        if self._terminals is not None:
            await self._terminals.ended()
        exiting.cancel()

    async def _drain_messages(self) -> None:
        """Wait until all of the agent's messages have been received, or none was for a second.

        However many they are and however slow the machine: the answer may be the last of them.
        """
        seen = -1
        while not self._transport.drained.is_set():
            if seen == (seen := self._transport.received_messages):
                return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1.0):
                    await self._transport.drained.wait()
        # The handlers of the last messages are tasks that start in the next iteration.
        await asyncio.sleep(0)

    async def _exit_error(self) -> AgentGone:
        """Wait for the agent's end and return it as an error."""
        await self._ended.wait()
        # In the middle of a turn only a person ends it, whatever the process makes of that.
        ended_here = self._stop_task is not None
        return AgentGone(self._exit_status, self._final_stderr, ended_here=ended_here)


_TERMINAL_METHODS = frozenset(
    {
        "terminal/create",
        "terminal/output",
        "terminal/wait_for_exit",
        "terminal/kill",
        "terminal/release",
    }
)
# What an agent reads that asks for what was not announced, since the person or Catena does not want it.
_SWITCHED_OFF = {
    "fs/read_text_file": "Catena does not read files for this agent",
    "fs/write_text_file": "Catena does not write files for this agent",
    **dict.fromkeys(_TERMINAL_METHODS, "Catena does not run commands for this agent"),
}


def _allowed_methods(files: FileAccess | None, *, terminals: bool) -> frozenset[str]:
    """The methods that the agent may call."""
    offered = {"session/request_permission", "elicitation/create"}
    if files is not None and files.readable:
        offered.add("fs/read_text_file")
    if files is not None and files.writable:
        offered.add("fs/write_text_file")
    if terminals:
        offered |= _TERMINAL_METHODS
    return frozenset(offered)
