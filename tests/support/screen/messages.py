"""Waiting for what was pressed and posted to be handled and drawn: by the order of messages, not by time."""

from __future__ import annotations

import asyncio
from typing import Any

from textual._queue import Queue
from textual.app import ScreenError
from textual.message import Message
from textual.message_pump import MessagePump
from textual.pilot import Pilot, WaitForScreenTimeout

_MOST_ROUNDS = 50  # of messages that come of messages; what draws itself again and again never ends
_TURNS = 6  # of the loop, in which what a message let go on can post the next one


class SparingPilot(Pilot[Any]):
    """Textual's pilot, which hears only from what has something to do that it is done, and not from all of a screen."""

    async def _wait_for_screen(self, timeout: float = 30.0) -> bool:
        """Wait until all messages are handled that were there; False where the app failed over one, or has ended."""
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        try:
            screen = self.app.screen
        except ScreenError:
            return False
        handled = [
            told
            for node in (self.app, *screen.walk_children(with_self=True))
            if not _at_rest(node) and node.call_later((told := asyncio.Event()).set)
        ]
        if not handled:
            return True
        all_handled = asyncio.gather(*(told.wait() for told in handled))
        failed: asyncio.Future[bool] = asyncio.ensure_future(self.app._exception_event.wait())
        try:
            done, _ = await asyncio.wait(
                (all_handled, failed), timeout=timeout, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            failed.cancel()
            all_handled.cancel()
        if not done:
            raise WaitForScreenTimeout("messages were not handled")
        return failed not in done


def _at_rest(node: MessagePump) -> bool:
    """True while all messages of a node are handled, and it waits for the next one."""
    queue: Queue[Message | None] = node._message_queue
    return queue.empty() and bool(queue.ready_event._waiters)


async def taken_in(pilot: Pilot[Any]) -> None:
    """Wait until everything that was posted is handled, and every message that came of it, and all of it is drawn.

    What was begun by it may go on: workers and timers have their own time.
    """
    app, quiet = pilot.app, 0
    for _ in range(_MOST_ROUNDS):
        await pilot._wait_for_screen()
        app.screen._on_timer_update()
        nodes = [app, *app.screen.walk_children(with_self=True)]
        waits = any(not node._message_queue.empty() for node in nodes)
        quiet = 0 if waits else quiet + 1
        if quiet == 2:
            return


async def press(pilot: Pilot[Any], *keys: str) -> None:
    """Press keys, one after the other; each is taken in before the next."""
    for key in keys:
        await pilot.press(key)
        await taken_in(pilot)
