"""A command of the person's in their shell, without a terminal: its output is read, and it can be stopped."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections import deque
from collections.abc import Callable, Mapping

from catena_acp.process_group import Guard, signal_group, wait_until_gone

_HEAD = 6_000  # bytes of output that are kept from its beginning,
_TAIL = 18_000  # and from its end
_READ = 1 << 16  # bytes
_REST = 0.01  # seconds between full reads: the screen goes on while a program floods it
_PATIENCE = 1.0  # seconds that a stopped command has to end by itself


class BoundedOutput:
    """The beginning and the end of an output, however long it is."""

    def __init__(self) -> None:
        self._head = b""
        self._tail: deque[bytes] = deque()
        self._kept = 0  # bytes of the tail
        self.left_out = 0  # bytes

    def add(self, data: bytes) -> None:
        """Add what came next."""
        room = _HEAD - len(self._head)
        if room > 0:
            self._head, data = self._head + data[:room], data[room:]
        if not data:
            return
        self._tail.append(data)
        self._kept += len(data)
        while self._kept > _TAIL:
            first = self._tail.popleft()
            over = min(len(first), self._kept - _TAIL)
            self._kept -= over
            self.left_out += over
            if over < len(first):
                self._tail.appendleft(first[over:])

    @property
    def text(self) -> str:
        """The output that is kept, in whole lines around a line with the number of bytes left out, if any."""
        head, tail = self._head.decode("utf-8", "replace"), b"".join(self._tail).decode("utf-8", "replace")
        if not self.left_out:
            return (self._head + b"".join(self._tail)).decode("utf-8", "replace")
        before = head[: head.rfind("\n") + 1] or f"{head}\n"
        behind = tail[tail.find("\n") + 1 :] if "\n" in tail[:-1] else tail
        left_out = self.left_out + len(head) - len(before) + len(tail) - len(behind)
        return f"{before}[… {left_out:,} bytes left out …]\n{behind}"

    @property
    def last(self) -> str:
        """The newest of it, for the screen."""
        tail = b"".join(list(self._tail)[-2:])[-_HEAD:]
        return (tail if len(tail) >= _HEAD else self._head + tail).decode("utf-8", "replace")


class ShellNotStarted(Exception):
    """A shell that cannot be started; ``str()`` of it is one line for the person."""


class ShellCommand:
    """One command; ``run`` it once."""

    def __init__(self, command: str, *, directory: str, environment: Mapping[str, str]) -> None:
        self.command = command
        self.output = BoundedOutput()
        self.stopped = False
        self._directory = directory
        self._environment = environment
        self._stop = asyncio.Event()

    def stop(self) -> None:
        """Stop it, with all that it started."""
        self.stopped = True
        self._stop.set()

    async def run(self, changed: Callable[[], None]) -> str:
        """Run it until its output ends or it is stopped; return how it ended, in words; "" if well.

        ``changed`` is called when there is more output. A process that it leaves behind with its output keeps it
        running. Raises ShellNotStarted if the shell cannot be started.
        """
        shell = self._environment.get("SHELL") or "/bin/sh"
        try:
            process = await asyncio.create_subprocess_exec(
                *(shell, "-c", self.command),
                cwd=self._directory,
                env=dict(self._environment),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,  # of its own group, and without our terminal
            )
        except (OSError, ValueError) as error:  # a ValueError for a NUL
            why = getattr(error, "strerror", None) or error
            raise ShellNotStarted(f"The shell cannot be started: {why}") from error
        assert process.stdout is not None
        reading = asyncio.ensure_future(self._read(process.stdout, changed))
        stopping = asyncio.ensure_future(self._stop.wait())
        guard: Guard | None = None
        try:
            with contextlib.suppress(OSError):
                guard = Guard(process.pid)
            await asyncio.wait({reading, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if self.stopped:
                signal_group(process.pid, signal.SIGTERM)
                if not await wait_until_gone(process.pid, _PATIENCE):
                    signal_group(process.pid, signal.SIGKILL)
                await asyncio.wait({reading}, timeout=_PATIENCE)
            return _ended(await process.wait(), stopped=self.stopped)
        finally:
            if process.returncode is None:
                signal_group(process.pid, signal.SIGKILL)
            for task in (reading, stopping):
                task.cancel()
            if guard is not None:
                await guard.release()
            if process.returncode is None:
                await process.wait()

    async def _read(self, stream: asyncio.StreamReader, changed: Callable[[], None]) -> None:
        while data := await stream.read(_READ):
            self.output.add(data)
            changed()
            if len(data) >= _READ:
                await asyncio.sleep(_REST)


def _ended(status: int, *, stopped: bool) -> str:
    if stopped:
        return "stopped"
    if status >= 0:
        return f"exit code {status}" if status else ""
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"
