"""A program at the end of a pty, timed by what it shows.

Every read is stamped with the monotonic clock, and everything is found on the modelled screen as it stands after one
read or another, since a program may send only the cells that change: no sleeps, and nothing is looked for in bytes.
Questions that programs ask a terminal are answered as a modern one would.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import random
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.process import cpu_seconds, descendants
from bench.screen import Screen

ANSWERS = (
    (re.compile(rb"\x1b\[0?c"), b"\x1b[?62;22c"),
    (re.compile(rb"\x1b\[5n"), b"\x1b[0n"),
    (re.compile(rb"\x1b\[6n"), b"\x1b[2;2R"),  # behind one character of the second row; in the first it is F3
    (re.compile(rb"\x1b\[\?2026\$p"), b"\x1b[?2026;2$y"),
    (re.compile(rb"\x1b\[\?2048\$p"), b"\x1b[?2048;0$y"),
    (re.compile(rb"\x1b\[\?69\$p"), b"\x1b[?69;2$y"),
    (re.compile(rb"\x1b\[\?u"), b"\x1b[?0u"),
    (re.compile(rb"\x1b\]10;\?(?:\x07|\x1b\\)"), b"\x1b]10;rgb:dddd/dddd/dddd\x1b\\"),
    (re.compile(rb"\x1b\]11;\?(?:\x07|\x1b\\)"), b"\x1b]11;rgb:1111/1111/1111\x1b\\"),
)
LETTERS = "qzxjvkw"
_AROUND_TEXT = " │"  # the margins and the box that typed text stands in
LONGEST_WAIT = 60.0


@dataclass(frozen=True, slots=True)
class Output:
    """What one read brought."""

    at: float
    data: bytes


@dataclass(frozen=True, slots=True)
class Typed:
    """A key that was sent, and everything typed so far with it."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Expense:
    """What happened since a mark."""

    seconds: float
    cpu: float
    bytes: int


class Terminal:
    """A child process on a pty of its own."""

    def __init__(
        self,
        command: list[str],
        *,
        environment: Mapping[str, str],
        directory: Path,
        columns: int = 120,
        rows: int = 40,
    ) -> None:
        self.outputs: list[Output] = []
        self.size = (columns, rows)
        self._closed = False
        self._screen = Screen(columns, rows)
        self._modelled = 0  # outputs that the screen was fed
        self.began = time.monotonic()
        self.pid, self._master = pty.fork()
        if self.pid == 0:
            self._become(command, environment, directory)
        os.set_blocking(self._master, False)

    def _become(self, command: list[str], environment: Mapping[str, str], directory: Path) -> None:
        with contextlib.suppress(OSError):
            columns, rows = self.size
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.chdir(directory)
            os.execvpe(command[0], command, dict(environment))
        os._exit(127)

    def close(self) -> None:
        """End the child and everything below it."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            for pid in reversed(descendants(self.pid)):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            deadline = time.monotonic() + 3
            while number == signal.SIGTERM and not self._closed and time.monotonic() < deadline:
                self.read(0.1)
        os.close(self._master)
        os.waitpid(self.pid, 0)

    def write(self, keys: str | bytes) -> float:
        """Send keys; the time at which they went."""
        at = time.monotonic()
        data = keys.encode() if isinstance(keys, str) else keys
        while data:
            try:
                data = data[os.write(self._master, data) :]
            except BlockingIOError:  # it reads slowly, and may itself wait until it is read
                self.read(0.01)
        return at

    def read(self, patience: float) -> bool:
        """Take what arrives within ``patience`` seconds; False where nothing did."""
        if self._closed or not select.select([self._master], [], [], max(0.0, patience))[0]:
            return False
        try:
            data = os.read(self._master, 1 << 18)
        except OSError:
            data = b""
        if not data:
            self._closed = True
            return False
        self.outputs.append(Output(time.monotonic(), data))
        for question, answer in ANSWERS:
            for _ in question.findall(data):
                self.write(answer)
        return True

    def read_for(self, seconds: float) -> None:
        """Take what arrives during that time."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 and not self._closed:
            self.read(left)

    def settle(self, quiet: float = 0.4) -> float:
        """Read until nothing has come for ``quiet`` seconds; the time of the last output."""
        deadline = time.monotonic() + LONGEST_WAIT
        while not self._closed and time.monotonic() < deadline:
            if not self.read(quiet):
                break
        return self.outputs[-1].at if self.outputs else time.monotonic()

    def wait_for(self, pattern: str, *, since: int = 0, patience: float = LONGEST_WAIT) -> float | None:
        """The time of the output, after the first ``since``, with which ``pattern`` stood on the screen; else None."""
        wanted = re.compile(pattern)
        deadline = time.monotonic() + patience
        while not self._closed and time.monotonic() < deadline:
            waits = self._modelled == len(self.outputs)
            if self.read(0.1 if waits else 0):
                continue  # reading comes first: what it stamps is what is measured
            if not waits:
                self._model_next()
                if self._modelled > since and wanted.search("\n".join(self._screen.lines)):
                    return self.outputs[self._modelled - 1].at
        return None

    def _model_next(self) -> None:
        self._screen.feed(self.outputs[self._modelled].data)
        self._modelled += 1

    def screen(self) -> list[str]:
        """What a person would see now, line by line."""
        while self._modelled < len(self.outputs):
            self._model_next()
        return self._screen.lines

    def forget(self) -> None:
        """Keep the screen, but nothing of the output that led to it: there may be very much."""
        self.screen()
        self.outputs.clear()
        self._modelled = 0

    def bytes_since(self, outputs: int) -> int:
        """How much came after the first ``outputs`` outputs."""
        return sum(len(output.data) for output in self.outputs[outputs:])

    def measure(self, act: Callable[[], object]) -> Expense:
        """What ``act`` cost: wall seconds, CPU seconds of the child alone, bytes to the terminal."""
        outputs, cpu, began = len(self.outputs), cpu_seconds(self.pid), time.monotonic()
        act()
        seconds = time.monotonic() - began
        return Expense(seconds, cpu_seconds(self.pid) - cpu, self.bytes_since(outputs))

    def type(
        self,
        keys: int,
        *,
        after: str,
        seconds_apart: tuple[float, float] = (0.07, 0.13),
        until: Callable[[], bool] = lambda: False,
    ) -> list[Typed]:
        """Type letters as a person does, without waiting for any echo.

        ``after`` is what was typed before them: a text that is nowhere else on the screen, by which they are found.
        """
        chance = random.Random(3)
        text, typed = after, []
        for _ in range(keys):
            letter = chance.choice(LETTERS)
            text += letter
            typed.append(Typed(self.write(letter), text))
            self.read_for(chance.uniform(*seconds_apart))
            if until():
                break
        return typed

    def echo_times(self, typed: Sequence[Typed]) -> list[float]:
        """Milliseconds from each key to the first output with which everything typed until then is on the screen."""
        screen = Screen(*self.size)
        times: list[float] = []
        for output in self.outputs:
            screen.feed(output.data)
            if len(times) == len(typed) or output.at < typed[len(times)].at:
                continue
            # A text that is wrapped is one.
            shown = "".join(line.strip(_AROUND_TEXT) for line in screen.lines)
            for key in typed[len(times) :]:
                if key.at > output.at or key.text not in shown:
                    break
                times.append((output.at - key.at) * 1e3)
        return times + [float("inf")] * (len(typed) - len(times))


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` of 1 of the values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
