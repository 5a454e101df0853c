"""What a tool call is about, drawn before it is allowed: its change, else its command, places and words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.style import Style

from catena.text.safe_text import safe, safe_line
from catena.transcript.drawing.lines import Line, LinePrefix, add_prefix
from catena.transcript.drawing.render_options import RenderOptions
from catena.transcript.drawing.wrapping import wrap_runs
from catena.transcript.messages.tool_call import relative
from catena.transcript.messages.tool_rows import draw_excerpt, draw_more, excerpt_rows
from catena_acp.port.session_events import ToolCallChanged, ToolDiff, ToolText

_LONGEST = 4_000  # characters of one argument
_CONTEXT = 3  # unchanged lines around a change
_ALL = 1_000_000  # rows


def draw_changes(diffs: Sequence[ToolDiff], options: RenderOptions, *, most: int | None = None) -> list[Line]:
    """Draw the changes of a call: all of them, or what is worth most in ``most`` rows, and how many are left out."""
    if most is None:
        rows, _ = excerpt_rows(diffs, _ALL, context=_CONTEXT)
        return draw_excerpt(rows, options.directory, options, wrapped=True)
    rows, hidden = excerpt_rows(diffs, most, context=_CONTEXT)
    if hidden:
        rows, hidden = excerpt_rows(diffs, max(1, most - 1), context=_CONTEXT)
    lines = draw_excerpt(rows, options.directory, options)
    return lines + (draw_more(hidden, True, options) if hidden else [])


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
