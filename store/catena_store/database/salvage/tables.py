"""Shapes of tables, by which a page that no b-tree leads to any more is assigned to a table."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from catena_store.database.salvage.pages import INDEX_INTERIOR, INDEX_LEAF, TABLE_LEAF, Page, Pages, Value

_LAST = 10_000  # after every column of a key


@dataclass(frozen=True, slots=True)
class Table:
    """The shape of a table, its columns in the order in which their values are stored."""

    name: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    required: tuple[bool, ...]
    rowid: str | None  # the column that is the rowid
    has_rowid: bool

    def fits(self, values: tuple[Value, ...]) -> bool:
        """True where a row of these values can have been one of this table."""
        return 0 < len(values) <= len(self.columns) and all(
            self._may_be(value, kind, needed and name != self.rowid)
            for value, kind, needed, name in zip(
                values, self.types, self.required, self.columns, strict=False
            )
        )

    def _may_be(self, value: Value, kind: str, needed: bool) -> bool:
        match value:
            case None:
                return not needed
            case int():
                return kind in ("INTEGER", "REAL", "INT")
            case float():
                return kind == "REAL"
            case str():
                return kind == "TEXT"
            case bytes():
                return kind == "BLOB"


def tables_of(new: sqlite3.Connection) -> Iterator[Table]:
    """The tables of a file, by its schema."""
    listed = new.execute(
        "SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table'"
        " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    ).fetchall()
    for name, without_rowid in listed:
        columns = new.execute(
            f"SELECT name, type, \"notnull\", pk FROM pragma_table_info('{name}')"
        ).fetchall()
        if without_rowid:
            # The key's columns are stored first.
            columns.sort(key=lambda column: column[3] or _LAST)
        rowid = None
        if not without_rowid:
            rowid = next((column for column, kind, _, key in columns if key and kind == "INTEGER"), None)
        yield Table(
            name,
            tuple(column[0] for column in columns),
            tuple(column[1] for column in columns),
            tuple(bool(column[2]) for column in columns),
            rowid,
            not without_rowid,
        )


def is_page_of(page: Page, table: Table) -> bool:
    """True where most rows of a page fit the table."""
    return _fitting_cells(table, page) * 2 > len(page.cells)


def orphan_pages(pages: Pages, reached: set[int], tables: Iterable[Table]) -> Iterator[tuple[Table, Page]]:
    """Pages that no b-tree leads to any more, each with the only table that its rows fit."""
    passed_over = reached | pages.free()
    candidates = list(tables)
    for number in range(1, pages.count + 1):
        page = None if number in passed_over else pages.page(number)
        if page is None or not page.cells:
            continue
        if page.kind == TABLE_LEAF:
            fitting = {table: _fitting_cells(table, page) for table in candidates if table.has_rowid}
        elif page.kind in (INDEX_LEAF, INDEX_INTERIOR):
            fitting = {table: _fitting_cells(table, page) for table in candidates if not table.has_rowid}
        else:
            continue
        best = max(fitting.values())
        may = [table for table, number in fitting.items() if number == best]
        # Dangling references are removed later; here only the shape of a table counts.
        if len(may) == 1 and best * 2 > len(page.cells):
            yield may[0], page


def _fitting_cells(table: Table, page: Page) -> int:
    return sum(cell.cut or table.fits(cell.values) for cell in page.cells)
