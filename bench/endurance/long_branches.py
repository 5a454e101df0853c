"""A very long conversation: its beginning and its end, a text in it, read up to its top, and edited."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from statistics import median

from bench.endurance.growth import Growth
from bench.seeding import LONG_LAST_WORDS, LONG_TITLE, seeding
from bench.streaming import Figures
from bench.subject import AGENT_COMMAND, Running, Subject
from catena_acp.agents.catalog import command_spec

VERY_LONG, SHORT = 100_000, 2_000
F2, TOP, END, EDIT = "\x1bOQ", "g", "G", "e"
PAGES_UP = "\x1b[5~" * 40
FIND, ESCAPE = "\x06", "\x1b"
_NUMBER = re.compile(r"▌ Question (\d+):")


def very_long_conversation(subject: Subject, folder: Path, *, short: bool) -> Figures:
    """A conversation searched, gone through, read page by page up to its first prompt, and edited, as a branch."""
    length = SHORT if short else VERY_LONG
    asyncio.run(_seed(folder, length))
    with subject.run(folder, options=("--resume", LONG_TITLE)) as running:
        terminal = running.terminal
        shown = running.expect(LONG_LAST_WORDS)
        terminal.settle(1.0)
        found = [_find(running, "Question 2:") for _ in range(3)]
        terminal.write(F2)
        terminal.settle()
        jumps = [(_go(running, TOP, "Question 0:"), _go(running, END, LONG_LAST_WORDS)) for _ in range(3)]
        growth, spent = Growth(terminal.pid), []
        at = length
        while at > 0:
            spent.append(terminal.measure(lambda: _to_top(running)).cpu)
            at = _topmost(terminal.screen())
            growth.note(length - at)
            terminal.forget()
        terminal.write(EDIT)
        running.expect("Edit")
        running.compose(" anew")
        seen = len(terminal.outputs)
        edited = running.submit()
        answered = running.expect(r"\banew\n(.*\n)+.*Reply to.* / commands", since=seen)
        return {
            "open_ms": (shown - terminal.began) * 1e3,
            "find_ms": median(found) * 1e3,
            "home_ms": median(home for home, _ in jumps) * 1e3,
            "end_ms": median(end for _, end in jumps) * 1e3,
            "kib_per_1000_messages": growth.slope,
            "page_cpu_ms": spent[-1] * 1e3,
            "page_ratio": spent[-1] / spent[0],
            "edit_ms": (answered - edited) * 1e3,
        }


def _go(running: Running, key: str, there: str) -> float:
    """Seconds from a key to what is at that end."""
    seen = len(running.terminal.outputs)
    pressed = running.terminal.write(key)
    took = running.expect(there, since=seen) - pressed
    running.terminal.settle()
    return took


def _find(running: Running, text: str) -> float:
    """Seconds from the last letter of a text to the only place that has it; then back to the end."""
    terminal = running.terminal
    terminal.write(FIND)
    running.compose(text[:-1])
    seen = len(terminal.outputs)
    typed = terminal.write(text[-1])
    took = running.expect(f"▌ {text}", since=seen) - typed
    terminal.settle()
    terminal.write(ESCAPE)
    terminal.settle()
    _go(running, F2 + END, LONG_LAST_WORDS)
    terminal.write(F2)
    terminal.settle()
    return took


def _to_top(running: Running) -> None:
    running.terminal.write(PAGES_UP)
    running.terminal.settle(0.15)


def _topmost(lines: list[str]) -> int:
    """The number of the first question that is on the screen."""
    found = _NUMBER.search("\n".join(lines))
    return int(found[1]) if found else 1


async def _seed(folder: Path, length: int) -> None:
    async with seeding(folder, command_spec(AGENT_COMMAND).name) as seeder:
        await seeder.long_conversation(length)
