"""Output to a terminal, or a standard stream, that may stop reading: its thread waits, the program never does.

The buffers of a slow line hold seconds of frames that nobody has seen: what of them is drawn, the terminal answers.

A write to a standard stream blocks while the reader pauses (``less``). On the loop that would also stop the agent's
turn, the heartbeat of the lease and Ctrl+C.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import select
import termios
import threading
import time
from collections import deque
from collections.abc import Callable
from math import inf
from queue import SimpleQueue
from typing import Final

_BEHIND = 1 << 16  # bytes that wait; beyond, the terminal gets no further frame
_MOST = 1 << 20  # bytes that wait; beyond, nothing is added
_ROOM = 1 << 13  # bytes that may wait before a piece of something long is added
_PIECE = 1 << 12  # bytes of one write, which cannot be taken back

QUESTION = b"\x1b[5n"  # how the terminal is, which it says when it has drawn all before that (DSR)
ANSWER = "\x1b[0n"

_ASKED_EVERY = 1 << 10  # bytes
_LEAST, _FIRST, _MOST = 1 << 11, 1 << 12, 1 << 16  # bytes of a window
_MOST_OVERTAKEN = 1 << 10  # bytes beyond a window
_QUEUE = 0.1  # seconds that an answer may take longer than the quickest one
_PATIENCE = 5.0  # seconds for an answer; then the line may have another end


class TerminalOutput:
    """Bytes on their way to a terminal, in order, written by a thread.

    While more than 64 KiB wait, or more is under way than the terminal's answers allow, the terminal is behind:
    ``accepts_frame`` is False, and ``on_recovery`` is called once, from a thread, when that is over, so that the newest
    frame can be drawn. Accepted bytes are not dropped while frames are drawn: the screen shows all of what was written,
    or will.
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


class FlowWindow:
    """How much may be under way to the terminal.

    It grows while answers come as soon as the quickest one did, and shrinks when they come later: then what is sent
    waits somewhere on its way. Before the first answer there is no limit.
    """

    def __init__(self) -> None:
        self._asks = False
        self._answers = False  # the terminal does
        self._size = _FIRST
        self._sent = 0  # bytes, of all
        self._drawn = 0  # of them, as far as answers tell
        self._overtaken = 0  # of those that are under way, sent beyond the limit
        self._asked: deque[tuple[float, int]] = deque()  # when, and behind how many bytes
        self._asked_behind = 0  # bytes, of the newest
        self._quickest = inf  # seconds

    def begin(self, now: float) -> bytes:
        """Begin to ask; the question whose answer says that the terminal answers."""
        self._asks = True
        return self._question(now)

    def send(self, size: int, now: float) -> bytes:
        """Note bytes that are sent; the question to put behind them, if it is time for one."""
        if not self.open:
            self._overtaken += size
        self._sent += size
        due = self._sent - self._asked_behind >= _ASKED_EVERY
        return self._question(now) if self._asks and self._answers and due else b""

    def answer(self, now: float) -> None:
        """Note an answer to the oldest question."""
        if not self._asked:
            return
        at, sent = self._asked.popleft()
        seconds = now - at
        self._quickest = min(seconds, self._quickest)
        if not self._answers:  # what was sent before is not counted
            self._answers = True
            self._drawn = self._asked_behind = self._sent
        elif seconds <= self._quickest + _QUEUE:
            self._size = min(_MOST, self._size + sent - self._drawn)
        else:
            self._size = max(_LEAST, self._size // 2)
        self._drawn = max(self._drawn, sent)
        if self.open:
            self._overtaken = 0

    def end(self) -> None:
        """Ask nothing more; there is no limit any more."""
        self._asks = False

    def give_up(self) -> None:
        """Take all for drawn, since no answer comes, and begin anew with little."""
        self._asked.clear()
        self._drawn = self._asked_behind = self._sent
        self._size = _LEAST
        self._quickest = inf
        self._overtaken = 0

    @property
    def open(self) -> bool:
        """True while more may be sent."""
        return not (self._asks and self._answers) or self._sent - self._drawn < self._size

    @property
    def open_for_little(self) -> bool:
        """True while what is little may be sent, though not more."""
        return self.open or self._overtaken < _MOST_OVERTAKEN

    @property
    def awaits(self) -> bool:
        """True while an answer is to come."""
        return self._answers and bool(self._asked)

    def left(self, now: float) -> float:
        """Seconds for which the oldest question may still be answered."""
        return max(0.0, self._asked[0][0] + _PATIENCE - now) if self._asked else 0.0

    def _question(self, now: float) -> bytes:
        self._asked.append((now, self._sent))
        self._asked_behind = self._sent
        return QUESTION


_NOBODY_READS: Final = frozenset((errno.EPIPE, errno.EIO))  # a closed pipe, and a terminal that is gone


class BackgroundWriter:
    """Writer of text to a file descriptor, in order, in a daemon thread.

    ``on_broken`` is called once, on the loop, when nothing can be written any more; later text is dropped.
    """

    def __init__(
        self, descriptor: int, *, encoding: str = "utf-8", on_broken: Callable[[], None] | None = None
    ) -> None:
        self.broken = False  # nobody reads any more, or nothing can be written
        self._failure: OSError | None = None  # that is no reader's doing
        self._descriptor = descriptor
        self._encoding = encoding
        self._on_broken = on_broken
        self._loop = asyncio.get_running_loop()
        self._waiting: SimpleQueue[bytes | asyncio.Future[None]] = SimpleQueue()
        threading.Thread(target=self._write_all, name=f"outlet-{descriptor}", daemon=True).start()

    def write(self, text: str) -> None:
        """Queue text, without waiting."""
        self._waiting.put(text.encode(self._encoding, "replace"))

    def check(self) -> None:
        """Raise OSError where text was dropped although it could have been read, as on a full disk."""
        if self._failure is not None:
            raise self._failure

    async def flush(self) -> None:
        """Wait until all queued text is written, or dropped."""
        done = self._loop.create_future()
        self._waiting.put(done)
        await done

    def _write_all(self) -> None:
        while True:
            match self._waiting.get():
                case bytes() as data if not self.broken:
                    self.broken = not self._write(data)
                    if self.broken and self._on_broken:
                        self._loop.call_soon_threadsafe(self._on_broken)
                case asyncio.Future() as done:
                    self._loop.call_soon_threadsafe(_settle, done)

    def _write(self, data: bytes) -> bool:
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError as error:
            if error.errno not in _NOBODY_READS:
                self._failure = error
            return False
        return True


def _settle(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)
