"""The widget that shows prompts and answers outside of a transcript, drawn as the transcript draws them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from textual.worker import WorkType

from catena.text.safe_text import safe_line
from catena.transcript.drawing.highlight import HighlightCache
from catena.transcript.drawing.lines import Line
from catena.transcript.drawing.render_options import Palette, RenderOptions
from catena.transcript.drawing.wrapping import wrap_text
from catena.transcript.model.entry import Entry
from catena.transcript.widget.subject_block import LineBlock
from catena_acp.continuity.wording.counts import counted
from catena_store.records import Message

_MOST_LINES = 400  # of one message
# A layout may ask for the height with and without a scroll bar each time: with one alone, each would be drawn for ever.
_KEPT = 4
_Look: TypeAlias = tuple[int, Palette]


class MessagesBlock(LineBlock):
    """Messages one below the other, as tall as they are; they are drawn in a thread, once for each width and theme."""

    DEFAULT_CSS = """
    MessagesBlock { min-height: 1; }
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        super().__init__()
        self._messages = messages
        self._drawn: dict[_Look, list[Line]] = {}  # the newest last
        self._drawing: _Look | None = None

    def _lines(self, width: int) -> list[Line]:
        options = replace(self._options(width, ""), highlights=HighlightCache(eager=True))
        wanted = (options.width, options.palette)
        if wanted not in self._drawn and wanted != self._drawing:
            self._draw(wanted, options)
        return self._drawn.get(wanted) or next(reversed(self._drawn.values()), [])

    def _draw(self, wanted: _Look, options: RenderOptions) -> None:
        async def draw() -> None:
            lines = await asyncio.to_thread(draw_messages, self._messages, options)
            self._drawing = None
            self._drawn[wanted] = lines
            if len(self._drawn) > _KEPT:
                del self._drawn[next(iter(self._drawn))]
            self.refresh(layout=True)

        self._drawing = wanted
        work: WorkType[None] = draw  # never begun where another width follows at once
        self.run_worker(work, exclusive=True)


def draw_messages(messages: Sequence[Message], options: RenderOptions) -> list[Line]:
    """Draw messages below each other, each behind a blank row; of a long one its beginning."""
    lines: list[Line] = []
    for at, message in enumerate(messages):
        text = message.text.split("\n")
        left = len(text) - _MOST_LINES
        shown = replace(message, text="\n".join(text[:_MOST_LINES])) if left > 0 else message
        entry = Entry(shown, at)
        if entry.empty:
            continue
        lines.append(_blank())
        for part in entry.open(options):
            drawn = part.measure(options)
            lines += [*(_blank() for _ in range(part.lead if drawn else 0)), *drawn]
        if left > 0:
            more = f"… {counted(left, 'more line')}"
            lines += wrap_text(safe_line(more), options.palette.faint, options.width)
    return lines


def _blank() -> Line:
    return Line([], 0)
