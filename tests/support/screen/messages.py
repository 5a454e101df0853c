"""Waiting for what was pressed and posted to be handled and drawn: by the order of messages, not by time."""

from __future__ import annotations

from typing import Any

from textual.pilot import Pilot

_MOST_ROUNDS = 50  # of messages that come of messages; what draws itself again and again never ends


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
