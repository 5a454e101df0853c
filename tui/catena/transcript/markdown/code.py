"""Code blocks: the source as it is, indented, folded at the edge, coloured when the colours are known."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.style import Style

from catena.text.safe_text import safe
from catena.transcript.drawing.highlight import ColouredLine
from catena.transcript.drawing.lines import Line, Mark, marked
from catena.transcript.drawing.render_options import RenderOptions
from catena.transcript.drawing.wrapping import Run, lay

TAB = 4  # a tab reaches to the next multiple of so many columns
_LANGUAGE = re.compile(r"[\w.+#-]+")


def indentation(look: RenderOptions) -> int:
    """Return by how many cells code is set in."""
    return 2 if look.narrow else 3


def language_of(info: str) -> str:
    """Return the language that the first line of a fence names, or nothing."""
    match = _LANGUAGE.match(info.strip().lstrip("{."))
    return match[0].lower() if match else ""


def draw_code(source: str, info: str, look: RenderOptions) -> list[Line]:
    """Draw a whole block of code."""
    source = safe(source)
    return draw_code_lines(source.split("\n"), colours(source, info, look), look)


def colours(source: str, info: str, look: RenderOptions) -> Sequence[ColouredLine] | None:
    """Return the coloured lines of a safe ``source``, if they are known yet."""
    if look.colouring is None:
        return None
    return look.colouring.of(source, language_of(info))


def draw_code_lines(
    lines: Sequence[str], coloured: Sequence[ColouredLine] | None, look: RenderOptions
) -> list[Line]:
    """Draw some lines of code, and with ``coloured``, which has as many, in colours."""
    indent = indentation(look)
    width = max(4, look.width - indent)
    base = look.palette.code_block
    roles = look.palette.code_roles
    drawn: list[Line] = []
    for number, line in enumerate(lines):
        runs: list[Run]
        if coloured is None:
            runs = [(line, base)]
        else:
            runs = [(text, roles.get(role, base)) for text, role in coloured[number]]
        rows = lay(_without_tabs(runs) if "\t" in line else runs, width)
        if len(rows) == 1:
            rows[0].text = line  # with its tabs
        drawn += rows
    return marked(drawn, Mark(" " * indent, " " * indent, Style.null()))


def _without_tabs(runs: Sequence[Run]) -> list[Run]:
    expanded: list[Run] = []
    column = 0
    for text, style in runs:
        pieces: list[str] = []
        for character in text:
            piece = " " * (TAB - column % TAB) if character == "\t" else character
            pieces.append(piece)
            column += len(piece)
        expanded.append(("".join(pieces), style))
    return expanded
