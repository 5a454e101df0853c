"""A terminal screen as an SVG that is the same bytes whenever and wherever it is made."""

from __future__ import annotations

import html
import re

from rich.cells import cell_len

CELL = 12.2  # units that Rich gives a cell in its drawing
FONTS = '"Fira Code", "DejaVu Sans Mono", Menlo, Consolas, monospace'

_TEXT = re.compile(r'(<text class="[^"]*-r\d+"[^>]*) textLength="[^"]*"([^>]*)>([^<]*)</text>')
_FONT_FACE = re.compile(r"\s*@font-face \{.*?\}\n", re.DOTALL)
_ID = re.compile(r"terminal-\d+")
_LINE_END = re.compile(r"<text[^>]*>\s*</text>")


def settled(drawing: str) -> str:
    """Textual's own screenshot, made reproducible, self-contained, and right for wide characters."""
    # The id is a checksum that includes the addresses of links; fonts would be fetched from elsewhere.
    drawing = _FONT_FACE.sub("\n", _ID.sub("catena", drawing))
    drawing = drawing.replace("font-family: Fira Code, monospace;", f"font-family: {FONTS};")
    drawing = _TEXT.sub(_with_width_in_cells, _LINE_END.sub("", drawing))
    drawing = drawing.replace("<svg ", '<svg xml:space="preserve" ', 1)  # blanks at the ends of texts count
    # One piece a line, so that a difference between two pictures can be read.
    drawing = drawing.replace("><rect", ">\n<rect").replace("><text", ">\n<text")
    return "\n".join(line.rstrip() for line in drawing.splitlines() if line.strip()) + "\n"


def _with_width_in_cells(text: re.Match[str]) -> str:
    # Rich counts characters, and squeezes those that take two cells into one.
    before, after, content = text.groups()
    width = CELL * cell_len(html.unescape(content))
    return f'{before} textLength="{width:g}"{after}>{content}</text>'
