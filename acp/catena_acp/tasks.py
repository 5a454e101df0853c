"""Tasks: steps that are run to completion despite cancellation, and writes that are tried again in a busy store."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from catena_store.errors import Fenced, StoreBusy, StoreError, StoreGone

T = TypeVar("T")

_PAUSES = (0.1, 0.4, 1.0, 2.0)  # seconds between tries to write what must be written
_BUSY_PAUSE = 0.5  # where the only trouble is another process


class TaskSet(set["asyncio.Task[Any]"]):
    """Tasks that are kept until they are done: the event loop does not keep them."""

    def begin(self, step: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Begin a step as a task."""
        return self.keep(asyncio.ensure_future(step))

    def keep(self, task: asyncio.Task[T]) -> asyncio.Task[T]:
        """Keep a task until it is done."""
        self.add(task)
        task.add_done_callback(self.discard)
        return task


async def shielded(step: Coroutine[Any, Any, T]) -> T:
    """Await a step to its end despite cancellation; ``raise_if_cancelled`` raises that afterwards."""
    task = asyncio.ensure_future(step)
    while not task.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait({task})
    return task.result()


async def outlived(task: asyncio.Future[T]) -> T:
    """Await a task that goes on if the caller is cancelled; nobody waits for what it raises then."""
    try:
        # Not `asyncio.shield`: from Python 3.14 on that reports what the task raises behind a cancellation.
        await asyncio.wait({task})
    except asyncio.CancelledError:
        task.add_done_callback(_hear_out)
        raise
    return task.result()


def _hear_out(task: asyncio.Future[Any]) -> None:
    if not task.cancelled():
        task.exception()


def raise_if_cancelled() -> None:
    """Raise the cancellation that came while a step was brought to its end."""
    task = asyncio.current_task()
    if task and task.cancelling():
        raise asyncio.CancelledError


async def with_retries(step: Callable[[], Awaitable[T]], *, waits: Callable[[], bool] = lambda: False) -> T:
    """Run a step that writes, and again while the store is busy or full, for a few seconds. Raises StoreError.

    As long as ``waits`` says so, it is tried until the process is gone, or lets go, that keeps the store busy.
    """
    pauses = iter(_PAUSES)
    while True:
        try:
            return await step()
        except (Fenced, StoreGone):
            raise
        except StoreBusy:
            pause = _BUSY_PAUSE if waits() else next(pauses, None)
            if pause is None:
                raise
        except StoreError:
            pause = next(pauses, None)
            if pause is None:
                raise
        await asyncio.sleep(pause)
