"""Scenarios of a live conversation: start, typing, streaming, doing nothing. For any subject."""

from __future__ import annotations

from pathlib import Path

from bench.process import memory
from bench.subject import Running, Subject
from bench.terminal import Terminal, Typed, percentile

Figures = dict[str, float]

KEYS = 40
TYPED_BEFORE = "zqx"  # stands nowhere else on a screen
FIRST_KEY = "ß"  # nor does this
FIRST_SECONDS = 3.0
KEYS_PER_SECOND = 20
IDLE_SECONDS = 8.0
TWO_PANES = 170  # columns
F6 = "\x1b[17~"
RATE = 60.0
WORDS_IN_TEN_SECONDS = 1_150  # at RATE


def start(subject: Subject, folder: Path) -> Figures:
    """From exec to a typed key that is shown; bytes and memory until then; memory with an agent that has answered."""
    with subject.run(folder) as running:
        terminal = running.terminal
        ready = running.expect(running.ready)
        terminal.write("zq")
        echoed = running.expect("zq")
        before_agent = memory(terminal.pid).now
        first_bytes = terminal.bytes_since(0)
        terminal.write("\x7f\x7f")
        terminal.settle()
        running.greet()
        return {
            "ready_ms": (ready - terminal.began) * 1e3,
            "echo_ms": (echoed - terminal.began) * 1e3,
            "bytes": first_bytes,
            "memory_mib": before_agent,
            "memory_with_agent_mib": memory(terminal.pid).now,
        }


def first_keys(subject: Subject, folder: Path) -> Figures:
    """Keys that are typed from the first frame on, while the rest of the program is still loaded."""
    with subject.run(folder) as running:
        terminal = running.terminal
        running.expect(running.ready)
        typed = [Typed(terminal.write(FIRST_KEY), FIRST_KEY)]
        apart = 1 / KEYS_PER_SECOND
        keys = int(FIRST_SECONDS * KEYS_PER_SECOND)
        typed += terminal.type(keys, after=FIRST_KEY, seconds_apart=(apart, apart))
        terminal.settle()
        times = terminal.echo_times(typed)
        return {"key_p50_ms": percentile(times, 0.5), "key_longest_ms": max(times)}


def typing(subject: Subject, folder: Path) -> Figures:
    """Keys typed into an idle program with an agent."""
    with subject.run(folder) as running:
        terminal = _ready(running)
        running.compose(TYPED_BEFORE)
        typed: list[Typed] = []
        spent = terminal.measure(lambda: typed.extend(terminal.type(KEYS, after=TYPED_BEFORE)))
        terminal.settle()
        times = terminal.echo_times(typed)
        return {
            "bytes_per_key": spent.bytes / KEYS,
            "cpu_ms_per_key": spent.cpu / KEYS * 1e3,
            "key_p50_ms": percentile(times, 0.5),
            "key_p95_ms": percentile(times, 0.95),
        }


def idle(subject: Subject, folder: Path) -> Figures:
    """Nothing happens, the agent runs."""
    with subject.run(folder) as running:
        terminal = _ready(running)
        spent = terminal.measure(lambda: terminal.read_for(IDLE_SECONDS))
        return {"bytes_per_s": spent.bytes / spent.seconds, "cpu_percent": spent.cpu / spent.seconds * 100}


def flat_out(subject: Subject, folder: Path, words: int) -> Figures:
    """An answer that comes as fast as the pipe takes it."""
    with subject.run(folder) as running:
        terminal = _ready(running)
        end = running.compose_stream(words, rate=0)
        before = memory(terminal.pid).now
        seen = len(terminal.outputs)
        times: list[float] = []

        def until_still() -> None:
            times.append(running.submit())
            times.append(running.expect(end, since=seen))
            terminal.settle()

        spent = terminal.measure(until_still)
        return {
            "cpu_s": spent.cpu,
            "shown_s": times[1] - times[0],
            "bytes": spent.bytes,
            "memory_growth_mib": memory(terminal.pid).now - before,
        }


def two_thousand_words(subject: Subject, folder: Path) -> Figures:
    """A long answer, flat out."""
    return flat_out(subject, folder, 2_000)


def twenty_thousand_words(subject: Subject, folder: Path) -> Figures:
    """A very long answer, flat out."""
    return flat_out(subject, folder, 20_000)


def steady_stream(subject: Subject, folder: Path) -> Figures:
    """Sixty chunks a second for ten seconds, with somebody typing."""
    with subject.run(folder) as running:
        terminal = _ready(running)
        end = running.compose_stream(WORDS_IN_TEN_SECONDS, RATE)
        seen = len(terminal.outputs)
        running.submit()
        running.expect("Section 1", since=seen)
        terminal.write(TYPED_BEFORE)
        running.expect(TYPED_BEFORE)

        def ended() -> bool:
            return any(event.event == "stream ends" for event in running.agent_events())

        typed: list[Typed] = []
        spent = terminal.measure(lambda: typed.extend(terminal.type(200, after=TYPED_BEFORE, until=ended)))
        running.expect(end, since=seen)
        times = terminal.echo_times(typed)
        return {
            "cpu_percent": spent.cpu / spent.seconds * 100,
            "bytes_per_s": spent.bytes / spent.seconds,
            "key_p50_ms": percentile(times, 0.5),
            "key_p95_ms": percentile(times, 0.95),
        }


def two_panes(subject: Subject, folder: Path) -> Figures:
    """Sixty chunks a second in each of two panes, side by side."""
    with subject.run(folder, columns=TWO_PANES) as running:
        terminal = _ready(running)
        terminal.write("/side\r")
        running.expect("A new conversation")
        terminal.write("new conv\r")
        running.expect("f6 other pane")
        terminal.settle()
        for number in (1, 2):
            running.compose_stream(2 * WORDS_IN_TEN_SECONDS, RATE)
            running.submit()
            if number == 1:
                terminal.write(F6)
            terminal.read_for(1.0)
        spent = terminal.measure(lambda: terminal.read_for(IDLE_SECONDS))
        return {"bytes_per_s": spent.bytes / spent.seconds, "cpu_percent": spent.cpu / spent.seconds * 100}


def _ready(running: Running) -> Terminal:
    running.expect(running.ready)
    running.terminal.settle()
    running.greet()
    return running.terminal
