"""What a tool call is about, drawn before it is allowed: its change, and the lines of all else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.style import Style

from catena.text.call_text import AnyDiff, relative
from catena.text.safe_text import safe
from catena.transcript.drawing.lines import Line, LinePrefix, add_prefix
from catena.transcript.drawing.render_options import RenderOptions
from catena.transcript.drawing.wrapping import width_of, wrap_runs
from catena.transcript.messages.tool_rows import draw_excerpt, draw_more, excerpt_rows
from catena_acp.diff import DiffLine
from catena_acp.permissions.subject import RequestSubject

_CONTEXT = 3  # unchanged lines around a change
_BEFORE_LINE = 14  # cells, at most, of numbers and signs before a changed line
_ALL = 1_000_000  # rows


def draw_changes(diffs: Sequence[AnyDiff], options: RenderOptions, *, most: int | None = None) -> list[Line]:
    """Draw the changes of a call: all of them, or what is worth most in ``most`` rows, and how many are left out."""
    if most is None:
        rows, _ = excerpt_rows(diffs, _ALL, context=_CONTEXT)
        return draw_excerpt(rows, options.directory, options, wrapped=True)
    rows, hidden = excerpt_rows(diffs, most, context=_CONTEXT)
    if hidden:
        rows, hidden = excerpt_rows(diffs, max(1, most - 1), context=_CONTEXT)
    lines = draw_excerpt(rows, options.directory, options)
    return lines + (draw_more(hidden, True, options) if hidden else [])


def hides_changes(diffs: Sequence[AnyDiff], options: RenderOptions, most: int) -> bool:
    """True if not all of the changes have room in ``most`` rows, or the end of a line has none."""
    rows, hidden = excerpt_rows(diffs, max(1, most), context=_CONTEXT)
    room = options.width - _BEFORE_LINE
    wide = any(isinstance(row, DiffLine) and width_of(safe(row.text)) > room for row in rows)
    return bool(diffs) and (most < 1 or hidden > 0 or wide)


def changed_files(subject: RequestSubject, directory: str) -> str:
    """Which files a call would change, in words; "" where it tells of none."""
    paths = {relative(diff.path, directory) for diff in subject.diffs}
    return f"{len(paths):,} files" if len(paths) > 1 else "".join(paths)


def draw_texts(texts: Iterable[str], options: RenderOptions) -> list[Line]:
    """Draw lines below each other, each whole."""
    indent = LinePrefix(" " * options.second_axis, " " * options.second_axis, Style.null())
    body = options.within(options.second_axis)
    lines = [line for text in texts for line in wrap_runs([(text, options.palette.muted)], body.width)]
    return add_prefix(lines, indent)
