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
    is_drawn,
    line_words,
    notice_details,
    plan_entries,
    seam_words,
)
from catena.transcript.messages.parts import Part, one_row, text_parts
from catena.transcript.messages.prompt import Siblings, draw_footer, draw_more, draw_prompt, has_footer
from catena.transcript.messages.tool_rows import Shown, draw_group_line, hides_some, tool_parts
from catena.transcript.model.heights import Heights
from catena_store.records import Kind, Message, MessageState

_FOLDED_AT_FIRST = frozenset({Kind.THOUGHT, Kind.TOOL, Kind.SEAM, Kind.NOTICE})
_GROUPED = frozenset(
    {"read", "search", "fetch"}
)  # kinds of calls whose work is not shown unless it is asked for
_UNDER_WAY = ("pending", "in_progress", "completed", None)
_SHOWN_AT_FIRST = 4  # rows of work below a call, as an estimate
_SCREENFUL = 200  # rows of the largest screen
_MOST_OLD = 2000  # rows of the largest text drawn as Markdown


class Entry:
    """A message in the column, with ``gap`` blank rows above; heights are in rows.

    Calls of one kind that follow one another are a group: the first of them has the group's line, and while the group
    is folded it is all that is drawn of them.
    """

    __slots__ = (
        "answer",
        "asked",
        "detail",
        "estimated_rows",
        "folded",
        "gap",
        "group",
        "group_folded",
        "heights",
        "hidden",
        "message",
        "ordinal",
        "parts",
        "raw",
        "siblings",
        "touched",
    )

    heights: Heights  # of the parts, once there are any

    def __init__(self, message: Message, ordinal: int) -> None:
        self.message = message
        self.ordinal = ordinal  # grows downwards; never changes while the message stays
        self.folded = message.kind in _FOLDED_AT_FIRST
        self.touched = False  # folded or unfolded by the person: until then some of a call's work is shown
        self.asked = False  # a permission request for this tool call is open
        self.raw = False  # a tool call's raw data is shown instead of its work
        self.group: tuple[Message, ...] = ()  # the calls of the group that begins here
        self.group_folded = True
        self.hidden = False  # in a folded group, of which it is not the first; or a notice that is put away
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
            case Kind.TOOL | Kind.NOTICE:
                return self.hidden
            case Kind.SEAM:
                return not is_drawn(message)
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

    @property
    def group_key(self) -> str | None:
        """The kind of calls that it may be in a group with; None for what always stands for itself."""
        message = self.message
        if message.kind is not Kind.TOOL or self.asked:
            return None
        kind, status = message.data.get("kind"), message.data.get("status")
        over = message.state is not MessageState.OPEN
        if kind not in _GROUPED or status not in (("completed",) if over else _UNDER_WAY):
            return None
        return str(kind)

    @property
    def shown(self) -> Shown:
        """How much of a tool call is shown."""
        if self.asked:
            return Shown.ASKED
        if not self.touched:
            return Shown.SOME
        return Shown.LINE if self.folded else Shown.ALL

    def toggled(self, *, short: bool) -> bool:
        """Return whether it is folded after the person folds it, or unfolds it."""
        if self.message.kind is Kind.TOOL and not self.touched:
            return not hides_some(self.message, short=short)
        return not self.folded

    def set_folded(self, folded: bool) -> None:
        """Fold or unfold it as the person wants it."""
        self.folded, self.touched = folded, True

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
        if message.kind is Kind.TOOL and not self.touched:
            works = message.data.get("kind") in ("edit", "execute") and message.data.get("content")
            return 1 + (_SHOWN_AT_FIRST if works else 0)
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
                return self._tool_parts(message, options)
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
            part.draw = (
                partial(draw_prompt, text, message, self.siblings)
                if first
                else partial(draw_more, text, self.siblings)
            )
            first = False
            yield part
        if has_footer(message):
            yield Part(partial(draw_footer, message), "", size=0, breaks=0)

    def _tool_parts(self, message: Message, options: RenderOptions) -> Iterator[Part]:
        if self.hidden:
            return
        if self.group:
            line = one_row(partial(draw_group_line, self.group, self.group_folded), "")
            line.opens = True
            yield line
            if self.group_folded:
                return
        yield from tool_parts(
            message, shown=self.shown, raw=self.raw, directory=options.directory, options=options
        )

    def _thought_parts(self, message: Message) -> Iterator[Part]:
        yield one_row(partial(draw_thought_line, message, self.folded), "")
        self.answer = Answer(
            message.text,
            growing=message.state is MessageState.OPEN,
            style=lambda palette: palette.muted,
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
                words = safe_line(str(item.get("description") or item.get("kind") or "non-text content"))
                draw = partial(_draw_other, words)
                yield Part(draw, words, size=len(words), breaks=0, lead=lead)
                lead = 0
        if message.state is MessageState.INTERRUPTED:
            yield one_row(draw_interrupted, "")

    def _notice_parts(self, message: Message) -> Iterator[Part]:
        if self.hidden:
            return
        text = safe_line(message.text)
        yield Part(partial(draw_notice, message, self.folded), text, size=len(text), breaks=0)
        if not self.folded:
            yield from text_parts(notice_details(message), lambda palette: palette.muted)

    def _seam_parts(self, message: Message) -> Iterator[Part]:
        words = seam_words(message)
        yield Part(partial(draw_seam, message, self.folded), f"— {words} —", size=len(words), breaks=0)
        if not self.folded and self.foldable:
            detail = self.detail if self.detail is not None else str(message.data.get("prior_context") or "")
            told = detail.strip("\n") or ("…" if self.detail is None else "nothing was sent")
            told = told if words == line_words(message) else f"{words}\n\n{told}"
            yield from text_parts(told, lambda palette: palette.muted, lead=1)


def _blank(text: str) -> bool:
    return not text or text.isspace()  # unlike strip(), this does not copy a long text


def _draw_other(words: str, options: RenderOptions) -> list[Line]:
    return wrap_runs([(f"◇ {words}", options.palette.muted)], options.width)
