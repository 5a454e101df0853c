"""What a tool call is about, drawn before it is allowed: its change, else its command, places and words."""

from __future__ import annotations

from collections.abc import Mapping

from rich.style import Style

from catena.text.safe_text import safe, safe_line
from catena.transcript.drawing.lines import Line, LinePrefix, add_prefix, line_of
from catena.transcript.drawing.render_options import RenderOptions
from catena.transcript.drawing.wrapping import wrap_runs
from catena.transcript.messages.diff import change_of, draw_diff
from catena.transcript.messages.tool_call import relative
from catena_acp.diff import DiffLine
from catena_acp.session_events import ToolCallChanged, ToolDiff, ToolText

_LONGEST = 4_000  # characters of one argument


def draw_changes(diffs: list[ToolDiff], options: RenderOptions) -> list[Line]:
    """Draw all changes of a call; each with its path where there are several."""
    lines: list[Line] = []
    for diff in diffs:
        if len(diffs) > 1:
            lines.append(line_of((relative(diff.path, options.directory), options.palette.muted)))
        rows: list[DiffLine | None] = []
        for hunk in change_of(diff.old, diff.new).hunks:
            rows += [None, *hunk.lines] if rows else hunk.lines
        lines += draw_diff(rows, options)
    return lines


def draw_arguments(call: ToolCallChanged, options: RenderOptions) -> list[Line]:
    """Draw what the agent says of a call that changes no file: arguments, words and places."""
    said: list[str] = []
    if isinstance(call.raw_input, Mapping):
        for key, value in call.raw_input.items():
            shown = " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            if shown != call.title:
                said.append(f"{safe_line(str(key))}: {safe(shown[:_LONGEST])}")
    said += [safe(content.text[:_LONGEST]) for content in call.content or () if isinstance(content, ToolText)]
    for place in call.locations or ():
        said.append(relative(place.path, options.directory) + (f":{place.line}" if place.line else ""))
    indent = LinePrefix(" " * options.second_axis, " " * options.second_axis, Style.null())
    body = options.within(options.second_axis)
    lines = [
        line
        for row in "\n".join(said).splitlines()
        for line in wrap_runs([(row.expandtabs(4), options.palette.muted)], body.width)
    ]
    return add_prefix(lines, indent)
