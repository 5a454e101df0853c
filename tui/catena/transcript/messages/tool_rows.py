"""Drawing of tool calls: one line, and unfolded the locations, diffs, output and raw data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from rich.segment import Segment
from rich.style import Style

from catena.text.formats import duration_text
from catena.transcript.drawing.lines import Line, LinePrefix, add_prefix, line_of
from catena.transcript.drawing.render_options import RenderOptions
from catena.transcript.drawing.wrapping import Run, shorten, total_cells, width_of
from catena.transcript.messages.diff import change_of, counts, draw_gap, draw_rows
from catena.transcript.messages.parts import Part, one_row, text_parts
from catena.transcript.messages.tool_call import ToolCall, relative
from catena_acp.diff import DiffLine
from catena_acp.session_events import ToolDiff
from catena_store.records import Message

_VERB_CELLS = 7
_DIFF_CHUNK = 200


def draw_tool_line(message: Message, folded: bool, options: RenderOptions) -> Line:
    """Draw the line of a tool call."""
    call = ToolCall.of(message, options.directory)
    palette = options.palette
    glyph_style = palette.failed if call.failed else palette.running if call.running else palette.muted
    runs: list[Run] = [] if folded else [("▾ ", palette.muted)]
    runs.append((f"{call.glyph} ", glyph_style))
    verb_style = palette.failed if call.failed else palette.text if call.running else palette.muted
    runs.append((f"{call.verb} " if options.narrow else f"{call.verb:<{_VERB_CELLS}} ", verb_style))
    added, removed = _sizes(call.diffs)
    size = counts(added, removed, options)
    if size:
        size.insert(0, ("   " if not options.narrow else " ", Style.null()))
    time = "" if call.seconds is None else f"  {duration_text(call.seconds)}"
    room = options.width - total_cells(runs) - total_cells(size) - len(time)
    if room < 8 or (options.narrow and room < width_of(call.object)):
        time, room = "", room + len(time)
    runs.append((shorten(call.object, max(1, room)), palette.text))
    runs += size
    copied = " ".join(f"{call.glyph} {call.verb} {call.object}".split())
    gap = options.width - total_cells(runs) - len(time)
    line = line_of(*runs, text=copied)
    if time and gap >= 0:
        line.segments += [Segment(" " * gap, Style.null()), Segment(time, palette.faint)]
        line.cells += gap + len(time)
    return line


def tool_parts(message: Message, *, folded: bool, raw: bool, directory: str) -> Iterator[Part]:
    """Make the parts of a tool call; unfolded with locations, diffs and output, and with raw data for ``raw``."""
    yield one_row(partial(draw_tool_line, message, folded), "")
    if folded:
        return
    call = ToolCall.of(message, directory)
    if len(call.locations) > 1:
        yield from text_parts("\n".join(call.locations), lambda palette: palette.muted, indent=_INDENT)
    for diff in call.diffs:
        yield from _diff_parts(diff, named=len(call.diffs) > 1, directory=directory)
    for text in call.texts:
        yield from text_parts(text.strip("\n"), lambda palette: palette.muted, indent=_INDENT)
    if raw or not (call.diffs or call.texts):
        for label, value in (("input", call.raw_input), ("output", call.raw_output)):
            if value:
                yield _label(label)
                yield from text_parts(value.strip("\n"), lambda palette: palette.muted, indent=_INDENT)
    elif not call.has_details:
        yield _label("nothing more is known of it")


_INDENT = 4


def _sizes(diffs: Sequence[ToolDiff]) -> tuple[int, int]:
    changes = [change_of(diff.old, diff.new) for diff in diffs]
    return sum(change.added for change in changes), sum(change.removed for change in changes)


def _label(text: str) -> Part:
    return one_row(lambda options: line_of((" " * _INDENT + text, options.palette.faint), text=""), "")


def _diff_parts(diff: ToolDiff, *, named: bool, directory: str) -> Iterator[Part]:
    hunks = change_of(diff.old, diff.new).hunks
    if named:
        yield _label(relative(diff.path, directory))
    digits = max((len(str(row.number)) for hunk in hunks for row in hunk.lines), default=1)
    for index, hunk in enumerate(hunks):
        if index:
            yield one_row(lambda options: add_prefix([draw_gap(options)], _indent())[0], "")
        for start in range(0, len(hunk.lines), _DIFF_CHUNK):
            rows = hunk.lines[start : start + _DIFF_CHUNK]
            copied = "\n".join(row.sign + row.text for row in rows)
            yield Part(
                partial(_draw_hunk, rows, digits),
                copied,
                size=sum(len(row.text) for row in rows) // 2,
                breaks=len(rows) - 1,
            )
    if not hunks:
        yield _label("no difference")


def _draw_hunk(rows: Sequence[DiffLine], digits: int, options: RenderOptions) -> list[Line]:
    return add_prefix(draw_rows(rows, options.within(_INDENT), digits), _indent())


def _indent() -> LinePrefix:
    return LinePrefix(" " * _INDENT, " " * _INDENT, Style.null())
