"""Signals of a run without a screen."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from catena.errors import ExitStatus


class Interrupts:
    """Signal handling: the first Ctrl+C stops every turn; a second one, or SIGTERM or SIGHUP, ends the run.

    Nothing interrupts the close of the run, in which agents are ended and the end is recorded.
    """

    def __init__(self) -> None:
        self.status: int | None = None  # the exit status by the first interrupt
        self._task = asyncio.current_task()
        # Each with its stop, until that was called.
        self._under_way: dict[object, Callable[[], object] | None] = {}
        self._may_cancel = True
        self._at_once = False  # a signal wanted the end of the run, not that of its turns

    def install(self) -> None:
        """Install the signal handlers; an ignored SIGHUP (``nohup``) stays ignored."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, self._handle_signal, number)

    def begin_turn(self, turn: object, stop: Callable[[], object]) -> None:
        """Begin a turn, which the first interrupt stops by ``stop``."""
        self._may_cancel = True
        self._under_way[turn] = stop
        if self.status is not None:
            self._stop_all()  # interrupted before it began

    @contextmanager
    def settling(self, stop: Callable[[], object]) -> Iterator[None]:
        """Let any signal stop by ``stop`` what is waited for in the block, which follows the turns."""
        work = object()
        self._may_cancel = False
        self._under_way[work] = stop
        if self._at_once:
            self._stop_all()
        try:
            yield
        finally:
            self.end_turn(work)

    def end_turn(self, turn: object) -> None:
        """End a turn; the close that follows the last one cannot be interrupted."""
        self._under_way.pop(turn, None)
        if not self._under_way:
            self._may_cancel = False

    def allow_cancel(self) -> None:
        """Let a signal end the run again, now that all is closed and only output is left to write."""
        self._under_way.clear()
        self._may_cancel = True

    def output_closed(self) -> None:
        """Stop the turn because standard output was closed."""
        if self.status is None:
            self.status = ExitStatus.STOPPED
        self._stop_all()

    def _stop_all(self) -> bool:
        """Stop every turn that was not stopped yet; False if there is none."""
        stops = [stop for stop in self._under_way.values() if stop is not None]
        self._under_way = dict.fromkeys(self._under_way)
        for stop in stops:
            stop()
        return bool(stops)

    def _handle_signal(self, number: int) -> None:
        if self.status is None:
            self.status = 128 + number
        if number == signal.SIGINT and self._may_cancel and self._stop_all():
            return
        self._at_once = True
        if not self._may_cancel:
            self._stop_all()
        elif self._task is not None:
            self._under_way.clear()
            self._may_cancel = False
            self._task.cancel()
