"""A slow line between a program and its terminal: ``python line.py BYTES_PER_SECOND SECONDS -- COMMAND …``.

It stands where an SSH server stands: the command gets a pseudo-terminal of its own, and what it writes is read at once,
as a server with its socket does, up to 256 kB that wait for the line. Both ways take the same rate and the same time.
Standard library only.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import sys
import termios
import time
import tty
from collections import deque

_MOST_WAITING = 1 << 18  # bytes; with more the server reads nothing
_PACKET = 1 << 10
_READ = 1 << 16


class Way:
    """One direction: bytes that are sent one after the other, and arrive some time later."""

    def __init__(self, bytes_per_second: float, seconds: float) -> None:
        self._rate = bytes_per_second
        self._seconds = seconds
        self._free_at = 0.0  # when all that waits is sent
        self._packets: deque[tuple[float, bytes]] = deque()  # when each arrives

    def accepts(self, now: float) -> bool:
        """True unless so much waits that nothing more is read."""
        return (self._free_at - now) * self._rate < _MOST_WAITING

    def send(self, data: bytes, now: float) -> None:
        """Put bytes behind those that wait."""
        for at in range(0, len(data), _PACKET):
            packet = data[at : at + _PACKET]
            self._free_at = max(self._free_at, now) + len(packet) / self._rate
            self._packets.append((self._free_at + self._seconds, packet))

    def arrived(self, now: float) -> bytes:
        """What has arrived, each byte once."""
        data = b""
        while self._packets and self._packets[0][0] <= now:
            data += self._packets.popleft()[1]
        return data

    def next_in(self, now: float) -> float | None:
        """Seconds until something arrives; None while nothing is under way."""
        return max(0.0, self._packets[0][0] - now) if self._packets else None


def relay(command: list[str], bytes_per_second: float, seconds: float) -> int:
    """Run the command at the other end of the line; its exit status."""
    with contextlib.suppress(termios.error):
        tty.setraw(0)
    size = fcntl.ioctl(0, termios.TIOCGWINSZ, bytes(8))
    pid, program = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, size)
        os.execvp(command[0], command)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(pid, signal.SIGTERM))
    there, back = Way(bytes_per_second, seconds), Way(bytes_per_second, seconds)
    open_ends = {0, program}
    while program in open_ends or back.next_in(time.monotonic()) is not None:
        now = time.monotonic()
        _write(program, there.arrived(now))
        _write(1, back.arrived(now))
        waits = [left for way in (there, back) if (left := way.next_in(now)) is not None]
        if not back.accepts(now):
            waits.append(0.01)
        reading = [each for each in open_ends if each == 0 or back.accepts(now)]
        for ready in select.select(reading, [], [], min(waits, default=None))[0]:
            try:
                data = os.read(ready, _READ)
            except OSError:
                data = b""
            if not data:
                open_ends.discard(ready)
            else:
                (there if ready == 0 else back).send(data, time.monotonic())
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _write(fd: int, data: bytes) -> None:
    with contextlib.suppress(OSError):  # ended
        while data:
            data = data[os.write(fd, data) :]


if __name__ == "__main__":
    sys.exit(relay(sys.argv[4:], float(sys.argv[1]), float(sys.argv[2])))
