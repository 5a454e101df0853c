"""One message in the column: its parts and their heights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import chain

from rich.style import Style

from catena.text.call_text import image_words, link_words
from catena.text.formats import turn_text
from catena.text.prompt_text import hidden_range, is_long, size_of_text
from catena.text.safe_text import safe_line
from catena.transcript.drawing.lines import MARKS, Line
from catena.transcript.drawing.render_options import Palette, RenderOptions
from catena.transcript.drawing.wrapping import wrap_runs
from catena.transcript.messages.answer import AnswerParts
from catena.transcript.messages.notices import (
    SubagentWork,
    draw_interrupted,
    draw_notice,
    draw_plan,
    draw_seam,
    draw_subagent_line,
    draw_thought_line,
    draw_took,
    plan_text,
)
from catena.transcript.messages.parts import Part, TextRange, image_part, one_row, text_parts
from catena.transcript.messages.prompt import (
    Siblings,
    draw_fold,
    draw_footer,
    draw_prompt,
    draw_rest,
    has_footer,
)
from catena.transcript.messages.tool_rows import Shown, draw_group_line, hides_some, tool_parts
from catena.transcript.model.heights import Heights
from catena_acp.continuity.tool_calls import is_words
from catena_acp.spoken.blocks import OutputBlock, Picture, Reference
from catena_acp.spoken.call import Call
from catena_acp.spoken.spoken import (
    Answer,
    Divider,
    Notice,
    Plan,
    Prompt,
    Seam,
    Spoken,
    Thought,
    Unknown,
    spoken_of,
)
from catena_store.records import Kind, Message, MessageState

_FOLDED_AT_FIRST = frozenset({Kind.THOUGHT, Kind.TOOL, Kind.SEAM, Kind.NOTICE})
# Kinds of calls whose work is not shown unless it is asked for.
_GROUPED = frozenset({"read", "search", "fetch"})
_GATHERED = frozenset({"edit", "execute"})  # kinds whose work is shown, and grouped when it is no longer new
_UNDER_WAY = ("pending", "in_progress", "completed", "")
_INDENT = 2  # cells of what a subagent says and does; its mark stands in them
_FURTHEST = 4  # subagents of subagents that are drawn further to the right
_SHOWN_AT_FIRST = 4  # rows of work below a call, as an estimate
_FOLDED_PROMPT = 8  # rows, as an estimate
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
        "_said",
        "_said_of",
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
        self.folded = self._long_prompt or (message.kind in _FOLDED_AT_FIRST and not is_words(message))
        self.touched = False  # folded or unfolded by the person: until then some of a call's work is shown
        self.asked = False  # a permission request for this tool call is open
        self.goes_on = False  # the work of this tool call does, in the background
        self.raw = False  # a tool call's raw data is shown instead of its work
        self.group: tuple[Message, ...] = ()  # the calls of the group that begins here
        self.group_folded = True
        self.hidden = False  # in a folded group, of which it is not the first; or a notice that is put away
        # The call that started the subagent whose row this is, if it is loaded.
        self.owner: Entry | None = None
        self.inner: list[Entry] = []  # of a call that started a subagent: what that says and does
        self.explained = False  # the notice below it tells why it was interrupted
        self.gap = 0
        self.siblings: Siblings | None = None
        self.detail: str | None = None  # the prior context of a seam
        self.answer: AnswerParts | None = None
        self.parts: list[Part] | None = None  # None until the message is near the screen
        self.estimated_rows = 0
        self._keyed: Message | None = None  # the version that the key is of
        self._key: str | None = None
        self._said_of: Message | None = None
        self._said: Spoken

    @property
    def said(self) -> Spoken:
        """The message as a value, made once of each version."""
        if self._said_of is not self.message:
            self._said_of, self._said = self.message, spoken_of(self.message)
        return self._said

    @property
    def empty(self) -> bool:
        """True while there is nothing to draw."""
        message = self.message
        if self.folded_away:
            return True
        if message.kind in (Kind.TOOL, Kind.NOTICE):
            return self.hidden
        match self.said:
            case Seam(drawn=drawn):
                return not drawn
            case Answer(text, others):
                return _blank(text if self.answer is None else self.answer.text) and not others
            case Thought(text, open=growing):
                return not growing and _blank(text)
            case Plan(steps):
                return not steps
            case _:
                return False

    @property
    def inside(self) -> bool:
        """True for what a subagent said or did."""
        return bool(self.message.subagent_of)

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
        return bool(self.inner) or (isinstance(self.said, Call) and self.said.starts_subagent)

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
        match self.said:
            case Thought(words=words):
                return not words
            case Call() | Seam():
                return True
            case Prompt():
                return self._long_prompt
            case Notice(detail=detail):
                return bool(detail)
            case _:
                return False

    @property
    def _long_prompt(self) -> bool:
        return self.message.kind is Kind.USER and is_long(self.message.text)

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
        call = self.said
        key = _group_key(call, self.message.state) if isinstance(call, Call) and not self.delegates else None
        return f"{key} of {self.message.subagent_of}" if key and self.inside else key

    @property
    def shows_work(self) -> bool:
        """True for a done call whose work is shown at first."""
        return self._keyed is self.message and (self._key or "").partition(" ")[0] in _GATHERED

    @property
    def shown(self) -> Shown:
        """How much of a tool call is shown."""
        if self.asked:
            return Shown.ASKED
        if not self.touched and not (self.delegates and self._status != "failed"):
            return Shown.SOME
        return Shown.LINE if self.folded else Shown.ALL

    @property
    def _status(self) -> str:
        return self.said.status if isinstance(self.said, Call) else ""

    def toggled(self, *, short: bool) -> bool:
        """Return whether it is folded after the person folds it, or unfolds it."""
        if isinstance(self.said, Call) and not self.touched and not self.delegates:
            return not hides_some(self.said, short=short)
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
        if not self.touched and isinstance(call := self.said, Call):
            works = call.kind in _GATHERED and call.content
            return 1 + (_SHOWN_AT_FIRST if works else 0)
        if self.folded and message.kind is not Kind.NOTICE:
            return _FOLDED_PROMPT if message.kind is Kind.USER else 1
        return len(message.text) // width + message.text.count("\n") + 1

    def open(self, options: RenderOptions) -> list[Part]:
        """Return the parts, made if needed."""
        if self.parts is None:
            self.parts = list(self._make_parts(options))
            if self.answer is None or self.message.kind is not Kind.AGENT:
                self.parts += self._took_parts()
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
        match self.said:
            case Prompt():
                return self._prompt_parts(message)
            case Answer() as answer:
                growing = message.state is MessageState.OPEN
                text = "" if answer.named else answer.text
                self.answer = AnswerParts(text, growing=growing, style=lambda palette: palette.text)
                return chain(self.answer.parts, self._trailing_parts(self.answer))
            case Thought() as thought:
                return self._thought_parts(thought)
            case Call() as call:
                return self._tool_parts(call, options)
            case Plan(steps) as plan:
                copied = plan_text(plan)
                size = sum(len(safe_line(step.text)) for step in steps)
                return iter((Part(partial(draw_plan, plan), copied, size=size, breaks=len(steps) - 1),))
            case Seam() | Divider(compacted="") as seam:
                return self._seam_parts(seam)
            case Notice() as notice:
                return self._notice_parts(notice)
            case Unknown(details=details, head=head):
                return text_parts(f"{head}\n{details}", lambda palette: palette.muted)

    def _prompt_parts(self, message: Message) -> Iterator[Part]:
        text = message.text
        start, end = hidden_range(text) if self._long_prompt else (len(text), len(text))
        parts = list(text_parts(text[:start].rstrip("\r\n") if self.folded else text, _prompt_style))
        for part in parts:
            part.draw = partial(draw_rest, part.source)
        parts[0].draw = partial(draw_prompt, parts[0].source, message, self.siblings)
        if self._long_prompt:
            whole = TextRange(lambda: text, start, end) if self.folded else ""
            size = size_of_text(text[start:end] if self.folded else text)
            fold = Part(partial(draw_fold, size, self.folded), whole, size=0, breaks=0)
            parts[0].opens, fold.opens = self.folded, True
            if text[start - 1] != "\n":
                parts[-1].joint = ""
            parts.append(fold)
        if self.folded and end < len(text):
            rest = text[end:]
            parts.append(Part(partial(draw_rest, rest), rest, size=len(rest), breaks=rest.count("\n")))
        yield from parts
        if has_footer(message):
            yield Part(partial(draw_footer, message), "", size=0, breaks=0)

    def _tool_parts(self, call: Call, options: RenderOptions) -> Iterator[Part]:
        if self.hidden:
            return
        if self.group:
            line = one_row(partial(draw_group_line, self.group, self.group_folded))
            line.opens = True
            yield line
            if self.group_folded:
                return
        yield from tool_parts(
            call,
            self.message.id,
            shown=Shown.LINE if self._report_is_below else self.shown,
            raw=self.raw,
            options=options,
            goes_on=self.goes_on,
            head=self._draw_subagent_line if self.delegates and not self.asked else None,
        )

    @property
    def _report_is_below(self) -> bool:
        """True where the subagent's last words, which are drawn below, are what the call came to."""
        said = next((entry.message for entry in reversed(self.inner) if is_words(entry.message)), None)
        return said is not None and any(
            type(block) is OutputBlock and said.text.strip() in block.text for block in self.said.blocks
        )

    def _draw_subagent_line(self, call: Call, what: str, options: RenderOptions) -> Line:
        below = list(self.below)
        work = SubagentWork.of([entry.message for entry in below])
        asks = any(entry.asked for entry in below)
        return draw_subagent_line(call, what, work, self.folded, asks, options)

    def _thought_parts(self, thought: Thought) -> Iterator[Part]:
        if not thought.words:
            yield one_row(partial(draw_thought_line, thought, self.folded))
        self.answer = AnswerParts(thought.text, growing=thought.open, style=lambda palette: palette.muted)
        if not self.folded:
            yield from self.answer.parts

    def _trailing_parts(self, answer: AnswerParts) -> Iterator[Part]:
        """Yield the parts below an answer: content that is not text, and the mark of an interruption."""
        if not isinstance(self.said, Answer):
            return
        lead = 1 if answer.parts else 0
        for link in self.said.others:
            words = _other_words(link)
            yield Part(partial(_draw_other, words), words, size=len(words), breaks=0, lead=lead)
            lead = 0
            if isinstance(link, Picture):
                yield image_part(self.message.id, link.image, lambda _: MARKS)
        if self.said.interrupted and not self.explained:
            yield one_row(draw_interrupted)
        yield from self._took_parts()

    def _took_parts(self) -> Iterator[Part]:
        """Yield the row that closes a long turn: how long it took."""
        message = self.message
        ended = message.state is not MessageState.OPEN and message.kind is not Kind.USER
        if ended and not self.hidden and (words := turn_text(message.took)):
            yield one_row(partial(draw_took, words))

    def _notice_parts(self, notice: Notice) -> Iterator[Part]:
        if self.hidden:
            return
        text = safe_line(notice.text)
        yield Part(partial(draw_notice, notice, self.folded), text, size=len(text), breaks=0)
        if not self.folded:
            yield from text_parts(notice.details, lambda palette: palette.muted)

    def _seam_parts(self, seam: Divider | Seam) -> Iterator[Part]:
        words = safe_line(seam.text)
        yield Part(partial(draw_seam, seam, self.folded), f"— {words} —", size=len(words), breaks=0)
        if not self.folded and isinstance(seam, Seam):
            detail = self.detail if self.detail is not None else seam.prior_context
            told = detail.strip("\n") or ("…" if self.detail is None else "nothing was sent")
            told = told if seam.text == seam.head else f"{words}\n\n{told}"
            yield from text_parts(told, lambda palette: palette.muted, lead=1)


def _group_key(call: Call, state: MessageState) -> str | None:
    kind, status, over = call.kind, call.status, state is not MessageState.OPEN
    if kind in _GATHERED:
        grouped = over and status == "completed" and not call.exit_code
    else:
        grouped = kind in _GROUPED and status in (("completed",) if over else _UNDER_WAY)
    # The images of a call, and what it did unasked, would be out of sight.
    return kind if grouped and not call.unlike and not call.images else None


def _prompt_style(palette: Palette) -> Style:
    return palette.prompt


def _blank(text: str) -> bool:
    return not text or text.isspace()  # unlike strip(), this does not copy a long text


def _other_words(link: Reference) -> str:
    """The line of content that is not text."""
    if isinstance(link, Picture):
        return image_words(link.image)
    words = safe_line(link.description or link.kind or "non-text content")
    return link_words(words) if link.address else words


def _draw_other(words: str, options: RenderOptions) -> list[Line]:
    return wrap_runs([(f"◇ {words}", options.palette.muted)], options.width)
