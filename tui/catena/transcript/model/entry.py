"""One message in the column: its parts and their heights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, assert_never

from catena.text.image_text import image_words, link_words
from catena.text.safe_text import safe_line
from catena.transcript.drawing.lines import MARKS, Line
from catena.transcript.drawing.render_options import RenderOptions
from catena.transcript.drawing.wrapping import wrap_runs
from catena.transcript.messages.answer import Answer
from catena.transcript.messages.images import image_part
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
from catena.transcript.messages.subagent import (
    SubagentWork,
    draw_subagent_line,
    starts_subagent,
)
from catena.transcript.messages.tool_call import ToolCall
from catena.transcript.messages.tool_rows import Shown, draw_group_line, hides_some, tool_parts
from catena.transcript.model.heights import Heights
from catena_acp.continuity.tool_calls.subagents import is_words
from catena_acp.port.images import ImageNote
from catena_acp.spoken.blocks import Output
from catena_acp.spoken.call import Call
from catena_store.records import Kind, Message, MessageState

_FOLDED_AT_FIRST = frozenset({Kind.THOUGHT, Kind.TOOL, Kind.SEAM, Kind.NOTICE})
_GROUPED = frozenset(
    {"read", "search", "fetch"}
)  # kinds of calls whose work is not shown unless it is asked for
_GATHERED = frozenset({"edit", "execute"})  # kinds whose work is shown, and grouped when it is no longer new
_UNDER_WAY = ("pending", "in_progress", "completed", "")
_INDENT = 2  # cells of what a subagent says and does; its mark stands in them
_FURTHEST = 4  # subagents of subagents that are drawn further to the right
_SHOWN_AT_FIRST = 4  # rows of work below a call, as an estimate
_SCREENFUL = 200  # rows of the largest screen
_MOST_OLD = 2000  # rows of the largest text drawn as Markdown


class Entry:
    """A message in the column, with ``gap`` blank rows above; heights are in rows.

    Calls of one kind that follow one another are a group: the first of them has the group's line, and while the group
    is folded it is all that is drawn of them. What a subagent says and does stands below the call that started it,
    further to the right, and not at all while that is folded.
    """

    __slots__ = (
        "_key",
        "_keyed",
        "answer",
        "asked",
        "detail",
        "estimated_rows",
        "explained",
        "folded",
        "gap",
        "goes_on",
        "group",
        "group_folded",
        "heights",
        "hidden",
        "inner",
        "message",
        "ordinal",
        "owner",
        "parts",
        "raw",
        "siblings",
        "touched",
    )

    heights: Heights  # of the parts, once there are any

    def __init__(self, message: Message, ordinal: int) -> None:
        self.message = message
        self.ordinal = ordinal  # grows downwards; never changes while the message stays
        self.folded = message.kind in _FOLDED_AT_FIRST and not is_words(message)
        self.touched = False  # folded or unfolded by the person: until then some of a call's work is shown
        self.asked = False  # a permission request for this tool call is open
        self.goes_on = False  # the work of this tool call does, in the background
        self.raw = False  # a tool call's raw data is shown instead of its work
        self.group: tuple[Message, ...] = ()  # the calls of the group that begins here
        self.group_folded = True
        self.hidden = False  # in a folded group, of which it is not the first; or a notice that is put away
        self.owner: Entry | None = (
            None  # the call that started the subagent whose row this is, if it is loaded
        )
        self.inner: list[Entry] = []  # of a call that started a subagent: what that says and does
        self.explained = False  # the notice below it tells why it was interrupted
        self.gap = 0
        self.siblings: Siblings | None = None
        self.detail: str | None = None  # the prior context of a seam
        self.answer: Answer | None = None
        self.parts: list[Part] | None = None  # None until the message is near the screen
        self.estimated_rows = 0
        self._keyed: Message | None = None  # the version that the key is of
        self._key: str | None = None

    @property
    def empty(self) -> bool:
        """True while there is nothing to draw."""
        message = self.message
        if self.folded_away:
            return True
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
    def inside(self) -> bool:
        """True for what a subagent said or did."""
        return bool(self.message.data.get("subagent_of"))

    @property
    def folded_away(self) -> bool:
        """True while the call is folded, or not loaded, that started the subagent whose row this is."""
        entry: Entry | None = self
        while entry is not None and entry.inside:
            entry = entry.owner
            if entry is None or entry.folded:
                return True
        return False

    @property
    def root(self) -> Entry:
        """The agent's own call that this is part of; itself for what is none of a subagent."""
        entry = self
        while entry.owner is not None:
            entry = entry.owner
        return entry

    @property
    def nesting(self) -> int:
        """How many subagents it is inside of."""
        depth, entry = 0, self
        while entry.owner is not None:
            depth, entry = depth + 1, entry.owner
        return depth

    @property
    def indent(self) -> int:
        """Cells that it stands further to the right."""
        return _INDENT * min(self.nesting, _FURTHEST)

    @property
    def delegates(self) -> bool:
        """True for a call that started a subagent."""
        return bool(self.inner) or starts_subagent(self.message)

    @property
    def below(self) -> Iterator[Entry]:
        """What its subagent, and theirs, said and did."""
        for entry in self.inner:
            yield entry
            yield from entry.below

    @property
    def rows(self) -> int:
        if self.folded_away:
            return 0
        body = self.estimated_rows if self.parts is None else self.heights.total
        return self.gap + body if body else 0

    @property
    def foldable(self) -> bool:
        match self.message.kind:
            case Kind.THOUGHT | Kind.TOOL:
                return not is_words(self.message)
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
        if message.kind is not Kind.TOOL or self.asked or self.goes_on:
            return None
        if self._keyed is not message:
            self._keyed, self._key = message, self._new_key()
        return None if self.shows_work and self.touched and not self.folded else self._key

    def _new_key(self) -> str | None:
        key = None if self.delegates else _group_key(self.message)
        return f"{key} of {self.message.data['subagent_of']}" if key and self.inside else key

    @property
    def shows_work(self) -> bool:
        """True for a done call whose work is shown at first."""
        return self._keyed is self.message and (self._key or "").partition(" ")[0] in _GATHERED

    @property
    def shown(self) -> Shown:
        """How much of a tool call is shown."""
        if self.asked:
            return Shown.ASKED
        if not self.touched and not (self.delegates and self.message.data.get("status") != "failed"):
            return Shown.SOME
        return Shown.LINE if self.folded else Shown.ALL

    def toggled(self, *, short: bool) -> bool:
        """Return whether it is folded after the person folds it, or unfolds it."""
        if self.message.kind is Kind.TOOL and not self.touched and not self.delegates:
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
        if self.group and self.group_folded:
            return 1
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
            for part in self.parts if (indent := self.indent) else ():
                part.indent = indent
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
        if self.answer is None or not self.answer.growing or self.folded_away:
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
        head = 1 if self.message.kind is Kind.THOUGHT and not is_words(self.message) else 0
        indent = self.indent
        first += head
        # Only rows up to the old end can be on the screen; the rest keeps estimated heights.
        old = self.heights.total - self.heights.top(min(first, len(parts)))
        left = min(old, _MOST_OLD) + _SCREENFUL if draw else 0
        del parts[first:]
        self.heights.cut(first)
        if self.folded and head:
            return
        for part in chain(self.answer.parts[first - head :], self._trailing_parts(self.answer)):
            part.indent = indent
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
                text = "" if _stands_for_other(message) else message.text
                self.answer = Answer(text, growing=growing, style=lambda palette: palette.text)
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
                else partial(draw_more, text, message, self.siblings)
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
            message,
            shown=Shown.LINE if self._report_is_below else self.shown,
            raw=self.raw,
            directory=options.directory,
            options=options,
            goes_on=self.goes_on,
            head=self._draw_subagent_line if self.delegates and not self.asked else None,
        )

    @property
    def _report_is_below(self) -> bool:
        """True where the subagent's last words, which are drawn below, are what the call came to."""
        said = next((entry.message for entry in reversed(self.inner) if is_words(entry.message)), None)
        return said is not None and any(
            type(block) is Output and said.text.strip() in block.text
            for block in Call.from_data(self.message.data).blocks
        )

    def _draw_subagent_line(self, call: ToolCall, options: RenderOptions) -> Line:
        below = list(self.below)
        work = SubagentWork.of([entry.message for entry in below])
        asks = any(entry.asked for entry in below)
        return draw_subagent_line(call, self.message, work, self.folded, asks, options)

    def _thought_parts(self, message: Message) -> Iterator[Part]:
        if not is_words(message):
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
                words = _other_words(item)
                draw = partial(_draw_other, words)
                yield Part(draw, words, size=len(words), breaks=0, lead=lead)
                lead = 0
                if (image := ImageNote.from_data(item.get("image"))) is not None:
                    yield image_part(message.id, image, lambda _: MARKS)
        if message.state is MessageState.INTERRUPTED and not self.explained:
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


def _group_key(call: Message) -> str | None:
    record = Call.from_data(call.data)
    kind, status, over = record.kind, record.status, call.state is not MessageState.OPEN
    if kind in _GATHERED:
        grouped = over and status == "completed" and not record.exit_code
    else:
        grouped = kind in _GROUPED and status in (("completed",) if over else _UNDER_WAY)
    # The images of a call, and what it did unasked, would be out of sight.
    return kind if grouped and not record.unlike and not record.images else None


def _blank(text: str) -> bool:
    return not text or text.isspace()  # unlike strip(), this does not copy a long text


def _stands_for_other(message: Message) -> bool:
    """True where a message's text only names the content that has a line of its own."""
    other = message.data.get("other")
    items = other if isinstance(other, list | tuple) else ()
    return any(isinstance(item, dict) and message.text == f"[{item.get('description')}]" for item in items)


def _other_words(item: Mapping[str, Any]) -> str:
    """The line of content that is not text."""
    if (image := ImageNote.from_data(item.get("image"))) is not None:
        return image_words(image)
    words = safe_line(str(item.get("description") or item.get("kind") or "non-text content"))
    return link_words(words) if item.get("address") else words


def _draw_other(words: str, options: RenderOptions) -> list[Line]:
    return wrap_runs([(f"◇ {words}", options.palette.muted)], options.width)
