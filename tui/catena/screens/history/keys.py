"""The keys of the history, as its foot and its help say them."""

from __future__ import annotations

from catena.widgets.foot import SheetKey

KEYS = (
    SheetKey("{accept}", "open", "take"),
    SheetKey("{wider_scope}", "scope", "scope(1)"),
    SheetKey("{history_acts}", "acts", "acts"),
    SheetKey("{history_preview}", "preview", "preview"),
    SheetKey("{history_mark}", "mark", "mark"),
    SheetKey("{leave}", "close", "leave"),
)
KEYS_BESIDE = tuple(key for key in KEYS if key.does != "preview")
MENU_KEYS = (
    SheetKey("{accept}", "do it"),
    SheetKey("{row_up row_down}", "choose"),
    SheetKey("{leave}", "back", "leave"),
)
MORE_KEYS = (
    ("{row_up row_down} {page_up} {page_down}", "choose"),
    ("{mark_up} {mark_down}", "mark, and go on"),
    ("{history_rename}", "rename"),
    ("{history_archive}", "archive; restore from the archive"),
    ("{history_delete}", "delete"),
    ("{history_undo}", "undo"),
    ("agent: file: dir: branch:", "only those; they are completed as you type"),
    ("before: after: cost> is:", "only those of that time, cost or state"),
    ("todo pinned archived", "only those"),
)
