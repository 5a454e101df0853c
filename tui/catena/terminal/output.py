"""Output to a terminal that may stop reading: its thread waits, the program never does."""

from __future__ import annotations

import contextlib
import os
import select
import termios
import threading
from collections.abc import Callable

_BEHIND = 1 << 16  # bytes that wait; beyond, the terminal gets no further frame
_MOST = 1 << 20  # bytes that wait; beyond, nothing is added
_ROOM = 1 << 13  # bytes that may wait before a piece of something long is added
_PIECE = 1 << 12  # bytes of one write, which cannot be taken back


class TerminalOutput:
    """Bytes on their way to a terminal, in order, written by a thread.

    While more than 64 KiB wait, the terminal is behind: ``accepts_frame`` is False, and ``on_recovery`` is called once,
    from the thread, when everything was written, so that the newest frame can be drawn. What was accepted is not
    dropped while frames are drawn: the screen shows all of what was written, or will.
    """

    def __init__(self, fd: int, *, on_recovery: Callable[[], None]) -> None:
        self._fd = fd
        self._on_recovery = on_recovery
        # Signal handlers write, too, and may interrupt a write: the lock of a condition is re-entrant.
        self._changed = threading.Condition()
        self._waiting = bytearray()
        self._written = True  # False while the thread has a piece
        self._frame_refused = False
        self._closed = False
        self._thread = threading.Thread(target=self._write_waiting, daemon=True, name="terminal-output")
        self._thread.start()

    def write(self, data: bytes) -> None:
        """Write whole escape sequences as soon as the terminal reads; what is beyond a mebibyte is dropped."""
        with self._changed:
            if len(self._waiting) + len(data) <= _MOST:
                self._waiting += data
                self._changed.notify_all()

    def accepts_frame(self) -> bool:
        """True unless the terminal is behind; ``on_recovery`` is called once it is not any more."""
        with self._changed:
            self._frame_refused = self._frame_refused or len(self._waiting) > _BEHIND
            return not self._frame_refused

    def wait_for_room(self, seconds: float) -> bool:
        """Wait so long until next to nothing waits: what is drawn meanwhile goes out at once. False if more does."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self._waiting) <= _ROOM, seconds)

    def drain(self, seconds: float) -> None:
        """Wait so long for the terminal to read; then drop what it did not."""
        with self._changed:
            if self._changed.wait_for(lambda: self._is_empty, seconds):
                return
            self._waiting[:] = b"\x18"  # ends the sequence that is cut
        with contextlib.suppress(termios.error):
            termios.tcflush(self._fd, termios.TCOFLUSH)

    def close(self, seconds: float) -> None:
        """Write what waits, and wait so long for that."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join(seconds)

    @property
    def _is_empty(self) -> bool:
        return self._written and not self._waiting

    def _write_waiting(self) -> None:
        while piece := self._next():
            with contextlib.suppress(OSError):  # hung up; what is written from now on goes nowhere
                _write_all(self._fd, piece)
            with self._changed:
                self._written = True
                recovered = self._frame_refused and not self._waiting
                self._frame_refused = self._frame_refused and not recovered
                self._changed.notify_all()
            if recovered:
                self._on_recovery()

    def _next(self) -> bytes:
        """The next piece, as soon as there is one; empty once the output is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            piece = bytes(self._waiting[:_PIECE])
            del self._waiting[:_PIECE]
            self._written = not piece
            return piece


def write_within(seconds: float, fd: int, data: bytes) -> None:
    """Write to what may be a terminal, and wait no longer than so many seconds for it to read."""
    output = TerminalOutput(fd, on_recovery=lambda: None)
    output.write(data)
    output.close(seconds)


def _write_all(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(fd, rest) :]
        except BlockingIOError:  # another program that shares the terminal made it so
            select.select([], [fd], [])
