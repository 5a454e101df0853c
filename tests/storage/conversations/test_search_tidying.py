"""The search index is tidied while nobody waits, and a search waits for no write."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path

from catena.app.services import merge_search_index
from catena_store.database.database import Database
from catena_store.finding import search
from support.counted_work import waits_counted
from support.storage.files import names_in
from support.storage.rows import new_conversation, say, store


async def segments(db: Database) -> int:
    """In how many parts the index lies."""
    async with db.read() as r:
        row = await r.one("SELECT count(DISTINCT segid) FROM message_fts_idx")
    assert row is not None
    return int(row[0])


async def talk(db: Database, name: str, count: int) -> None:
    """As many transactions as a conversation of so many messages has."""
    async with db.write() as tx:
        await new_conversation(tx, name)
    for number in range(count):
        async with db.write() as tx:
            await say(tx, f"{name}{number}", None, f"word{number} of {name} " * 40, conversation=name)


async def until_tidy(db: Database) -> None:
    async with asyncio.timeout(60):
        while await segments(db) > 4:  # noqa: ASYNC110 - nothing tells of a merge
            await asyncio.sleep(0.01)


async def test_the_index_is_tidied_after_every_time_of_work_and_never_during_it(tmp_path: Path) -> None:
    working = True
    looked = asyncio.Event()

    def busy() -> bool:
        looked.set()
        return working

    async with store(tmp_path) as db:
        await talk(db, "first", 60)
        before = await segments(db)
        assert before > 10
        tidying = asyncio.create_task(merge_search_index(db, busy, look_seconds=0.005))
        for _ in range(5):
            looked.clear()
            await looked.wait()
        assert await segments(db) == before

        working = False
        await until_tidy(db)
        working = True
        await talk(db, "second", 60)
        working = False
        await until_tidy(db)
        async with db.read() as r:
            assert len(await search.find(r, "second", limit=100)) == 60
        tidying.cancel()
        await asyncio.wait((tidying,))


async def test_where_others_read_or_write_a_step_is_not_followed_by_the_next_one(tmp_path: Path) -> None:
    look = 0.003
    reads: list[asyncio.Task[int]] = []

    def busy() -> bool:
        reads.append(asyncio.create_task(segments(db)))  # between the look and the end of the step
        return False

    def breaths_followed(waits: list[float]) -> list[bool]:
        """Of each step but the last one, whether the next step came without a look."""
        steps = [seconds > look for seconds in waits if seconds <= 0.02]
        return [follows for step, follows in pairwise(steps) if step]

    async with store(tmp_path) as db:
        await talk(db, "first", 60)
        with waits_counted() as waits:
            tidying = asyncio.create_task(merge_search_index(db, busy, look_seconds=look))
            async with asyncio.timeout(60):
                while not breaths_followed(waits):  # noqa: ASYNC110 - nothing tells of a merge
                    await asyncio.sleep(0)  # no wait that would be counted
            tidying.cancel()
            await asyncio.gather(tidying, *reads, return_exceptions=True)
    assert not any(breaths_followed(waits))


async def test_the_app_tidies_the_index(tmp_path: Path) -> None:
    from catena.app.services import serve_conversations
    from catena.settings.settings import Settings

    async with store(tmp_path) as db:
        await talk(db, "first", 60)
        async with serve_conversations(db, Settings()):
            await until_tidy(db)


async def test_a_search_waits_for_no_write_of_its_own_process(tmp_path: Path) -> None:
    async with store(tmp_path) as db:
        await talk(db, "first", 3)
        async with db.write() as tx:
            await say(tx, "unfinished", None, "word0 unfinished", conversation="first")
            async with db.read_concurrently() as r:
                assert [hit.message_id for hit in await search.find(r, "word0")] == ["first0"]
        async with db.read_concurrently() as r:
            assert [hit.message_id for hit in await search.find(r, "word0")] == ["unfinished", "first0"]
    assert names_in(tmp_path) == {"catena.db"}, "the log was written home"
