"""Process of an agent: its environment, its pipes, the tail of its standard error, and its end."""

from __future__ import annotations

import asyncio
import errno
import signal
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

from catena_acp.child_process import ChildProcess, ReadEnd
from catena_acp.errors import AgentMissing
from catena_acp.process_group import Guard, Guards, process_start_time, signal_group, wait_until_gone

GRACE = 1.0  # seconds for the process to exit after its input was closed
STDERR_LINES = 200
STDERR_WIDTH = 500  # characters kept of a line

# Variables of ours, and those that make an agent believe that it runs inside another agent or terminal window.
_NOT_INHERITED = frozenset(
    {"COLUMNS", "LINES", "CATENA_WIRE", "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT"}
)
_NOT_INHERITED_PREFIXES = ("TEXTUAL",)


def agent_environment(base: Mapping[str, str], extra: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """The environment of an agent: ``base`` without what would confuse it, overridden by ``extra``."""
    kept = {
        name: value
        for name, value in base.items()
        if name not in _NOT_INHERITED and not name.startswith(_NOT_INHERITED_PREFIXES)
    }
    return {**kept, **dict(extra)}


class AgentProcess:
    """A running agent process, leader of its own process group.

    ``to_agent`` and ``from_agent`` are our ends of its pipes; the transport that connects them closes them.
    """

    def __init__(self, process: ChildProcess, guard: Guard | None) -> None:
        assert process.stdin and process.stdout and process.stderr
        self._process = process
        self._stderr = StderrTail(process.stderr)
        self.to_agent = process.stdin
        self.from_agent = process.stdout
        self._guard = guard
        self.started = process_start_time(process.pid) or ""
        self._ending = asyncio.Lock()
        self._ended = False

    @classmethod
    async def start(
        cls,
        command: tuple[str, ...],
        *,
        cwd: str,
        env: Mapping[str, str],
        log: Callable[[str], None],
        guards: Guards | None = None,
    ) -> AgentProcess:
        """Start ``command`` in ``cwd`` with exactly ``env``, watched by ``guards`` or by a guard of its own.

        Raises AgentMissing if it cannot be run.
        """
        if not await asyncio.to_thread(Path(cwd).is_dir):
            raise AgentMissing(command[0], f"the directory {cwd} does not exist")
        try:
            process = ChildProcess.start(command, cwd=cwd, env=env)
        except (OSError, ValueError) as error:
            raise AgentMissing(command[0], _reason(error)) from error
        guard = None
        try:
            guard = Guard(process.pid, guards)
        except OSError as error:
            log(f"no guard for process {process.pid}: {error}")
        return cls(process, guard)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.returncode

    @property
    def stderr_tail(self) -> tuple[str, ...]:
        """The last lines of its standard error, oldest first, at most 200."""
        return self._stderr.lines

    def close_pipes(self) -> None:
        """Close our ends of the pipes where no transport was connected."""
        self.to_agent.close()
        self.from_agent.close()

    async def wait(self) -> int:
        """Wait for the exit of the process itself, even while a child holds its pipes."""
        return await self._process.wait()

    async def drain(self) -> None:
        """Wait up to 0.1 seconds for the end of its standard error."""
        try:
            async with asyncio.timeout(0.1):
                await self._stderr.closed.wait()
        except TimeoutError:
            pass

    async def end(self, grace: float) -> None:
        """End the process and its group: after ``grace`` seconds TERM, then KILL."""
        async with self._ending:
            if self._ended:
                return
            if not await self._wait_for_exit(grace):
                signal_group(self.pid, signal.SIGTERM)
                if not await self._wait_for_exit(1.5):
                    signal_group(self.pid, signal.SIGKILL)
                    await self._wait_for_exit(2.0)
            # Children that it left behind are in the same group.
            signal_group(self.pid, signal.SIGTERM)
            if not await wait_until_gone(self.pid, 0.3):
                signal_group(self.pid, signal.SIGKILL)
            self._stderr.close()
            if self._guard is not None:
                await self._guard.release()
            self._ended = True

    async def _wait_for_exit(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._process.wait()
        except TimeoutError:
            return False
        return True


class StderrTail:
    """Reader of standard error that keeps the last 200 lines."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._lines: deque[str] = deque(maxlen=STDERR_LINES)
        self._partial = b""
        self.closed = asyncio.Event()
        self._pipe = ReadEnd(pipe, self._received, self.closed.set)

    @property
    def lines(self) -> tuple[str, ...]:
        partial = (self._text(self._partial),) if self._partial else ()
        return (*self._lines, *partial)[-STDERR_LINES:]

    def close(self) -> None:
        self._pipe.close()

    def _received(self, data: bytes) -> None:
        *ends, rest = data.split(b"\n")
        for end in ends[-STDERR_LINES:] if len(ends) > STDERR_LINES else ends:
            self._lines.append(self._text(self._partial + end))
            self._partial = b""
        # A character has at most four bytes, so nothing of the kept width is cut off here.
        self._partial = (self._partial + rest)[: 4 * STDERR_WIDTH + 4]

    @staticmethod
    def _text(line: bytes) -> str:
        text = line.decode("utf-8", "replace").rstrip("\r")
        return text if len(text) <= STDERR_WIDTH else text[: STDERR_WIDTH - 1] + "…"


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, ValueError):
        return str(error)  # a NUL anywhere, or a variable with `=` in its name
    match error.errno:
        case errno.ENOENT:
            return "not found"
        case errno.EACCES:
            return "not executable"
        case errno.ENOEXEC:
            return "not a program"
    return error.strerror or str(error)
