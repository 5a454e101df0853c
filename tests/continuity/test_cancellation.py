"""Steps that are brought to their end whoever waits for them."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from catena_acp.tasks import outlived


async def test_a_task_that_outlives_who_waited_for_it_ends_and_its_error_is_reported_to_nobody() -> None:
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    goes_on, over = asyncio.Event(), asyncio.Event()

    async def refused() -> None:
        await goes_on.wait()
        over.set()
        raise OSError("refused")

    for when in ("before", "at the end"):
        goes_on.clear()
        over.clear()
        task = asyncio.ensure_future(refused())
        waiting = asyncio.ensure_future(outlived(task))
        await asyncio.sleep(0)
        if when == "at the end":
            goes_on.set()
            await over.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        goes_on.set()
        await asyncio.wait({task})
        del task, waiting
        gc.collect()
        await asyncio.sleep(0)
    assert not reported


async def test_who_waits_to_the_end_gets_the_result_or_the_error_of_the_task() -> None:
    async def answers() -> int:
        return 42

    async def fails() -> None:
        raise OSError("refused")

    assert await outlived(asyncio.ensure_future(answers())) == 42
    with pytest.raises(OSError, match="refused"):
        await outlived(asyncio.ensure_future(fails()))
