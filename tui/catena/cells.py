"""The cells of text, by clusters: a cluster is drawn as one character by a terminal, however many code points it has.

The widths of code points are Rich's. Rich lets a zero width joiner take any next character along: that is right among
emoji, but in the ordinary spelling of Sinhala, Hindi and others it takes letters away. And it takes a flag for two
characters.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache
from typing import Any
from unicodedata import combining, east_asian_width

import rich.cells
import rich.segment
from rich._unicode_data import load as load_cell_table
from rich.cells import CellTable, get_character_cell_size
from rich.segment import Segment

Cluster = tuple[int, int, int]  # where it begins and ends in the text, and its cells

_JOINER = "\u200d"
_WIDE_FORM = "\ufe0f"  # the variation selector that makes a sign an emoji
_FLAG_LETTERS = ("\U0001f1e6", "\U0001f1ff")  # the first and the last
_UNUSUAL = re.compile(f"[{_JOINER}{_FLAG_LETTERS[0]}-{_FLAG_LETTERS[1]}]")
_NARROWED = 2  # cells that a row is narrower where a cluster moves to the next one as a whole

_plain_length = rich.cells._cell_len
_plain_split = Segment._split_cells


@cache
def _emoji() -> re.Pattern[str]:
    """What has the property Extended_Pictographic, as far as joined emoji are made of it."""
    return re.compile(
        "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a\u231b\u2328\u2388\u23cf\u23e9-\u23f3\u23f8-\u23fa"
        "\u24c2\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u2605\u2607-\u2612\u2614-\u2685\u2690-\u2705\u2708-\u2712\u2714\u2716"
        "\u271d\u2721\u2728\u2733\u2734\u2744\u2747\u274c\u274e\u2753-\u2755\u2757\u2763-\u2767\u2795-\u2797\u27a1\u27b0\u27bf"
        "\u2934\u2935\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55\u3030\u303d\u3297\u3299"
        "\U0001f000-\U0001f1e5\U0001f201-\U0001f3fa\U0001f400-\U0001faff]"
    )


def is_unusual(text: str) -> bool:
    """True for a text with joiners or flags, of which the clusters are not those of its code points."""
    return _UNUSUAL.search(text) is not None


def cell_len(text: str) -> int:
    """The cells that a text takes."""
    return rich.cells.cell_len(text) if _JOINER not in text else _length(text)


def clusters(text: str) -> list[Cluster]:
    """The clusters of a text. Only the first can be without cells: what joins a character that is not in the text."""
    found: list[Cluster] = []
    begin = cells = 0
    base = before = ""
    wide_forms = load_cell_table("auto").narrow_to_wide
    for index, character in enumerate(text):
        width = get_character_cell_size(character)
        if not before:
            base, cells = character, width
        elif not width:  # a mark, a joiner, a colour of skin
            if character == _WIDE_FORM and cells == 1 and base in wide_forms:
                cells = 2
        elif before == _JOINER and _emoji().match(character) and (_emoji().match(base) or not cells):
            pass
        elif before == base and index == begin + 1 and _is_flag_letter(base) and _is_flag_letter(character):
            cells += width
        else:
            found.append((begin, index, cells))
            begin, base, cells = index, character, width
        before = character
    if text:
        found.append((begin, len(text), cells))
    return found


def cluster_start(text: str, index: int) -> int:
    """Where the cluster begins that the character at ``index`` is in; ``index`` itself behind the text."""
    return next((begin for begin, end, _ in clusters(text) if begin <= index < end), index)


def cluster_end(text: str, index: int) -> int:
    """Where the cluster ends that the character at ``index`` is in; ``index`` itself behind the text."""
    return next((end for begin, end, _ in clusters(text) if begin <= index < end), index)


def measure_by_clusters() -> None:
    """Let Rich and Textual measure, cut and wrap text by clusters, too."""
    from textual.document import _wrapped_document
    from textual.widgets import _text_area

    vars(rich.cells).update(_cell_len=_length, split_graphemes=_split)
    rich.cells.cached_cell_len.cache_clear()
    type.__setattr__(Segment, "_split_cells", staticmethod(_split_segment))
    vars(_wrapped_document).update(compute_wrap_offsets=_wrap_offsets, cell_width_to_column_index=_column_at)
    vars(_text_area).update(cell_width_to_column_index=_column_at)


def _is_flag_letter(character: str) -> bool:
    return _FLAG_LETTERS[0] <= character <= _FLAG_LETTERS[1]


def _length(text: str, unicode_version: str = "auto") -> int:
    if _JOINER not in text:
        return _plain_length(text, unicode_version)
    return sum(cells for _, _, cells in clusters(text))


def _split(text: str, unicode_version: str = "auto") -> tuple[list[Cluster], int]:
    found = clusters(text)
    return found, sum(cells for _, _, cells in found)


def _split_segment(segment: Segment, cut: int) -> tuple[Segment, Segment]:
    if not is_unusual(segment.text):
        return _plain_split(segment, cut)
    text, style, control = segment
    if cut >= segment.cell_length:
        return segment, Segment("", style, control)
    before, after = rich.cells.split_text(text, cut)
    return Segment(before, style, control), Segment(after, style, control)


def _wrap_offsets(text: str, width: int, tab_size: int, **options: Any) -> list[int]:
    from textual._wrap import compute_wrap_offsets

    if not is_unusual(text):
        return compute_wrap_offsets(text, width, tab_size, **options)
    narrowed = width - _NARROWED if width > 2 * _NARROWED else width
    begins = [begin for begin, _, _ in clusters(text)]
    offsets = compute_wrap_offsets(text, narrowed, tab_size, **options)
    return sorted({begins[bisect_right(begins, offset) - 1] for offset in offsets} - {0})


def _column_at(line: str, cell_width: int, tab_width: int) -> int:
    from textual._cells import cell_width_to_column_index

    if not is_unusual(line) or "\t" in line:
        return cell_width_to_column_index(line, cell_width, tab_width)
    passed = 0
    for begin, _, cells in clusters(line):
        passed += cells
        if passed > cell_width:
            return begin
    return len(line)


_LAST = 0xFFFF  # beyond it are emoji, and planes for private use


def widen_ambiguous(*, but: frozenset[str]) -> None:
    """Let Rich and Textual count two cells for each ambiguous character but these."""
    wide = frozenset(filter(_is_ambiguous, map(chr, range(0xA0, _LAST + 1)))) - but
    table = _widened(load_cell_table("auto"), wide)
    single = (rich.cells._SINGLE_CELLS - wide).issuperset

    def widened_table(unicode_version: str = "auto") -> CellTable:
        return table

    vars(rich.cells).update(load_cell_table=widened_table, _is_single_cell_widths=single)
    vars(rich.segment).update(_is_single_cell_widths=single)
    rich.cells.get_character_cell_size.cache_clear()
    rich.cells.cached_cell_len.cache_clear()


def _is_ambiguous(character: str) -> bool:
    return east_asian_width(character) == "A" and not combining(character)


def _widened(table: CellTable, wide: frozenset[str]) -> CellTable:
    """The table with spans of two cells for characters that have none there; the others keep theirs."""
    known = {
        code for start, end, _ in table.widths if start <= _LAST for code in range(start, min(end, _LAST) + 1)
    }
    added = [(ord(each), ord(each), 2) for each in wide if ord(each) not in known]
    return table._replace(widths=sorted([*table.widths, *added]))
