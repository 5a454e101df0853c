"""One message in the column: its parts and their heights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import assert_never

from catena.text.safe_text import safe_line
from catena.transcript.drawing.lines import Line
from catena.transcript.drawing.render_options import RenderOptions
from catena.transcript.drawing.wrapping import wrap_runs
from catena.transcript.messages.answer import Answer
from catena.transcript.messages.notices import (
    draw_interrupted,
    draw_notice,
    draw_plan,
    draw_seam,
    draw_thought_line,
    notice_details,
    plan_entries,
    seam_words,
)
from catena.transcript.messages.parts import Part, one_row, text_parts
from catena.transcript.messages.prompt import Siblings, draw_footer, draw_more, draw_prompt, has_footer
from catena.transcript.messages.tool_rows import tool_parts
from catena.transcript.model.heights import Heights
from catena_store.records import Kind, Message, MessageState

_FOLDED_AT_FIRST = frozenset({Kind.THOUGHT, Kind.TOOL, Kind.SEAM, Kind.NOTICE})
_INDENT = 2
_SCREENFUL = 200  # rows of the largest screen
_MOST_OLD = 2000  # rows of the largest text drawn as Markdown


class Entry:
    """A message in the column, with ``gap`` blank rows above; heights are in rows."""

    __slots__ = (
        "answer",
        "detail",
        "estimated_rows",
        "folded",
        "gap",
        "heights",
        "message",
        "ordinal",
        "parts",
        "raw",
        "siblings",
    )

    heights: Heights  # of the parts, once there are any

    def __init__(self, message: Message, ordinal: int) -> None:
        self.message = message
        self.ordinal = ordinal  # grows downwards; never changes while the message stays
        self.folded = message.kind in _FOLDED_AT_FIRST
        self.raw = False  # a tool call's raw data is shown, too
        self.gap = 0
        self.siblings: Siblings | None = None
        self.detail: str | None = None  # the prior context of a seam
        self.answer: Answer | None = None
        self.parts: list[Part] | None = None  # None until the message is near the screen
        self.estimated_rows = 0

    @property
    def empty(self) -> bool:
        """True while there is nothing to draw."""
        message = self.message
        match message.kind:
            case Kind.AGENT:
                text = self.answer.text if self.answer is not None else message.text
                return _blank(text) and not message.data.get("other")
            case Kind.THOUGHT:
                return message.state is not MessageState.OPEN and _blank(message.text)
            case Kind.PLAN:
                return not plan_entries(message)
            case _:
                return False

    @property
    def rows(self) -> int:
        body = self.estimated_rows if self.parts is None else self.heights.total
        return self.gap + body if body else 0

    @property
    def foldable(self) -> bool:
        match self.message.kind:
            case Kind.THOUGHT | Kind.TOOL:
                return True
            case Kind.SEAM:
                return not (self.message.barrier or self.message.data.get("cleared"))
            case Kind.NOTICE:
                return bool(notice_details(self.message))
            case _:
                return False

    def estimate(self, width: int) -> None:
        """Estimate all heights from text lengths."""
        if self.parts is None:
            self.estimated_rows = self._estimated_rows(width)
        else:
            self.heights = Heights(part.estimate(width) for part in self.parts)

    def _estimated_rows(self, width: int) -> int:
        message = self.message
        if self.empty:
            return 0
        if self.folded and message.kind is not Kind.NOTICE:
            return 1
        return len(message.text) // width + message.text.count("\n") + 1

    def open(self, options: RenderOptions) -> list[Part]:
        """Return the parts, made if needed."""
        if self.parts is None:
            self.parts = list(self._make_parts(options))
            self.heights = Heights(part.estimate(options.width) for part in self.parts)
        return self.parts

    def rebuild(self, options: RenderOptions) -> None:
        """Make the parts again after a change of the message or its folding."""
        opened = self.parts is not None
        self.parts = self.answer = None
        if opened:
            self.open(options)
        else:
            self.estimate(options.width)

    def measure(self, index: int, options: RenderOptions) -> list[Line]:
        """Return the lines of a part, drawn if needed, and set its height."""
        lines = self.open(options)[index].measure(options)
        self.heights[index] = self.open(options)[index].height
        return lines

    def grow(self, text: str, options: RenderOptions, *, draw: bool) -> None:
        """Append text; with ``draw`` the parts that it completes are drawn, so that nothing below moves."""
        if self.answer is None or not self.answer.growing:
            self.message = replace(self.message, text=self.message.text + text)
            self.rebuild(options)
            return
        parts = self.open(options)
        first = self.answer.grow(text)
        self._replace_parts(parts, first, options, draw=draw)

    def release(self, options: RenderOptions) -> None:
        """Draw the held-back end of an answer."""
        if self.answer is not None and self.answer.growing:
            self._replace_parts(self.open(options), self.answer.release(), options, draw=True)

    def finish(self, message: Message, options: RenderOptions, *, draw: bool) -> None:
        """Replace a growing message by its final version; where the text continues, only its end is drawn again."""
        answer = self.answer
        if answer is None or not answer.growing or not message.text.startswith(answer.text):
            self.message = message
            self.rebuild(options)
            return
        parts = self.open(options)
        first = answer.grow(message.text[len(answer.text) :])
        self.message = message
        first = min(first, answer.finish())
        if answer.text == message.text:
            answer.text = message.text  # share one copy
        self._replace_parts(parts, first, options, draw=draw)

    def _replace_parts(self, parts: list[Part], first: int, options: RenderOptions, *, draw: bool) -> None:
        assert self.answer is not None
        head = 1 if self.message.kind is Kind.THOUGHT else 0
        first += head
        # Only rows up to the old end can be on the screen; the rest keeps estimated heights.
        old = self.heights.total - self.heights.top(min(first, len(parts)))
        left = min(old, _MOST_OLD) + _SCREENFUL if draw else 0
        del parts[first:]
        self.heights.cut(first)
        if self.folded and head:
            return
        for part in chain(self.answer.parts[first - head :], self._trailing_parts(self.answer)):
            part.estimate(options.width)
            if left > 0:
                part.measure(options)
                left -= part.height
            if parts and len(parts) > first:
                parts[-1].lines = None  # only its height was needed
            parts.append(part)
            self.heights.append(part.height)

    def _make_parts(self, options: RenderOptions) -> Iterator[Part]:
        message = self.message
        match message.kind:
            case Kind.USER:
                return self._prompt_parts(message)
            case Kind.AGENT:
                growing = message.state is MessageState.OPEN
                self.answer = Answer(message.text, growing=growing, style=lambda palette: palette.text)
                return chain(self.answer.parts, self._trailing_parts(self.answer))
            case Kind.THOUGHT:
                return self._thought_parts(message)
            case Kind.TOOL:
                return tool_parts(message, folded=self.folded, raw=self.raw, directory=options.directory)
            case Kind.PLAN:
                entries = plan_entries(message)
                copied = "\n".join(
                    f"- [{'x' if status == 'completed' else ' '}] {text}" for text, status in entries
                )
                size = sum(len(text) for text, _ in entries)
                return iter((Part(partial(draw_plan, message), copied, size=size, breaks=len(entries) - 1),))
            case Kind.NOTICE:
                return self._notice_parts(message)
            case Kind.SEAM:
                return self._seam_parts(message)
            case _:
                assert_never(message.kind)

    def _prompt_parts(self, message: Message) -> Iterator[Part]:
        first = True
        for part in text_parts(message.text, lambda palette: palette.prompt):
            text = part.source
            part.draw = partial(draw_prompt, text, self.siblings) if first else partial(draw_more, text)
            first = False
            yield part
        if has_footer(message):
            yield Part(partial(draw_footer, message), "", size=0, breaks=0)

    def _thought_parts(self, message: Message) -> Iterator[Part]:
        yield one_row(partial(draw_thought_line, message, self.folded), "")
        self.answer = Answer(
            message.text,
            growing=message.state is MessageState.OPEN,
            style=lambda palette: palette.muted,
            indent=_INDENT,
        )
        if not self.folded:
            yield from self.answer.parts

    def _trailing_parts(self, answer: Answer) -> Iterator[Part]:
        """Yield the parts below an answer: content that is not text, and the mark of an interruption."""
        message = self.message
        if message.kind is not Kind.AGENT:
            return
        lead = 1 if answer.parts else 0
        other = message.data.get("other")
        for item in other if isinstance(other, (list, tuple)) else ():
            if isinstance(item, dict):
                words = safe_line(
                    str(item.get("description") or item.get("kind") or "something that is not text")
                )
                draw = partial(_draw_other, words)
                yield Part(draw, words, size=len(words), breaks=0, lead=lead)
                lead = 0
        if message.state is MessageState.INTERRUPTED:
            yield one_row(draw_interrupted, "")

    def _notice_parts(self, message: Message) -> Iterator[Part]:
        text = safe_line(message.text)
        yield Part(partial(draw_notice, message, self.folded), text, size=len(text), breaks=0)
        if not self.folded:
            yield from text_parts(notice_details(message), lambda palette: palette.muted, indent=_INDENT)

    def _seam_parts(self, message: Message) -> Iterator[Part]:
        words = seam_words(message)
        yield Part(partial(draw_seam, message, self.folded), f"— {words} —", size=len(words), breaks=0)
        if not self.folded and self.foldable:
            detail = self.detail if self.detail is not None else str(message.data.get("prior_context") or "")
            told = detail.strip("\n") or ("…" if self.detail is None else "nothing was sent")
            yield from text_parts(told, lambda palette: palette.muted, indent=_INDENT, lead=1)


def _blank(text: str) -> bool:
    return not text or text.isspace()  # unlike strip(), this does not copy a long text


def _draw_other(words: str, options: RenderOptions) -> list[Line]:
    return wrap_runs([(f"◇ {words}", options.palette.muted)], options.width)
