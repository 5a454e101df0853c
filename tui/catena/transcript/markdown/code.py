"""Code blocks drawn as lines on their ground: wrapped, and highlighted once they have been lexed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.segment import Segment

from catena.text.safe_text import safe
from catena.transcript.drawing.highlight import ColouredLine
from catena.transcript.drawing.lines import Line, on_ground
from catena.transcript.drawing.render_options import RenderOptions
from catena.transcript.drawing.wrapping import Run, wrap_runs

_LANGUAGE = re.compile(r"[\w.+#-]+")


def language_of(info: str) -> str:
    """Return the language in a fence's info string, or ""."""
    match = _LANGUAGE.match(info.strip().lstrip("{."))
    return match[0].lower() if match else ""


def draw_code(source: str, info: str, options: RenderOptions) -> list[Line]:
    """Draw a code block."""
    source = safe(source)
    coloured = highlighted_lines(source, info, options)
    return with_language(draw_code_lines(source.split("\n"), coloured, options), info, options)


def with_language(lines: list[Line], info: str, options: RenderOptions) -> list[Line]:
    """Put the language of a code block at the right of its first row, unless code stands there."""
    language = language_of(info)
    if lines and language and not options.narrow:
        lines[0].note = (Segment(language, options.palette.code_note),)
    return lines


def highlighted_lines(source: str, info: str, options: RenderOptions) -> Sequence[ColouredLine] | None:
    """Return the highlighted lines of a safe ``source``; None if it is not lexed yet."""
    if options.highlights is None:
        return None
    return options.highlights.of(source, language_of(info))


def draw_code_lines(
    lines: Sequence[str], coloured: Sequence[ColouredLine] | None, options: RenderOptions
) -> list[Line]:
    """Draw lines of code, highlighted where ``coloured`` has the same lines with roles."""
    base = options.palette.code_block
    roles = options.palette.code_roles
    drawn: list[Line] = []
    for number, line in enumerate(lines):
        runs: list[Run]
        if coloured is None:
            runs = [(line, base)]
        else:
            runs = [(text, roles.get(role, base)) for text, role in coloured[number]]
        drawn += wrap_runs(runs, options.width)
    return on_ground(drawn, base, padded=True)
