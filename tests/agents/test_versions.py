"""What agents say of their version: a process for each, which is gone when the answer is not wanted any more."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from catena.settings.agent_choices import _read_version
from catena_acp.process_group import process_start_time
from support.clients.protocol import until


def program(path: Path, script: str) -> str:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


async def test_a_version_is_read_from_what_is_printed(tmp_path: Path) -> None:
    assert await _read_version(program(tmp_path / "agent", "echo agent v1.2.3")) == "1.2.3"


async def test_a_version_that_is_not_wanted_any_more_leaves_no_process(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    silent = program(tmp_path / "agent", f"echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 600")
    reading = asyncio.ensure_future(_read_version(silent))
    await until(pid.exists)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert process_start_time(int(pid.read_text())) is None
