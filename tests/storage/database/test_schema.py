"""The schema's versions, from nothing to the newest and beyond."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from catena_store.chains import turns
from catena_store.conversations import conversations, messages
from catena_store.database.database import Database
from catena_store.database.schema import APPLICATION_ID, create_schema, shipped
from catena_store.errors import StoreUnusable
from support.places import ROOT
from support.storage.files import names_in, with_one_more
from support.storage.rows import new_conversation, new_link, say, store


def test_each_migration_has_a_number_of_its_own() -> None:
    numbers = [migration.version for migration in shipped()]
    assert numbers[0] == 1 and len(set(numbers)) == len(numbers)


async def test_an_empty_file_gets_the_newest_schema_and_our_mark(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.read() as r:
        assert await r.one("PRAGMA user_version") == (shipped()[-1].version,)
        assert await r.one("PRAGMA application_id") == (APPLICATION_ID,)
        assert await r.all("PRAGMA foreign_key_check") == []
        assert await r.one("PRAGMA integrity_check") == ("ok",)
    assert names_in(tmp_path) == {"catena.db"}


def test_a_new_file_gets_what_the_migrations_come_to() -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as new:
        create_schema(new, shipped())
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as old:
            create_schema(old, shipped()[:1])
            for migration in shipped()[1:]:
                old.executescript(migration.script.read_text())
            assert _whole(new) == _whole(old)


def _whole(connection: sqlite3.Connection) -> dict[str, object]:
    """Every table, index, view and trigger with its text, however it is laid out, and the settings of full text."""
    schema = connection.execute("SELECT name, sql FROM sqlite_schema ORDER BY name")
    texts = {name: sql and re.sub(r"\s*(,|\(|\)|\s)\s*", r"\1", sql) for name, sql in schema}
    return {**texts, "settings": connection.execute("SELECT * FROM message_fts_config").fetchall()}


async def test_every_table_view_and_trigger_is_described_in_the_document(tmp_path: Path) -> None:
    described = (ROOT / "docs" / "internals" / "storage.md").read_text("utf-8")
    async with store(tmp_path) as db, db.read() as r:
        names = await r.all("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view', 'trigger')")
    own = [
        name for (name,) in names if not name.startswith(("sqlite_", "message_fts_", "link_event_is_never_"))
    ]
    assert [name for name in own if f"`{name}`" not in described] == []


async def test_opening_again_changes_nothing(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        before = await tx.all("SELECT * FROM sqlite_schema")
    async with store(tmp_path) as db, db.read() as r:
        assert await r.all("SELECT * FROM sqlite_schema") == before
        assert await conversations.get(r, "c1") is not None


async def test_indexes_that_are_missing_are_created_when_the_file_is_opened(tmp_path: Path) -> None:
    indexes = "SELECT name, sql FROM sqlite_schema WHERE type = 'index' ORDER BY name"
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        before = await tx.all(indexes)
        for name in [name for name, sql in before if sql]:
            await tx.run(f"DROP INDEX {name}")
    async with store(tmp_path) as db, db.write() as tx:
        assert await tx.all(indexes) == before
        await new_link(tx, "one")
        await new_link(tx, "two")
        for name in ("link_session", "turn_open"):
            await tx.run(f"DROP INDEX {name}")
        await tx.run("UPDATE link SET session_id = 'the same'")
    async with store(tmp_path) as db, db.read() as r:  # the rows allow only one of them
        assert [row for row in before if row not in await r.all(indexes)] == [
            row for row in before if row[0] == "link_session"
        ]
        assert await turns.open_in(r, "c1") == []


@pytest.mark.parametrize("rows", [0, 50])
async def test_an_older_file_is_brought_up_to_date_after_a_private_copy_of_it_was_made(
    tmp_path: Path, rows: int
) -> None:
    directory = tmp_path / "data"
    async with store(directory) as db, db.write() as tx:
        for number in range(rows):
            await new_conversation(tx, f"c{number}")
            await say(tx, f"m{number}", None, f"hello {number}", conversation=f"c{number}")
    later = with_one_more(
        tmp_path,
        "ALTER TABLE conversation ADD COLUMN colour TEXT; -- a ; within a comment\n"
        "CREATE TRIGGER painted AFTER INSERT ON conversation BEGIN\n"
        "  UPDATE conversation SET colour = 'blue;green' WHERE id = NEW.id;\n"
        "  SELECT 1;\n"
        "END;\n"
        "UPDATE conversation SET colour = 'red';",
    )
    async with Database.open(directory / "catena.db", migrations=later) as db, db.write() as tx:
        assert await tx.one("SELECT count(*) FROM conversation WHERE colour = 'red'") == (rows,)
        await new_conversation(tx, "new")
        assert await tx.one("SELECT colour FROM conversation WHERE id = 'new'") == ("blue;green",)
        assert await tx.one("PRAGMA user_version") == (later[-1].version,)
        assert (await messages.get(tx, "m0") is not None) == (rows > 0)
    copy = directory / f"catena.db.v{shipped()[-1].version}"
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    with closing(sqlite3.connect(copy)) as old:
        assert old.execute("SELECT count(*) FROM message").fetchone() == (rows,)
        assert old.execute("PRAGMA user_version").fetchone() == (shipped()[-1].version,)
    assert names_in(directory) == {"catena.db", copy.name}


async def test_a_migration_that_fails_half_way_leaves_the_old_schema(tmp_path: Path) -> None:
    async with store(tmp_path / "data") as db, db.write() as tx:
        await new_conversation(tx)
    later = with_one_more(
        tmp_path, "CREATE TABLE extra (id TEXT) STRICT; INSERT INTO no_such_table VALUES (1);"
    )
    with pytest.raises(StoreUnusable, match="no_such_table"):
        async with Database.open(tmp_path / "data" / "catena.db", migrations=later):
            pass
    async with store(tmp_path / "data") as db, db.read() as r:
        assert await r.one("SELECT name FROM sqlite_schema WHERE name = 'extra'") is None
        assert await conversations.get(r, "c1") is not None


async def test_a_newer_file_is_refused_in_plain_words(tmp_path: Path) -> None:
    later = with_one_more(tmp_path, "CREATE TABLE extra (id TEXT) STRICT;")
    async with Database.open(tmp_path / "catena.db", migrations=later) as db, db.write() as tx:
        await new_conversation(tx)
    with pytest.raises(StoreUnusable, match=r"written by a newer Catena .*: please update"):
        async with store(tmp_path):
            pass
    async with Database.open(tmp_path / "catena.db", migrations=later) as db, db.read() as r:
        assert await conversations.get(r, "c1") is not None


@pytest.mark.parametrize(
    "script", ["CREATE TABLE diary (text)", "PRAGMA application_id = 7", "PRAGMA user_version = 1"]
)
async def test_the_database_of_another_program_is_refused_and_left_alone(tmp_path: Path, script: str) -> None:
    with closing(sqlite3.connect(tmp_path / "catena.db")) as other:
        other.execute(script)
        other.commit()
        before = other.execute("SELECT * FROM sqlite_schema").fetchall()
    with pytest.raises(StoreUnusable, match="another program"):
        async with store(tmp_path):
            pass
    with closing(sqlite3.connect(tmp_path / "catena.db")) as other:
        assert other.execute("SELECT * FROM sqlite_schema").fetchall() == before


async def test_several_that_open_a_new_file_at_once_all_succeed(tmp_path: Path) -> None:
    async def open_and_write(number: int) -> None:
        async with store(tmp_path) as db, db.write() as tx:
            await new_conversation(tx, f"c{number}")

    await asyncio.gather(*(open_and_write(number) for number in range(8)))
    async with store(tmp_path) as db, db.read() as r:
        assert await r.one("SELECT count(*) FROM conversation") == (8,)
    assert names_in(tmp_path) == {"catena.db"}, "nobody took it for an old one"


async def test_several_that_open_an_old_file_at_once_all_succeed_and_keep_one_copy(tmp_path: Path) -> None:
    async with Database.open(tmp_path / "catena.db", migrations=shipped()[:1]) as db, db.write() as tx:
        await new_conversation(tx, "old")

    async def open_and_read() -> None:
        async with store(tmp_path) as db, db.read() as r:
            assert await r.one("SELECT count(*) FROM conversation") == (1,)

    await asyncio.gather(*(open_and_read() for _ in range(8)))
    assert names_in(tmp_path) == {"catena.db", "catena.db.v1"}
