"""Signals of a run without a screen."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable

from catena.errors import ExitStatus


class Interrupts:
    """Signal handling: the first Ctrl+C stops the turn; a second one, or SIGTERM or SIGHUP, ends the run.

    Nothing interrupts the close of the run, in which agents are ended and the end is recorded.
    """

    def __init__(self) -> None:
        self.status: int | None = None  # the exit status by the first interrupt
        self._task = asyncio.current_task()
        self._stop: Callable[[], object] | None = None
        self._may_cancel = True

    def install(self) -> None:
        """Install the signal handlers; an ignored SIGHUP (``nohup``) stays ignored."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, self._handle_signal, number)

    def begin_turn(self, stop: Callable[[], object]) -> None:
        """Begin a turn, which the first interrupt stops by ``stop``."""
        if self.status is None:
            self._stop = stop
        else:
            stop()  # interrupted before it began

    def begin_settling(self, stop: Callable[[], object]) -> None:
        """Begin the work that follows a turn, which any signal stops by ``stop``."""
        self._may_cancel = False
        self.begin_turn(stop)

    def end_turn(self) -> None:
        """End the turn; the close that follows cannot be interrupted."""
        self._stop = None
        self._may_cancel = False

    def allow_cancel(self) -> None:
        """Let a signal end the run again, now that all is closed and only output is left to write."""
        self._stop = None
        self._may_cancel = True

    def output_closed(self) -> None:
        """Stop the turn because standard output was closed."""
        if self.status is None:
            self.status = ExitStatus.STOPPED
        if self._stop is not None:
            stop, self._stop = self._stop, None
            stop()

    def _handle_signal(self, number: int) -> None:
        if self.status is None:
            self.status = 128 + number
        if self._stop is not None and (number == signal.SIGINT or not self._may_cancel):
            stop, self._stop = self._stop, None
            stop()
        elif self._may_cancel and self._task is not None:
            self.end_turn()
            self._task.cancel()
