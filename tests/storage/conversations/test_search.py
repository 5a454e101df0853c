"""Full-text search and the index behind it."""

from __future__ import annotations

from pathlib import Path

import pytest

from catena_store.conversations import messages
from catena_store.database.database import Reader, Writer
from catena_store.finding import search
from catena_store.records import Kind, MessageState, SearchHit
from support.storage.rows import Explained, new_conversation, say, store


async def found(r: Reader, text: str) -> list[str]:
    return [hit.message_id for hit in await search.find(r, text)]


async def check(tx: Writer) -> None:
    """Raises where the index does not hold exactly what belongs there."""
    await tx.run("INSERT INTO message_fts (message_fts, rank) VALUES ('integrity-check', 1)")


async def test_h02_messages_of_every_conversation_are_found_newest_first(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await new_conversation(tx, "c2")
        await say(tx, "m1", None, "The login form loses a parameter")
        await say(tx, "m2", "m1", "LOGIN: Grüße aus dem Formular, naïve café", kind=Kind.AGENT)
        await say(tx, "m3", None, "unrelated: logistics", conversation="c2")
        assert await found(tx, "login") == ["m2", "m1"]
        assert await found(tx, "log") == ["m3", "m2", "m1"]
        assert await found(tx, "lo form") == ["m2", "m1"]
        assert await found(tx, "grusse cafe") == []
        assert await found(tx, "gruße cafe") == ["m2"]
        assert await found(tx, "nothing") == []
        (hit,) = await search.find(tx, "parameter")
        assert (hit.conversation_id, hit.snippet) == ("c1", "The login form loses a parameter")


@pytest.mark.parametrize(
    "typed",
    [
        '"',
        '"log',
        "log*",
        "(log",
        "log)",
        "NOT log",
        "log AND",
        "text:log",
        "^log",
        "{a b} : log",
        "-log",
        "log\x00in",
        "lo+g",
        "'",
        ";",
    ],
)
async def test_h02_whatever_is_typed_is_words_and_never_a_query_language(tmp_path: Path, typed: str) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await say(tx, "m1", None, "not and text a b : log in lo g")
        assert await found(tx, typed) in ([], ["m1"])


@pytest.mark.parametrize("typed", ["", "  ", "-", "...", "\x00"])
async def test_nothing_to_look_for_finds_nothing(tmp_path: Path, typed: str) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await say(tx, "m1", None, "- ...")
        assert await found(tx, typed) == []


async def test_one_letter_is_a_whole_word_and_one_ideograph_begins_one(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await say(tx, "m1", None, "vitamin c")
        await say(tx, "m2", "m1", "cheese 漢字")
        assert await found(tx, "c") == ["m1"]
        assert await found(tx, "漢") == ["m2"]


async def test_pages_of_hits_follow_each_other_without_a_gap(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        for number in range(25):
            await say(tx, f"m{number}", f"m{number - 1}" if number else None, "needle")
        hits: list[SearchHit] = []
        while page := await search.find(tx, "need", limit=10, before=hits[-1].message_id if hits else None):
            hits += page
        assert [hit.message_id for hit in hits] == [f"m{number}" for number in reversed(range(25))]


async def test_a_message_enters_the_index_once_when_it_closes(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await say(tx, "a1", None, "growing", kind=Kind.AGENT, state=MessageState.OPEN)
        await messages.append(tx, "a1", " longer")
        assert await found(tx, "growing") == []
        await messages.update(tx, "a1", state=MessageState.INTERRUPTED)
        assert await found(tx, "growing longer") == ["a1"]
        await messages.update(tx, "a1", state=MessageState.FINAL)
        assert await found(tx, "growing longer") == ["a1"]
        await check(tx)


async def test_a_closed_message_whose_text_changes_is_found_by_the_new_text_only(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await say(tx, "m1", None, "before")
        await messages.update(tx, "m1", text="after")
        assert (await found(tx, "before"), await found(tx, "after")) == ([], ["m1"])
        await messages.update(tx, "m1", state=MessageState.OPEN)
        assert await found(tx, "after") == []
        await messages.append(tx, "m1", " all")
        await messages.update(tx, "m1", state=MessageState.FINAL, text="in the end")
        assert (await found(tx, "after"), await found(tx, "end")) == ([], ["m1"])
        await messages.update(tx, "m1", text="")
        assert await found(tx, "end") == []
        await check(tx)


async def test_plans_and_seams_are_not_found_and_all_that_is_said_or_done_is(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        for kind in Kind:
            await say(tx, kind.value, None, "needle", kind=kind)
        assert await found(tx, "needle") == ["notice", "tool", "thought", "agent", "user"]
        await check(tx)


async def test_the_index_can_be_built_anew_from_the_messages(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await say(tx, "m1", None, "needle")
        await say(tx, "open", "m1", "needle", kind=Kind.AGENT, state=MessageState.OPEN)
        await tx.run("INSERT INTO message_fts (message_fts) VALUES ('delete-all')")
        assert await found(tx, "needle") == []
        await tx.run("INSERT INTO message_fts (message_fts) VALUES ('rebuild')")
        assert await found(tx, "needle") == ["m1"]
        await check(tx)


async def test_a_conversation_that_was_deleted_is_not_found(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await say(tx, "m1", None, "needle")
        await tx.run("UPDATE conversation SET deleted_at = 1")
        assert await found(tx, "needle") == []


async def test_a_search_reads_the_index_newest_first_and_sorts_nothing(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        last = await say(tx, "m1", None, "needle")
        read = Explained(tx)
        await search.find(read, "need", before=last.id)
        assert read.scans("m", "c") == []
        assert not [step for step in read.steps if "TEMP B-TREE" in step]
        # FTS5 itself gives the rows in this order ("r" for rowid, "D" for descending) and below this rowid.
        assert any("VIRTUAL TABLE INDEX" in step for step in read.steps)


async def test_the_index_is_tidied_in_small_steps_and_never_by_a_write(tmp_path: Path) -> None:
    async def segments(r: Reader) -> int:
        row = await r.one("SELECT count(DISTINCT segid) FROM message_fts_idx")
        assert row is not None
        return int(row[0])

    async with store(tmp_path) as db:
        async with db.write() as tx:
            await new_conversation(tx)
        for number in range(40):
            async with db.write() as tx:
                await say(tx, f"m{number}", None, "needle " + " ".join(f"w{number}x{i}" for i in range(200)))
        async with db.read() as r:
            assert await segments(r) == 40
        steps = 0
        while await search.merge_index(db, pages=1):
            steps += 1
            assert steps < 1000
        assert steps > 1
        async with db.write() as tx:
            assert await segments(tx) < 8
            assert len(await search.find(tx, "needle")) == 40
            await check(tx)
        assert not await search.merge_index(db)
