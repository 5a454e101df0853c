"""Ctrl+C and its kin, for a run without a screen."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable

from catena.errors import ExitStatus


class Interrupts:
    """The first Ctrl+C stops the turn; a second, or any signal that ends a program, ends the run.

    While the run is being closed nothing interrupts it: agents are to be ended, and the end to be recorded.
    """

    def __init__(self) -> None:
        self.status: int | None = None  # what the first interrupt makes of the exit status
        self._task = asyncio.current_task()
        self._stop: Callable[[], None] | None = None
        self._may_cancel = True

    def install(self) -> None:
        """Take the signals over. A hang-up that is ignored (``nohup``) stays ignored."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, self._caught, number)

    def turn_begins(self, stop: Callable[[], None]) -> None:
        """From now on there is a turn, which ``stop`` asks the agent to stop."""
        if self.status is None:
            self._stop = stop
        else:
            stop()  # nobody read what came before it

    def turn_is_over(self) -> None:
        """What follows is the orderly end."""
        self._stop = None
        self._may_cancel = False

    def only_writing_is_left(self) -> None:
        """Everything is closed and recorded: who does not want to wait for the rest need not."""
        self._stop = None
        self._may_cancel = True

    def nobody_reads(self) -> None:
        """Standard output was closed: what the agent goes on to say is for nobody."""
        if self.status is None:
            self.status = ExitStatus.STOPPED
        if self._stop is not None:
            stop, self._stop = self._stop, None
            stop()

    def _caught(self, number: int) -> None:
        if self.status is None:
            self.status = 128 + number
        if number == signal.SIGINT and self._stop is not None:
            stop, self._stop = self._stop, None
            stop()
        elif self._may_cancel and self._task is not None:
            self.turn_is_over()
            self._task.cancel()
