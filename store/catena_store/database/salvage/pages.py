"""A database file as bare pages: what is left of one that SQLite refuses, and of which table. Pure, given the bytes.

The format is SQLite's own (https://www.sqlite.org/fileformat2.html). Nothing here trusts what it reads: a page, a cell
or a chain of overflow pages that contradicts itself is passed over.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

MAGIC = b"SQLite format 3\x00"
_HEADER = 100  # bytes of the first page before its b-tree begins
_USUAL_PAGE = 4096
_FRAME_HEADER = 24

TABLE_LEAF, TABLE_INTERIOR = 0x0D, 0x05
INDEX_LEAF, INDEX_INTERIOR = 0x0A, 0x02
_LEAVES = (TABLE_LEAF, INDEX_LEAF)
_KINDS = (TABLE_LEAF, TABLE_INTERIOR, INDEX_LEAF, INDEX_INTERIOR)

Value = int | float | str | bytes | None

_LAST = 10_000  # after every column of a key


class Unreadable(Exception):
    """Bytes that contradict themselves."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One row, as it lies in a page."""

    rowid: int | None  # None in an index, and in a table without one
    values: tuple[Value, ...]
    cut: bool = False  # the end of its last values could not be read


@dataclass(frozen=True, slots=True)
class Page:
    """What could be read of one page of a b-tree."""

    number: int
    kind: int
    cells: tuple[Cell, ...]
    children: tuple[int, ...]
    broken: int  # cells that could not be read


class Pages:
    """The pages of a file, with the committed ones of its write-ahead log laid over them."""

    def __init__(self, main: bytes, log: bytes = b"") -> None:
        self.sound_header = main.startswith(MAGIC)
        self.size = _page_size(main, log)
        self._main = main
        self._newer = _committed(log, self.size)
        self.count = max(len(main) // self.size, max(self._newer, default=0))
        first = self[1] if self.count else b""
        whole = first.startswith(MAGIC)
        self._usable = self.size - (first[20] if whole else 0)
        self.user_version: int | None = int.from_bytes(first[60:64], "big") if whole else None
        self.application_id: int | None = int.from_bytes(first[68:72], "big") if whole else None
        self._first_free = int.from_bytes(first[32:36], "big") if whole else 0

    def __getitem__(self, number: int) -> bytes:
        """The bytes of a page, counted from 1; none where there is no such page."""
        if number in self._newer:
            return self._newer[number]
        start = (number - 1) * self.size
        return self._main[start : start + self.size] if number > 0 else b""

    def free(self) -> set[int]:
        """The pages that hold nothing any more, as far as their list can be read."""
        found: set[int] = set()
        trunk = self._first_free
        while trunk and trunk not in found and (page := self[trunk]):
            found.add(trunk)
            trunk, count = struct.unpack(">II", page[:8])
            count = min(count, (self.size - 8) // 4)
            found.update(struct.unpack(f">{count}I", page[8 : 8 + 4 * count]))
        return found

    def tree(self, root: int) -> Iterator[Page]:
        """Every page of a b-tree that can be reached from its root."""
        seen: set[int] = set()
        ahead = [root]
        while ahead:
            number = ahead.pop()
            if number in seen:
                continue
            seen.add(number)
            if page := self.page(number):
                ahead += reversed(page.children)
                yield page

    def page(self, number: int) -> Page | None:
        """What can be read of a page; None where it is none of a b-tree."""
        data = self[number]
        start = _HEADER if number == 1 else 0
        if len(data) < self.size or data[start] not in _KINDS:
            return None
        kind = data[start]
        count, content = struct.unpack(">HH", data[start + 3 : start + 7])
        table = start + (8 if kind in _LEAVES else 12)
        if table + 2 * count > self.size or (content or 65536) < table + 2 * count:
            return None
        cells: list[Cell] = []
        children: list[int] = []
        broken = 0
        for place in struct.unpack(f">{count}H", data[table : table + 2 * count]):
            try:
                if place < table + 2 * count:
                    raise Unreadable
                if kind not in _LEAVES:
                    children.append(int.from_bytes(data[place : place + 4], "big"))
                    place += 4
                if kind != TABLE_INTERIOR:
                    cells.append(self._cell(data, place, kind))
            except (Unreadable, IndexError, struct.error):
                broken += 1
        if kind not in _LEAVES:
            children.append(int.from_bytes(data[start + 8 : start + 12], "big"))
        return Page(number, kind, tuple(cells), tuple(children), broken)

    def _cell(self, data: bytes, at: int, kind: int) -> Cell:
        length, at = _varint(data, at)
        rowid = None
        if kind == TABLE_LEAF:
            rowid, at = _varint(data, at)
            rowid -= (rowid >> 63) << 64
        if length > self.size * self.count:
            raise Unreadable
        usable = self._usable
        least = (usable - 12) * 32 // 255 - 23
        most = usable - 35 if kind == TABLE_LEAF else (usable - 12) * 64 // 255 - 23
        here = length
        if length > most:
            here = least + (length - least) % (usable - 4)
            here = here if here <= most else least
        payload = data[at : at + here]
        if len(payload) < here:
            raise Unreadable
        if here < length:
            payload += self._overflow(int.from_bytes(data[at + here : at + here + 4], "big"), length - here)
        values = _record(payload)
        return Cell(rowid, values, cut=len(payload) < length)

    def _overflow(self, number: int, length: int) -> bytes:
        """The rest of a long row; less than was asked for where its chain of pages breaks off."""
        parts: list[bytes] = []
        seen: set[int] = set()
        while length > 0:
            page = self[number]
            if len(page) < self.size or number in seen:
                break
            seen.add(number)
            following = int.from_bytes(page[:4], "big")
            here = min(length, self._usable - 4)
            if (length > here) != (0 < following <= self.count):
                break  # it leads nowhere, or on after the end: what is in it belongs to something else
            parts.append(page[4 : 4 + here])
            length -= here
            number = following
        return b"".join(parts)


def _page_size(main: bytes, log: bytes) -> int:
    told = int.from_bytes(main[16:18], "big") if main.startswith(MAGIC) else 0
    if not told and len(log) >= 32:
        told = int.from_bytes(log[8:12], "big")
    told = 65536 if told == 1 else told
    return told if told >= 512 and told & (told - 1) == 0 else _USUAL_PAGE


def _committed(log: bytes, size: int) -> Mapping[int, bytes]:
    """The newest committed version of every page in a write-ahead log."""
    if len(log) < 32 or int.from_bytes(log[:4], "big") | 1 != 0x377F0683:
        return {}
    order = ">" if log[3] & 1 else "<"
    salts = log[16:24]
    sums = _checksum(log[:24], (0, 0), order)
    if sums != struct.unpack(">II", log[24:32]) or int.from_bytes(log[8:12], "big") != size:
        return {}
    committed: dict[int, bytes] = {}
    open_: dict[int, bytes] = {}
    for start in range(32, len(log) - size - _FRAME_HEADER + 1, size + _FRAME_HEADER):
        head, page = log[start : start + 24], log[start + 24 : start + 24 + size]
        sums = _checksum(page, _checksum(head[:8], sums, order), order)
        if head[8:16] != salts or sums != struct.unpack(">II", head[16:24]):
            break
        open_[int.from_bytes(head[:4], "big")] = page
        if int.from_bytes(head[4:8], "big"):
            committed.update(open_)
            open_.clear()
    return committed


def _checksum(data: bytes, sums: tuple[int, int], order: str) -> tuple[int, int]:
    one, two = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for index in range(0, len(words), 2):
        one = (one + words[index] + two) & 0xFFFFFFFF
        two = (two + words[index + 1] + one) & 0xFFFFFFFF
    return one, two


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for index in range(9):
        byte = data[at + index]
        if index == 8:
            return (value << 8) | byte, at + 9
        value = (value << 7) | (byte & 0x7F)
        if byte < 0x80:
            return value, at + index + 1
    raise AssertionError("nine bytes are the end")


def _record(payload: bytes) -> tuple[Value, ...]:
    """The values of a record; those whose bytes are missing are cut short, or None."""
    length, at = _varint(payload, 0)
    if length > len(payload):
        raise Unreadable
    kinds: list[int] = []
    while at < length:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    if at != length:
        raise Unreadable
    values: list[Value] = []
    for kind in kinds:
        width = _width(kind)
        values.append(_value(kind, payload[at : at + width], whole=at + width <= len(payload)))
        at += width
    return tuple(values)


def _width(kind: int) -> int:
    if kind >= 12:
        return (kind - 12) // 2
    if kind in (10, 11):
        raise Unreadable
    return (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)[kind]


def _value(kind: int, data: bytes, *, whole: bool) -> Value:
    if kind >= 13 and kind % 2:
        # A byte that went wrong takes no more along than itself; what is cut may end within a character.
        return data.decode("utf-8", "replace" if whole else "ignore")
    if kind >= 12:
        return data
    if kind in (8, 9):
        return kind - 8
    if kind == 0 or not whole:
        return None
    if kind == 7:
        return float(struct.unpack(">d", data)[0])
    return int.from_bytes(data, "big", signed=True)


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
