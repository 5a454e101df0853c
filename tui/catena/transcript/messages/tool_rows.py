"""Drawing of tool calls: their line, their work below it or unfolded, and their subject before they are allowed."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from enum import Enum
from functools import partial
from pathlib import PurePosixPath
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style

from catena.text.call_text import (
    AnyDiff,
    change_of,
    diff_label,
    glyph_of,
    image_words,
    lineless_words,
    locations_of,
    notes_of,
    object_of,
    outputs_of,
    raw_of,
    raw_text,
    relative,
    rule_of,
    size_of,
    verb_of,
)
from catena.text.formats import duration_text, taken_text
from catena.text.safe_text import safe
from catena.transcript.drawing.lines import Line, LinePrefix, add_prefix, line_of, with_mark, with_tabs
from catena.transcript.drawing.output_colours import fit_runs, runs_of
from catena.transcript.drawing.render_options import RenderOptions
from catena.transcript.drawing.wrapping import Run, expand_tabs, shorten, total_cells, width_of, wrap_runs
from catena.transcript.messages.diff import counts, draw_diff, draw_gap, excerpt_of
from catena.transcript.messages.parts import LINES, Part, image_part, one_row, text_parts
from catena_acp.diff import DiffLine
from catena_acp.permissions.subject import RequestSubject
from catena_acp.spoken.blocks import Diff
from catena_acp.spoken.call import Call, seconds_between
from catena_acp.terminals.screen_text import without_colours
from catena_store.records import Message

_ASKED = "?"
DIFF_ROWS = 12  # of a call's diffs, unless it is unfolded
_TAIL = 3  # rows of output
_TAIL_OF_FAILURE = 2
_DIFF_CHUNK = 200
_COUNTS_AND_TIME = "   "
_ERROR = re.compile(
    r"E\s{2,}\S|(?:\w+\.)*\w*(?:Error|Exception)\b|(?:error|fatal|panic)(?:\[\w+\]| error)?:|\S+: (?:error|fatal):",
    re.IGNORECASE,
)
_LINE_NUMBER = re.compile(r":\d+\Z")


class Shown(Enum):
    """How much of a tool call is shown."""

    ASKED = "asked"  # its line alone: what it would do stands beside the question whether it may
    LINE = "line"  # its line alone
    SOME = "some"  # and the most telling of its work
    ALL = "all"


class _Tail(NamedTuple):
    """What is shown of an output: the line that tells its error, lines left out, and its last lines."""

    error: str
    hidden: int
    last: Sequence[str]


def draw_tool_line(
    call: Call, what: str, more: _More, shown: Shown, goes_on: bool, options: RenderOptions
) -> Line:
    """Draw the line of a tool call about ``what``; ``goes_on``: its work does in the background."""
    palette = options.palette
    right: list[Run] = counts(*size_of(call.counted), options)
    if shown is Shown.ASKED:
        return draw_call_line(
            _ASKED, palette.asking, verb_of(call), palette.heading_2, what, "", right, "", options
        )
    fold = ""
    if shown is Shown.ALL:
        fold = "▾"
    elif more.details and (shown is Shown.LINE or options.short or not more.preview):
        fold = "▸"
    if call.ending:
        right.append((call.ending, palette.error))
    if call.rejected:
        right.append((" rejected" if right else "rejected", palette.faint))
    if call.background:
        right.append(("in background", palette.running) if goes_on else ("background ended", palette.faint))
    seconds = call.seconds
    time = "" if seconds is None or call.background else taken_text(seconds)
    if call.running and options.now is not None:
        elapsed = seconds_between(call.started_at, options.now())
        time = "" if elapsed is None or elapsed < 1 else duration_text(elapsed, precise=False)
    running = call.running or goes_on
    mark_style = palette.failed if call.failed else palette.running if running else palette.muted
    verb_style = palette.failed if call.failed else palette.muted
    return draw_call_line(
        "◐" if goes_on else glyph_of(call),
        mark_style,
        verb_of(call),
        verb_style,
        what,
        fold,
        right,
        time,
        options,
    )


def draw_group_line(messages: Sequence[Message], folded: bool, options: RenderOptions) -> Line:
    """Draw the line that stands for several calls of one kind."""
    calls = [Call.of(message) for message in messages]
    palette = options.palette
    running = next((call for call in calls if call.running or glyph_of(call) == "○"), None)
    seconds = [call.seconds for call in calls if call.seconds is not None]
    time = taken_text(sum(seconds)) if seconds and running is None else ""
    return draw_call_line(
        glyph_of(running or calls[0]),
        palette.running if running and running.running else palette.muted,
        verb_of(calls[0]),
        palette.muted,
        _group_words(calls, options.directory),
        "▸" if folded else "▾",
        [],
        time,
        options,
    )


def _group_words(calls: Sequence[Call], directory: str) -> str:
    """What a group of calls was about: `4 files in auth`."""
    match calls[0].kind:
        case "read":
            files = _files(calls, directory)
            return files.pop() if len(files) == 1 else _files_words(files)
        case "edit":
            files = _files(calls, directory)
            return f"{files.pop()} {len(calls)} times" if len(files) == 1 else _files_words(files)
        case "execute":
            return f"{len(calls)} commands"
        case "search":
            return f"{len(calls)} times"
        case _:
            return f"{len(calls)} pages"


def _files(calls: Sequence[Call], directory: str) -> set[str]:
    return {_LINE_NUMBER.sub("", object_of(call, directory)) for call in calls}


def _files_words(files: Collection[str]) -> str:
    folders = {str(PurePosixPath(file).parent) for file in files}
    where = f" in {folders.pop()}" if len(folders) == 1 and folders != {"."} else ""
    return f"{len(files)} files{where}"


def draw_call_line(
    glyph: str,
    mark_style: Style,
    verb: str,
    verb_style: Style,
    what: str,
    fold: str,
    right: list[Run],
    time: str,
    options: RenderOptions,
) -> Line:
    """Draw mark, verb and object at the left, sizes and time at the right, and the mark of the fold between them."""
    palette = options.palette
    verb_runs: list[Run] = [(verb, verb_style)]
    verb_runs.append((" " * max(1, options.second_axis - len(verb)), Style.null()))
    fold_cells, apart = 2 if fold else 0, 1 if options.narrow else _APART

    def room() -> int:
        note = total_cells(right) + len(time) + (len(_COUNTS_AND_TIME) if right and time else 0)
        return options.width - total_cells(verb_runs) - fold_cells - (note + apart if note else 0)

    if options.narrow and right and time:
        time = ""
    if room() < min(width_of(what), _LEAST_OBJECT) and time:
        time = ""
    text = shorten(what, max(1, room()))
    runs = [*verb_runs, (text, palette.text)]
    if fold:
        runs.append((f" {fold}", palette.faint))
    line = line_of(*runs, text=" ".join(f"{glyph} {verb} {what}".split()))
    note = list(right)
    if time:
        note += [(_COUNTS_AND_TIME, Style.null())] if right else []
        note.append((time, palette.faint))
    line.note = tuple(Segment(*run) for run in note)
    return with_mark([line], glyph, mark_style)[0]


_APART = 2  # cells between an object and what stands on the right
_LEAST_OBJECT = 16  # cells of an object that is shortened for the time


def tool_parts(
    call: Call,
    message_id: str,
    *,
    shown: Shown,
    raw: bool,
    options: RenderOptions,
    goes_on: bool = False,
    head: Callable[[Call, str, RenderOptions], Line] | None = None,
) -> Iterator[Part]:
    """Make the parts of a tool call: its line, and below it what ``shown`` says; ``raw``: input and output as sent.

    ``head`` draws another line than that of a usual call.
    """
    directory = options.directory
    what, outputs = object_of(call, directory), outputs_of(call)  # once: it may name thousands of places
    more = _More.of(call, outputs)
    drawn = partial(head, call, what) if head else partial(draw_tool_line, call, what, more, shown, goes_on)
    line = one_row(drawn)
    line.opens = True
    yield line
    if raw:
        yield from _raw_parts(call, options)
        return
    if shown is not Shown.ASKED:
        yield from (_preview(partial(_draw_output, [note], False), note, 1) for note in notes_of(call))
    if shown in (Shown.LINE, Shown.ASKED):
        return
    if rule := rule_of(call):
        yield _preview(partial(_draw_output, [rule], False), rule, 1)
    if shown is Shown.SOME:
        if more.preview:
            yield from _preview_parts(call, outputs, directory)
        yield from _image_parts(call, message_id)
        return
    if len(locations := locations_of(call, directory)) > 1:
        yield from _body_parts("\n".join(locations), options)
    diffs = call.diffs
    for diff in diffs:
        yield from _diff_parts(diff, diff_label(diff, call, directory))
    if hidden := _hidden_lines(call):
        yield _label(f"{hidden:,} line{'s' if hidden != 1 else ''} above are not kept")
    for output in outputs:
        yield from _output_parts(output.strip("\n"), options)
    yield from _image_parts(call, message_id)
    if not (diffs or outputs or call.images or call.terminals or head):
        yield from _raw_parts(call, options)


def hides_some(call: Call, *, short: bool) -> bool:
    """Return whether more of a tool call can be shown than is at first."""
    outputs = outputs_of(call)
    more, made = _More.of(call, outputs), call.counted
    if short or not more.preview:
        return more.details
    if made:
        rows = sum(len(hunk.lines) for diff in call.diffs for hunk in change_of(diff.old, diff.new).hunks)
        return rows > len(excerpt_rows(made)[0]) or bool(outputs)
    return _tail_of(call, outputs).hidden > 0


class _More(NamedTuple):
    """What there is of a call below its line."""

    details: bool  # anything but what it was called with
    preview: bool  # changes, output of commands and failures, some of which is shown without being asked for

    @classmethod
    def of(cls, call: Call, outputs: Sequence[str]) -> _More:
        said = bool(outputs) and (call.kind == "execute" or bool(call.terminals) or call.failed)
        other = call.images or rule_of(call) or any(call.notes) or raw_text(call.raw_output)
        places = sum(bool(place.path) for place in call.places)
        return cls(bool(call.diffs or outputs or other or places > 1), bool(call.counted) or said)


def _hidden_lines(call: Call) -> int:
    """Lines of terminals, above their outputs, that are not kept."""
    return sum(each.hidden_lines for each in call.terminals)


# What is shown at first


def _preview_parts(call: Call, outputs: Sequence[str], directory: str) -> Iterator[Part]:
    diffs = call.counted  # what was not made is shown when all is
    if diffs:
        rows, hidden = excerpt_rows(diffs)
        copied = "\n".join(row.sign + row.text for row in rows if isinstance(row, DiffLine))
        yield _preview(partial(draw_excerpt, rows, directory), copied, len(rows))
    else:
        tail = _tail_of(call, outputs)
        hidden = tail.hidden
        if tail.error:
            yield _preview(partial(_draw_output, [tail.error], True), tail.error, 1)
    if hidden:
        more = _preview(partial(draw_more, hidden, bool(diffs)), "", 1)
        more.opens = True
        yield more
    if not diffs and tail.last:
        failed = call.failed and not tail.error and len(tail.last) == 1
        copied = without_colours("\n".join(tail.last))
        yield _preview(partial(_draw_output, tail.last, failed), copied, len(tail.last))


def _image_parts(call: Call, message_id: str) -> Iterator[Part]:
    for note in call.images:
        words = image_words(note, "o")
        yield _preview(partial(_draw_output, [words], False), words, 1)
        yield image_part(message_id, note, lambda options: options.second_axis)


def _preview(draw: partial[list[Line]], copied: str, rows: int) -> Part:
    return Part(partial(_unless_short, draw), copied, size=0, breaks=rows - 1)


def _unless_short(draw: partial[list[Line]], options: RenderOptions) -> list[Line]:
    return [] if options.short else draw(options)


def excerpt_rows(
    diffs: Sequence[AnyDiff], most: int = DIFF_ROWS, *, context: int = 1
) -> tuple[list[DiffLine | str | None], int]:
    """Choose at most ``most`` rows of a call's diffs, each file named if there are several, and count the hidden lines.

    Changed lines go before the ``context`` unchanged ones around them.
    """
    rows: list[DiffLine | str | None] = []
    hidden = 0
    for diff in diffs:
        excerpt = excerpt_of(diff.old, diff.new, max(0, most - len(rows)), context)
        if excerpt.rows:
            rows += [diff.path] if len(diffs) > 1 else []
            rows += excerpt.rows
        hidden += excerpt.hidden
    return rows, hidden


def draw_excerpt(
    rows: Sequence[DiffLine | str | None], directory: str, options: RenderOptions, *, wrapped: bool = False
) -> list[Line]:
    """Draw chosen rows of diffs; a string names a file."""
    lines: list[Line] = []
    block: list[DiffLine | None] = []
    for row in rows:
        if isinstance(row, str):
            lines += draw_diff(block, options, wrapped=wrapped)
            block = []
            lines.append(_name_line(relative(row, directory), options))
        else:
            block.append(row)
    return lines + draw_diff(block, options, wrapped=wrapped)


def draw_more(hidden: int, on_code: bool, options: RenderOptions) -> list[Line]:
    """Draw the row that says how many lines are left out."""
    lead = " " * options.second_axis
    style = options.palette.number_context if on_code else options.palette.faint
    text = f"{lead}… {hidden:,} line{'s' if hidden != 1 else ''} ▸"
    line = line_of((text, style), text="", lead=len(text))
    if on_code:
        line.ground = options.palette.context
    return [line]


def _draw_output(rows: Sequence[str], failed: bool, options: RenderOptions) -> list[Line]:
    style = options.palette.error if failed else options.palette.muted
    lead, room = " " * options.second_axis, max(8, options.width - options.second_axis)
    lines = []
    for row in rows:
        runs, tabs = expand_tabs(runs_of(row, style, options.palette))
        line = line_of((lead, Style.null()), *fit_runs(runs, room), lead=len(lead))
        line.text, line.tabs = with_tabs(line.text, tabs, 0, len(line.text)), tabs
        lines.append(line)
    return lines


def _tail_of(call: Call, outputs: Sequence[str]) -> _Tail:
    """Choose the most telling lines of an output."""
    tail = _kept_tail_of("\n".join(outputs).strip("\n"), failed=call.failed)
    return tail._replace(hidden=tail.hidden + _hidden_lines(call))


def _kept_tail_of(body: str, *, failed: bool) -> _Tail:
    if not failed:
        rows, above = _last_rows(body, _TAIL)
        return _Tail("", above, rows)
    rows, above = _last_rows(body, _TAIL_OF_FAILURE)
    if not above:
        return _Tail("", 0, rows)
    error = next((line for line in safe(body).split("\n") if _ERROR.match(line)), "")
    if not error or error in rows:
        rows, above = _last_rows(body, _TAIL)
        return _Tail("", above, rows)
    return _Tail(error, above - 1, rows)


def _last_rows(body: str, count: int) -> tuple[list[str], int]:
    """The last rows of an output that are not blank at its end, and how many there are above them."""
    body = body.rstrip()
    at = len(body)
    for _ in range(count):
        at = body.rfind("\n", 0, at)
        if at < 0:
            return (_rows(body) if body else []), 0
    return _rows(body[at + 1 :]), body.count("\n", 0, at) + 1


def _rows(text: str) -> list[str]:
    """The rows of an output; those with colours are made safe when they are drawn."""
    return (text if "\x1b" in text else safe(text)).split("\n")


# All of it


def _body_parts(text: str, options: RenderOptions) -> Iterator[Part]:
    return text_parts(text, lambda palette: palette.muted, indent=options.second_axis)


def _output_parts(output: str, options: RenderOptions) -> Iterator[Part]:
    """Make parts of an output; one with colours has as many rows in a part as code has."""
    if "\x1b" not in output:
        yield from _body_parts(output, options)
        return
    rows = output.split("\n")
    for start in range(0, len(rows), LINES):
        chunk = rows[start : start + LINES]
        copied = without_colours("\n".join(chunk))
        yield Part(partial(_draw_coloured, chunk), copied, size=len(copied), breaks=len(chunk) - 1)


def _draw_coloured(rows: Sequence[str], options: RenderOptions) -> list[Line]:
    lead = " " * options.second_axis
    room = max(8, options.width - options.second_axis)
    lines: list[Line] = []
    for row in rows:
        lines += wrap_runs(runs_of(row, options.palette.muted, options.palette), room)
    return add_prefix(lines, LinePrefix(lead, lead, Style.null()))


def _raw_parts(call: Call, options: RenderOptions) -> Iterator[Part]:
    raw = raw_of(call)
    if not raw:
        yield _label("no further details")
    for label, value in raw:
        yield _label(label)
        yield from _body_parts(value.strip("\n"), options)


def _label(text: str) -> Part:
    return one_row(partial(_name_line, text))


def _name_line(text: str, options: RenderOptions) -> Line:
    lead = " " * options.second_axis
    room = options.width - len(lead)
    return line_of((lead, Style.null()), (shorten(text, room), options.palette.faint), text="")


def _diff_parts(diff: Diff, label: str) -> Iterator[Part]:
    hunks = change_of(diff.old, diff.new).hunks
    if label:
        yield _label(label)
    for index, hunk in enumerate(hunks):
        if index:
            yield one_row(_gap_line)
        for start in range(0, len(hunk.lines), _DIFF_CHUNK):
            rows = hunk.lines[start : start + _DIFF_CHUNK]
            copied = "\n".join(row.sign + row.text for row in rows)
            size = sum(len(row.text) for row in rows) // 2
            yield Part(partial(draw_diff, rows), copied, size=size, breaks=len(rows) - 1)
    if not hunks:
        yield _label(lineless_words(diff))


def _gap_line(options: RenderOptions) -> Line:
    line = draw_gap(options)
    line.ground = options.palette.context
    return line


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
