"""A terminal: a command in a pseudo-terminal and a process session of its own, in which nobody types."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import termios
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from catena_acp.child_process import ChildProcess
from catena_acp.errors import TerminalRefused
from catena_acp.process_group import Guard, Guards, end_session
from catena_acp.terminals.output import KeptOutput
from catena_acp.terminals.screen_text import COLUMNS, ROWS

_READ = 64 * 1024  # bytes; a pseudo-terminal gives some four thousand at once
_READ_IN_A_ROW = 512 * 1024  # bytes, and then the loop has time for all else
_REST = 0.02  # seconds
_DRAIN = 0.2  # seconds for what the pseudo-terminal still holds when the command has ended
_END_OF_INPUT = b"\x04" * 8  # for so many readers; nobody types
# The pseudo-terminal becomes the controlling one of the session when the shell opens it.
_WITH_TERMINAL = 'tty=$1; shift; exec 3<>"$tty" 3>&-; exec "$@"'


@dataclass(frozen=True, slots=True)
class TerminalCommand:
    """What an agent wants to run; without ``args`` that may be a shell command line."""

    command: str
    args: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    directory: Path


@dataclass(frozen=True, slots=True)
class TerminalExit:
    """How a command ended: its exit code, or the name of the signal that ended it."""

    exit_code: int | None = None
    signal: str | None = None

    @classmethod
    def of(cls, returncode: int) -> TerminalExit:
        """Of a process's return code, which is negative for a signal."""
        if returncode >= 0:
            return cls(exit_code=returncode)
        try:
            return cls(signal=signal.Signals(-returncode).name)
        except ValueError:
            return cls(signal=f"SIG{-returncode}")


class AgentTerminal:
    """A running or ended command; ``start`` makes it, and ``close`` must be called."""

    def __init__(
        self,
        process: ChildProcess,
        master: int,
        output: KeptOutput,
        guard: Guard | None,
        changed: Callable[[], None],
    ) -> None:
        self.output = output
        self.status: TerminalExit | None = None  # once it has ended
        self._ended = asyncio.Event()
        self._process = process
        self._master: int | None = master
        self._drained = asyncio.Event()
        self._guard = guard
        self._changed = changed
        self._resting: asyncio.TimerHandle | None = None
        self._read_since_rest = 0
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(master, self._read)
        self._watch_task = asyncio.create_task(self._watch())

    @classmethod
    async def start(
        cls,
        command: TerminalCommand,
        environment: Mapping[str, str],
        limit: int | None,
        changed: Callable[[], None],
        log: Callable[[str], None],
        guards: Guards | None = None,
    ) -> AgentTerminal:
        """Start a command; ``changed`` is called when there is more output. Raises TerminalRefused."""
        env = terminal_environment(environment, command.env)
        argv = await asyncio.to_thread(_argv, command, env.get("PATH"))
        try:
            master, slave = os.openpty()
        except OSError as error:
            raise TerminalRefused(f"there is no terminal left: {error.strerror}") from error
        with contextlib.ExitStack() as undoing:
            undoing.callback(os.close, master)
            try:
                _prepare(master, slave)
                process = ChildProcess.start(
                    ("/bin/sh", "-c", _WITH_TERMINAL, "catena-terminal", os.ttyname(slave), *argv),
                    stdin=slave,
                    stdout=slave,
                    stderr=slave,
                    cwd=command.directory,
                    env=env,
                )
            except (OSError, ValueError) as error:
                why = error.strerror if isinstance(error, OSError) else None
                raise TerminalRefused(f"the command cannot be run: {why or error}") from error
            finally:
                os.close(slave)
            undoing.pop_all()
        guard = None
        try:
            guard = Guard(process.pid, guards)
        except OSError as error:
            log(f"no guard for the terminal of process {process.pid}: {error}")
        return cls(process, master, KeptOutput(limit), guard, changed)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def wait(self) -> TerminalExit:
        """Wait until the command has ended, and its output was read."""
        await self._ended.wait()
        assert self.status is not None
        return self.status

    async def kill(self) -> None:
        """End the command with all that it started: by TERM, two seconds later by KILL. Its output stays."""
        if self.status is None and await end_session(self.pid):
            await self.wait()

    async def close(self) -> None:
        """End the command, and close the terminal."""
        await self.kill()
        if self.status is None:  # a process that cannot even be killed; the guard stays with it
            self._watch_task.cancel()
            self._close_master()
        with contextlib.suppress(asyncio.CancelledError):
            await self._watch_task

    async def _watch(self) -> None:
        """Wait for the end of the command, and end what it left behind, before its process id can be another's."""
        returncode = await self._process.wait()
        # A process that it left behind may hold the terminal open, and write for ever.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_DRAIN):
                await self._drained.wait()
        await end_session(self.pid)
        self._close_master()
        self.status = TerminalExit.of(returncode)
        self._ended.set()
        self._changed()
        if self._guard is not None:
            await self._guard.release()

    def _read(self) -> None:
        if self._master is None:
            return
        try:
            data = os.read(self._master, _READ)
        except BlockingIOError:
            return
        except OSError:  # Linux says EIO where nobody holds the other end any more
            data = b""
        if not data:
            self._close_master()
            return
        self.output.add(data)
        self._changed()
        self._read_since_rest += len(data)
        if self._read_since_rest >= _READ_IN_A_ROW:
            self._read_since_rest = 0
            self._loop.remove_reader(self._master)
            self._resting = self._loop.call_later(_REST, self._go_on)

    def _go_on(self) -> None:
        self._resting = None
        if self._master is not None:
            self._loop.add_reader(self._master, self._read)

    def _close_master(self) -> None:
        master, self._master = self._master, None
        if self._resting is not None:
            self._resting.cancel()
        if master is not None:
            self._loop.remove_reader(master)
            os.close(master)
        self._drained.set()


def terminal_environment(base: Mapping[str, str], more: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """The environment of a command: the person's, without a pager that waits for keys, and over it the agent's."""
    return {**base, "TERM": "xterm-256color", "PAGER": "cat", "GIT_PAGER": "cat", **dict(more)}


def _prepare(master: int, slave: int) -> None:
    """Give a pseudo-terminal its size, an input that is at its end and not echoed, and an output as it is written."""
    termios.tcsetwinsize(slave, (ROWS, COLUMNS))
    attributes = termios.tcgetattr(slave)
    attributes[1] &= ~termios.ONLCR
    attributes[3] &= ~termios.ECHO
    termios.tcsetattr(slave, termios.TCSANOW, attributes)
    os.set_blocking(master, False)
    os.write(master, _END_OF_INPUT)


def _argv(command: TerminalCommand, path: str | None) -> tuple[str, ...]:
    """The program and its arguments; a command without arguments that is no program is a shell command line. Blocks.

    The protocol leaves open which of both a command is, and agents send both. Raises TerminalRefused.
    """
    name = command.command
    if not name.strip():
        raise TerminalRefused("there is no command")
    if any("\0" in text for text in (name, *command.args)):
        raise TerminalRefused("a command cannot contain a NUL character")
    for variable, value in command.env:
        if not variable or "=" in variable or "\0" in variable + value:
            raise TerminalRefused(f"{variable!r} cannot be set as a variable of the environment")
    try:
        found = shutil.which(str(command.directory / name) if "/" in name else name, path=path)
    except (OSError, ValueError):
        found = None
    if found is not None:
        return (found, *command.args)
    if command.args:
        raise TerminalRefused(f"{name} was not found", missing=True)
    shell = shutil.which("bash", path=path) or "/bin/sh"
    return (shell, "-c", name)
