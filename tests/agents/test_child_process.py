"""Processes that we start, and our ends of their pipes."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from catena_acp import child_process
from catena_acp.child_process import ChildProcess
from catena_acp.protocol.buffers import Outbox
from support.clients.protocol import runs


@pytest.mark.parametrize("by_thread", [False, True])
async def test_an_exit_is_seen_while_another_process_holds_the_pipes(
    tmp_path: Path, by_thread: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left(_pid: int) -> int:
        raise OSError("no descriptors")

    if by_thread:
        monkeypatch.setattr(child_process, "_exit_watch", none_left)
    child = ChildProcess.start(("sh", "-c", "sleep 600 & exit 3"), cwd=tmp_path, env=dict(os.environ))
    try:
        assert await child.wait() == 3
        assert child.returncode == 3
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        for end in (child.stdin, child.stdout, child.stderr):
            assert end is not None
            end.close()


def test_a_process_outlives_the_loop_that_started_it(tmp_path: Path) -> None:
    starter = """
    import asyncio, os
    from catena_acp.child_process import ChildProcess

    async def start():
        return ChildProcess.start(("sleep", "600"), cwd="/", env=dict(os.environ))

    child = asyncio.run(start())
    print(child.pid, flush=True)
    os._exit(0)
    """
    told = subprocess.check_output([sys.executable, "-c", textwrap.dedent(starter)], cwd=tmp_path, text=True)
    pid = int(told)
    assert runs(pid)
    os.kill(pid, signal.SIGKILL)


async def test_a_line_that_is_read_slowly_goes_out_whole_and_only_what_waits_is_overtaken() -> None:
    ours, theirs = os.pipe()
    read, lost = [0], asyncio.Event()

    def count() -> None:
        read[0] += 1

    outbox = Outbox(count, lost.set)
    outbox.connect(os.fdopen(theirs, "wb", 0))
    long = b"a" * 200_000 + b"\n"
    outbox.put(long, "one")
    outbox.put(b"more\n", "two")
    outbox.put(b"cancel\n", "one", ahead=True)
    expected = long + b"cancel\nmore\n"
    got = b""
    while len(got) < len(expected):
        got += await asyncio.to_thread(os.read, ours, 8_000)
    assert got == expected
    assert read[0] > 0 and not lost.is_set()
    os.close(ours)
    await lost.wait()
    outbox.put(b"nobody\n")  # is discarded


async def test_what_the_agent_has_not_read_counts_until_it_has() -> None:
    ours, theirs = os.pipe()
    outbox = Outbox(lambda: None, lambda: None)
    outbox.connect(os.fdopen(theirs, "wb", 0))
    outbox.put(b"x" * (33 * 1024 * 1024))
    assert outbox.full
    while outbox.full:
        await asyncio.to_thread(os.read, ours, 1 << 16)
        await asyncio.sleep(0)
    outbox.close()
    os.close(ours)
