"""The status line: run when something changed, seldom, never waited for; its failure told once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from catena.programs.status_line import StatusLine
from catena.settings.settings import Settings
from catena.settings.tables import Program
from catena_acp.process_group import process_start_time
from support.screen.pilot import at_the_screen

# What is commonly written for Claude Code: JSON by Python, since jq may be missing.
SCRIPT = """\
#!/usr/bin/env python3
import json, os, sys
told = json.load(sys.stdin)
print(f"\\033[36m[{told['model']['display_name']}]\\033[0m {os.path.basename(told['workspace']['current_dir'])} "
      f"${told['cost']['total_cost_usd']:.2f} {told['context_window'].get('used_percentage') or 0}%")
"""


class Watched:
    """What a status line shows and says."""

    def __init__(self) -> None:
        self.shown: list[str] = []
        self.failed: list[str] = []
        self.asked = 0
        self._news = asyncio.Event()

    async def told(self) -> dict[str, Any]:
        self.asked += 1
        return {"cwd": "/", "number": self.asked}

    def show(self, text: str) -> None:
        self.shown.append(text)
        self._news.set()

    async def until(self, so: Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            while not so():
                self._news.clear()
                await self._news.wait()


@asynccontextmanager
async def running(script: str, watched: Watched, *, limit: float = 60) -> AsyncIterator[StatusLine]:
    line = StatusLine(
        Program((script,), shell=True),
        told=watched.told,
        show=watched.show,
        failed=watched.failed.append,
        limit=limit,
        pause=0,
    )
    task = asyncio.ensure_future(line.run())
    try:
        yield line
    finally:
        task.cancel()
        await asyncio.wait((task,))
        assert task.cancelled()


async def test_w31_it_is_run_once_for_all_that_changed_meanwhile_and_shows_its_output() -> None:
    watched = Watched()
    async with running("cat", watched) as line:
        for _ in range(100):
            line.refresh()
        await watched.until(lambda: bool(watched.shown))
        assert watched.shown == ['{"cwd": "/", "number": 1}']
        line.refresh()
        await watched.until(lambda: len(watched.shown) == 2)
        assert watched.asked == 2


async def test_w31_a_failure_shows_nothing_and_is_told_once(tmp_path: Path) -> None:
    watched = Watched()
    async with running("echo shown; echo not so >&2; exit 2", watched) as line:
        for count in (1, 2):
            line.refresh()
            await watched.until(lambda count=count: len(watched.shown) == count)  # type: ignore[misc]
    assert watched.shown == ["", ""]
    (failed,) = watched.failed
    assert failed.endswith("failed with exit code 2: not so")


async def test_w31_one_that_still_runs_when_something_changed_is_ended(tmp_path: Path) -> None:
    pid, watched = tmp_path / "pid", Watched()
    script = f"if grep -q '\"number\": 1'; then echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 600; fi; echo new"
    async with running(script, watched) as line:
        line.refresh()
        async with asyncio.timeout(60):
            while not pid.exists():  # noqa: ASYNC110 - another process's
                await asyncio.sleep(0.01)
        line.refresh()
        await watched.until(lambda: bool(watched.shown))
        assert watched.shown == ["new\n"] and watched.failed == []
        assert process_start_time(int(pid.read_text())) is None


async def test_w31_a_script_for_claude_code_writes_the_row_below_the_composer(tmp_path: Path) -> None:
    script = tmp_path / "statusline.py"
    script.write_text(SCRIPT)
    script.chmod(0o755)
    (tmp_path / "shop").mkdir()
    settings = Settings(status_line=Program((str(script),), shell=True))
    async with at_the_screen(str(tmp_path / "shop"), settings=settings) as person:
        await person.sees("[Understudy] shop $0.00 0%")
        await person.say("say one")
        await person.idle()
        await person.sees("[Understudy] shop $0.00 1%")
        status = person.area.status
        await person.pilot.resize_terminal(50, 20)
        await person.until(lambda: not status.region.height, "the row to go where it is narrow")
        await person.pilot.resize_terminal(80, 24)
        await person.sees("[Understudy] shop")
        await person.pilot.resize_terminal(80, 14)
        await person.until(lambda: not status.region.height, "the row to go where it is short")
        await person.pilot.resize_terminal(80, 24)
        await person.sees("[Understudy] shop")
