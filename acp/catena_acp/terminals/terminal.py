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
from catena_acp.terminals.screen_text import COLUMNS, ROWS, screen_text, without_colours

_READ = 64 * 1024  # bytes; a pseudo-terminal gives some four thousand at once
_READ_IN_A_ROW = 512 * 1024  # bytes, and then the loop has time for all else
_REST = 0.02  # seconds
_DRAIN = 0.2  # seconds for what else may write to it when the command has ended
_MOST_HELD = 32  # reads of what it still holds by then: some kilobytes
_END_OF_INPUT = b"\x04" * 8  # for so many readers; nobody types

# The pseudo-terminal becomes the controlling one of the session when the shell opens it.
_WITH_TERMINAL = 'tty=$1; shift; exec 3<>"$tty" 3>&-; exec "$@"'

_DEFAULT_LIMIT = 256 * 1024  # bytes for the agent where it names no limit
_MAX_LIMIT = 1024 * 1024
SHOWN = 64 * 1024  # bytes of which the person sees what they leave on the screen
_SHOWN_WHILE_RUNNING = 16 * 1024


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
        self._read_rest()
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

    def _read_rest(self) -> None:
        """Read what it still holds: the machine may have had no time for that before."""
        for _ in range(_MOST_HELD):
            self._read()
        self._close_master()

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


class KeptOutput:
    """The newest bytes of an output: as many as the agent asked for, and those that are shown."""

    def __init__(self, limit: int | None) -> None:
        """``limit`` is the agent's, in bytes; above a megabyte it gets a megabyte."""
        self._limit = _DEFAULT_LIMIT if limit is None else min(limit, _MAX_LIMIT)
        self._kept = bytearray()
        self._most = max(self._limit, SHOWN)
        self._total = 0
        self._dropped_lines = 0

    def add(self, data: bytes) -> None:
        """Add what came next; the oldest goes where that is too much."""
        self._total += len(data)
        self._kept += data
        if len(self._kept) > 2 * self._most:  # seldom: it moves all that is kept
            over = len(self._kept) - self._most
            self._dropped_lines += self._kept.count(b"\n", 0, over)
            del self._kept[:over]

    @property
    def truncated(self) -> bool:
        """True if the agent gets the end of it alone."""
        return self._total > self._limit

    def newest(self) -> tuple[bytes, int]:
        """A copy of what the agent gets, and its limit, as ``text_of`` takes them."""
        return bytes(self._kept[max(0, len(self._kept) - self._limit) :]), self._limit

    def shown(self, *, running: bool) -> tuple[bytes, int]:
        """A copy of what is shown, from the beginning of a line on, and how many lines are above it."""
        size = _SHOWN_WHILE_RUNNING if running else SHOWN
        start = max(0, len(self._kept) - size)
        if start or self._dropped_lines:
            newline = self._kept.find(b"\n", start)
            start = newline + 1 if newline >= 0 else start
        return bytes(self._kept[start:]), self._dropped_lines + self._kept.count(b"\n", 0, start)


def text_of(data: bytes, limit: int) -> str:
    """Output as text for an agent: without colours, at most ``limit`` bytes of UTF-8, cut from its start."""
    text = without_colours(screen_text(_decoded(data)))
    if data.endswith(b"\n") and text:
        text += "\n"
    encoded = text.encode()  # longer than the data where that is no UTF-8
    return text if len(encoded) <= limit else _decoded(encoded[len(encoded) - limit :])


def shown_text(data: bytes) -> str:
    """Output as lines for a person, with colours."""
    return screen_text(_decoded(data))


def _decoded(data: bytes) -> str:
    """Text of bytes that may begin and end within a character."""
    start = next((at for at, byte in enumerate(data[:3]) if byte & 0xC0 != 0x80), len(data[:3]))
    for size in range(1, min(4, len(data) - start) + 1):
        byte = data[-size]
        if byte & 0xC0 == 0x80:
            continue
        if byte >= 0xC0 and size < (2 if byte < 0xE0 else 3 if byte < 0xF0 else 4):
            data = data[:-size]  # the rest of the character is not there yet
        break
    return data[start:].decode("utf-8", "replace")
