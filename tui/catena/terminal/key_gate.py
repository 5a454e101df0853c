"""The gate of the app: each key goes to the widget that the key before it focused, however fast they come.

Textual forwards a key to the widget that has the focus when the key is read. Keys that come in one read are thus all
forwarded before the first of them has moved the focus or opened a screen. The gate lets a key in when the one before it
has been handled, and what that has asked for is there. Pastes and the mouse keep their place among the keys.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Collection
from typing import Any

from textual import events
from textual.app import App, ScreenStackError
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.widget import Widget

from catena.terminal.times import KeyPace

# Slices in which we had nothing to do; an action that is not done by then no longer holds the keys.
_PATIENCE = 20
# Slices in which we worked, maybe at the action: a slow machine takes a while to import a screen.
_MOST_BUSY = 100
_WORK = 0.002  # seconds of CPU in a slice
_SLICE = 0.05  # seconds; a pause of the loop counts as one slice, however long: no action could use it
_MOST_ROUNDS = 8  # of messages that come of messages; while an answer streams in there are always more
_QUIET_ROUNDS = 2  # with nothing left to handle, one behind the other


class _Way:
    """A running action that moves the focus to another screen, or to another part of this one."""

    def __init__(self, *, ends: bool) -> None:
        self.ends = ends  # for sure, if only after long
        self.task: asyncio.Task[object] | None = None
        self.screen: Screen[Any] | None = None  # that it has opened


class KeyGate:
    """Holds input back, in its order, until its target is known."""

    def __init__(
        self,
        app: App[Any],
        *,
        fields: tuple[type[Widget], ...] = (),
        field_keys: Collection[str] = (),
        pace: KeyPace | None = None,
    ) -> None:
        """``fields`` are the widgets that text is typed into; their ``field_keys`` lead nowhere."""
        self._field_keys = frozenset(field_keys)
        self._app = app
        self._fields = fields
        self.pace = pace or KeyPace()
        self._held: deque[events.Event] = deque()
        self._next: events.Event | None = None  # that is let in
        self._entered: MessagePump | None = None  # what got the event that was let in last
        self._written: MessagePump | None = None  # a field in which a character may still be on its way
        self._passing: asyncio.Task[None] | None = None
        self._ways: list[_Way] = []
        self._looked = asyncio.Event()

    def use(self, field_keys: Collection[str]) -> None:
        """Use other keys of fields: the person has changed them."""
        self._field_keys = frozenset(field_keys)

    def watch(self, screen: Screen[Any]) -> None:
        """Follow the screens that open and close, and the focus on ``screen``, which is always there."""
        self._app.screen_change_signal.subscribe(self._app, self._screen_changed, immediate=True)
        self._app.watch(screen, "focused", self._focus_moved, init=False)

    @property
    def open(self) -> bool:
        """True while no event waits: the next key is let in at once."""
        return self._passing is None and not self._held

    # --- what comes

    def holds(self, event: events.Event) -> bool:
        """True if the event has to wait; it is posted again when it is let in."""
        if not _is_done_by_a_person(event):
            return False
        if not self._app.screen_stack:  # the app is being left, and there is nowhere to go in
            return True
        if event is not self._next and (
            self._passing is not None or self._held or not self._goes_straight_in(event)
        ):
            self._held.append(event)
            if self._passing is None:
                self._passing = asyncio.create_task(self._pass())
            return True
        self._next = None
        self._enter(event)
        return False

    def _goes_straight_in(self, event: events.Event) -> bool:
        return _moves_nothing(event) or self._writes(event, self._target)

    @property
    def _target(self) -> MessagePump:
        return self._app.focused or self._app.screen

    def _writes(self, event: events.Event, target: MessagePump) -> bool:
        """True for what is written into a text field: nearly every key there is, and none of them has to wait."""
        if not isinstance(target, self._fields):
            return False
        if isinstance(event, events.Key):
            return event.is_printable or event.key in self._field_keys
        return isinstance(event, events.Paste)

    def _enter(self, event: events.Event) -> None:
        self._entered = target = self._target
        if isinstance(event, events.Key):
            self.pace.came(event, self._held[0] if self._held else None)
        if self._writes(event, target):
            self._written, self._entered = target, None
        elif _moves_nothing(event):
            self._entered = None

    async def _pass(self) -> None:
        """Let the held events in, one after the other."""
        try:
            while self._held:
                if self._written is not None and not self._goes_straight_in(self._held[0]):
                    written, self._written = self._written, None
                    await self._in_time(self._settled(written))
                self._entered = None
                event = self._next = self._held.popleft()
                if not self._app.post_message(event):
                    return
                await self._handled(self._app)  # nothing else can go in before that
                if self._entered is not None:
                    await self._in_time(self._settled(self._entered))
        except ScreenStackError:  # the app is being left
            return
        finally:
            self._passing = None

    # --- what has become of it

    async def _settled(self, target: MessagePump) -> None:
        """Wait until the messages of ``target`` and all that follows from them are handled."""
        quiet = 0
        for _ in range(_MOST_ROUNDS):
            pumps = self._above(target)
            for pump in pumps:
                await self._handled(pump)
            await self._there()
            screen = self._app.screen
            await self._handled(screen)
            left = screen is not self._app.screen or any(pump.message_queue_size for pump in pumps)
            quiet = 0 if left else quiet + 1
            if quiet == _QUIET_ROUNDS:
                return

    def _above(self, target: MessagePump) -> list[MessagePump]:
        """A pump and the pumps that its messages bubble to."""
        pumps: list[MessagePump] = []
        pump: MessagePump | None = target
        while pump is not None and pump is not self._app:
            pumps.append(pump)
            pump = pump._parent
        return [*pumps, self._app]

    async def _handled(self, pump: MessagePump) -> None:
        """Wait until a pump has handled what was posted to it by now; a screen that is opened is mounted then."""
        handled = asyncio.Event()
        if pump.post_message(events.Callback(callback=handled.set)):
            await handled.wait()

    async def _there(self) -> None:
        """Wait until every action that moves the focus has opened its screen, or has ended."""
        while any(not self._stands(way) for way in self._ways):
            self._looked.clear()
            await self._looked.wait()

    def _stands(self, way: _Way) -> bool:
        return way.screen is not None and way.screen in self._app.screen_stack

    async def _in_time(self, step: Awaitable[None]) -> None:
        """Wait for a step, with a time limit."""
        task = asyncio.ensure_future(step)
        try:
            idle = busy = 0
            while idle < _PATIENCE and busy < _MOST_BUSY:
                before = time.process_time()
                await asyncio.wait({task}, timeout=_SLICE)
                if task.done():
                    task.result()
                    return
                if any(way.ends and not self._stands(way) for way in self._ways):
                    continue
                if time.process_time() - before > _WORK:
                    busy += 1
                else:
                    idle += 1
            self._ways = [way for way in self._ways if self._stands(way)]
        finally:
            task.cancel()

    # --- acts

    def led(self, act: Awaitable[None], *, ends: bool = False) -> Awaitable[None]:
        """Wrap an action for which the keys wait from now on, until it has ended, opened a screen or moved the focus.

        They wait again when its screen is gone, for what it does with what was chosen there. For one that ``ends`` for
        sure they wait however long it takes, for any other a second in which nothing is done.
        """
        way = _Way(ends=ends)
        self._ways.append(way)
        return self._go(way, act)

    async def _go(self, way: _Way, act: Awaitable[None]) -> None:
        way.task = asyncio.current_task()
        try:
            await act
        finally:
            self._end(way)

    def _end(self, way: _Way) -> None:
        if way in self._ways:
            self._ways.remove(way)
        self._looked.set()

    def _way(self) -> _Way | None:
        """The way of the action that runs in the current task."""
        task = asyncio.current_task()
        return next((way for way in self._ways if way.task is task), None)

    def _screen_changed(self, screen: Screen[Any]) -> None:
        if (way := self._way()) is not None:
            way.screen = screen
        self._looked.set()

    def _focus_moved(self, focused: Widget | None) -> None:
        if focused is not None and (way := self._way()) is not None:
            self._end(way)


def _is_done_by_a_person(event: events.Event) -> bool:
    return isinstance(event, (events.InputEvent, events.Paste)) and not event.is_forwarded


def _moves_nothing(event: events.Event) -> bool:
    """True for mouse events without a button: the focus and the screen stay."""
    return isinstance(event, events.MouseEvent) and not isinstance(event, (events.MouseDown, events.MouseUp))
