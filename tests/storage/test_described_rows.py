"""Each column is described once: the descriptions of rows agree with the schema, and with what a document has."""

from __future__ import annotations

import sqlite3
import types
import typing
from collections.abc import Mapping
from contextlib import closing
from datetime import datetime
from typing import Any

import pytest

from catena_store.database import rows
from catena_store.database.salvage.pages import tables_of
from catena_store.database.schema import create_schema, shipped
from catena_store.exchange.document import SECTIONS

TABLES: tuple[rows.RecordTable[Any], ...] = (
    rows.CONVERSATIONS,
    rows.MESSAGES,
    rows.TURNS,
    rows.LINKS,
    rows.LINK_EVENTS,
    rows.WINDOWS,
    rows.QUEUE_ITEMS,
)
STORED = {str: "TEXT", int: "INTEGER", bool: "INTEGER", float: "REAL", datetime: "INTEGER", Mapping: "TEXT"}
IN_A_DOCUMENT = {  # by the section: the table, and its columns that stay in the file
    "conversations": (
        "conversation",
        "deleted_at pruned_at place_id first_prompt last_prompt revision files_at",
    ),
    "messages": ("message", "uid depth"),
    "links": ("link", "owner sequence"),
    "link_events": ("link_event", "id conversation_id"),
    "turns": ("turn", "window_id kept"),
    "surroundings": ("turn_surroundings", ""),
    "attachments": ("attachment", "id"),
    "checkpoints": ("checkpoint", ""),
}


def columns_of(table: str) -> dict[str, tuple[str, bool, bool]]:
    """Of each column its type, whether it has to have a value, and whether it points to a message."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as new:
        create_schema(new, shipped())
        pointing = new.execute(
            f"SELECT \"from\" FROM pragma_foreign_key_list('{table}') WHERE \"table\" = 'message'"
        )
        pointers = {name for (name,) in pointing}
        found = new.execute('SELECT name, type, "notnull" OR pk FROM pragma_table_info(?)', (table,))
        return {name: (kind, bool(needed), name in pointers) for name, kind, needed in found}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_what_a_record_has_is_what_the_schema_keeps(table: rows.RecordTable[Any]) -> None:
    kept, hints = columns_of(table.name), typing.get_type_hints(table.of)
    for field, column in table.described.items():
        if column.sql:
            continue
        kinds = (
            set(typing.get_args(hints[field]))
            if isinstance(hints[field], types.UnionType)
            else {hints[field]}
        )
        (kind,) = kinds - {type(None)}
        kind = typing.get_origin(kind) or kind
        stored = "INTEGER" if column.points else next(STORED[each] for each in kind.__mro__ if each in STORED)
        expected = (stored, type(None) not in kinds, column.points)
        assert kept[column.name or field] == expected, field


@pytest.mark.parametrize("section", SECTIONS)
def test_every_column_is_in_a_document_or_is_known_to_stay_in_the_file(section: str) -> None:
    table, stay = IN_A_DOCUMENT[section]
    written = SECTIONS[section].keys() - {"leaf_id", "deleted"}
    assert not written & set(stay.split())
    assert written | set(stay.split()) == columns_of(table).keys()


def test_salvage_looks_for_every_column_of_a_record() -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as new:
        create_schema(new, shipped())
        salvaged = {each.name: set(each.columns) for each in tables_of(new)}
    for table in TABLES:
        described = {each.name or field for field, each in table.described.items() if not each.sql}
        assert described <= salvaged[table.name]
