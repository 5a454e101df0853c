"""What a tool call is about, drawn before it is allowed: its change, else its command, places and words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.style import Style

from catena.text.call_text import FILE_KINDS, AnyDiff, relative
from catena.text.safe_text import BREAK, safe, safe_line
from catena.transcript.drawing.lines import Line, LinePrefix, add_prefix
from catena.transcript.drawing.render_options import RenderOptions
from catena.transcript.drawing.wrapping import width_of, wrap_runs
from catena.transcript.messages.tool_rows import draw_excerpt, draw_more, excerpt_rows
from catena_acp.diff import DiffLine
from catena_acp.permissions.parts import PartRole
from catena_acp.permissions.subject import RequestSubject

_LONGEST = 4_000  # characters of one argument
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


def draw_arguments(subject: RequestSubject, options: RenderOptions, *, whole: bool = False) -> list[Line]:
    """Draw what the agent says of a call beside its changes: arguments, words and places, ``whole`` or the first."""
    most = None if whole else _LONGEST
    return _draw_texts((text[:most] for text in _arguments(subject, options)), options)


def draw_request(subject: RequestSubject, options: RenderOptions) -> list[Line]:
    """Draw all that the agent says of such a call: its title, which may be a long command, and what belongs to it."""
    return _draw_texts((safe(subject.words.title), *_arguments(subject, options)), options)


def has_long_arguments(subject: RequestSubject, options: RenderOptions) -> bool:
    """True where an argument is longer than what is drawn of it before it is asked for."""
    return any(len(text) > _LONGEST for text in _arguments(subject, options))


def _arguments(subject: RequestSubject, options: RenderOptions) -> Iterator[str]:
    """The arguments, words and places of a call, fit to be drawn; what its title or its diffs say is not said again."""
    directory = options.directory
    diffs = {relative(each.path, directory) for each in subject.diffs}
    lines = {place.path: place.line for place in subject.call.locations or ()}
    if len(diffs) == 1 and subject.kind not in FILE_KINDS:  # else the question names it, or each is named
        yield f"change: {''.join(diffs)}"
    for part in subject.shown:
        if part.role in (PartRole.PLACE, PartRole.LOCATION) and relative(part.text, directory) in diffs:
            continue
        text = safe(part.text)
        match part.label:
            case "place":
                line = lines.get(part.text)
                yield relative(part.text, directory) + (f":{line}" if line else "")
            case "text":
                yield text
            case label:
                yield f"{safe_line(label)}: {text}".replace("\n", f" {BREAK}\n")


def _draw_texts(texts: Iterable[str], options: RenderOptions) -> list[Line]:
    indent = LinePrefix(" " * options.second_axis, " " * options.second_axis, Style.null())
    body = options.within(options.second_axis)
    lines = [
        line
        for row in "\n".join(texts).splitlines()
        for line in wrap_runs([(row.expandtabs(4), options.palette.muted)], body.width)
    ]
    return add_prefix(lines, indent)
