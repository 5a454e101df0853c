"""Markdown drawn as lines: blocks, code and what stands in a line; parsed by markdown-it, with HTML as text.

Cells of tables wrap, and a table whose columns would be too narrow becomes a list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rich.segment import Segment
from rich.style import Style

from catena.text.formulas import leave_formulas
from catena.text.safe_text import safe, safe_line
from catena.transcript.drawing.highlight import ColouredLine
from catena.transcript.drawing.lines import Line, LinePrefix, add_prefix, blank, on_ground
from catena.transcript.drawing.render_options import Palette, RenderOptions
from catena.transcript.drawing.wrapping import Run, total_cells, wrap_runs, wrap_text

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


HREF = "href"  # key of a link's address in a style's meta data
_TERMINAL_SCHEMES = ("http://", "https://", "mailto:", "ftp://")

_STRONG = Style(bold=True)
_EMPHASIS = Style(italic=True)
_STRUCK = Style(strike=True)


def inline_runs(tokens: Sequence[Token], base: Style, palette: Palette) -> list[list[Run]]:
    """Return one list of runs for each hard line of an inline token's children."""
    lines: list[list[Run]] = [[]]
    styles = [base]
    links: list[tuple[str, int]] = []  # address, and number of runs before the link
    length = 0

    def put(text: str, style: Style) -> None:
        nonlocal length
        if text:
            lines[-1].append((text, style))
            length += len(text)

    for token in tokens:
        match token.type:
            case "text" | "text_special" | "html_inline":
                put(safe_line_ends(token.content), styles[-1])
            case "code_inline":
                tick = "" if palette.tells_code else "`"
                put(f"{tick}{safe_line_ends(token.content)}{tick}", styles[-1] + palette.code)
            case "softbreak":
                put(" ", styles[-1])
            case "hardbreak":
                lines.append([])
            case "strong_open":
                styles.append(styles[-1] + _STRONG)
            case "em_open":
                styles.append(styles[-1] + _EMPHASIS)
            case "s_open":
                styles.append(styles[-1] + _STRUCK)
            case "link_open":
                href = safe_line(str(token.attrs.get("href", "")))
                styles.append(styles[-1] + palette.link + link_style(href))
                links.append((href, sum(len(line) for line in lines)))
            case "link_close":
                styles.pop()
                href, start = links.pop()
                runs = [run for line in lines for run in line][start:]
                if not _is_same_address("".join(text for text, _ in runs), href):
                    put(f" ({href})", styles[-1] + palette.faint)
            case "strong_close" | "em_close" | "s_close":
                styles.pop()
            case "image":
                put(safe_line(token.content) or "image", styles[-1] + _EMPHASIS)
                source = safe_line(str(token.attrs.get("src", "")))
                if source:
                    put(f" ({source})", styles[-1] + palette.faint)
            case _:
                put(safe_line_ends(token.content), styles[-1])
    return lines


def safe_line_ends(text: str) -> str:
    """Return ``text`` made safe, with newlines and tabs, which can come from entities, as spaces."""
    return safe(text).replace("\n", " ").replace("\t", " ")


def link_style(href: str) -> Style:
    """Return the style of a link: its address for clicks, and for the terminal where that can open it.

    The terminal gets none that hides where it leads.
    """
    from catena_acp.port.elicitation.requests import address_of  # few answers have a link

    terminal = href if href.lower().startswith(_TERMINAL_SCHEMES) else None
    if terminal is not None and href.lower().startswith("http") and address_of(href).refusal:
        terminal = None
    return Style(link=terminal, meta={HREF: href})


def _is_same_address(text: str, href: str) -> bool:
    return (
        not href or text == href or f"mailto:{text}" == href or href in (f"http://{text}", f"https://{text}")
    )


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


References = Mapping[str, Any]  # markdown-it's link reference definitions

_BETWEEN = "   "
_MIN_COLUMN = 6  # cells; a narrower column that needs more makes the table a list
_CODE = frozenset({"fence", "code_block"})
_BULLETS = ("•", "◦")
_TASKS = {"[ ] ": ("☐ ", "[ ] "), "[x] ": ("☑ ", "[x] "), "[X] ": ("☑ ", "[x] ")}


@lru_cache(maxsize=1)
def parser() -> MarkdownIt:
    """Return the shared parser; the first call imports it, which takes about 20 ms."""
    from markdown_it import MarkdownIt

    return leave_formulas(MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]))


def references_in(texts: Iterable[str]) -> References:
    """Return the link reference definitions in safe texts; the first definition of a name counts."""
    environment: dict[str, Any] = {}
    for text in texts:
        parser().parse(text, environment)
    found: References = environment.get("references", {})
    return found


def draw_markdown(
    text: str, options: RenderOptions, base: Style | None = None, references: References | None = None
) -> list[Line]:
    """Draw a Markdown text in the style ``base``, by default the palette's text style."""
    text = safe(text)
    environment = {"references": dict(references)} if references else {}
    tokens = parser().parse(text, environment)
    style = options.palette.text if base is None else base
    return _BlockRenderer(text.split("\n"), options, style).sequence(tokens, options)


def split_blocks(tokens: Sequence[Token]) -> list[Sequence[Token]]:
    """Split ``tokens`` into adjacent blocks."""
    found: list[Sequence[Token]] = []
    depth = start = 0
    for index, token in enumerate(tokens):
        depth += token.nesting
        if depth == 0:
            found.append(tokens[start : index + 1])
            start = index + 1
    return found


class _BlockRenderer:
    """Renderer of the tokens of one text."""

    def __init__(self, source: Sequence[str], options: RenderOptions, base: Style) -> None:
        self._source = source
        self._palette = options.palette
        self._base = base

    def sequence(self, tokens: Sequence[Token], options: RenderOptions, *, depth: int = 0) -> list[Line]:
        """Draw blocks with a blank row between them, in lists only where the source has one."""
        lines: list[Line] = []
        before: Token | None = None
        for group in split_blocks(tokens):
            drawn = self.block(group, options, depth)
            if not drawn:
                continue
            token = group[0]
            if before is not None and self._needs_blank_row(before, token, depth):
                lines.append(blank())
            lines += drawn
            before = token
        return lines

    def _needs_blank_row(self, before: Token, token: Token, depth: int) -> bool:
        if before.type == "heading_open" and token.type != "heading_open":
            return token.type in _CODE  # its ground begins in the row above it
        if depth:
            return self._blank_above(token)
        # A list directly below a paragraph belongs to it.
        is_list = token.type in ("bullet_list_open", "ordered_list_open")
        adjacent = before.map is not None and token.map is not None and before.map[1] == token.map[0]
        return not (is_list and before.type == "paragraph_open" and adjacent)

    def _blank_above(self, token: Token) -> bool:
        row = token.map[0] - 1 if token.map else -1
        return 0 <= row < len(self._source) and not self._source[row].strip(" \t>")

    def block(self, group: Sequence[Token], options: RenderOptions, depth: int) -> list[Line]:
        token = group[0]
        match token.type:
            case "paragraph_open":
                return self._inline(group[1], options, self._base)
            case "heading_open":
                return self._inline(group[1], options, self._base + self._heading(token.tag))
            case "fence" | "code_block":
                return draw_code(token.content.removesuffix("\n"), token.info, options)
            case "bullet_list_open" | "ordered_list_open":
                return self._list(group, options, depth)
            case "blockquote_open":
                mark = LinePrefix("▎ ", "▎ ", self._palette.quote, "> ", "> ")
                return add_prefix(self.sequence(group[1:-1], options.within(2), depth=0), mark)
            case "formula":
                return wrap_text(safe(token.content), self._base, options.width)
            case "hr":
                return wrap_runs([("─" * options.width, self._palette.rule)], options.width)
            case "table_open":
                return draw_table(group, options, self._base)
            case _:
                return wrap_runs([(safe(token.content).replace("\n", " "), self._base)], options.width)

    def _heading(self, tag: str) -> Style:
        match tag:
            case "h1":
                return self._palette.heading_1
            case "h2":
                return self._palette.heading_2
            case _:
                return self._palette.heading_3

    def _inline(self, token: Token, options: RenderOptions, base: Style) -> list[Line]:
        lines: list[Line] = []
        for runs in inline_runs(token.children or (), base, self._palette):
            lines += wrap_runs(runs, options.width)
        return lines

    def _list(self, group: Sequence[Token], options: RenderOptions, depth: int) -> list[Line]:
        opening = group[0]
        ordered = opening.type == "ordered_list_open"
        number = int(opening.attrs.get("start", 1)) if ordered else 0
        marker = self._base + self._palette.muted
        lines: list[Line] = []
        for index, item in enumerate(split_blocks(group[1:-1])):
            if ordered:
                shown = copied = f"{number + index}{item[0].markup or '.'} "
            else:
                shown, copied = f"{_BULLETS[depth % len(_BULLETS)]} ", "- "
            shown_task, copied_task = self._take_task(item)
            shown, copied_rest = shown_task or shown, " " * len(copied)
            within = options.within(len(shown))
            drawn = self.sequence(item[1:-1], within, depth=depth + 1) or [blank()]
            if index and self._blank_above(item[0]):
                lines.append(blank())
            rest = " " * len(shown)
            lines += add_prefix(drawn, LinePrefix(shown, rest, marker, copied + copied_task, copied_rest))
        return lines

    def _take_task(self, item: Sequence[Token]) -> tuple[str, str]:
        """Remove the task box from a list item; return it as drawn and as copied."""
        if len(item) > 2 and item[1].type == "paragraph_open" and item[2].children:
            first = item[2].children[0]
            task = _TASKS.get(first.content[:4]) if first.type == "text" else None
            if task is not None:
                first.content = first.content[4:]
                return task
        return "", ""


@dataclass(frozen=True, slots=True)
class _Table:
    header: list[list[Run]]
    rows: list[list[list[Run]]]
    alignments: list[str]


def draw_table(tokens: Sequence[Token], options: RenderOptions, base: Style) -> list[Line]:
    """Draw the tokens from `table_open` to `table_close`."""
    table = _read(tokens, options, base)
    widths = fit_columns(_natural(table), options.width)
    if widths is None:
        return _as_list(table, options)
    palette = options.palette
    rule = "─" * (sum(widths) + len(_BETWEEN) * (len(widths) - 1))
    lines = _row(table.header, widths, table.alignments)
    lines.append(Line([Segment(rule, palette.rule)], len(rule), "", len(rule)))
    tall = False
    for row in table.rows:
        drawn = _row(row, widths, table.alignments)
        if tall or (len(drawn) > 1 and row is not table.rows[0]):
            lines.append(blank())
        tall = len(drawn) > 1
        lines += drawn
    return lines


def fit_columns(natural: Sequence[int], width: int) -> list[int] | None:
    """Distribute ``width`` over columns of ``natural`` widths; None if a column would be too narrow."""
    room = width - len(_BETWEEN) * (len(natural) - 1)
    if sum(natural) <= room:
        return list(natural)
    widths = [0] * len(natural)
    wanting = list(range(len(natural)))
    while wanting:
        share = room // len(wanting)
        modest = [column for column in wanting if natural[column] <= share]
        if not modest:
            for position, column in enumerate(wanting):
                widths[column] = share + (position < room % len(wanting))
            break
        for column in modest:
            widths[column] = natural[column]
            room -= natural[column]
            wanting.remove(column)
    if any(width < min(natural[column], _MIN_COLUMN) for column, width in enumerate(widths)):
        return None
    return widths


def _read(tokens: Sequence[Token], options: RenderOptions, base: Style) -> _Table:
    header: list[list[Run]] = []
    rows: list[list[list[Run]]] = []
    alignments: list[str] = []
    row = header
    for index, token in enumerate(tokens):
        match token.type:
            case "tbody_open":
                row = []
            case "tr_open" if row is not header:
                row = []
                rows.append(row)
            case "th_open":
                alignments.append(str(token.attrs.get("style", "")).removeprefix("text-align:"))
                row.append(_runs(tokens[index + 1], base + options.palette.table_head, options))
            case "td_open":
                row.append(_runs(tokens[index + 1], base, options))
    return _Table(header, rows, alignments)


def _runs(token: Token, style: Style, options: RenderOptions) -> list[Run]:
    return [run for line in inline_runs(token.children or (), style, options.palette) for run in line]


def _natural(table: _Table) -> list[int]:
    return [
        max(1, *(total_cells(row[column]) for row in (table.header, *table.rows) if column < len(row)))
        for column in range(len(table.header))
    ]


def _row(cells: Sequence[list[Run]], widths: Sequence[int], alignments: Sequence[str]) -> list[Line]:
    columns = [wrap_runs(cells[n], width) if n < len(cells) else [blank()] for n, width in enumerate(widths)]
    whole = "| " + " | ".join("".join(text for text, _ in cell) for cell in cells) + " |"
    lines: list[Line] = []
    for height in range(max(len(column) for column in columns)):
        segments: list[Segment] = []
        for n, (column, width) in enumerate(zip(columns, widths, strict=True)):
            line = column[height] if height < len(column) else blank()
            space = max(0, width - line.cells)
            left = {"right": space, "center": space // 2}.get(alignments[n], 0)
            if n:
                segments.append(Segment(_BETWEEN, Style.null()))
            if left:
                segments.append(Segment(" " * left, Style.null()))
            segments += line.segments
            if space - left:
                segments.append(Segment(" " * (space - left), Style.null()))
        cells_wide = sum(widths) + len(_BETWEEN) * (len(widths) - 1)
        lines.append(Line(segments, cells_wide, "".join(s.text for s in segments).rstrip(), 0))
    if len(lines) == 1:
        lines[0].text = whole
    return lines


def _as_list(table: _Table, options: RenderOptions) -> list[Line]:
    lines: list[Line] = []
    for row in table.rows:
        if lines:
            lines.append(blank())
        for name, cell in zip(table.header, row, strict=False):
            label: list[Run] = [*name, (": ", options.palette.muted)] if name else []
            lines += add_prefix(
                wrap_runs([*label, *cell], options.width - 2), LinePrefix("", "  ", Style.null())
            )
    return lines or wrap_runs(
        [run for cell in table.header for run in (*cell, ("  ", options.palette.text))], options.width
    )
