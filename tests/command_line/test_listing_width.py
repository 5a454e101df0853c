"""What is printed in lines keeps to the terminal, whatever script it is in."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from catena.text.formats import cell_width, truncate, whole_clauses


@pytest.mark.parametrize(
    "text", ["plain", "日本語の題名です", "ｆｕｌｌ", "e\u0301tude", "שלום עולם", "🎉 done"]
)
@pytest.mark.parametrize("width", [1, 2, 5, 6, 40])
def test_c03_a_line_is_cut_at_the_columns_that_it_takes(text: str, width: int) -> None:
    shown = truncate(text, width)
    assert cell_width(shown) == cell_len(shown) <= max(width, 2)
    assert shown == text if cell_len(text) <= width else shown.endswith("…")
    # Nothing more would have fitted.
    assert shown == text or cell_len(shown) >= width - 1


def test_a_text_that_is_cut_at_a_clause_is_not_cut_within_what_somebody_else_said() -> None:
    said = "before “run the tests, then mend them; at last say so”"
    assert whole_clauses(said, 40) == truncate(said, 40)
    assert whole_clauses(f"{said}, of yesterday", len(said)) == said
