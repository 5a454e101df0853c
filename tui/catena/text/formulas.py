"""Text with marks of Markdown that is none: formulas, and names with underscores, stay as they were written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline

# `$` opens before and closes behind something, and never before a digit: "$5 and $10" are prices.
_FORMULA = re.compile(
    r"\$\$[^`]+?\$\$|\$(?=[^\s$`])[^$`]{0,1000}?(?<=[^\s\\])\$(?!\d)|\\\([^`]+?\\\)|\\\[[^`]+?\\\]"
)
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
# `__init__` is no bold "init", and in `_x_.py` or `__call__(self)` nothing is emphasized.
_NAME = re.compile(r"__[a-z0-9]+(?:_[a-z0-9]+)*__(?![\w])|_\w*_(?=[.(/\[]\w|\(\))", re.ASCII)
_STARS = re.compile(r"\*+")
_BLOCKS = {"\\[": "\\]", "$$": "$$"}
_CLOSINGS = {"\\(": "\\)", "\\[": "\\]", "$$": "$$"}
_LONGEST = 1_000  # characters of a formula within a line, or of a line that is read for one
_MOST_ROWS = 200  # of one that has lines of its own
_NEAREST = 64  # marks of emphasis before a star, of which one may end there
_IN_FORMULA = re.compile(r"[0-9A-Za-z)\]]")
_AFTER_STARS = re.compile(r"[0-9A-Za-z(\[\-]")


def leave_formulas(parser: MarkdownIt) -> MarkdownIt:
    """Let a parser leave formulas and names as they are; they become text."""
    parser.inline.ruler.before("escape", "formula", _formula)
    parser.inline.ruler.before("emphasis", "name", _name)
    parser.inline.ruler.before("emphasis", "stars", _stars)
    parser.block.ruler.before("code", "formula", _block, {"alt": ["paragraph", "blockquote", "list"]})
    return parser


def formulas_in(text: str) -> list[tuple[int, int]]:
    """Where formulas and names begin and end in a text of one line; nowhere in one that is too long to be read."""
    found: list[tuple[int, int]] = []
    if len(text) > _LONGEST:
        return found
    for pattern in (_FORMULA, _NAME):
        for match in pattern.finditer(text):
            begins_word = pattern is _FORMULA or not _is_word(text, match.start() - 1)
            if begins_word and not any(begin < match.end() and match.start() < end for begin, end in found):
                found.append(match.span())
    return sorted(found)


def _formula(state: StateInline, silent: bool) -> bool:
    closing = _CLOSINGS.get(state.src[state.pos : state.pos + 2], "$" if state.src[state.pos] == "$" else "")
    if not closing or state.src.find(closing, state.pos + 2, state.pos + _LONGEST) < 0:
        return False
    found = _FORMULA.match(state.src, state.pos, min(state.posMax, state.pos + _LONGEST))
    return found is not None and not _BLANK_LINE.search(found[0]) and _put(state, found[0], silent)


def _name(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] != "_" or _is_word(state.src, state.pos - 1):
        return False
    found = _NAME.match(state.src, state.pos, state.posMax)
    return found is not None and _put(state, found[0], silent)


def _stars(state: StateInline, silent: bool) -> bool:
    """Stars between letters or digits multiply, unless they may end what was emphasized before."""
    if state.src[state.pos] != "*" or not state.pos:
        return False
    stars = _STARS.match(state.src, state.pos, state.posMax)
    assert stars is not None
    if not (_IN_FORMULA.match(state.src[state.pos - 1]) and _AFTER_STARS.match(state.src[stars.end() :][:1])):
        return False
    begun = 0
    for each in state.delimiters[-_NEAREST:]:
        if each.marker == ord("*"):
            begun += -1 if each.close and begun else int(each.open)
    return not begun and _put(state, stars[0], silent)


def _put(state: StateInline, text: str, silent: bool) -> bool:
    if not silent:
        state.pending += text
    state.pos += len(text)
    return True


def _block(state: StateBlock, line: int, last: int, silent: bool) -> bool:
    """A formula that begins and ends lines of its own: its lines are neither headings nor lists."""
    begin = state.bMarks[line] + state.tShift[line]
    end = _BLOCKS.get(state.src[begin : begin + 2])
    if end is None or state.is_code_block(line):
        return False
    rows: list[str] = []
    for row in range(line, min(last, line + _MOST_ROWS)):
        begin = state.bMarks[row] + state.tShift[row]
        begins_anew = rows and end != "$$" and state.src.startswith(rows[0][:2], begin)
        if state.isEmpty(row) or (rows and state.sCount[row] < state.blkIndent) or begins_anew:
            return False
        rows.append(state.src[begin : state.eMarks[row]])
        closed = rows[-1].rstrip()
        if closed.endswith(end) and (row > line or len(closed) >= 2 * len(end)):
            break
        if end in (closed if row > line else closed[2:]):
            return False  # text goes on behind it
    else:
        return False
    if not silent:
        token = state.push("formula", "", 0)
        token.content, token.map, token.block = "\n".join(rows), [line, line + len(rows)], True
        state.line = line + len(rows)
    return True


def _is_word(text: str, at: int) -> bool:
    return at >= 0 and (text[at].isalnum() or text[at] == "_")
