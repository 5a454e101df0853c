"""Calls after a time that are made whatever the machine does meanwhile."""

from __future__ import annotations

from functools import partial

from textual.message_pump import MessagePump
from textual.timer import Timer, TimerCallback


def call_after(
    pump: MessagePump,
    seconds: float,
    callback: TimerCallback | None,
    *,
    name: str | None = None,
    pause: bool = False,
) -> Timer:
    """Call a function once after some seconds, among the messages of ``pump``; until then it can be stopped.

    Textual's own ``set_timer`` takes a call for missed, and never makes it, if the process was suspended for its
    seconds right after the timer began (``Timer._run`` in Textual 8.2): on a busy machine, that of a millisecond.
    """
    call = None if callback is None else partial(pump.call_next, callback)
    timer = Timer(pump, seconds, name=name, callback=call, repeat=0, skip=False, pause=pause)
    timer._start()
    pump._timers.add(timer)
    return timer
