"""Two cells for characters whose width Unicode calls ambiguous, as some terminals for East Asian text draw them."""

from __future__ import annotations

from unicodedata import combining, east_asian_width

import rich.cells
import rich.segment
from rich._unicode_data import load as load_cell_table
from rich.cells import CellTable

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
