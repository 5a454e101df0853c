"""What the keys do, and news: in the empty box as far as there is room, else in the row above it, whole."""

from __future__ import annotations

import pytest
from textual.app import ComposeResult

from catena.widgets.hint_line import HintLine
from support.screen.messages import taken_in
from support.screen.themed import ThemedApp

_NEWS = "Back at “before trouble”. Your next prompt: same context, nothing replayed. Files are unchanged."


class _Above(ThemedApp):
    def compose(self) -> ComposeResult:
        yield HintLine(room=lambda: 40)


def _rows(line: HintLine) -> list[str]:
    return [strip.text.rstrip() for strip in line.render_lines(line.outer_size.region)]


@pytest.mark.parametrize("wrong", [False, True])
async def test_s01_news_that_the_box_has_no_room_for_are_read_whole_above_it(wrong: bool) -> None:
    async with _Above().run_test(size=(40, 10)) as pilot:
        line = pilot.app.query_one(HintLine)
        line.address("Reply to Claude")
        line.hint((("esc", "stop"), ("f1", "help")))
        line.say(_NEWS, wrong=wrong)
        await taken_in(pilot)
        rows = _rows(line)
        assert " ".join(row.strip() for row in rows) == f"{'! ' if wrong else ''}{_NEWS}"
        assert line.outer_size.height == len(rows) == 3
        assert line.inside(40).plain == "Reply to Claude       esc stop · f1 help"
        line.hush()
        await taken_in(pilot)
        assert not line.display


async def test_short_news_take_the_place_of_the_hints_and_then_of_all_in_the_empty_box() -> None:
    async with _Above().run_test(size=(40, 10)) as pilot:
        line = pilot.app.query_one(HintLine)
        line.address("Reply to Claude")
        line.hint((("esc", "stop"), ("f1", "help")))
        line.say("Removed.")
        await taken_in(pilot)
        assert line.inside(40).plain == "Reply to Claude                 Removed."
        line.say("There is no answer to be copied yet.", wrong=True)
        assert line.inside(40).plain == "! There is no answer to be copied yet."
        assert not line.display
