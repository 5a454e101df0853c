"""A line of 20 kB/s and 150 ms each way, as over SSH from far: does typing stay fluent, whatever else is drawn?"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from bench.keeping import LONG, PAGE_UP
from bench.seeding import LONG_LAST_WORDS, LONG_TITLE, seeding
from bench.streaming import RATE, TYPED_BEFORE, WORDS_IN_TEN_SECONDS, Figures
from bench.subject import AGENT_COMMAND, HERE, Running, Subject
from bench.terminal import LONGEST_WAIT, Typed, percentile
from catena_acp.agents.catalog import command_spec

BYTES_PER_SECOND = 20_000
SECONDS = 0.15  # each way
LINE = (sys.executable, str(HERE / "line.py"), str(BYTES_PER_SECOND), str(SECONDS), "--")
HELD_KEY = 1 / 30  # seconds between two repetitions of a key that is held
LETTERS = "qzxjvkwqzxjvkwqzxjvkwqzxjvkwqzxjvkwqzxjvkw"
PASTED = 100_000  # characters


def streamed_over_a_slow_line(subject: Subject, folder: Path) -> Figures:
    """Sixty chunks a second and somebody typing, then Esc."""
    with subject.run(folder, line=LINE) as running:
        terminal = running.terminal
        running.expect(running.ready)
        terminal.settle(1.0)
        running.greet()
        terminal.settle(1.0)
        running.compose_stream(3 * WORDS_IN_TEN_SECONDS, RATE)
        terminal.settle(1.0)
        seen = len(terminal.outputs)
        running.submit()
        running.expect("Section 1", since=seen)
        terminal.write(TYPED_BEFORE)
        running.expect(TYPED_BEFORE)
        typed: list[Typed] = []
        spent = terminal.measure(lambda: typed.extend(terminal.type(80, after=TYPED_BEFORE)))
        pressed = terminal.write("\x1b")
        terminal.settle(2.0)
        times = terminal.echo_times(typed)
        return {
            "key_p50_ms": percentile(times, 0.5),
            "key_p95_ms": percentile(times, 0.95),
            "bytes_per_s": spent.bytes / spent.seconds,
            "cancel_ms": (_received(running, "session/cancel") - pressed) * 1e3,
        }


def scrolled_over_a_slow_line(subject: Subject, folder: Path) -> Figures:
    """Ten thousand messages through which Page Up is held, with somebody typing."""

    async def seed() -> None:
        async with seeding(folder, command_spec(AGENT_COMMAND).name) as seeder:
            await seeder.long_conversation(LONG)

    asyncio.run(seed())
    with subject.run(folder, options=("--resume", LONG_TITLE), line=LINE) as running:
        terminal = running.terminal
        running.expect(LONG_LAST_WORDS)
        terminal.settle(1.0)
        terminal.write(TYPED_BEFORE)
        running.expect(TYPED_BEFORE)
        text, typed = TYPED_BEFORE, []
        for letter in LETTERS:
            for _ in range(3):
                terminal.write(PAGE_UP)
                terminal.read_for(HELD_KEY)
            text += letter
            typed.append(Typed(terminal.write(letter), text))
        released = terminal.write("")
        still = terminal.settle(1.0)
        times = terminal.echo_times(typed)
        return {
            "key_p50_ms": percentile(times, 0.5),
            "key_p95_ms": percentile(times, 0.95),
            "still_ms": (still - released) * 1e3,
        }


def pasted_over_a_slow_line(subject: Subject, folder: Path) -> Figures:
    """A paste of 100 kB: how much of it the agent does not get."""
    with subject.run(folder, line=LINE) as running:
        terminal = running.terminal
        running.expect(running.ready)
        terminal.settle(1.0)
        running.greet()
        terminal.settle(1.0)
        began = terminal.write("\x1b[200~" + "".join(f"line {number:05}\r" for number in range(PASTED // 11)))
        terminal.write("the end of it\x1b[201~")
        shown = running.expect(r"\[pasted")
        terminal.settle(1.0)
        running.submit()
        whole = PASTED // 11 * 11 + len("the end of it")
        return {"seconds": shown - began, "lost": whole - _prompted(running)}


def _received(running: Running, method: str) -> float:
    return next((event.at for event in running.agent_events() if event.method == method), float("inf"))


def _prompted(running: Running) -> int:
    """How many characters the second prompt has that the agent gets."""
    found: list[int] = []
    deadline = time.monotonic() + LONGEST_WAIT
    while len(found) < 2 and time.monotonic() < deadline:
        running.terminal.read_for(0.1)
        found = [event.characters for event in running.agent_events() if event.event == "prompted"]
    return found[1] if len(found) > 1 else 0
