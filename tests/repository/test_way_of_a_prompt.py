"""From Enter to the agent's pipe a prompt passes through few hands: the modules whose functions call one another."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from catena_acp.protocol import buffers
from support.screen.pilot import at_the_screen

PROMPT = "say forty-two"
MOST = 20  # modules

Steps = list[tuple[str, str]]  # module and function, the called one before its caller


def _steps(frame: FrameType | None) -> Steps:
    steps: Steps = []
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith("catena"):
            steps.append((module, frame.f_code.co_name))
        frame = frame.f_back
    return steps


async def test_a_prompt_passes_through_at_most_twenty_modules_on_its_way_to_the_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    # By whom, and in which task.
    begun: dict[asyncio.Task[Any] | None, tuple[Steps, asyncio.Task[Any] | None]] = {}
    way: Steps = []
    put = buffers.Outbox.put

    def noted(
        loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any], **options: Any
    ) -> asyncio.Task[Any]:
        task = asyncio.Task(work, loop=loop, **options)
        begun[task] = _steps(sys._getframe()), asyncio.current_task()
        return task

    def put_noted(outbox: buffers.Outbox, line: bytes, *where: Any, **options: Any) -> None:
        if PROMPT.encode() in line:
            steps, task = _steps(sys._getframe().f_back), asyncio.current_task()
            while task in begun:
                way.extend(steps)
                steps, task = begun[task]
            way.extend(steps)
        put(outbox, line, *where, **options)

    async with at_the_screen(str(tmp_path)) as person:
        await person.answered("say ok")
        await person.type(PROMPT)
        monkeypatch.setattr(buffers.Outbox, "put", put_noted)
        loop = asyncio.get_running_loop()
        loop.set_task_factory(noted)  # type: ignore[arg-type]
        try:
            await person.press("enter")
            await person.sees("  forty-two")
        finally:
            loop.set_task_factory(None)
    modules = list(dict.fromkeys(module for module, _ in reversed(way)))
    assert modules[0] == "catena.widgets.composer" and modules[-1] == "catena_acp.protocol.transport"
    assert len(modules) <= MOST, modules
