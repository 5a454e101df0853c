"""An agent: its process with a connection, from start to exit.

Importing this module loads neither the SDK nor pydantic; ``start_agent`` imports them in a thread while the process
starts.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from catena_acp.agents.process import AgentProcess, agent_environment
from catena_acp.errors import AgentGone
from catena_acp.port.abilities import Abilities
from catena_acp.port.elicitation.requests import ElicitationAnswer
from catena_acp.port.port import AgentSpec, FileGuard, Limits, SessionSetup
from catena_acp.port.session_events import (
    Event,
    Option,
    PromptBlock,
    PromptEnded,
    SessionOpened,
    SessionPage,
    TerminalChanged,
)
from catena_acp.process_group import Guards, end_group, process_start_time
from catena_acp.protocol.delivery import EventDelivery
from catena_acp.protocol.files import FileAccess
from catena_acp.protocol.sdk_import import import_sdk
from catena_acp.protocol.transport import StdioTransport
from catena_acp.terminals.terminals import Terminals

if TYPE_CHECKING:
    from catena_acp.protocol.connection import Connection


__all__ = ["Agent", "end_group", "process_start_time", "start_agent"]

_EXIT_AFTER_CLOSING = 1.0  # seconds for the process to exit after it closed its pipes
_CLOSING_SESSIONS = 1.0
_GRACE = 1.0  # seconds for the process to exit after its input was closed


def _discard(_line: str) -> None:
    pass


async def start_agent(
    spec: AgentSpec,
    *,
    cwd: str,
    client_version: str,
    files: FileAccess | None = None,
    terminals: bool = False,
    log: Callable[[str], None] = _discard,
    environment: Mapping[str, str] | None = None,
    init_timeout: float = 60,
    limits: Limits | None = None,
    printed: Callable[[str], None] = lambda _text: None,
    guards: Guards | None = None,
) -> Agent:
    """Start an agent in ``cwd`` and initialise the connection.

    The process inherits ``environment``, or ours, without the variables that would confuse it, and with those of
    the spec. ``printed`` is told what it prints instead of a message that is waited for. ``files`` is what the
    agent may read and write through the client, None for nothing; with ``terminals`` it may run commands in its
    directories. ``guards`` end it and its commands when we are gone; with None each has a guard of its own.
    Raises AgentMissing, AgentGone, AgentSilent (after ``init_timeout`` seconds), LoginNeeded, AgentRefused and
    ProtocolBroken, with nothing left running.
    """
    inherited = os.environ if environment is None else environment
    env = agent_environment(inherited, spec.env)
    process = await AgentProcess.start(spec.command, cwd=cwd, env=env, log=log, guards=guards)
    commands = agent_environment(inherited, ()) if terminals and files is not None else None
    agent = Agent(spec, process, files, commands, log, limits or Limits(), printed, guards)
    async with AsyncExitStack() as undoing:
        undoing.push_async_callback(agent.stop)
        await asyncio.to_thread(import_sdk)
        await agent.connect(client_version, init_timeout)
        undoing.pop_all()
    return agent


class Agent:
    """A running agent that implements ``AgentPort``; made by ``start_agent``."""

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
    ) -> None:
        """``command_environment`` is that of the commands that it may run in terminals, None if it may run none."""
        self._spec = spec
        self._process = process
        self._files = files
        self._delivery = EventDelivery(log)
        self._command_environment = command_environment
        self._log = log
        self._limits = limits
        self._printed = printed
        self._guards = guards
        self._terminals: Terminals | None = None
        self._transport = StdioTransport(
            allowed_methods=_allowed_methods(files, terminals=command_environment is not None),
            switched_off=_SWITCHED_OFF,
            log=log,
            printed=self._say_printed,
            lost_message=self._say_lost,
            quiet=limits.quiet,
        )
        self._connection: Connection | None = None
        self._watch_task: asyncio.Task[None] | None = None
        self._stop_task: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()
        self._final_stderr: tuple[str, ...] = ()
        self._exit_status: int | None = None
        self._exit_callbacks: list[Callable[[], None]] = []

    def _say_printed(self, text: str) -> None:
        """Say what the agent printed while a message of it is waited for: in its turns, else where it was started."""
        words = f"{self._spec.title} printed: “{text}”"
        self._log(words)
        if self._connection is None or not self._connection.notice(words):
            self._printed(words)

    def _say_lost(self, words: str) -> None:
        """Say in the agent's turns, else where it was started, that something of it was dropped."""
        if self._connection is None or not self._connection.notice(words):
            self._printed(words)

    async def connect(self, client_version: str, init_timeout: float) -> None:
        """Connect the pipes and initialise the connection."""
        from catena_acp.protocol.connection import Connection

        self._transport.connect(self._process.to_agent, self._process.from_agent)
        self._watch_task = asyncio.create_task(self._watch())
        self._connection = Connection(
            self._transport,
            self._delivery,
            files=self._files,
            terminals=self._terminals_with if self._command_environment is not None else None,
            ask_id=lambda number: f"{self.pid}.{number}",
            exit_error=self._exit_error,
            limits=self._limits,
            log=self._log,
        )
        await self._connection.initialize(client_version, init_timeout)

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
    def abilities(self) -> Abilities:
        return self._live_connection.abilities

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

    # Requests, each of which may raise any AgentError.

    async def new_session(self, setup: SessionSetup) -> SessionOpened:
        return await self._live_connection.new_session(setup)

    async def resume_session(self, session_id: str, setup: SessionSetup) -> SessionOpened:
        return await self._live_connection.resume_session(session_id, setup)

    async def load_session(self, session_id: str, setup: SessionSetup) -> SessionOpened:
        return await self._live_connection.load_session(session_id, setup)

    async def fork_session(
        self, session_id: str, setup: SessionSetup, at: str | None = None
    ) -> SessionOpened:
        return await self._live_connection.fork_session(session_id, setup, at)

    async def list_sessions(self, cwd: str | None = None, cursor: str | None = None) -> SessionPage:
        """One page of the agent's own sessions."""
        return await self._live_connection.list_sessions(cwd, cursor)

    async def close_session(self, session_id: str) -> None:
        await self._live_connection.close_session(session_id)

    async def delete_session(self, session_id: str) -> None:
        await self._live_connection.delete_session(session_id)

    async def prompt(self, session_id: str, blocks: Sequence[PromptBlock]) -> PromptEnded:
        return await self._live_connection.prompt(session_id, blocks)

    async def cancel(self, session_id: str) -> None:
        await self._live_connection.cancel(session_id)

    async def steer(self, session_id: str, blocks: Sequence[PromptBlock]) -> str:
        """Steer a running turn, if the agent offers that; return the outcome."""
        return await self._live_connection.steer(session_id, blocks)

    def allow_directories(self, session_id: str, directories: Sequence[str]) -> None:
        self._live_connection.allow_directories(session_id, directories)

    def forbid_writes(self, session_id: str) -> None:
        self._live_connection.forbid_writes(session_id)

    async def set_mode(self, session_id: str, mode_id: str) -> None:
        await self._live_connection.set_mode(session_id, mode_id)

    async def set_option(self, session_id: str, option_id: str, value: str | bool) -> tuple[Option, ...]:
        return await self._live_connection.set_option(session_id, option_id, value)

    async def authenticate(self, method_id: str) -> None:
        """Log in by a method of kind `agent`; a person may have to act meanwhile."""
        await self._live_connection.authenticate(method_id)

    async def logout(self) -> None:
        await self._live_connection.logout()

    def answer_permission(self, ask_id: str, option_id: str | None) -> None:
        self._live_connection.answer_permission(ask_id, option_id)

    def answer_elicitation(self, ask_id: str, answer: ElicitationAnswer) -> None:
        self._live_connection.answer_elicitation(ask_id, answer)

    def guard_files(self, session_id: str, guard: FileGuard) -> Callable[[], None]:
        return self._live_connection.guard_files(session_id, guard)

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
        if self._connection is not None and not self._transport.lost.is_set():
            await self._connection.close_open_sessions(_CLOSING_SESSIONS)
        if self._watch_task is None:
            self._process.close_pipes()
        else:
            self._transport.close_input()
        await self._process.end(_GRACE)
        if self._watch_task is not None:
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
        if self._connection is not None:
            await self._drain_messages()
            await self._connection.close()
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

    @property
    def _live_connection(self) -> Connection:
        if self._connection is None:
            raise AgentGone(self._process.returncode, self.stderr_tail)
        return self._connection


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
