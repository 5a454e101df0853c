"""Drawing of thoughts, plans, notices, seams and subagents, and of the line below them while an agent works."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.segment import Segment
from rich.style import Style

from catena.text.call_text import SUBAGENT_VERB, glyph_of, object_of
from catena.text.formats import duration_text, taken_text
from catena.text.safe_text import safe_line
from catena.transcript.drawing.lines import MARKS, Line, LinePrefix, add_prefix, line_of, with_mark
from catena.transcript.drawing.render_options import RenderOptions
from catena.transcript.drawing.wrapping import Run, shorten, wrap_runs
from catena.transcript.messages.tool_rows import draw_call_line
from catena_acp.continuity.wording.counts import counted
from catena_acp.spoken.call import Call, seconds_between
from catena_acp.spoken.spoken import Divider, Ended, Notice, Plan, Seam, Thought
from catena_store.records import Kind, Message, MessageState

FRAMES_A_SECOND = 4
_FRAMES = "◐◓◑◒"
_COMPACTING = {
    "in_progress": "the agent is shortening its own context",
    "failed": "the agent could not shorten its own context",
    "cancelled": "the agent did not shorten its own context",
}


def draw_thought_line(thought: Thought, folded: bool, options: RenderOptions) -> Line:
    """Draw the line of a thought, which is all of a folded one."""
    palette = options.palette
    if thought.seconds is not None:
        words = f"Thought for {duration_text(thought.seconds, precise=False)}"
    else:
        words = "Thinking" if thought.open else "Thought"
    line = line_of((words, palette.muted), text="")
    return with_mark([line], "▸" if folded else "▾", palette.faint)[0]


def draw_plan(plan: Plan, options: RenderOptions) -> list[Line]:
    """Draw a plan: what is done, what is under way and what is to come."""
    palette = options.palette
    looks = {
        "completed": ("●", palette.muted, palette.muted),
        "in_progress": ("◐", palette.running, palette.text),
    }
    lines: list[Line] = []
    for step in plan.steps:
        mark, mark_style, style = looks.get(step.status, ("○", palette.faint, palette.muted))
        copied = "- [x] " if step.done else "- [ ] "
        prefix = LinePrefix(f"{mark} ", "  ", mark_style, copied, "  ")
        lines += add_prefix(wrap_runs([(safe_line(step.text), style)], options.width - 2), prefix)
    return lines


def plan_text(plan: Plan) -> str:
    """Return a plan as a list of Markdown."""
    return "\n".join(f"- [{'x' if step.done else ' '}] {safe_line(step.text)}" for step in plan.steps)


def draw_notice(notice: Notice, folded: bool, options: RenderOptions) -> list[Line]:
    """Draw a notice: dim, even if it tells of trouble that is over; a compaction is a divider."""
    palette = options.palette
    more = f" {'▸' if folded else '▾'}" if notice.details else ""
    if isinstance(notice, Divider):
        words = _COMPACTING.get(notice.compacted) or safe_line(notice.text)
        return _divider(words, more, palette.muted, options)
    text = safe_line(notice.text) or "notice"
    lines = wrap_runs([(text, palette.muted)], options.width - len(more))
    if more:
        lines[-1].segments.append(Segment(more, palette.faint))
        lines[-1].cells += len(more)
    failed = isinstance(notice, Ended) and notice.failed
    return with_mark(lines, "!", palette.muted, first=True) if failed else lines


def draw_seam(seam: Divider | Seam, folded: bool, options: RenderOptions) -> list[Line]:
    """Draw a seam as text in a dashed line across the column, of two clauses at most."""
    more = f" {'▸' if folded else '▾'}" if isinstance(seam, Seam) else ""
    return _divider(safe_line(seam.head), more, options.palette.muted, options)


def _divider(words: str, more: str, style: Style, options: RenderOptions) -> list[Line]:
    """Draw text in a dashed line across the column."""
    palette = options.palette
    right = 0 if options.narrow else MARKS
    room = max(8, options.width - len(more) - 4)
    last = line_of((shorten(words, room), style))
    dashes = max(2, options.width + right - last.cells - len(more) - 1)
    last.segments += [Segment(more, palette.faint), Segment(" " + "╌" * dashes, palette.rule)]
    last.cells += len(more) + 1 + dashes
    return with_mark([last], "╌", palette.rule)


def draw_interrupted(options: RenderOptions) -> Line:
    """Draw the mark of an interrupted answer."""
    return line_of(("interrupted", options.palette.faint), text="")


def draw_took(words: str, options: RenderOptions) -> Line:
    """Draw how long a turn took, at the right below its last row."""
    return line_of((words.rjust(options.width), options.palette.faint), text="")


def draw_working(elapsed: float, waits: str, options: RenderOptions, *, still: bool) -> Line:
    """Draw what turns, unless it is to be ``still``, and for how many seconds the agent has worked.

    ``waits`` says what may be going on, in words of ours.
    """
    seconds = int(elapsed)
    time = f"{seconds} s" if seconds < 120 else f"{seconds // 60} min {seconds % 60:02} s"
    mark = _FRAMES[0 if still else int(elapsed * FRAMES_A_SECOND) % len(_FRAMES)]
    palette, words = options.palette, f" · {waits}" if waits else ""
    room = options.width - len(time)
    if len(words) > room:
        words = f"{words[: max(0, room - 1)].rstrip()}…"
    return with_mark(
        [line_of((time, palette.faint), (words, palette.running), text="")], mark, palette.running
    )[0]


_DOING = {
    "read": "reading",
    "edit": "editing",
    "delete": "deleting",
    "move": "moving",
    "search": "searching",
    "execute": "running",
    "fetch": "fetching",
}


@dataclass(frozen=True, slots=True)
class SubagentWork:
    """What a subagent has done so far, that of its own subagents included."""

    calls: int
    now: Message | None  # the newest of its calls that is under way

    @classmethod
    def of(cls, rows: Sequence[Message]) -> SubagentWork:
        """Read the rows of a subagent, oldest first."""
        calls = [row for row in rows if row.kind is Kind.TOOL]
        now = next((row for row in reversed(calls) if row.state is MessageState.OPEN), None)
        return cls(len(calls), now)

    def doing(self, directory: str) -> str:
        """What it does just now, such as `reading login.py`; "" if that is not known."""
        if self.now is None:
            return ""
        call = Call.of(self.now)
        return f"{_DOING.get(call.kind, '')} {object_of(call, directory)}".strip()


def draw_subagent_line(
    call: Call, what: str, work: SubagentWork, folded: bool, asks: bool, options: RenderOptions
) -> Line:
    """Draw the line of the call that started a subagent; ``asks``: one of its calls waits for a permission."""
    palette = options.palette
    running = call.state is MessageState.OPEN
    time = "" if call.seconds is None else taken_text(call.seconds)
    if running:
        doing = "" if options.narrow else work.doing(options.directory)
        what = f"{what} · {doing}" if doing else what
        elapsed = None if options.now is None else seconds_between(call.started_at, options.now())
        time = "" if elapsed is None or elapsed < 1 else duration_text(elapsed, precise=False)
    right: list[Run] = [(counted(work.calls, "call"), palette.faint)] if work.calls else []
    glyph = glyph_of(call)
    if asks:
        glyph, style = "?", palette.asking
    elif running and glyph in ("○", "◐"):
        glyph, style = "◐", palette.running
    else:
        style = palette.failed if call.failed else palette.muted
    verb_style = palette.failed if call.failed else palette.muted
    fold = "▸" if folded else "▾"
    return draw_call_line(glyph, style, SUBAGENT_VERB, verb_style, what, fold, right, time, options)
