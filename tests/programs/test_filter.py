"""Programs of the person's own: given a text, read for as long as they run, ended in time with all they started."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from catena.programs.filter import FilterEnd, run_filter
from catena_acp.process_group import process_start_time


async def shell(script: str, text: str = "", seconds: float = 60) -> FilterEnd:
    return await run_filter(
        ["/bin/sh", "-c", script], text, directory="/", environment=dict(os.environ), seconds=seconds
    )


async def gone(pid: int) -> None:
    """Wait until a process has ended."""
    async with asyncio.timeout(60):
        while process_start_time(pid) is not None:  # noqa: ASYNC110 - nobody tells of it
            await asyncio.sleep(0.01)


async def test_w31_a_program_reads_what_it_is_given_and_answers() -> None:
    ended = await shell("cat; echo more; echo bad >&2", "given\n")
    assert (ended.status, ended.out, ended.errors, ended.trouble) == (0, "given\nmore\n", "bad\n", "")


async def test_w31_what_fails_is_told_with_the_first_line_of_its_error() -> None:
    assert (await shell("echo; echo >&2; echo no such thing >&2; exit 3", "x" * 200_000)).trouble == (
        "failed with exit code 3: no such thing"
    )
    assert (await shell("kill -9 $$")).trouble == "was killed by signal 9"
    with pytest.raises(OSError):
        await run_filter(["/no/such"], "", directory="/", environment={}, seconds=60)


async def test_w31_output_beyond_a_limit_is_read_and_dropped() -> None:
    ended = await shell("head -c 3000000 /dev/zero")
    assert ended.status == 0 and len(ended.out) == 1 << 16


async def test_w31_one_that_leaves_a_program_running_has_ended_all_the_same(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    ended = await shell(f"sleep 600 & echo $! > {pid}; echo done")
    assert (ended.status, ended.out) == (0, "done\n")
    os.kill(int(pid.read_text()), 9)


async def test_w31_one_whose_time_is_over_is_ended_with_all_it_started(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    ended = await shell(f"sleep 600 & echo $! > {pid}; wait", seconds=0.5)
    assert ended.late and ended.trouble == "took too long and was ended"
    if pid.exists() and (number := pid.read_text()):  # on a busy machine it may not have come so far
        await gone(int(number))


async def test_w31_one_that_is_not_wanted_any_more_is_ended_with_all_it_started(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    task = asyncio.ensure_future(shell(f"sleep 600 & echo $! > {pid}.new; mv {pid}.new {pid}; wait"))
    async with asyncio.timeout(60):
        while not pid.exists():  # noqa: ASYNC110 - another process's
            await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await gone(int(pid.read_text()))
