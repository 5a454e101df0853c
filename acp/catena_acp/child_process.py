"""A process that we start, watched by the running event loop, and our ends of its pipes.

asyncio's own transports kill their child when the loop ends (since Python 3.12), say nothing of an exit while another
process holds a pipe, and keep what is not written yet in a buffer that nobody else can see.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

_BLOCK = 64 * 1024  # bytes: what a pipe usually holds


class ChildProcess:
    """A process in a session, and so a process group, of its own; its leader.

    ``stdin``, ``stdout`` and ``stderr`` are our ends of the pipes that were asked for.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._loop = asyncio.get_running_loop()
        self._exited = asyncio.Event()
        self.stdin, self.stdout, self.stderr = process.stdin, process.stdout, process.stderr
        self._watch()

    @classmethod
    def start(
        cls,
        command: Sequence[str],
        *,
        cwd: str | Path,
        env: Mapping[str, str],
        stdin: int = subprocess.PIPE,
        stdout: int = subprocess.PIPE,
        stderr: int = subprocess.PIPE,
    ) -> ChildProcess:
        """Start ``command`` in ``cwd`` with exactly ``env``. Raises OSError and ValueError if it cannot be run."""
        return cls(
            subprocess.Popen(
                command,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                cwd=cwd,
                env=env,
                bufsize=0,
                start_new_session=True,
            )
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        return self._process.returncode

    async def wait(self) -> int:
        """Wait for the exit of the process itself, even while another one holds its pipes."""
        await self._exited.wait()
        assert self._process.returncode is not None
        return self._process.returncode

    def _watch(self) -> None:
        try:
            watch = _exit_watch(self.pid)
        except OSError:
            threading.Thread(target=self._wait_in_thread, name=f"wait-{self.pid}", daemon=True).start()
        else:
            self._loop.add_reader(watch, self._take_exit, watch)

    def _take_exit(self, watch: int) -> None:
        self._loop.remove_reader(watch)
        os.close(watch)
        self._process.wait()  # does not wait
        self._exited.set()

    def _wait_in_thread(self) -> None:
        self._process.wait()
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._exited.set)


def _exit_watch(pid: int) -> int:
    """A descriptor that becomes readable when the process has exited. Raises OSError if there is none."""
    if sys.platform == "linux":
        return os.pidfd_open(pid)
    if not hasattr(select, "kqueue"):
        raise OSError("this system has no descriptors for processes")
    queue = select.kqueue()
    exited = select.kevent(
        pid, select.KQ_FILTER_PROC, select.KQ_EV_ADD | select.KQ_EV_ONESHOT, select.KQ_NOTE_EXIT
    )
    queue.control([exited], 0)
    return os.dup(queue.fileno())


class ReadEnd:
    """Our end of a pipe that a process writes to.

    ``received`` is called with each block, and ``ended`` once if the pipe is closed at the other end.
    """

    def __init__(self, pipe: IO[bytes], received: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        self._pipe = pipe
        self._received = received
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        os.set_blocking(pipe.fileno(), False)
        self.resume()

    def pause(self) -> None:
        """Call nobody until ``resume``."""
        if not self._pipe.closed:
            self._loop.remove_reader(self._pipe)

    def resume(self) -> None:
        if not self._pipe.closed:
            self._loop.add_reader(self._pipe, self._read)

    def read(self, most: int = _BLOCK) -> bytes | None:
        """At most so many bytes; none at the end or if we have closed it, None if there are none now."""
        if self._pipe.closed:
            return b""
        try:
            return self._pipe.read(most)
        except OSError:
            return b""

    def close(self) -> None:
        self.pause()
        self._pipe.close()

    def _read(self) -> None:
        block = self.read()
        if block:
            self._received(block)
        elif block is not None:
            self.close()
            self._ended()
