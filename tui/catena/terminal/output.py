"""Output to a terminal that may stop reading: its thread waits, the program never does."""

from __future__ import annotations

import contextlib
import os
import select
import termios
import threading
import time
from collections.abc import Callable

from catena.terminal.flow import FlowWindow

_BEHIND = 1 << 16  # bytes that wait; beyond, the terminal gets no further frame
_MOST = 1 << 20  # bytes that wait; beyond, nothing is added
_ROOM = 1 << 13  # bytes that may wait before a piece of something long is added
_PIECE = 1 << 12  # bytes of one write, which cannot be taken back


class TerminalOutput:
    """Bytes on their way to a terminal, in order, written by a thread.

    While more than 64 KiB wait, or more is under way than the terminal's answers allow, the terminal is behind:
    ``accepts_frame`` is False, and ``on_recovery`` is called once, from a thread, when that is over, so that the newest
    frame can be drawn. What was accepted is not dropped while frames are drawn: the screen shows all of what was
    written, or will.
    """

    def __init__(
        self, fd: int, *, on_recovery: Callable[[], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._fd = fd
        self._on_recovery = on_recovery
        self._clock = clock
        self._flow = FlowWindow()
        # Signal handlers write, too, and may interrupt a write: the lock of a condition is re-entrant.
        self._changed = threading.Condition()
        self._waiting = bytearray()
        self._written = True  # False while the thread has a piece
        self._frame_refused = False
        self._closed = False
        self._thread = threading.Thread(target=self._write_waiting, daemon=True, name="terminal-output")
        self._thread.start()

    def write(self, data: bytes) -> bool:
        """Write whole escape sequences as soon as the terminal reads; False: dropped, as all beyond a mebibyte."""
        with self._changed:
            if len(self._waiting) + len(data) > _MOST:
                self._frame_refused = True
                return False
            self._waiting += data
            self._waiting += self._flow.send(len(data), self._clock())
            self._changed.notify_all()
            return True

    def accepts_frame(self) -> bool:
        """True unless the terminal is behind; ``on_recovery`` is called once it is not any more."""
        with self._changed:
            if not self._frame_refused and (len(self._waiting) > _BEHIND or not self._flow.open):
                self._frame_refused = True
                self._changed.notify_all()  # the thread counts the time from now on
            return not self._frame_refused

    def accepts_little(self) -> bool:
        """True where what a key changes may go out at once, though no frame may."""
        with self._changed:
            return len(self._waiting) <= _ROOM and self._flow.open_for_little

    def wait_for_room(self, seconds: float) -> bool:
        """Wait so long until next to nothing waits: what is drawn meanwhile goes out at once. False if more does."""
        with self._changed:
            return self._changed.wait_for(lambda: self._flow.open and len(self._waiting) <= _ROOM, seconds)

    # --- what the terminal answers

    def ask(self) -> None:
        """Begin to ask the terminal what it has drawn; the first answer says that there will be others."""
        with self._changed:
            self._waiting += self._flow.begin(self._clock())
            self._changed.notify_all()

    def answered(self) -> None:
        """Take an answer of the terminal."""
        with self._changed:
            self._flow.answer(self._clock())
            recovered = self._recover()
            self._changed.notify_all()
        if recovered:
            self._on_recovery()

    def stop_asking(self, seconds: float) -> None:
        """Ask nothing more, and wait so long for what was asked: another program would take an answer for keys."""
        with self._changed:
            self._flow.end()
            self._changed.wait_for(lambda: not self._flow.awaits, seconds)

    def hang_up(self) -> None:
        """Nothing is read any more: no answer will come."""
        with self._changed:
            self._flow.end()
            self._flow.give_up()
            self._changed.notify_all()

    # --- the end

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
        while (piece := self._next()) is not None:
            with contextlib.suppress(OSError):  # hung up; what is written from now on goes nowhere
                _write_all(self._fd, piece)
            with self._changed:
                self._written = True
                recovered = self._recover()
                self._changed.notify_all()
            if recovered:
                self._on_recovery()

    def _recover(self) -> bool:
        """Accept frames again where nothing is in their way any more; True if one was refused meanwhile."""
        recovered = self._frame_refused and not self._waiting and self._flow.open
        self._frame_refused = self._frame_refused and not recovered
        return recovered

    def _next(self) -> bytes | None:
        """The next piece, as soon as there is one; empty where no answer came in time, None at the end."""
        with self._changed:
            while not (self._waiting or self._closed):
                left = None if self._flow.open or not self._frame_refused else self._flow.left(self._clock())
                if left == 0:
                    self._flow.give_up()
                    return b""
                self._changed.wait(left)
            if not self._waiting:
                return None
            piece = bytes(self._waiting[:_PIECE])
            del self._waiting[:_PIECE]
            self._written = False
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
