"""What a command gets of a coroutine that it runs to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from catena.cli.outcome import outcome


class Large:
    """A result that knows how often it was written out."""

    written = 0

    def __repr__(self) -> str:
        self.written += 1
        return "large"


async def read(large: Large) -> Large:
    await asyncio.sleep(0)
    return large


def test_what_a_command_read_is_never_written_out_as_the_result_of_a_task() -> None:
    with asyncio.Runner() as runner:
        ways: list[Callable[[Large], Large]] = [
            lambda large: outcome(read(large)),
            lambda large: outcome(read(large), runner.run),
        ]
        for way in ways:
            large = Large()
            assert way(large) is large
            assert large.written == 0
