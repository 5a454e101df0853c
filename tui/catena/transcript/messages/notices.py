"""Drawing of thoughts, plans, notices and seams."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style

from catena.text.formats import duration_of, duration_text
from catena.text.safe_text import safe_line
from catena.transcript.drawing.lines import Line, LinePrefix, add_prefix, line_of, with_mark
from catena.transcript.drawing.render_options import MARKS, RenderOptions
from catena.transcript.drawing.wrapping import wrap_runs
from catena_store.records import Message, MessageState

_BOXES = {"completed": "☑", "in_progress": "◐"}
_COMPACTING = {
    "in_progress": "the agent is shortening its own context",
    "failed": "the agent could not shorten its own context",
    "cancelled": "the agent did not shorten its own context after all",
}


def draw_thought_line(message: Message, folded: bool, options: RenderOptions) -> Line:
    """Draw the line of a thought, which is all of a folded one."""
    seconds = duration_of(message.data)
    if seconds is not None:
        words = f"thought for {duration_text(seconds, precise=False)}"
    else:
        words = "thinking" if message.state is MessageState.OPEN else "thought"
    return line_of((f"{'▸' if folded else '▾'} {words}", options.palette.muted), text="")


def draw_plan(message: Message, options: RenderOptions) -> list[Line]:
    """Draw a plan as a checklist."""
    palette = options.palette
    lines: list[Line] = []
    for text, status in plan_entries(message):
        box = _BOXES.get(status, "☐")
        style = palette.muted if status == "completed" else palette.text
        copied = "- [x] " if status == "completed" else "- [ ] "
        mark = LinePrefix(
            f"{box} ", "  ", palette.running if status == "in_progress" else palette.muted, copied, "  "
        )
        lines += add_prefix(wrap_runs([(text, style)], options.width - 2), mark)
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
    return bool(message.data.get("trouble"))


def notice_details(message: Message) -> str:
    """Return the details of a notice, such as the last lines of the agent's standard error."""
    detail = message.data.get("detail")
    if isinstance(detail, (list, tuple)):
        return "\n".join(str(line) for line in detail)
    return detail if isinstance(detail, str) else ""


def draw_notice(message: Message, folded: bool, options: RenderOptions) -> list[Line]:
    """Draw a notice: trouble stands out, anything else is dim, a compaction is a divider."""
    palette = options.palette
    more = f" {'▸' if folded else '▾'}" if notice_details(message) else ""
    if compacted := message.data.get("compacted"):
        words = _COMPACTING.get(str(compacted)) or safe_line(message.text)
        return _divider(words, more, palette.muted, options)
    trouble = is_trouble(message)
    style = palette.trouble if trouble else palette.muted
    mark = LinePrefix("! " if trouble else "· ", "  ", style)
    text = safe_line(message.text) or "notice"
    lines = wrap_runs([(text, style if trouble else palette.muted)], options.width - 4)
    if more:
        lines[-1].segments.append(Segment(more, palette.muted))
        lines[-1].cells += len(more)
    return add_prefix(lines, mark)


def seam_words(message: Message) -> str:
    """Return the text of a seam: how the context got to the agent."""
    cleared = message.barrier or message.data.get("cleared")
    return safe_line(message.text) or ("context cleared" if cleared else "new session")


def draw_seam(message: Message, folded: bool, options: RenderOptions) -> list[Line]:
    """Draw a seam as text in a dashed line across the column; the gutter draws its first two cells."""
    style = options.palette.muted
    words = seam_words(message)
    has_details = not (message.barrier or message.data.get("cleared"))
    return _divider(words, f" {'▸' if folded else '▾'}" if has_details else "", style, options)


def _divider(words: str, more: str, style: Style, options: RenderOptions) -> list[Line]:
    """Draw text in a dashed line across the column."""
    palette = options.palette
    right = 0 if options.narrow else MARKS
    lines = wrap_runs([(words, style)], max(8, options.width - len(more) - 4))
    last = lines[-1]
    dashes = max(2, options.width + right - last.cells - len(more) - 1)
    last.segments += [Segment(more, palette.faint), Segment(" " + "╌" * dashes, palette.rule)]
    last.cells += len(more) + 1 + dashes
    return with_mark(lines, "╌", palette.rule, first=True)


def draw_interrupted(options: RenderOptions) -> Line:
    """Draw the mark of an interrupted answer."""
    return line_of(("interrupted", options.palette.muted + Style(italic=True)), text="")
