"""A process that is stopped within a transaction: who waits for it says so, goes on when it does, and gives up."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from itertools import count
from pathlib import Path

import pytest

from catena_store.database.database import Database, Reader
from catena_store.errors import StoreBusy
from support.storage.lock_holder import can_write, stopped_writer
from support.storage.rows import new_conversation

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="who has a lock is read from /proc")


@on_linux
async def test_a_writer_says_whom_it_waits_for_lets_reads_through_and_goes_on_when_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("catena_store.database.database._TOLD_AFTER", 0.01)
    async with Database.open(tmp_path / "catena.db", busy_seconds=60) as db, stopped_writer(db.path) as pid:
        told: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        db.tell_by(told.set_result)

        async def write() -> None:
            async with db.write() as tx:
                await new_conversation(tx)

        writing = asyncio.create_task(write())
        words = await told
        assert f"locked by process {pid}, which is stopped" in words
        async with db.read() as reader:
            assert await reader.one("SELECT count(*) FROM conversation") == (0,)
        assert not writing.done()
        os.kill(pid, signal.SIGCONT)
        await writing
        async with db.read() as reader:
            assert await reader.one("SELECT count(*) FROM conversation") == (1,)


@on_linux
async def test_whom_it_waited_for_is_said_though_the_time_was_over_at_the_second_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    async with Database.open(tmp_path / "catena.db", busy_seconds=5) as db, stopped_writer(db.path) as pid:
        db.tell_by(told.append)
        looks = count(step=10)
        monkeypatch.setattr("catena_store.database.database._now", lambda: float(next(looks)))
        with pytest.raises(StoreBusy):
            async with db.write():
                pass
    assert [f"process {pid}" in words for words in told] == [True]


@on_linux
async def test_who_waited_in_vain_names_the_process_and_the_next_writer_does_not_wait_as_long_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = 0
    begin = Database._begin

    async def counted(db: Database, reader: Reader) -> StoreBusy | None:
        nonlocal tries
        tries += 1
        return await begin(db, reader)

    monkeypatch.setattr(Database, "_begin", counted)
    monkeypatch.setattr("catena_store.database.database._TRIED_ONCE", 60)
    async with Database.open(tmp_path / "catena.db", busy_seconds=1) as db:
        async with stopped_writer(db.path) as pid:
            taken = []
            for _ in range(2):
                tries = 0
                with pytest.raises(StoreBusy) as busy:
                    async with db.write():
                        pass
                assert (busy.value.pid, busy.value.stopped) == (pid, True)
                taken.append(tries)
            assert taken[0] > taken[1] == 1
        async with db.write() as tx:
            await new_conversation(tx)


async def test_between_transactions_none_of_ours_is_open_and_none_begins(tmp_path: Path) -> None:
    async with Database.open(tmp_path / "catena.db") as db:
        entered, leave = asyncio.Event(), asyncio.Event()

        async def write() -> None:
            async with db.write():
                entered.set()
                await leave.wait()

        writing = asyncio.create_task(write())
        await entered.wait()
        assert not can_write(db.path)
        asyncio.get_running_loop().call_soon(leave.set)
        async with db.between_transactions():
            assert writing.done() or can_write(db.path)
        await writing
