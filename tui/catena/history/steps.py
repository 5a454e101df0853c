"""Work in steps of a few milliseconds: made at once, or between the keys that a person types."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")

_AT_A_TIME = 0.004  # seconds of work,
_BREATH = 0.001  # and so much for all else


def at_once(steps: Generator[None, None, T]) -> T:
    """Make all steps at once, and return what comes of them."""
    try:
        while True:
            next(steps)
    except StopIteration as end:
        result: T = end.value
        return result


async def between_keys(steps: Generator[None, None, T]) -> T:
    """Make the steps while keys are heard, and return what comes of them."""
    until = time.monotonic() + _AT_A_TIME
    try:
        while True:
            next(steps)
            if time.monotonic() > until:
                await asyncio.sleep(_BREATH)
                until = time.monotonic() + _AT_A_TIME
    except StopIteration as end:
        result: T = end.value
        return result
