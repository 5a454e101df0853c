"""Several processes on one file, and processes that are killed in the middle of writing it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

from catena_store.conversations import messages
from support.storage.rows import new_conversation, say, store
from support.walks.length import walks

WRITER = """
import asyncio, sys
from pathlib import Path
from catena_store.conversations import messages
from catena_store.database.database import Database
from catena_store.records import Kind, NewMessage

async def is_there(db, id):
    async with db.read() as r:
        return await messages.get(r, id) is not None

async def main(path, name, count):
    async with Database.open(Path(path)) as db:
        print("ready", flush=True)
        sys.stdin.readline()
        parent = "first"
        for number in range(int(count)):
            if number == 10:  # so that each of them writes between two rows of the other
                other = {"a": "b0", "b": "a0"}[name]
                async with asyncio.timeout(60):
                    while not await is_there(db, other):
                        await asyncio.sleep(0.001)
            async with db.write() as tx:
                await messages.insert(tx, NewMessage(f"{name}{number}", "c1", parent, Kind.AGENT, f"needle {number}"))
            parent = f"{name}{number}"
            async with db.read() as r:
                assert (await messages.get(r, parent)) is not None

asyncio.run(main(*sys.argv[1:]))
"""

# Forks a child for each round, lets it write until it has reported so many rows, and kills it at some moment after.
# Each child first looks whether the file is sound and holds what the children before it had reported.
KILLED = """
import asyncio, os, random, signal, sys, time
from pathlib import Path
from catena_store.conversations import messages
from catena_store.database.database import Database
from catena_store.records import Kind, MessageState, NewMessage

path, rounds, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
rng = random.Random(seed)

async def write_for_ever(number, reported, pipe):
    async with Database.open(path) as db:
        async with db.read() as r:
            assert await r.one("PRAGMA integrity_check") == ("ok",)
            kept = dict(await r.all("SELECT uid, length(text) FROM message"))
            for uid, length in reported.items():
                assert kept.get(uid, -1) >= length, f"{uid}: {kept.get(uid)} of {length} reported"
        count = 0
        while True:
            uid = f"r{number}m{count}"
            async with db.write() as tx:
                new = NewMessage(uid, "c1", "first", Kind.AGENT, "needle", MessageState.OPEN)
                await messages.insert(tx, new)
            os.write(pipe, f"{uid} 6\\n".encode())
            async with db.write() as tx:
                await messages.append(tx, uid, " and more" * 50)
            os.write(pipe, f"{uid} 456\\n".encode())
            async with db.write() as tx:
                await messages.update(tx, uid, state=MessageState.FINAL)
            count += 1

reported = {}
for number in range(rounds):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        asyncio.run(write_for_ever(number, reported, writing))
    os.close(writing)
    with open(reading) as lines:
        for _ in range(rng.randrange(1, 25)):
            line = lines.readline()
            if not line:
                sys.exit(f"round {number}: the child gave up")
            uid, length = line.split()
            reported[uid] = int(length)
        until = time.perf_counter() + rng.random() * 0.002
        while time.perf_counter() < until:
            pass
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        for line in lines:
            if line.endswith("\\n"):
                uid, length = line.split()
                reported[uid] = int(length)
for uid, length in reported.items():
    print(uid, length)
"""


async def test_r16_two_processes_lose_none_of_1000_interleaved_writes_and_see_no_locked_file(
    tmp_path: Path,
) -> None:
    async with store(tmp_path) as db:
        async with db.write() as tx:
            await new_conversation(tx)
            await say(tx, "first", None)
        writers = [
            await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", WRITER, str(db.path), name, "500"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            for name in ("a", "b")
        ]
        for writer in writers:
            assert writer.stdout is not None
            assert await writer.stdout.readline() == b"ready\n"
        ended = await asyncio.gather(*(writer.communicate(b"go\n") for writer in writers))
        assert [(writer.returncode, errors) for writer, (_, errors) in zip(writers, ended, strict=True)] == [
            (0, b"")
        ] * 2
        async with db.read() as r:
            found = [message.id for message in await messages.of_conversation(r, "c1")]
            assert len(found) == 1001
            for name in ("a", "b"):
                path = await messages.page(r, f"{name}499", 1_000)
                assert [row.id for row in path] == ["first", *(f"{name}{number}" for number in range(500))]
            turns_taken = sum(one[0] != other[0] for one, other in pairwise(found[1:]))
            assert turns_taken >= 2
            assert await r.one("PRAGMA integrity_check") == ("ok",)
        async with db.write() as tx:
            await tx.run("INSERT INTO message_fts (message_fts, rank) VALUES ('integrity-check', 1)")


async def test_r17_killing_the_writer_at_random_points_leaves_a_sound_file_with_all_that_was_acknowledged(
    tmp_path: Path,
) -> None:
    rounds = walks(50)
    async with store(tmp_path) as db:
        path = db.path
        async with db.write() as tx:
            await new_conversation(tx)
            await say(tx, "first", None)
    killer = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", KILLED, str(path), str(rounds), "1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    output, errors = await killer.communicate()
    assert killer.returncode == 0, errors.decode()
    reported = {uid: int(length) for uid, length in map(str.split, output.decode().splitlines())}
    assert len(reported) > rounds
    async with store(tmp_path) as db, db.write() as tx:
        assert await tx.one("PRAGMA integrity_check") == ("ok",)
        await tx.run("INSERT INTO message_fts (message_fts, rank) VALUES ('integrity-check', 1)")
        for uid, length in reported.items():
            message = await messages.get(tx, uid)
            assert message is not None
            assert len(message.text) >= length
