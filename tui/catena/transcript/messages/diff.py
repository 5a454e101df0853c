"""Diff of a file, drawn: numbered lines on grounds of their own, with the changed words marked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from rich.segment import Segment
from rich.style import Style

from catena.text.call_text import change_of
from catena.transcript.drawing.lines import Line, line_of, on_ground
from catena.transcript.drawing.render_options import Palette, RenderOptions
from catena.transcript.drawing.wrapping import Run, expand_tabs, fit, width_of, wrap_runs
from catena_acp.diff import DiffLine, Hunk

SIDE_BY_SIDE = 116  # cells of text from which both versions stand beside each other
_NUMBER = 5  # cells of a line number, which ends beside its sign
_SIGNS = {"+": "+", "-": "−", " ": " "}

# By index of a line: the ranges that differ from its counterpart.
Words = Mapping[int, Sequence[tuple[int, int]]]


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The lines of a diff that are shown if there is little room; None stands for a gap between them."""

    rows: Sequence[DiffLine | None]
    hidden: int  # changed lines that are left out


@lru_cache(maxsize=64)
def excerpt_of(old: str | None, new: str | None, most: int, context: int = 1) -> Excerpt:
    """Choose at most ``most`` rows: changed lines first, then ``context`` unchanged ones around them."""
    change = change_of(old, new)
    for around in range(context, -1, -1):
        rows = list(_with_context(change.hunks, around))
        if len(rows) <= most:
            return Excerpt(rows, 0)
    changed = [row for row in rows if row is not None]
    shown: list[DiffLine | None] = []
    for row in rows:
        if len(shown) >= most:
            break
        shown.append(row)
    if shown and shown[-1] is None:
        shown.pop()
    return Excerpt(shown, len(changed) - sum(row is not None for row in shown))


def _with_context(hunks: Sequence[Hunk], around: int) -> Iterator[DiffLine | None]:
    """Yield the changed lines and so many around them."""
    begun = False
    for hunk in hunks:
        changed = [index for index, row in enumerate(hunk.lines) if row.sign != " "]
        keep = sorted({at for index in changed for at in range(index - around, index + around + 1)})
        last: int | None = None
        for index in keep:
            if not 0 <= index < len(hunk.lines):
                continue
            if begun and (last is None or index != last + 1):
                yield None
            yield hunk.lines[index]
            begun, last = True, index


def draw_diff(
    rows: Sequence[DiffLine | None],
    options: RenderOptions,
    *,
    wrapped: bool = True,
    side_by_side: bool | None = None,
) -> list[Line]:
    """Draw lines of a diff, with a gap for None; both versions beside each other if there is much room.

    The lines begin at the text's edge; a line that is too long is cut unless ``wrapped``. ``side_by_side``, unless
    None, decides regardless of the room.
    """
    known = [row for row in rows if row is not None]
    words = changed_words(known)
    if options.width >= SIDE_BY_SIDE if side_by_side is None else side_by_side:
        return _side_by_side(rows, words, options)
    lines: list[Line] = []
    index = 0
    for row in rows:
        if row is None:
            lines += on_ground([draw_gap(options)], options.palette.context)
            continue
        lines += _draw_row(row, words.get(index, ()), options, wrapped=wrapped)
        index += 1
    return lines


def draw_gap(options: RenderOptions) -> Line:
    """Draw the separator between two parts of a diff."""
    text = " " * options.second_axis + "⋯"
    return line_of((text, options.palette.number_context), text="", lead=len(text))


def _draw_row(
    row: DiffLine, words: Sequence[tuple[int, int]], options: RenderOptions, *, wrapped: bool
) -> list[Line]:
    base, sign_style, number_style = _styles(row.sign, options.palette)
    axis = options.second_axis
    room = max(8, options.width - axis)
    runs = _runs(row, words, options.palette)
    drawn = wrap_runs(runs, room) if wrapped else [_cut(runs, room, base)]
    if len(drawn) == 1:
        drawn[0].text = row.text
    number = "" if options.narrow else f"{row.number:>{_NUMBER}}"
    first = f"{number:<{axis - 2}}{_SIGNS[row.sign]} "
    for line, (left, sign) in zip(drawn, _leads(first, axis, len(drawn)), strict=True):
        before = [Segment(sign, sign_style)]
        if left:
            before.insert(0, Segment(left, number_style))
        line.segments = [*before, *line.segments]
        line.cells += axis
        line.lead += axis
    return on_ground(drawn, base)


def _leads(first: str, axis: int, count: int) -> Iterator[tuple[str, str]]:
    """Yield what stands before the code of each row: number and sign, then nothing."""
    yield first[: axis - 2], first[axis - 2 :]
    for _ in range(count - 1):
        yield " " * (axis - 2), "  "


def _styles(sign: str, palette: Palette) -> tuple[Style, Style, Style]:
    """The styles of a line's code, sign and number."""
    match sign:
        case "+":
            return palette.added, palette.added_sign, palette.added_number
        case "-":
            return palette.removed, palette.removed_sign, palette.removed_number
        case _:
            return palette.context, palette.context, palette.number_context


def _runs(row: DiffLine, words: Sequence[tuple[int, int]], palette: Palette) -> list[Run]:
    base = _styles(row.sign, palette)[0]
    word = palette.added_word if row.sign == "+" else palette.removed_word
    runs: list[Run] = []
    at = 0
    for start, end in words:
        runs += [(row.text[at:start], base), (row.text[start:end], word)]
        at = end
    runs.append((row.text[at:], base))
    return [run for run in runs if run[0]] or [("", base)]


def _cut(runs: Sequence[Run], room: int, base: Style) -> Line:
    """Draw runs on one row, with `…` at its end if they are too long."""
    segments: list[Segment] = []
    left = room
    runs, tabs = expand_tabs(runs)
    too_long = sum(width_of(text) for text, _ in runs) > room
    for text, style in runs:
        piece = fit(text, left - too_long)
        segments.append(Segment(piece, style))
        left -= width_of(piece)
        if piece != text:
            break
    if too_long:
        segments.append(Segment("…", base))
        left -= 1
    return Line(segments, room - left, "".join(segment.text for segment in segments), tabs=tabs)


def _side_by_side(rows: Sequence[DiffLine | None], words: Words, options: RenderOptions) -> list[Line]:
    """Draw the old version at the left and the new one at the right."""
    half = options.width // 2
    lines: list[Line] = []
    for old, new in _pairs(rows):
        if old is None and new is None:
            lines += on_ground([draw_gap(options)], options.palette.context)
            continue
        left = _half_row(old, words, options, half)
        right = _half_row(new, words, options, options.width - half)
        copied = "\n".join(
            dict.fromkeys(side[1].text for side in (old, new) if side is not None and side[1] is not None)
        )
        line = Line([*left, *right], options.width, copied, 0)
        ground = options.palette.context
        lines += on_ground([line], ground)
    return lines


_Side = tuple[int, DiffLine]  # a line with its index


def _pairs(rows: Sequence[DiffLine | None]) -> Iterator[tuple[_Side | None, _Side | None]]:
    """Yield what stands beside each other; two Nones are a gap."""
    removed: list[_Side] = []
    added: list[_Side] = []
    index = 0
    for row in (*rows, None):
        if row is None or row.sign == " " or (row.sign == "-" and added):
            for at in range(max(len(removed), len(added))):
                yield (
                    removed[at] if at < len(removed) else None,
                    added[at] if at < len(added) else None,
                )
            removed, added = [], []
        if row is None:
            if index and index < sum(each is not None for each in rows):
                yield None, None
            continue
        if row.sign == " ":
            yield (index, row), (index, row)
        elif row.sign == "-":
            removed.append((index, row))
        else:
            added.append((index, row))
        index += 1


def _half_row(side: _Side | None, words: Words, options: RenderOptions, width: int) -> list[Segment]:
    palette = options.palette
    if side is None:
        return [Segment(" " * width, palette.context)]
    index, row = side
    base, sign_style, number_style = _styles(row.sign, palette)
    axis = options.second_axis
    line = _cut(_runs(row, words.get(index, ()), palette), width - axis - 1, base)
    return [
        Segment(f"{row.number:>{_NUMBER}}".ljust(axis - 2), number_style),
        Segment(f"{_SIGNS[row.sign]} ", sign_style),
        *line.segments,
        Segment(" " * (width - axis - line.cells), base),
    ]


def counts(added: int, removed: int, options: RenderOptions) -> list[tuple[str, Style]]:
    """Return `+6 −2` as styled runs; zeros are left out."""
    pieces: list[tuple[str, Style]] = []
    if added:
        pieces.append((f"+{added}", options.palette.added_count))
    if removed:
        pieces.append((f"{' ' if pieces else ''}−{removed}", options.palette.removed_count))
    return pieces


# Words

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_MOST_COMPARED = 8  # removed or added lines that follow one another, beyond which words are not compared
_LONGEST_COMPARED = 400  # characters
_ALIKE = 0.5  # of two lines, below which they are not versions of one line


def changed_words(rows: Sequence[DiffLine]) -> Words:
    """Find the words that differ between removed lines and the added lines that take their place."""
    words: dict[int, list[tuple[int, int]]] = {}
    start = 0
    while start < len(rows):
        if rows[start].sign != "-":
            start += 1
            continue
        middle = _run_end(rows, start, "-")
        end = _run_end(rows, middle, "+")
        if middle - start <= _MOST_COMPARED and end - middle <= _MOST_COMPARED:
            _compare(rows, range(start, middle), range(middle, end), words)
        start = max(end, middle)
    return words


def _run_end(rows: Sequence[DiffLine], start: int, sign: str) -> int:
    while start < len(rows) and rows[start].sign == sign:
        start += 1
    return start


def _compare(
    rows: Sequence[DiffLine], removed: range, added: range, words: dict[int, list[tuple[int, int]]]
) -> None:
    """Pair each removed line with the added line most like it, in order, and mark where they differ."""
    first = added.start
    for old in removed:
        best, ratio, matcher = -1, _ALIKE, None
        before = _tokens(rows[old].text)
        for new in range(first, added.stop):
            candidate = SequenceMatcher(None, before, _tokens(rows[new].text), autojunk=False)
            if candidate.real_quick_ratio() <= ratio or candidate.quick_ratio() <= ratio:
                continue
            if (alike := candidate.ratio()) > ratio:
                best, ratio, matcher = new, alike, candidate
        if matcher is None:
            continue
        first = best + 1
        after = _tokens(rows[best].text)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes():
            if tag == "equal":
                continue
            _mark(words.setdefault(old, []), before, i1, i2)
            _mark(words.setdefault(best, []), after, j1, j2)


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text) if len(text) <= _LONGEST_COMPARED else [text]


def _mark(ranges: list[tuple[int, int]], tokens: Sequence[str], first: int, last: int) -> None:
    start = sum(map(len, tokens[:first]))
    end = start + sum(map(len, tokens[first:last]))
    if start == end:
        return
    if ranges and ranges[-1][1] == start:
        start = ranges.pop()[0]
    ranges.append((start, end))
