"""Very many prompts that wait: queued one after the other, moved, deleted, and there again after a restart."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from bench.endurance.growth import Growth
from bench.streaming import Figures
from bench.subject import Running, Subject

CTRL_N, CTRL_PAGE_UP, SHIFT_DOWN = "\x0e", "\x1b[5;5~", "\x1b[1;2B"
QUEUED, SHORT = 10_000, 1_200  # fewer would tell of what is made once, and of the arenas of Python
BATCHES = 10
MOVED = 4  # places, as many as are shown


def ten_thousand_queued(subject: Subject, folder: Path, *, short: bool) -> Figures:
    """Prompts queued behind a turn that goes on: memory and CPU of each, a move, a removal, and a restart."""
    count = SHORT if short else QUEUED
    batch = count // BATCHES
    spent: list[float] = []
    with subject.run(folder) as running:
        terminal = running.terminal
        running.expect("is ready in")
        running.compose("HOLD")
        seen = len(terminal.outputs)
        running.submit()
        running.expect("enter queue", since=seen)  # what is typed before that may be one paste with Enter
        growth = Growth(terminal.pid)
        growth.note(0)
        for first in range(0, count, batch):
            spent.append(terminal.measure(partial(_queue, running, first, batch)).cpu / batch)
            growth.note(first + batch)
            terminal.forget()
        terminal.write(CTRL_N)
        running.expect(r"› next +Prompt 0 ")
        moved = terminal.measure(partial(_move, running)).cpu / MOVED
        removed = terminal.measure(partial(_remove, running, count)).cpu
    with subject.run(folder) as running:
        again = running.expect(" 1 HOLD")
        running.expect("is ready in")
        running.terminal.write(CTRL_PAGE_UP)
        running.expect(r"(held|next) +Prompt 1 ")
        return {
            "kib_per_1000_prompts": growth.slope,
            "queue_cpu_ms": spent[-1] * 1e3,
            "queue_ratio": spent[-1] / spent[0],
            "move_cpu_ms": moved * 1e3,
            "remove_cpu_ms": removed * 1e3,
            "restart_ms": (again - running.terminal.began) * 1e3,
        }


def _queue(running: Running, first: int, count: int) -> None:
    for number in range(first, first + count):
        seen = len(running.terminal.outputs)
        running.terminal.write(f"Prompt {number}")
        running.expect(rf"│ Prompt {number} ", since=seen)
        seen = len(running.terminal.outputs)
        running.submit()
        running.expect("Reply to", since=seen)
    if first + count > MOVED:
        running.expect(f"and {first + count - MOVED} more")


def _move(running: Running) -> None:
    """Move the first prompt down, place by place."""
    for place in range(1, MOVED + 1):
        running.terminal.write(SHIFT_DOWN)
        running.expect(rf"Prompt {place} .*\n.*› next +Prompt 0 ")


def _remove(running: Running, count: int) -> None:
    running.terminal.write("d")
    running.expect(f"and {count - 1 - MOVED} more")
