"""The connection: its files, its transactions, and what becomes of trouble."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing, suppress
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from catena_store.conversations import conversations
from catena_store.database import database
from catena_store.database.database import Database, Health, Writer, data_directory, default_path
from catena_store.database.location import on_network
from catena_store.errors import StoreBusy, StoreError, StoreFull, StoreReadOnly, StoreUnusable
from catena_store.windows import inputs
from support.storage.files import as_somebody_else, public_directory
from support.storage.rows import START, new_conversation, say, store

# Never comes to an end by itself.
ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

# Fits into a full file.
SMALL = "INSERT INTO input (text, cwd, created_at) VALUES ('small', '/', 0)"


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_only_we_can_read_the_file_its_log_and_its_shared_memory(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        async with store(tmp_path / "data") as db:
            async with db.write() as tx:
                await new_conversation(tx)
            assert mode_of(tmp_path / "data") == 0o700
            for suffix in ("", "-wal", "-shm"):
                assert mode_of(tmp_path / "data" / f"catena.db{suffix}") == 0o600
    finally:
        os.umask(before)


async def test_a_file_that_others_could_read_is_taken_back(tmp_path: Path) -> None:
    async with store(tmp_path) as db:
        db.path.chmod(0o644)
    async with store(tmp_path) as db:
        async with db.write() as tx:
            await new_conversation(tx)
        assert mode_of(db.path) == 0o600
        assert mode_of(tmp_path / "catena.db-wal") == 0o600


async def test_the_connection_keeps_a_log_checks_references_and_sorts_in_memory(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.read() as r:
        settings = [
            (await r.all(f"PRAGMA {name}"))[0][0]
            for name in ("journal_mode", "foreign_keys", "synchronous", "temp_store", "busy_timeout")
        ]
        assert settings == ["wal", 1, 1, 2, 100]
        loose = await r.all(
            "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND strict = 0"
        )
        assert {name for (name,) in loose} == {"sqlite_schema"}


async def test_a_file_with_an_older_journal_gets_a_log(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
    with closing(sqlite3.connect(tmp_path / "catena.db")) as other:
        other.execute("PRAGMA journal_mode = DELETE")
    async with store(tmp_path) as db, db.read() as r:
        assert await r.one("PRAGMA journal_mode") == ("wal",)
        assert await conversations.get(r, "c1") is not None


def test_a_network_file_system_is_told_by_the_deepest_mount_point(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "/dev/sda1 / ext4 rw 0 0\n"
        "server:/home /home nfs4 rw 0 0\n"
        "/dev/sdb1 /home/ada/local ext4 rw 0 0\n"
        "ada@far:/ /mnt/my\\040disk fuse.sshfs rw 0 0\n"
        "nonsense\n"
    )
    assert on_network(Path("/home/ada"), mounts)
    assert on_network(Path("/mnt/my disk/deeper"), mounts)
    assert not on_network(Path("/home/ada/local/share"), mounts)
    assert not on_network(Path("/homely"), mounts)
    assert not on_network(Path("/var"), mounts)
    assert not on_network(Path("/home"), tmp_path / "no such file")


def test_the_data_directory_can_be_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path))
    assert default_path() == tmp_path / "catena.db"
    monkeypatch.setenv("CATENA_DATA_DIR", "")
    assert data_directory().name == "catena"


async def test_an_exception_leaves_nothing_behind(tmp_path: Path) -> None:
    async with store(tmp_path) as db:
        with pytest.raises(ZeroDivisionError):
            async with db.write() as tx:
                await new_conversation(tx)
                raise ZeroDivisionError
        async with db.read() as r:
            assert await conversations.get(r, "c1") is None


async def test_a_cancellation_cuts_a_statement_short_and_leaves_nothing_behind(tmp_path: Path) -> None:
    async with store(tmp_path) as db:
        begun = asyncio.Event()

        async def write_and_then_take_for_ever() -> None:
            async with db.write() as tx:
                await new_conversation(tx)
                begun.set()
                await tx.all(ENDLESS)

        for _ in range(20):
            task = asyncio.create_task(write_and_then_take_for_ever())
            await begun.wait()
            begun.clear()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        async with db.write() as tx:
            assert await conversations.get(tx, "c1") is None
            await new_conversation(tx)


async def test_a_cancellation_at_any_step_of_a_transaction_leaves_the_connection_usable(
    tmp_path: Path,
) -> None:
    async with store(tmp_path) as db:

        async def write(number: int) -> None:
            async with db.write() as tx:
                await inputs.add(tx, f"first {number}", "/")
                await inputs.add(tx, f"second {number}", "/")

        for steps in range(40):
            task = asyncio.create_task(write(steps))
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait((task,))
            async with db.write() as tx:
                kept = [text for _, text in await inputs.search(tx, f" {steps}")]
                assert kept in ([], [f"second {steps}", f"first {steps}"])


async def test_transactions_of_one_process_wait_for_each_other(tmp_path: Path) -> None:
    async with store(tmp_path) as db:
        async with db.write() as tx:
            await tx.run("INSERT INTO ability VALUES ('a', '1', 'count', '0', 0)")

        async def add_one() -> None:
            async with db.write() as tx:
                row = await tx.one("SELECT value FROM ability")
                assert row is not None
                await tx.run("UPDATE ability SET value = ?", (str(int(row[0]) + 1),))

        await asyncio.gather(*(add_one() for _ in range(50)))
        async with db.read() as r:
            assert await r.one("SELECT value FROM ability") == ("50",)


async def test_a_read_sees_one_moment_while_another_process_writes(tmp_path: Path) -> None:
    async with store(tmp_path) as db:
        version = await db.data_version()
        async with db.read() as r:
            assert await r.one("SELECT count(*) FROM input") == (0,)
            with closing(sqlite3.connect(db.path)) as other, other:
                other.execute("INSERT INTO input (text, cwd, created_at) VALUES ('typed elsewhere', '/', 0)")
            assert await r.one("SELECT count(*) FROM input") == (0,)
        assert await db.data_version() != version
        async with db.read() as r:
            assert await r.one("SELECT count(*) FROM input") == (1,)


async def test_our_own_writes_do_not_move_the_data_version(tmp_path: Path) -> None:
    async with store(tmp_path) as db:
        version = await db.data_version()
        async with db.write() as tx:
            await new_conversation(tx)
        assert await db.data_version() == version


async def test_a_transaction_within_a_transaction_is_refused_rather_than_waited_for(tmp_path: Path) -> None:
    async with store(tmp_path) as db:
        async with db.read():
            with pytest.raises(RuntimeError, match="within a transaction"):
                async with db.write():
                    pass
        async with db.write() as tx:
            await new_conversation(tx)


async def test_a_transaction_that_has_ended_takes_no_more_statements(tmp_path: Path) -> None:
    kept: list[Writer] = []
    async with store(tmp_path) as db:
        async with db.write() as tx:
            kept.append(tx)
        with pytest.raises(StoreError, match="has ended"):
            await new_conversation(kept[0])


async def test_a_store_that_was_closed_takes_no_more_transactions(tmp_path: Path) -> None:
    async with store(tmp_path) as db:
        pass
    for transaction in (db.read(), db.write()):
        with pytest.raises(StoreError, match="was closed"):
            async with transaction:
                pass
    with pytest.raises(StoreError, match="was closed"):
        await db.data_version()


async def test_a_store_is_closed_once_the_transaction_that_is_open_has_ended(tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def write(db: Database) -> None:
        async with db.write() as tx:
            await new_conversation(tx)
            begun.set()
            await asyncio.sleep(60)

    async with store(tmp_path) as db:
        writing = asyncio.ensure_future(write(db))
        await begun.wait()
        asyncio.get_running_loop().call_later(0.05, writing.cancel)
    with pytest.raises(asyncio.CancelledError):  # and no complaint about a connection that is gone
        await writing
    async with store(tmp_path) as db, db.read() as reader:
        assert await conversations.get(reader, "c1") is None


async def test_all_that_one_transaction_writes_has_one_time(tmp_path: Path) -> None:
    times = iter(range(1_000))

    def clock() -> datetime:
        return START + timedelta(seconds=next(times))

    async with Database.open(tmp_path / "catena.db", clock=clock) as db:
        for _ in range(2):
            async with db.write() as tx:
                await inputs.add(tx, "one", "/")
                await inputs.add(tx, "two", "/")
        async with db.read() as r:
            written = [time for (time,) in await r.all("SELECT created_at FROM input ORDER BY id")]
            assert written == [written[0], written[0], written[0] + 1000, written[0] + 1000]


async def test_half_a_surrogate_pair_is_stored_as_a_replacement(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await say(tx, "m1", None, "broken \ud83d emoji", data={"title": "also \ude00"})
        assert await tx.one("SELECT text, data FROM message") == ("broken � emoji", '{"title":"also �"}')


async def test_a_full_disk_is_told_and_leaves_nothing_behind(tmp_path: Path) -> None:
    async with store(tmp_path) as db:
        async with db.write() as tx:
            await new_conversation(tx)
            await tx.all("PRAGMA max_page_count = 1")  # as small as it can be: no page may be added
        with pytest.raises(StoreFull, match="the disk is full"):
            async with db.write() as tx:
                await say(tx, "m1", None, "long " * 100_000)
        async with db.read() as r:
            assert await r.one("SELECT count(*) FROM message") == (0,)
            assert await r.one("PRAGMA integrity_check") == ("ok",)


@pytest.mark.parametrize("goes_on", [False, True])
async def test_a_transaction_that_sqlite_rolled_back_fails_though_that_error_was_suppressed_in_it(
    tmp_path: Path, *, goes_on: bool
) -> None:
    async with store(tmp_path) as db:
        async with db.write() as tx:
            (pages,) = await tx.one("PRAGMA page_count") or (0,)
            await tx.all(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreFull, match="the disk is full"):
            async with db.write() as tx:
                await tx.run(SMALL)
                with suppress(StoreError):
                    await inputs.add(tx, "long " * 100_000, "/")  # one row: SQLite keeps no journal of it
                if goes_on:
                    await tx.run(SMALL)
        async with db.read() as r:
            assert await r.one("SELECT count(*) FROM input") == (0,)


async def test_a_file_that_turns_read_only_is_told(tmp_path: Path) -> None:
    async with store(tmp_path) as db:
        async with db.read() as r:
            await r.all("PRAGMA query_only = ON")
        with pytest.raises(StoreReadOnly, match="read-only"):
            async with db.write() as tx:
                await new_conversation(tx)


async def test_a_read_only_file_is_opened_to_be_read() -> None:
    with public_directory() as directory:
        async with store(directory) as db:
            async with db.write() as tx:
                await new_conversation(tx)
            path = db.path
        path.chmod(0o444)
        directory.chmod(0o555)
        with as_somebody_else():
            async with store(directory) as db:
                assert db.read_only
                async with db.read() as r:
                    assert await conversations.get(r, "c1") is not None
                with pytest.raises(StoreReadOnly, match="read-only"):
                    async with db.write():
                        pass


async def test_a_directory_that_may_not_be_written_is_told() -> None:
    with public_directory() as directory:
        directory.chmod(0o555)
        with as_somebody_else(), pytest.raises(StoreUnusable, match="Permission denied"):
            async with store(directory):
                pass


async def test_a_directory_in_the_place_of_the_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "catena.db").mkdir()
    with pytest.raises(StoreUnusable, match="cannot be opened"):
        async with store(tmp_path):
            pass


async def test_a_file_that_cannot_be_opened_leaves_no_thread_behind(tmp_path: Path) -> None:
    (tmp_path / "catena.db").mkdir()
    started: list[threading.Thread] = []
    threading.settrace(lambda *_: started.append(threading.current_thread()))
    try:
        with pytest.raises(StoreUnusable):
            async with store(tmp_path):
                pass
    finally:
        threading.settrace(None)
    assert started == []


async def test_a_file_that_is_no_database_is_refused_and_kept(tmp_path: Path) -> None:
    (tmp_path / "catena.db").write_text("Dear diary, " * 100)
    with pytest.raises(StoreUnusable, match="is not a Catena database") as refusal:
        async with store(tmp_path):
            pass
    assert str(tmp_path / "catena.db") in str(refusal.value)
    assert (tmp_path / "catena.db").read_text() == "Dear diary, " * 100


async def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        for number in range(200):
            await say(tx, f"m{number}", f"m{number - 1}" if number else None, f"text {number} " * 20)
    path = tmp_path / "catena.db"
    torn = bytearray(path.read_bytes())
    torn[4096 * 4 :] = b"\xff" * (len(torn) - 4096 * 4)
    path.write_bytes(torn)
    with pytest.raises(StoreUnusable, match="damaged"):
        async with store(tmp_path) as db, db.read() as r:
            await r.all("SELECT * FROM message")


async def test_a_sound_file_has_no_complaints_and_a_damaged_one_has(tmp_path: Path) -> None:
    async with store(tmp_path) as db:
        async with db.write() as tx:
            await new_conversation(tx)
            await say(tx, "m1", None, "hello")
        async with db.read() as r:
            assert await database.check(r) == Health(complaints=(), conversations=1, messages=1)
        async with db.write() as tx:
            await tx.run("PRAGMA ignore_check_constraints = ON")
            await tx.run("UPDATE message SET kind = 'poem'")
            await tx.run("PRAGMA ignore_check_constraints = OFF")
        async with db.read() as r:
            (complaint,) = (await database.check(r)).complaints
            assert "message" in complaint


async def test_a_file_that_stays_locked_is_told_and_works_again_afterwards(tmp_path: Path) -> None:
    async with Database.open(tmp_path / "catena.db", busy_seconds=0.05) as db:
        with closing(sqlite3.connect(db.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreBusy, match="locked by another process"):
                async with db.write():
                    pass
            other.execute("ROLLBACK")
        async with db.write() as tx:
            await new_conversation(tx)


@pytest.mark.parametrize(
    ("how_it_ends", "status"),
    [
        ("raise ZeroDivisionError", 1),
        ("raise SystemExit(3)", 3),
        ("os.kill(os.getpid(), signal.SIGINT); await asyncio.Event().wait()", -signal.SIGINT),
        ("asyncio.get_running_loop().stop(); await asyncio.Event().wait()", 1),
    ],
)
def test_the_process_ends_however_the_program_ends(tmp_path: Path, how_it_ends: str, status: int) -> None:
    program = f"""
import asyncio, os, signal, sys
from datetime import datetime, timedelta
from pathlib import Path
from catena_store.database.database import Database

async def main():
    async with Database.open(Path({str(tmp_path / "catena.db")!r})) as db:
        async with db.write() as tx:
            {how_it_ends}

asyncio.run(main())
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=False)
    assert ended.returncode == status, ended.stderr.decode()
