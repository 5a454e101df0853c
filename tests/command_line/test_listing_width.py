"""What is printed in lines keeps to the terminal, whatever script it is in."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from catena.text.formats import cell_width, truncate


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
