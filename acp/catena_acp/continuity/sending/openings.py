"""Openings of sessions for one prompt: those that take long may be left, and are taken if they are answered in time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from catena_acp.continuity.routing import route
from catena_acp.continuity.sending.context import Host
from catena_acp.continuity.sessions.sessions import LiveSession

L = TypeVar("L")


class LeftOpening(Exception):
    """An opening that took long, which the prompt goes on without."""


class Openings:
    """The openings of one prompt, by step."""

    def __init__(self, host: Host, window_id: str) -> None:
        self._host = host
        self._window_id = window_id
        self._left: dict[route.StepKey, asyncio.Future[Any]] = {}

    @property
    def left(self) -> set[asyncio.Future[Any]]:
        """Those that were left and are not taken."""
        return set(self._left.values())

    async def wait(
        self,
        step: route.StepKey,
        opening: Coroutine[Any, Any, L],
        is_another: Callable[[], Awaitable[bool]],
    ) -> L:
        """Wait for an opening. One that takes long may be left if there is another step.

        Raises LeftOpening, or what the opening raises.
        """
        wait, task = self._host.services.opening_wait, asyncio.ensure_future(opening)
        try:
            await asyncio.wait({task}, timeout=wait.long)
            if not task.done() and await is_another():
                await self._host.offer_to_leave(self._window_id, task, wait.until_left)
                if not task.done():
                    self._left[step] = task
                    task.add_done_callback(_look_at)
                    raise LeftOpening
            if not task.done():
                await asyncio.wait({task})
        except asyncio.CancelledError:
            task.cancel()
            raise
        return task.result()

    def answered(self) -> list[tuple[route.StepKey, LiveSession]]:
        """Remove and return the sessions of those that were answered after all; failed ones are removed."""
        found = []
        for step, task in list(self._left.items()):
            if task.done():
                del self._left[step]
                if live := _session_of(task):
                    found.append((step, live))
        return found

    def close(self) -> None:
        """Close the sessions of those that are left, also of those that are answered later."""
        sessions = self._host.sessions
        for task in self.left:
            task.add_done_callback(lambda done: sessions.close_soon(_session_of(done)))
        self._left.clear()


def _session_of(task: asyncio.Future[Any]) -> LiveSession | None:
    found: LiveSession | None = None if task.cancelled() or task.exception() else task.result()
    return found


def _look_at(task: asyncio.Future[Any]) -> None:
    """Nobody waits for the error of one that was left."""
    if not task.cancelled():
        task.exception()
