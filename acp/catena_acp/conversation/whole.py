"""Steps that a stop, or our own end, must not leave half done."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def whole(step: Coroutine[Any, Any, T]) -> T:
    """Await a step to its end, cancelled or not; ``heed_a_stop`` raises the cancellation afterwards."""
    task = asyncio.ensure_future(step)
    while not task.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait({task})
    return task.result()


def heed_a_stop() -> None:
    """Raise the cancellation that came while a step was brought to its end."""
    task = asyncio.current_task()
    if task and task.cancelling():
        raise asyncio.CancelledError
