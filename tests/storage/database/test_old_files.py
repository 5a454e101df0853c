"""Files of other versions: brought up to date whole or not at all, whatever happens in the middle."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from catena_store.conversations import conversations, messages
from catena_store.database.database import Database
from catena_store.database.schema import Migration, shipped
from catena_store.errors import StoreUnusable
from support.clients.command_line import Catena, run
from support.storage.files import as_somebody_else, names_in, public_directory, with_one_more
from support.storage.rows import new_conversation, say_much

ROWS = 20_000
MORE_ROWS = 30_000  # by far more than the empty tables of all versions take


async def of_first_schema(path: Path, rows: int) -> None:
    """A file as the first version of all wrote it."""
    async with Database.open(path, migrations=shipped()[:1]) as db, db.write() as tx:
        await new_conversation(tx)
        await say_much(tx, rows)


async def test_r18_an_older_file_is_brought_up_to_date_without_writing_its_messages_anew(
    tmp_path: Path,
) -> None:
    path = tmp_path / "catena.db"
    await of_first_schema(path, MORE_ROWS)
    size = path.stat().st_size
    assert size > 3_000_000

    async with Database.open(path) as db:
        # What the migration wrote is in the log; as much as an empty file of tables, not a copy of the messages.
        assert (tmp_path / "catena.db-wal").stat().st_size < size / 4
        async with db.read() as r:
            assert await r.one("PRAGMA user_version") == (shipped()[-1].version,)
            assert len(await conversations.page(r)) == 1
            assert (await messages.page(r, f"m{MORE_ROWS - 1}", 1))[0].text == f"row number {MORE_ROWS - 1}"
        assert (tmp_path / "catena.db-wal").stat().st_size < size / 4, "a list writes nothing"
    with closing(sqlite3.connect(tmp_path / "catena.db.v1")) as old:
        assert old.execute("SELECT count(*) FROM message").fetchone() == (MORE_ROWS,)
        assert old.execute("PRAGMA user_version").fetchone() == (1,)
        assert old.execute("PRAGMA integrity_check").fetchone() == ("ok",)


_OPEN = """
import asyncio, pathlib, sys
from catena_store.database.database import Database
from catena_store.database.schema import Migration, shipped

async def main():
    later = (*shipped(), Migration(shipped()[-1].version + 1, pathlib.Path(sys.argv[2])))
    print("begun", flush=True)
    async with Database.open(pathlib.Path(sys.argv[1]), migrations=later):
        print("done", flush=True)
        sys.stdin.read()

asyncio.run(main())
"""
_LONG = """
ALTER TABLE conversation ADD COLUMN colour TEXT;
CREATE TABLE mirror (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
INSERT INTO mirror SELECT id, text FROM message;
CREATE INDEX mirror_text ON mirror (text);
UPDATE conversation SET colour = 'red';
"""
# Behind that, for as long as anybody waits.
_ENDLESS = """
INSERT INTO mirror WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n)
SELECT NULL, '' FROM n WHERE i < 0;
"""


@contextmanager
def updating(path: Path, later: Migration) -> Iterator[subprocess.Popen[str]]:
    """A newer program that brings the file up to date."""
    command = [sys.executable, "-c", _OPEN, str(path), str(later.script)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        try:
            yield process
        finally:
            process.kill()


async def is_whole(path: Path, later: tuple[Migration, ...]) -> int:
    """The version that the file has, and has whole; then bring it to the newest."""
    with closing(sqlite3.connect(path)) as file:
        (version,) = file.execute("PRAGMA user_version").fetchone()
        new = version == later[-1].version
        assert file.execute("SELECT count(*) FROM message").fetchone() == (ROWS,)
        mirrored = file.execute("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'mirror%'").fetchone()
        assert mirrored == ((2,) if new else (0,))
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    async with Database.open(path, migrations=later) as db, db.read() as r:
        assert await r.one("SELECT count(*), colour FROM mirror, conversation") == (ROWS, "red")
    return int(version)


def test_r18_killed_in_the_middle_of_a_migration_a_file_has_either_version_whole(tmp_path: Path) -> None:
    original = tmp_path / "original" / "catena.db"
    original.parent.mkdir()
    asyncio.run(_of_newest(original))
    later = with_one_more(tmp_path, _LONG)
    started = time.monotonic()
    (path := tmp_path / "whole" / "catena.db").parent.mkdir()
    _copy(original, path)
    with updating(path, later[-1]) as process:
        assert process.stdout is not None and process.stdout.readline() == "done\n"
    whole = time.monotonic() - started
    (tmp_path / "endless").mkdir()
    endless = with_one_more(tmp_path / "endless", _LONG + _ENDLESS)
    found = set()
    for attempt in range(8):
        (path := tmp_path / str(attempt) / "catena.db").parent.mkdir()
        _copy(original, path)
        # However slow this machine is, the last one is killed before its migration is done.
        with updating(path, (endless if attempt == 7 else later)[-1]) as process:
            until = time.monotonic() + whole * attempt / 8
            while time.monotonic() < until:
                time.sleep(0.001)
            process.send_signal(signal.SIGKILL)
            process.wait()
        found.add(asyncio.run(is_whole(path, later)))
        left = {file.name for file in path.parent.iterdir()}
        assert left == {"catena.db", f"catena.db.v{shipped()[-1].version}"}, "no half copy stays behind"
    assert shipped()[-1].version in found


async def _of_newest(path: Path) -> None:
    async with Database.open(path) as db, db.write() as tx:
        await new_conversation(tx)
        await say_much(tx, ROWS)


def _copy(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source)) as file:
        file.execute("VACUUM INTO ?", (str(target),))


_CRAMPED = """
import asyncio, pathlib, resource, sys
from catena_store.database.database import Database
from catena_store.errors import StoreUnusable
from catena_store.database.schema import Migration, shipped

async def main():
    later = (*shipped(), Migration(shipped()[-1].version + 1, pathlib.Path(sys.argv[2])))
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
    try:
        async with Database.open(pathlib.Path(sys.argv[1]), migrations=later):
            print("opened")
    except StoreUnusable as error:
        print(error)

asyncio.run(main())
"""


@pytest.mark.parametrize("room", [0.5, 1.2], ids=["for no copy of it", "for no new version of it"])
def test_r18_without_room_for_a_migration_the_file_stays_as_it_is(tmp_path: Path, room: float) -> None:
    path = tmp_path / "data" / "catena.db"
    path.parent.mkdir()
    asyncio.run(_of_newest(path))
    later = with_one_more(tmp_path, _LONG + "INSERT INTO mirror SELECT NULL, text FROM message;" * 6)
    limit = str(int(path.stat().st_size * room))

    said = subprocess.run(
        [sys.executable, "-c", _CRAMPED, str(path), str(later[-1].script), limit],
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert "the disk or a quota is full" in said
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("PRAGMA user_version").fetchone() == (shipped()[-1].version,)
        assert file.execute("SELECT count(*) FROM message").fetchone() == (ROWS,)
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    copies = {file.name for file in path.parent.iterdir()} - {"catena.db"}
    assert copies <= {f"catena.db.v{shipped()[-1].version}"}, "no half copy stays behind"


def test_r18_a_newer_file_is_refused_in_words_by_every_command_and_left_alone(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    assert run(catena, "say kept").status == 0
    later = with_one_more(tmp_path, "CREATE TABLE extra (id TEXT) STRICT;")
    asyncio.run(_open_with(catena.store, later))

    for command in (("list",), ("run", "--agent", "rehearsal", "hello"), ("doctor", "--salvage")):
        refused = catena(*command)
        assert refused.status == 2 and "newer Catena" in refused.err and "update" in refused.err
    with closing(sqlite3.connect(catena.store)) as file:
        assert file.execute("PRAGMA user_version").fetchone() == (later[-1].version,)


async def _open_with(path: Path, migrations: tuple[Migration, ...]) -> None:
    async with Database.open(path, migrations=migrations):
        pass


async def test_r18_an_older_file_that_may_not_be_written_is_refused_in_words(tmp_path: Path) -> None:
    with public_directory() as directory:
        path = directory / "catena.db"
        await of_first_schema(path, 2)
        path.chmod(0o444)
        directory.chmod(0o555)
        with as_somebody_else(), pytest.raises(StoreUnusable, match="older Catena and read-only"):
            async with Database.open(path):
                pass
        directory.chmod(0o755)
        assert names_in(directory) == {"catena.db"}
