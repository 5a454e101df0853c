"""Conversations that are opened, prompted and closed again, and very many tabs that stand open."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bench.endurance.growth import Growth
from bench.seeding import seeding
from bench.streaming import Figures
from bench.subject import AGENT_COMMAND, Running, Subject
from bench.terminal import percentile
from catena_acp.agents.catalog import command_spec

CTRL_O, CTRL_T, CTRL_PAGE_UP = "\x0f", "\x14", "\x1b[5;5~"
OPENED, SHORT = 1_000, 120  # fewer would tell of what is made once
TABS = 200
STEPS = 30


def thousand_conversations(subject: Subject, folder: Path, *, short: bool) -> Figures:
    """Conversations opened from the history one after the other, each prompted, answered and closed."""
    count, every = (SHORT, 4) if short else (OPENED, 20)
    asyncio.run(_seed(folder, count))
    with subject.run(folder) as running:
        terminal = running.terminal
        running.expect(running.ready)
        running.expect("is ready in")
        growth = Growth(terminal.pid)
        for number in range(count):
            _open_and_close(running, number, count)
            if number % every == every - 1:
                growth.note(number + 1)
            terminal.forget()
        return {"kib_per_1000_conversations": growth.slope, "memory_growth_mib": growth.mib}


def _open_and_close(running: Running, number: int, count: int) -> None:
    terminal = running.terminal

    def step(keys: str, shown: str) -> None:
        seen = len(terminal.outputs)
        terminal.write(keys)
        running.expect(shown, since=seen)

    title = _title(number)
    step(CTRL_O, "Type to filter")
    step(title, rf" 1 of {count:,} (.*\n)+.*▌ {title} ")
    step("\r", rf"answer to {title}(.*\n)+.*Reply to")
    step("hello", "│ hello ")
    step("\r", r"(ok: |\])hello(.*\n)+.*Reply to.* / commands")  # nothing more is to come
    step("/close", "│ /close ")
    step("\r", "is ready in")


def many_tabs(subject: Subject, folder: Path, *, short: bool) -> Figures:
    """Tabs opened one beside the other: what each takes, a letter and a step to the next tab among all, and a start."""
    count = 40 if short else TABS
    with subject.run(folder) as running:
        terminal = running.terminal
        running.expect(running.ready)
        running.expect("is ready in")
        growth = Growth(terminal.pid)
        running.compose("draft of 1")
        growth.note(1)
        for number in range(2, count + 1):
            seen = len(terminal.outputs)
            terminal.write(CTRL_T)
            running.expect(rf" {number} new", since=seen)
            running.compose(f"draft of {number}")
            growth.note(number)
            terminal.forget()
        letters = terminal.measure(lambda: terminal.type(STEPS, after=f"draft of {count}")).cpu
        terminal.settle()
        steps = []
        for number in range(count - 1, max(1, count - 1 - STEPS), -1):
            seen = len(terminal.outputs)
            pressed = terminal.write(CTRL_PAGE_UP)
            steps.append((running.expect(rf"│ draft of {number} ", since=seen) - pressed) * 1e3)
            terminal.settle(0.1)
    with subject.run(folder) as running:
        shown = running.expect(r"│ draft of \d+ ")
        return {
            "kib_per_tab": growth.slope / 1_000,
            "cpu_ms_per_key": letters / STEPS * 1e3,
            "step_p95_ms": percentile(steps, 0.95),
            "restart_ms": (shown - running.terminal.began) * 1e3,
        }


def _title(number: int) -> str:
    """A title of letters alone that is in no other text."""
    return "Qx" + "".join(chr(ord("a") + int(digit)) for digit in f"{number:05}") + "xq"


async def _seed(folder: Path, count: int) -> None:
    async with seeding(folder, command_spec(AGENT_COMMAND).name) as seeder:
        for number in range(count):
            title = _title(number)
            await seeder.conversation(title, [f"prompt of {title}", f"answer to {title}"])
