"""Streams of an hour: as answers of a minute each, and as one answer."""

from __future__ import annotations

from pathlib import Path

from bench.endurance.growth import Growth
from bench.streaming import RATE, Figures
from bench.subject import Running, Subject

HOUR = int(RATE * 3_600)  # chunks
RATE_HERE = 3_000.0  # chunks a second: an hour in little more than a minute
WORDS_OF_A_CHUNK = 1.92
SAMPLES = 40
WARM = 24_000  # chunks, after which as many drawn rows are kept as ever are


def hour_of_answers(subject: Subject, folder: Path, *, short: bool) -> Figures:
    """As many chunks as come within an hour, in sixty answers of one conversation."""
    answers, chunks = (16, 1_500) if short else (60, HOUR // 60)
    with subject.run(folder) as running:
        growth = _ready(running)
        for number in range(1, answers + 1):
            end = running.compose_stream(int(chunks * WORDS_OF_A_CHUNK), RATE_HERE)
            seen = len(running.terminal.outputs)
            running.submit()
            running.expect(end, since=seen)
            running.terminal.settle()
            growth.note(number * chunks)
            running.terminal.forget()
        return {"kib_per_1000_chunks": growth.slope, "memory_growth_mib": growth.mib}


def hour_in_one_answer(subject: Subject, folder: Path, *, short: bool) -> Figures:
    """As many chunks as come within an hour, in one answer."""
    chunks = HOUR // 3 if short else HOUR
    with subject.run(folder) as running:
        terminal, growth = running.terminal, _ready(running)
        end = running.compose_stream(int(chunks * WORDS_OF_A_CHUNK), RATE_HERE)
        seen = len(terminal.outputs)

        def stream() -> None:
            running.submit()
            for sample in range(1, SAMPLES + 1):
                terminal.read_for(chunks / RATE_HERE / SAMPLES)
                growth.note(sample * chunks / SAMPLES)
            running.expect(end, since=seen)
            terminal.settle()

        cpu = terminal.measure(stream).cpu
        return {
            "kib_per_1000_chunks": growth.slope,
            "memory_growth_mib": growth.mib,
            "cpu_ms_per_1000_chunks": cpu / chunks * 1e6,
        }


def _ready(running: Running) -> Growth:
    running.expect(running.ready)
    running.terminal.settle(1.0)
    running.greet()
    end = running.compose_stream(int(WARM * WORDS_OF_A_CHUNK), RATE_HERE)
    seen = len(running.terminal.outputs)
    running.submit()
    running.expect(end, since=seen)
    running.terminal.settle(1.0)
    running.terminal.forget()
    growth = Growth(running.terminal.pid)
    growth.note(0)
    return growth
