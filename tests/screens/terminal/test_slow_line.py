"""A slow line: little is under way to the terminal, what it has not drawn is merged, and what is typed goes first."""

from __future__ import annotations

import os
import random
import re
import select
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rich.color import ColorSystem

from catena.terminal.output import ANSWER, QUESTION, FlowWindow, TerminalOutput
from screens.terminal.test_painter import Canvas, Pair
from support.screen.frames import assert_same
from support.screen.terminal import DEADLINE, Place, Terminal
from support.walks.length import walks


class Line:
    """A window, and a line that takes so many bytes a second and so many seconds each way."""

    def __init__(self, bytes_per_second: float, seconds: float) -> None:
        self.window = FlowWindow()
        self._rate = bytes_per_second
        self._seconds = seconds
        self.now = 100.0
        self._free_at = 0.0
        self._answers: list[float] = []
        self._put(self.window.begin(self.now))

    def send(self, size: int) -> None:
        """Put bytes on the line."""
        self._free_at = max(self._free_at, self.now) + size / self._rate
        self._put(self.window.send(size, self.now))

    def _put(self, question: bytes) -> None:
        if question:
            self._answers.append(max(self.now, self._free_at) + 2 * self._seconds)

    def run(self, seconds: float) -> None:
        """Let time go on, and answers come."""
        until = self.now + seconds
        while self._answers and self._answers[0] <= until:
            self.now = self._answers.pop(0)
            self.window.answer(self.now)
        self.now = until

    @property
    def waits(self) -> float:
        """For how many seconds a byte that is sent now waits for those before it."""
        return max(0.0, self._free_at - self.now)


def test_s03_frames_that_are_larger_than_the_line_takes_never_wait_behind_more_than_one_other() -> None:
    line, longest, frames = Line(20_000, 0.15), 0.0, 0
    line.run(1.0)
    for _ in range(1_000):
        if line.window.open:
            longest = max(longest, line.waits)
            line.send(5_000)
            frames += 1
        line.run(0.03)
    assert longest <= 0.25
    assert frames >= 40  # in half a minute


def test_s03_a_line_that_takes_more_gets_more() -> None:
    line, frames = Line(10_000_000, 0.05), 0
    line.run(1.0)
    for _ in range(1_000):
        if line.window.open:
            line.send(5_000)
            frames += 1
        line.run(0.03)
    assert frames >= 900


def test_without_an_answer_there_is_no_limit_and_without_any_more_there_is_one_every_few_seconds() -> None:
    window = FlowWindow()
    assert window.begin(0.0) == QUESTION
    assert window.send(1 << 20, 0.0) == b"" and window.open and not window.awaits
    window.answer(0.5)
    assert window.send(1 << 14, 1.0) == QUESTION and not window.open
    assert window.left(2.0) > 0 and window.left(60.0) == 0
    window.give_up()
    assert window.open and window.send(1 << 14, 60.0) == QUESTION and not window.open


def test_what_is_little_may_overtake_what_waits_but_not_without_end() -> None:
    window = FlowWindow()
    window.begin(0.0)
    window.answer(0.1)
    window.send(1 << 14, 1.0)
    sent = 0
    while window.open_for_little:
        window.send(30, 1.0)
        sent += 30
    assert 600 <= sent <= 2_000
    window.answer(2.0)
    assert window.open_for_little


# --- what the painter keeps


@pytest.mark.parametrize("seed", range(walks(10)))
def test_frames_that_are_kept_are_painted_as_the_newest_of_them(seed: int) -> None:
    chance = random.Random(seed)
    pair = Pair(Canvas(chance, chance.choice((7, 30, 61)), chance.choice((3, 12))))
    pair.paint(pair.canvas.full())
    for _ in range(30):
        if chance.random() < 0.6:
            pair.painter.keep(pair.canvas.step(), ColorSystem.TRUECOLOR)
            cursor = (chance.randrange(pair.canvas.width), pair.canvas.height // 2)
            pair.terminal.feed(pair.painter.paint_row_of(cursor).encode())
            continue
        sent = pair.paint(pair.canvas.step() if chance.random() < 0.5 else None)
        assert_same(pair.plain(), pair.terminal, sent)


def test_the_row_of_the_cursor_is_shown_and_no_other_while_frames_are_kept() -> None:
    canvas = Canvas(random.Random(2), 40, 9)
    pair = Pair(canvas)
    pair.paint(canvas.full())
    before = list(pair.terminal.lines)
    while any(line == after for line, after in zip(before, pair.plain().lines, strict=True)):
        pair.painter.keep(canvas.step(), ColorSystem.TRUECOLOR)
    row = canvas.height // 2
    assert pair.painter.paint_row_of((5, row + 1)) == ""  # it moved: a row of another frame stands there
    pair.terminal.feed(pair.painter.paint_row_of((5, row)).encode())
    assert pair.terminal.lines == [*before[:row], pair.plain().lines[row], *before[row + 1 :]]
    assert pair.painter.paint_row_of((5, row)) == ""


# --- what is written


@contextmanager
def output(clock: list[float], recovered: threading.Event) -> Iterator[tuple[TerminalOutput, int]]:
    """An output whose clock stands, and where it can be read."""
    reader, writer = os.pipe()
    written = TerminalOutput(writer, on_recovery=recovered.set, clock=lambda: clock[0])
    try:
        yield written, reader
    finally:
        written.hang_up()
        written.close(DEADLINE)
        os.close(writer)
        os.close(reader)


def read(fd: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        assert select.select([fd], [], [], DEADLINE)[0]
        data += os.read(fd, size - len(data))
    return data


def test_a_frame_is_refused_until_the_terminal_answers_though_it_reads() -> None:
    recovered = threading.Event()
    with output([10.0], recovered) as (terminal, reader):
        terminal.ask()
        assert read(reader, len(QUESTION)) == QUESTION
        terminal.answered()
        assert terminal.accepts_frame()
        terminal.write(b"x" * 9_000)
        assert read(reader, 9_000 + len(QUESTION)).endswith(b"x" + QUESTION)
        assert not terminal.accepts_frame() and terminal.accepts_little()
        assert not recovered.is_set()
        terminal.answered()
        assert recovered.wait(DEADLINE) and terminal.accepts_frame()


def test_an_answer_that_never_comes_is_not_waited_for_for_ever() -> None:
    recovered, clock = threading.Event(), [10.0]
    with output(clock, recovered) as (terminal, reader):
        terminal.ask()
        terminal.answered()
        terminal.write(b"x" * 9_000)
        read(reader, 9_000 + 2 * len(QUESTION))
        clock[0] = 20.0
        assert not terminal.accepts_frame()
        assert recovered.wait(DEADLINE) and terminal.accepts_frame()


def test_answers_are_waited_for_before_another_program_reads_the_terminal() -> None:
    with output([10.0], threading.Event()) as (terminal, reader):
        terminal.ask()
        terminal.answered()
        terminal.write(b"x" * 2_000)
        answering = threading.Timer(0.05, terminal.answered)
        answering.start()
        terminal.stop_asking(DEADLINE)
        answering.join()
        terminal.write(b"y" * 9_000)
        assert QUESTION not in read(reader, 11_000 + 2 * len(QUESTION))[-9_000:]
        assert terminal.accepts_frame()


# --- the real program


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    place.without_parking()
    return place


class Answering:
    """A terminal that answers each question so far."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self.answered = 0

    def answer(self) -> bool:
        """Answer what was asked; True, for a wait that goes on meanwhile."""
        asked = self.terminal.output.count(QUESTION)
        self.terminal.write(ANSWER * (asked - self.answered))
        self.answered = asked
        return True


def test_s03_frames_are_merged_while_the_terminal_has_not_answered_and_the_newest_is_drawn(
    place: Place,
) -> None:
    # Full frames.
    with place.catena("--agent", "rehearsal", columns=200, rows=60, CATENA_PAINTER="off") as terminal:
        answering = Answering(terminal)
        terminal.wait_for_output(QUESTION)
        answering.answer()
        terminal.wait_for("Understudy")
        answering.answer()
        before, began = len(terminal.output), time.monotonic()
        terminal.say("stream 1200 rate 300; say done so far; stream 20 end=CURTAIN; cue over")
        terminal.wait_until(lambda: place.keeps_answer("%done so far"), "the answer to be kept")
        windows = 2 + (time.monotonic() - began) / 5  # that are let through at most, since no answer comes
        assert len(terminal.output) - before <= windows * 25_000
        terminal.wait_until(
            lambda: answering.answer() and re.search(r"  .*CURTAIN", terminal.text) is not None, "the end"
        )


def test_an_answer_is_nothing_that_is_typed_nor_pasted_wherever_it_comes(place: Place) -> None:
    with place.catena("--agent", "rehearsal") as terminal:
        terminal.wait_for("Understudy")
        terminal.write(f"o{ANSWER}ne {ANSWER}")
        terminal.wait_for("│ one ")
        terminal.write("\x1b[0")
        terminal.wait_until_read()
        terminal.write("n")
        terminal.write(f"\x1b[200~pas{ANSWER}ted\x1b[201~")
        terminal.wait_for("│ one pasted")
