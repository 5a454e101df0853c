"""The command that writes the status line: run when something changed, never often, and never waited for."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Awaitable, Callable
from typing import Any

from catena.programs.filter import run_filter
from catena.settings.tables.programs import Program
from catena.text.safe_text import safe_line

LIMIT_SECONDS = 10.0
PAUSE_SECONDS = 0.35  # from one beginning to the next
_LONGEST = 200  # characters of what is said of a failure


class StatusLine:
    """Runs the command of one chat; ``run`` it once, and say with ``refresh`` that something changed."""

    def __init__(
        self,
        program: Program,
        *,
        told: Callable[[], Awaitable[dict[str, Any] | None]],
        show: Callable[[str], None],
        failed: Callable[[str], None],
        limit: float = LIMIT_SECONDS,
        pause: float = PAUSE_SECONDS,
    ) -> None:
        """``told`` is asked for what the command is told, None where there is nothing to tell.

        ``show`` gets its output, "" where it failed; ``failed`` is told of its first failure, in words.
        """
        self._program = program
        self._told = told
        self._show = show
        self._failed: Callable[[str], None] | None = failed
        self._limit = limit
        self._pause = pause
        self._stale = asyncio.Event()

    def refresh(self) -> None:
        """Run the command anew, as soon as it may run again; one that still runs is ended."""
        self._stale.set()

    async def run(self) -> None:
        """Run the command whenever it is to be refreshed, until this is cancelled."""
        while True:
            await self._stale.wait()
            self._stale.clear()
            began = time.monotonic()
            await self._run_until_stale()
            await asyncio.sleep(max(0.0, began + self._pause - time.monotonic()))

    async def _run_until_stale(self) -> None:
        running = asyncio.ensure_future(self._run_once())
        stale = asyncio.ensure_future(self._stale.wait())
        try:
            await asyncio.wait((running, stale), return_when=asyncio.FIRST_COMPLETED)
        finally:
            stale.cancel()
            running.cancel()
            await asyncio.wait((running,))
        if not running.cancelled():
            running.result()

    async def _run_once(self) -> None:
        told = await self._told()
        if told is None:
            self._show("")
            return
        cwd = str(told["cwd"])
        try:
            ended = await run_filter(
                self._program.arguments(os.environ),
                json.dumps(told),
                directory=cwd,
                environment={**os.environ, "CLAUDE_PROJECT_DIR": cwd},
                seconds=self._limit,
            )
        except OSError as error:
            self._report(f"cannot be started: {error.strerror or error}")
            return
        if ended.trouble:
            self._report(ended.trouble)
        else:
            self._show(ended.out)

    def _report(self, trouble: str) -> None:
        self._show("")
        if self._failed is not None:
            text = safe_line(f"Status line ({self._program}) {trouble}")
            self._failed(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…")
            self._failed = None
