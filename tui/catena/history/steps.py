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
    """What comes of steps, all made at once."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result


async def between_keys(steps: Generator[None, None, T]) -> T:
    """What comes of steps, made while keys are heard."""
    until = time.monotonic() + _AT_A_TIME
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
        if time.monotonic() > until:
            await asyncio.sleep(_BREATH)
            until = time.monotonic() + _AT_A_TIME
