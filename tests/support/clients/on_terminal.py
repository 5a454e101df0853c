"""A command on a terminal of its own, answered by a person."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import select
import subprocess
import sys
import termios
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.clients.command_line import EXECUTABLE, Catena, wait_until


class OnTerminal:
    """`catena` with a pseudo-terminal as its controlling one."""

    def __init__(self, process: subprocess.Popen[bytes], terminal: int) -> None:
        self.process = process
        self.seen = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")()  # a read may end within a character
        self.descriptor = terminal

    def read(self, seconds: float) -> None:
        """Read all that comes within so many seconds, or until the other end is closed."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if select.select([self.descriptor], [], [], left)[0]:
                try:
                    self.seen += self._decoder.decode(os.read(self.descriptor, 4096))
                except OSError:  # the other end is closed
                    return

    def wait_for(self, text: str, times: int = 1) -> None:
        """Read the screen until the text has come so often."""
        deadline = time.monotonic() + 60
        while self.seen.count(text) < times:
            assert time.monotonic() < deadline, f"{text!r} did not come: {self.seen!r}"
            if select.select([self.descriptor], [], [], 0.5)[0]:
                try:
                    self.seen += self._decoder.decode(os.read(self.descriptor, 4096))
                except OSError:  # the other end is closed
                    assert self.seen.count(text) >= times, self.seen
                    return

    def type(self, text: str) -> None:
        os.write(self.descriptor, text.encode())

    def wait_until_read(self) -> None:
        """Wait until the program has read every line that was typed."""
        program = os.open(f"/proc/{self.process.pid}/fd/0", os.O_RDWR | os.O_NOCTTY)
        unread = bytearray(4)
        try:
            wait_until(lambda: not fcntl.ioctl(program, termios.FIONREAD, unread) and not any(unread))
        finally:
            os.close(program)

    def status(self) -> int:
        return self.process.wait(timeout=60)


@contextmanager
def on_terminal(
    catena: Catena, *arguments: str, stdin: str | None = None, raw: bool = False, first: str = ""
) -> Iterator[OnTerminal]:
    """Start it on a terminal; with ``stdin``, standard input is a file with that text instead.

    ``first`` is Python that its process runs before it.
    """
    ours, theirs = pty.openpty()
    if raw:
        tty.setraw(theirs)
    modes = termios.tcgetattr(theirs)
    modes[3] |= termios.NOFLSH  # Ctrl+C throws away nothing of what was written and has not been read
    termios.tcsetattr(theirs, termios.TCSANOW, modes)
    # Its session's leader gets the terminal as the controlling one, then becomes `catena`.
    leader = "import fcntl, os, sys, termios; fcntl.ioctl(2, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
    typed: int = theirs
    if stdin is not None:
        path = catena.home / "stdin"
        path.write_text(stdin)
        typed = os.open(path, os.O_RDONLY)
    program: tuple[str | Path, ...] = (EXECUTABLE,)
    if first:
        program = (sys.executable, "-c", f"{first}; from catena.cli.main import main; sys.exit(main())")
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", leader, *program, *arguments],
        stdin=typed,
        stdout=theirs,
        stderr=theirs,
        cwd=catena.project,
        env=catena.environment,
        start_new_session=True,
    )
    try:
        os.close(theirs)
        if typed != theirs:
            os.close(typed)
        yield OnTerminal(process, ours)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
