"""The outcome of a coroutine that a command runs to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def outcome(
    work: Coroutine[Any, Any, T], run: Callable[[Coroutine[Any, Any, None]], None] = asyncio.run
) -> T:
    """Run a coroutine to its end, and return its result.

    The result never is that of a task: up to Python 3.11 ``asyncio.run`` writes out its task with the whole result,
    twice, when it compares handlers of signals.
    """
    found: list[T] = []

    async def hold() -> None:
        found.append(await work)

    run(hold())
    return found[0]
