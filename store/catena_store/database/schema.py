"""The schema and its migrations: numbered SQL files, each applied once, in a transaction."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import aiosqlite

from catena_store.database.location import make_private
from catena_store.errors import StoreUnusable

APPLICATION_ID = 0x43_41_54_45  # "CATE", which other programs' files do not have
_OF_INDEX = re.compile(r"^(?:CREATE(?: UNIQUE)?|DROP) INDEX (\w+)[^;]*;", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema, from version - 1 to version."""

    version: int
    script: Path


def shipped() -> tuple[Migration, ...]:
    """The migrations of this version of Catena, oldest first; ``schema.sql`` is what they come to."""
    scripts = sorted((Path(__file__).parent / "migrations").glob("[0-9]*.sql"))
    return tuple(Migration(int(script.name.partition("_")[0]), script) for script in scripts)


def _for_new_file(migrations: tuple[Migration, ...]) -> tuple[Migration, ...]:
    """The steps from nothing to the newest of these migrations: the whole schema at once, where they contain it."""
    newest = shipped()[-1].version
    if migrations[-1].version < newest:
        return migrations
    whole = Migration(newest, Path(__file__).parent / "schema.sql")
    return (whole, *(migration for migration in migrations if migration.version > newest))


async def migrate(connection: aiosqlite.Connection, path: Path, migrations: tuple[Migration, ...]) -> None:
    """Bring the file to the newest version, each step in a transaction of its own, a new file in a single one.

    A file with an older schema is first copied to ``NAME.vVERSION`` beside it; one with the newest gets back the
    indexes that it lost. Raises StoreUnusable for a file of another program or of a newer Catena, and sqlite3.Error.
    """
    newest = migrations[-1].version
    async with _rolled_back_unless_committed(connection, "BEGIN"):
        version = await _version(connection, path, newest)
    if version == newest:
        await _restore_indexes(connection, migrations)
        return
    if version > 0:
        await _keep_copy(connection, path, version)
    # Who opens a new file meanwhile finds it empty or whole, and never takes it for an old one.
    for steps in [(migration,) for migration in migrations] if version > 0 else [_for_new_file(migrations)]:
        async with _rolled_back_unless_committed(connection, "BEGIN IMMEDIATE"):
            # Another process may have applied some already.
            version = await _version(connection, path, newest)
            for migration in steps:
                if version < migration.version:
                    await _apply(connection, migration)
            await connection.commit()


async def _apply(connection: aiosqlite.Connection, migration: Migration) -> None:
    for statement in _statements(migration.script.read_text("utf-8")):
        await connection.execute(statement)
    await connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    await connection.execute(f"PRAGMA user_version = {migration.version}")


async def _restore_indexes(connection: aiosqlite.Connection, migrations: tuple[Migration, ...]) -> None:
    """Create the indexes of the schema that the file lacks: queries name some of them."""
    indexes = _indexes(migrations)
    if not indexes.keys() - await _names_of_indexes(connection):
        return
    # A table that cannot be read keeps nobody from opening the file: it is repaired when a query meets the damage.
    with suppress(sqlite3.DatabaseError):
        async with _rolled_back_unless_committed(connection, "BEGIN IMMEDIATE"):
            # Another process may have created some already.
            for name in indexes.keys() - await _names_of_indexes(connection):
                with suppress(sqlite3.IntegrityError):  # rows that were added without it are not unique
                    await connection.execute(indexes[name])
            await connection.commit()


def _indexes(migrations: tuple[Migration, ...]) -> dict[str, str]:
    """The statement that creates each index of the schema, by the name of the index."""
    indexes: dict[str, str] = {}
    for migration in _for_new_file(migrations):
        for found in _OF_INDEX.finditer(migration.script.read_text("utf-8")):
            if found[0].startswith("CREATE"):
                indexes[found[1]] = found[0]
            else:
                indexes.pop(found[1], None)
    return indexes


async def _names_of_indexes(connection: aiosqlite.Connection) -> set[str]:
    rows = await connection.execute_fetchall("SELECT name FROM sqlite_schema WHERE type = 'index'")
    return {name for (name,) in rows}


async def check_version(
    connection: aiosqlite.Connection, path: Path, migrations: tuple[Migration, ...]
) -> None:
    """Raise StoreUnusable where a read-only file has an older schema, as it cannot be migrated."""
    newest = migrations[-1].version
    async with _rolled_back_unless_committed(connection, "BEGIN"):
        if await _version(connection, path, newest) != newest:
            raise StoreUnusable(path, "is from an older Catena and read-only: it cannot be upgraded")


def create_schema(connection: sqlite3.Connection, migrations: tuple[Migration, ...]) -> None:
    """Create the schema in an empty file by these migrations. Raises sqlite3.Error."""
    connection.execute("BEGIN IMMEDIATE")
    for migration in _for_new_file(migrations):
        for statement in _statements(migration.script.read_text("utf-8")):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {migration.version}")
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute("COMMIT")


@asynccontextmanager
async def _rolled_back_unless_committed(connection: aiosqlite.Connection, begin: str) -> AsyncIterator[None]:
    await connection.execute(begin)
    try:
        yield
    finally:
        await connection.rollback()


async def _version(connection: aiosqlite.Connection, path: Path, newest: int) -> int:
    """The schema version of the file, 0 for an empty one. Needs a transaction around it."""
    version = await _number(connection, "PRAGMA user_version")
    mark = await _number(connection, "PRAGMA application_id")
    tables = await _number(connection, "SELECT count(*) FROM sqlite_schema")
    if mark != APPLICATION_ID and (version or mark or tables):
        raise StoreUnusable(path, "belongs to another program")
    if version > newest:
        raise StoreUnusable(
            path,
            f"was written by a newer Catena (schema {version}, this one supports {newest}): please update Catena",
        )
    return version


async def _number(connection: aiosqlite.Connection, sql: str) -> int:
    ((number,),) = await connection.execute_fetchall(sql)
    return int(number)


async def _keep_copy(connection: aiosqlite.Connection, path: Path, version: int) -> None:
    copy = path.with_name(f"{path.name}.v{version}")
    _remove_unfinished(copy)
    if copy.exists():
        return
    unfinished = path.with_name(f"{copy.name}.{os.getpid()}-{os.urandom(4).hex()}")
    try:
        make_private(unfinished)
        await connection.execute("VACUUM INTO ?", (str(unfinished),))
        unfinished.replace(copy)
    finally:
        unfinished.unlink(missing_ok=True)


def _remove_unfinished(copy: Path) -> None:
    """Remove unfinished copies that dead processes left."""
    for file in copy.parent.glob(f"{copy.name}.*"):
        maker = file.name.removeprefix(f"{copy.name}.").partition("-")[0]
        if maker.isdecimal() and not _is_alive(int(maker)):
            file.unlink(missing_ok=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):  # a number that no process has
        return False
    except PermissionError:
        return True
    return True


def _statements(script: str) -> Iterator[str]:
    """The statements of a script, to be run one by one: ``executescript`` would commit the transaction."""
    statement = ""
    for part in script.split(";"):
        statement += part + ";"
        # A semicolon within a comment, a string or a trigger does not end one.
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
