"""The line under the composer: hints as far as there is room, news whole."""

from __future__ import annotations

import pytest
from textual.app import ComposeResult

from catena.widgets.hint_line import HintLine
from support.screen.messages import taken_in
from support.screen.themed import ThemedApp

_NEWS = "Back at “before trouble”. Your next prompt: same context, nothing replayed. Files are unchanged."


class _Below(ThemedApp):
    def compose(self) -> ComposeResult:
        yield HintLine()


def _rows(line: HintLine) -> list[str]:
    return [strip.text.rstrip() for strip in line.render_lines(line.outer_size.region)]


@pytest.mark.parametrize("wrong", [False, True])
async def test_s01_news_that_are_longer_than_the_line_are_read_whole(wrong: bool) -> None:
    async with _Below().run_test(size=(40, 10)) as pilot:
        line = pilot.app.query_one(HintLine)
        line.hint("enter send", "esc stop")
        line.say(_NEWS, wrong=wrong)
        await taken_in(pilot)
        rows = _rows(line)
        assert " ".join(row.strip() for row in rows) == f"{'! ' if wrong else ''}{_NEWS}"
        assert line.outer_size.height == len(rows) == 3
        line.hush()
        await taken_in(pilot)
        assert line.outer_size.height == 1
        assert _rows(line) == [" enter send · esc stop"]
