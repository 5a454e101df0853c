"""Drawing of the line that stands for a subagent: its task, what it does just now, and how much it has done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from catena.text.call_text import SUBAGENT_VERB, glyph_of, object_of
from catena.text.formats import duration_text, taken_text
from catena.transcript.drawing.lines import Line
from catena.transcript.drawing.render_options import RenderOptions
from catena.transcript.drawing.wrapping import Run
from catena.transcript.messages.tool_rows import draw_call_line
from catena_acp.continuity.wording.counts import counted
from catena_acp.spoken.call import Call, seconds_between
from catena_store.records import Kind, Message, MessageState

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
