"""Drawing of thoughts, plans, notices and seams."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style

from catena.text.formats import duration_of, duration_text
from catena.text.safe_text import safe_line
from catena.transcript.drawing.lines import MARKS, Line, LinePrefix, add_prefix, line_of, with_mark
from catena.transcript.drawing.render_options import RenderOptions
from catena.transcript.drawing.wrapping import shorten, wrap_runs
from catena_store.records import ContextSource, Message, MessageState, StopReason

_CLAUSES = 2  # of a seam's line; all of it is in its detail
_COMPACTING = {
    "in_progress": "the agent is shortening its own context",
    "failed": "the agent could not shorten its own context",
    "cancelled": "the agent did not shorten its own context",
}


def draw_thought_line(message: Message, folded: bool, options: RenderOptions) -> Line:
    """Draw the line of a thought, which is all of a folded one."""
    palette = options.palette
    seconds = duration_of(message.data)
    if seconds is not None:
        words = f"Thought for {duration_text(seconds, precise=False)}"
    else:
        words = "Thinking" if message.state is MessageState.OPEN else "Thought"
    line = line_of((words, palette.muted), text="")
    return with_mark([line], "▸" if folded else "▾", palette.faint)[0]


def draw_plan(message: Message, options: RenderOptions) -> list[Line]:
    """Draw a plan: what is done, what is under way and what is to come."""
    palette = options.palette
    looks = {
        "completed": ("●", palette.muted, palette.muted),
        "in_progress": ("◐", palette.running, palette.text),
    }
    lines: list[Line] = []
    for text, status in plan_entries(message):
        mark, mark_style, style = looks.get(status, ("○", palette.faint, palette.muted))
        copied = "- [x] " if status == "completed" else "- [ ] "
        prefix = LinePrefix(f"{mark} ", "  ", mark_style, copied, "  ")
        lines += add_prefix(wrap_runs([(text, style)], options.width - 2), prefix)
    return lines


def plan_entries(message: Message) -> list[tuple[str, str]]:
    """Return the text and status of each entry of a plan."""
    entries = message.data.get("entries")
    return [
        (safe_line(str(entry.get("text") or "")), str(entry.get("status") or "pending"))
        for entry in (entries if isinstance(entries, (list, tuple)) else ())
        if isinstance(entry, dict)
    ]


def is_trouble(message: Message) -> bool:
    """Return whether a notice tells of something that failed; a stop that the person asked for did not."""
    return message.data.get("trouble") not in (None, "", StopReason.CANCELLED)


def notice_details(message: Message) -> str:
    """Return the details of a notice, such as the last lines of the agent's standard error."""
    detail = message.data.get("detail")
    if isinstance(detail, (list, tuple)):
        return "\n".join(str(line) for line in detail)
    return detail if isinstance(detail, str) else ""


def draw_notice(message: Message, folded: bool, options: RenderOptions) -> list[Line]:
    """Draw a notice: dim, also where it tells of trouble that is over; a compaction is a divider."""
    palette = options.palette
    more = f" {'▸' if folded else '▾'}" if notice_details(message) else ""
    if compacted := message.data.get("compacted"):
        words = _COMPACTING.get(str(compacted)) or safe_line(message.text)
        return _divider(words, more, palette.muted, options)
    text = safe_line(message.text) or "notice"
    lines = wrap_runs([(text, palette.muted)], options.width - len(more))
    if more:
        lines[-1].segments.append(Segment(more, palette.faint))
        lines[-1].cells += len(more)
    return with_mark(lines, "!", palette.muted, first=True) if is_trouble(message) else lines


def seam_words(message: Message) -> str:
    """Return the text of a seam: how the context got to the agent."""
    cleared = message.barrier or message.data.get("cleared")
    return safe_line(message.text) or ("context cleared" if cleared else "new session")


def line_words(message: Message) -> str:
    """Return what a seam's line says: two clauses at most, without the trouble that the row above tells of."""
    line = message.data.get("line")
    words = safe_line(line) if isinstance(line, str) and line else seam_words(message)
    return " · ".join(words.split(" · ")[:_CLAUSES])


def is_drawn(message: Message) -> bool:
    """Return whether a seam is worth a line: more than the prompt went out, or something changed for the agent.

    Not so for what changed only because the person stopped it.
    """
    data = message.data
    if message.barrier or data.get("cleared") or not data.get("how"):
        return True
    if data.get("told_total") or data.get("tools_listed") or data.get("left_out"):
        return True
    if data.get("after_stop"):
        return False
    if data.get("cause") or data.get("abridged"):
        return True
    return data["how"] in (ContextSource.TOLD, ContextSource.FRESH)


def draw_seam(message: Message, folded: bool, options: RenderOptions) -> list[Line]:
    """Draw a seam as text in a dashed line across the column, of two clauses at most."""
    style = options.palette.muted
    words = line_words(message)
    has_details = not (message.barrier or message.data.get("cleared"))
    return _divider(words, f" {'▸' if folded else '▾'}" if has_details else "", style, options)


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
