"""Calls after a time are made though the machine was too busy to look at the clock in time."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from time import monotonic
from typing import Any

import pytest
from textual.geometry import Size
from textual.widget import Widget

from support.places import ROOT
from support.screen.pilot import Person, at_the_screen
from support.screen.transcript import Writer, scene, settled, shown


@pytest.fixture
def suspended(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process is suspended for ten seconds whenever a timer has just looked at the clock."""
    looks: Counter[asyncio.Task[Any] | None] = Counter()

    def get_time() -> float:
        task = asyncio.current_task()
        looks[task] += 1
        return monotonic() + (10 if looks[task] > 1 else 0)

    monkeypatch.setattr("textual._time.get_time", get_time)


@pytest.mark.usefixtures("suspended")
async def test_q02_text_that_grows_is_drawn_though_the_process_was_suspended() -> None:
    writer = Writer()
    prompt, answer = writer.prompt("go"), writer.growing()
    async with scene([prompt, answer]) as (transcript, pilot):
        for word in ("one ", "two ", "three\n\n"):
            transcript.grow(answer.id, word)
            await settled(transcript, pilot)
        assert "one two three" in "\n".join(shown(transcript))


@pytest.mark.usefixtures("suspended")
async def test_s06_every_new_size_of_the_terminal_is_laid_out_though_the_process_was_suspended() -> None:
    async with at_the_screen(str(ROOT)) as person:
        for size in (Size(90, 24), Size(60, 20), Size(40, 10)):
            await person.pilot.resize_terminal(*size)
            await person.until(lambda: _laid_out(person) == size, f"the size {size}")  # noqa: B023


def _laid_out(person: Person) -> Size:
    """The size that the widgets of the screen fill."""
    regions = [widget.region for widget in person.app.screen.walk_children(Widget)]
    return Size(max(each.right for each in regions), max(each.bottom for each in regions))


def test_nothing_waits_by_a_timer_that_can_be_missed() -> None:
    """`set_timer` of Textual may never call: `terminal/times.py` says why, and has the one that does."""
    missed = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in sorted((ROOT / "tui").rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if re.search(r"\.set_timer\b", line)
    ]
    assert missed == []
