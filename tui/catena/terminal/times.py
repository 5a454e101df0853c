"""Times: calls that are made after one whatever the machine does meanwhile, and the pace of keys."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf

from textual.events import Event, Key
from textual.message_pump import MessagePump
from textual.timer import Timer, TimerCallback
from textual.widget import Widget


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


def in_front(widget: Widget) -> bool:
    """True while no sheet covers the screen of a widget, or the screen itself."""
    return widget.app.screen_stack[-1:] == [widget.screen]


class Sight:
    """Knows whether a widget is in sight: no sheet covers it, and no other program has the terminal."""

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self._lent = False  # the terminal
        self._waiting: list[Callable[[], object]] = []

    def watch(self) -> None:
        """Follow the screens that open and close, and the terminal; the widget is mounted by now."""
        widget, app = self._widget, self._widget.app
        app.screen_change_signal.subscribe(widget, lambda _: self._look(), immediate=True)
        app.app_suspend_signal.subscribe(widget, lambda _: self._lend(True), immediate=True)
        app.app_resume_signal.subscribe(widget, lambda _: self._lend(False), immediate=True)

    @property
    def holds(self) -> bool:
        """True while it is in sight."""
        return in_front(self._widget) and not self._lent

    def wait(self, call: Callable[[], object]) -> None:
        """Call once it is in sight again."""
        self._waiting.append(call)

    def _lend(self, lent: bool) -> None:
        self._lent = lent
        self._look()

    def _look(self) -> None:
        if self.holds:
            waiting, self._waiting = self._waiting, []
            for call in waiting:
                call()


WENT_ON = "You moved on, so nothing was done. Ask for it again."
JUST_ASKED = "This was asked just now. Read it, then press again."
APART = 0.3  # seconds between two printable keys of which the second can be meant for itself


def read_at(key: Key) -> float:
    """The time at which the key was read, which says more than when its turn came: the screen may have been busy."""
    return key.time


class KeyPace:
    """Knows whether the key that came last came alone: apart from what was typed before it and behind it."""

    def __init__(self, clock: Callable[[Key], float] = read_at) -> None:
        self._clock = clock
        self._last: float | None = None
        self._alone = self._begins = True
        self.printable = False  # whether the key that came last could be part of a text
        self.read_at = 0.0  # when the key that came last was read

    @property
    def alone(self) -> bool:
        """True unless a printable key came shortly before the key that came last, or waits right behind it."""
        return self._alone

    @property
    def begins(self) -> bool:
        """True unless a printable key came shortly before the key that came last."""
        return self._begins

    def apart_from(self, now: float) -> bool:
        """True if a printable key that comes now comes alone."""
        return self._last is None or now - self._last >= APART

    def came(self, key: Key, behind: Event | None = None) -> None:
        """Record a key when it is handled; ``behind`` is what was read since and waits for it."""
        now = self.read_at = self._clock(key)
        self._begins = self.apart_from(now)
        self._alone = self._begins and not self._goes_on(now, behind)
        self.printable = key.is_printable
        if key.is_printable:
            self._last = now

    def _goes_on(self, now: float, behind: Event | None) -> bool:
        return isinstance(behind, Key) and behind.is_printable and self._clock(behind) - now < APART


class Standing:
    """Knows whether what a panel asks has stood in sight, as it is, long enough to be answered."""

    def __init__(self, panel: Widget, clock: Callable[[], float]) -> None:
        self._panel = panel
        self._clock = clock
        self._since = inf  # until it is drawn, it does not stand
        self._changes = 0
        self.sight = Sight(panel)

    def changed(self) -> None:
        """Something else is asked now."""
        self._since = inf
        self._changes += 1
        self._when_drawn(self._changes)

    def _when_drawn(self, change: int) -> None:
        self._panel.call_after_refresh(self._look, change)

    def _look(self, change: int) -> None:
        """Begin to count, now or when it is in sight again: till then nothing of it is drawn."""
        if change != self._changes or not self._panel.is_attached:
            return
        if self.sight.holds:
            self.drawn(self._clock())
        else:
            self.sight.wait(partial(self._when_drawn, change))

    def drawn(self, now: float) -> None:
        """It is on the screen, as it is, from now on."""
        self._since = now

    def holds(self, at: float) -> bool:
        """False for a key or a click that may be meant for what stood there before."""
        return at - self._since >= APART
