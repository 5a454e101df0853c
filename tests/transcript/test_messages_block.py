"""Prompts and answers outside of a transcript: drawn as the transcript draws them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from rich.style import Style
from textual.app import ComposeResult
from textual.geometry import Size
from textual.pilot import Pilot

from catena.transcript.drawing.highlight import HighlightCache
from catena.transcript.drawing.lines import Line
from catena.transcript.drawing.render_options import Palette, RenderOptions
from catena.transcript.widget import blocks
from catena.transcript.widget.blocks import MessagesBlock, draw_messages
from catena_store.records import Kind, Message
from support.screen.messages import taken_in
from support.screen.themed import ThemedApp
from support.screen.transcript import Writer, until

ANSWER = (
    "Some **bold** words.\n\n```python\ndef seven():\n    return 7\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |"
)
WRITER = Writer()
MESSAGES = (WRITER.row(Kind.USER, "why not?"), WRITER.row(Kind.AGENT, ANSWER))


def test_t03_an_answer_beside_another_one_is_markdown_with_coloured_code() -> None:
    keyword = Style(color="red")
    palette = replace(Palette.plain(), keyword=keyword)
    lines = draw_messages(MESSAGES, RenderOptions(40, palette, highlights=HighlightCache(eager=True)))
    rows = [line.shown.rstrip() for line in lines]
    assert "Some bold words." in rows and "**" not in "".join(rows) and "```" not in "".join(rows)
    (code,) = [line for line in lines if "def seven" in line.shown]
    assert any(
        text.strip() == "def" and style and style.color == keyword.color for text, style, _ in code.segments
    )


def test_t03_of_a_long_message_the_beginning_is_drawn_and_the_rest_is_counted() -> None:
    long = Writer().row(Kind.AGENT, "\n".join(f"- item {at}" for at in range(1000)))
    rows = [line.shown.strip() for line in draw_messages([long], RenderOptions(40, Palette.plain()))]
    assert rows[-1] == "… 600 more lines" and any("item 399" in row for row in rows)


class _App(ThemedApp):
    def __init__(self, block: MessagesBlock) -> None:
        super().__init__()
        self._block = block

    def compose(self) -> ComposeResult:
        yield self._block


def text_of(pilot: Pilot[None]) -> str:
    return "\n".join(strip.text.rstrip() for strip in pilot.app.screen._compositor.render_strips())


class _TwoWidths(MessagesBlock):
    """Messages in a layout that asks for their height with and without a scroll bar, each time."""

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        super().get_content_height(container, viewport, width - 1)
        return super().get_content_height(container, viewport, width)


async def test_t03_messages_whose_layout_asks_for_two_widths_are_drawn_until_both_are_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn: list[int] = []

    def counted(messages: Sequence[Message], options: RenderOptions) -> list[Line]:
        drawn.append(options.width)
        return draw_messages(messages, options)

    monkeypatch.setattr(blocks, "draw_messages", counted)
    async with _App(_TwoWidths(MESSAGES)).run_test(size=(80, 24)) as pilot:
        await until(lambda: len({*drawn}) == 2 and not pilot.app.workers)
        before = len(drawn)
        for _ in range(20):
            await pilot.pause(0.01)
        assert len(drawn) == before
        assert "Some bold words." in text_of(pilot)


async def test_t03_messages_are_drawn_again_for_another_width() -> None:
    async with _App(MessagesBlock(MESSAGES)).run_test(size=(60, 24)) as pilot:
        for width in (60, 30):
            await pilot.resize_terminal(width, 24)
            await pilot.app.workers.wait_for_complete()
            await taken_in(pilot)
            assert "▌ why not?" in text_of(pilot) and "Some bold words." in text_of(pilot)
            assert pilot.app.query_one(MessagesBlock).size.height > 8
