"""The newest hit of each conversation, whatever the words and the conversations are, and what is said of it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catena_store.conversations import conversations, messages
from catena_store.database.database import Database, Reader
from catena_store.finding import newest_hits
from catena_store.finding.newest_hits import snippet
from catena_store.records import Kind, NewMessage
from support.counted_work import Queries, turns_counted
from support.storage.rows import Explained, new_conversation, say, store

COMMON, RARE = "common", "rarest"


async def found(r: Reader, text: str, **how: int | Collection[str] | None) -> list[tuple[str, str]]:
    hits = await newest_hits.newest_hits(r, text.split(), **how)  # type: ignore[arg-type]
    return [(hit.conversation_id, hit.message_id) for hit in hits.found]


async def test_h02_each_conversation_has_its_newest_hit_and_the_newest_comes_first(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        for id in ("c1", "c2", "gone"):
            await new_conversation(tx, id)
        await say(tx, "m1", None, "The login fails")
        await say(tx, "m2", None, "login, too", conversation="c2")
        await say(tx, "m3", None, "login", conversation="gone")
        await say(tx, "m4", "m1", "another branch: the login again", kind=Kind.AGENT)
        await say(tx, "m5", "m1", "nothing of it")
        await conversations.set_deleted(tx, "gone", True)
        hits = await newest_hits.newest_hits(tx, ["log"])
        assert [(hit.message_id, hit.hits, hit.more) for hit in hits.found] == [
            ("m4", 2, False),
            ("m2", 1, False),
        ]
        assert not hits.cut
        assert hits.found[0].kind is Kind.AGENT
        assert await found(tx, "log", within=["c2", "gone"]) == [("c2", "m2")]
        assert await found(tx, "log", within=[]) == await found(tx, "...") == []
        assert [each.message_id for each in (await newest_hits.newest_hits(tx, ["login fail"])).found] == [
            "m1"
        ]
        assert (await newest_hits.newest_hits(tx, ["fails login", "the\0login"])).found == []
        cut = await newest_hits.newest_hits(tx, ["log"], limit=1)
        assert ([hit.message_id for hit in cut.found], cut.cut) == (["m4"], True)


@asynccontextmanager
async def large_store(directory: Path, count: int = 6_000) -> AsyncIterator[Database]:
    """40 conversations that were held side by side, one of which has more than half of all rows and the last ones."""
    chance = random.Random(7)
    async with store(directory) as db:
        async with db.write() as tx:
            for number in range(40):
                await new_conversation(tx, f"c{number}")
            rows = []
            for number in range(count):
                conversation = 0 if number >= count // 2 else chance.randrange(40)
                words = [COMMON, f"w{chance.randrange(30)}", RARE if chance.random() < 0.002 else "other"]
                text = " ".join(words)
                rows.append(NewMessage(f"m{number}", f"c{conversation}", None, Kind.AGENT, text))
            await messages.insert_many(tx, rows)
        yield db


async def test_h02_what_is_found_is_what_going_through_all_messages_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(3)
    async with large_store(tmp_path) as db, db.read() as r:
        every = await r.all("SELECT uid, conversation_id, text FROM message ORDER BY id DESC")
        for _ in range(120):
            # Chunks and rows that are few here, so that every way is gone.
            sizes = [chance.choice((20, 90, 700)) for _ in range(3)]
            monkeypatch.setattr(newest_hits, "_CHUNKS", (*sizes, 9_999))
            monkeypatch.setattr(newest_hits, "_FEW_ROWS", chance.choice((1, 300, 9_999)))
            words = chance.sample(
                [COMMON, RARE, "w1", "w2", "w29", "oth", "ra", "comm", "rare", "COMMON", "nowhere"],
                chance.choice((1, 1, 2)),
            )
            within = None
            if chance.random() < 0.7:
                within = [f"c{number}" for number in chance.sample(range(40), chance.choice((1, 3, 20)))]
            wanted: dict[str, str] = {}
            for uid, conversation, text in every:
                if (within is None or conversation in within) and all(
                    any(each.startswith(word.lower()) for each in text.split()) for word in words
                ):
                    wanted.setdefault(conversation, uid)
            limit = chance.choice((5, 50))
            assert await found(r, " ".join(words), within=within, limit=limit) == list(wanted.items())[:limit]


async def _steps(db: Database, text: str, within: Collection[str] | None) -> int:
    counted = Queries()
    async with db.read_concurrently() as r:
        assert r._connection is not None
        await r._connection.set_progress_handler(counted.step, 100)
        await newest_hits.newest_hits(r, [text], within=within)
        await r._connection.set_progress_handler(lambda: 0, 0)
    return counted.steps


async def test_a_search_goes_past_what_it_has_and_reads_no_more_for_a_longer_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(newest_hits, "_CHUNKS", (100, 400, 800, 1_600))
    monkeypatch.setattr(newest_hits, "_FEW_ROWS", 500)
    steps = []
    for name, count in (("short", 6_000), ("long", 24_000)):
        (tmp_path / name).mkdir()
        async with large_store(tmp_path / name, count) as db:
            # The newest half of all rows are of one conversation, which is passed over at once.
            steps.append([await _steps(db, COMMON, None), await _steps(db, "co", {"c3"})])
    (short, short_few), (long, long_few) = steps
    assert long <= 1.2 * short, steps
    assert long_few <= 5 * short_few, steps  # that conversation has four times as many rows


async def test_a_search_reads_the_index_newest_first_and_sorts_no_hits(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await say(tx, "m1", None, "needle")
        for within in (None, ["c1"]):
            read = Explained(tx)
            assert await found(read, "need", within=within) == [("c1", "m1")]
            assert read.scans("m", "c") == []
            assert not [step for step in read.steps if "TEMP B-TREE FOR ORDER" in step]


async def test_h02_the_next_key_stops_a_search_at_once(tmp_path: Path) -> None:
    endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    async with store(tmp_path) as db:
        for _ in range(3):
            begun = asyncio.Event()

            async def search(begun: asyncio.Event = begun) -> None:
                async with db.read_concurrently() as r:
                    begun.set()
                    await r.all(endless)

            task = asyncio.create_task(search())
            await begun.wait()
            task.cancel()
            async with asyncio.timeout(60), db.read_concurrently() as r:
                assert await found(r, "next") == []
            with pytest.raises(asyncio.CancelledError):
                await task


async def test_h02_a_hit_knows_its_version_and_how_many_turns_are_above_it(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        above: str | None = None
        for number in range(3):
            await say(tx, f"u{number}", above, f"prompt {number}")
            await say(tx, f"a{number}", f"u{number}", f"answer {number}", kind=Kind.AGENT)
            above = f"a{number}"
        assert await newest_hits.place(tx, "a2") == newest_hits.HitPlace(1, 1, 2, "a2")
        await say(tx, "v1", "a0", "prompt 1, edited")
        await say(tx, "b1", "v1", "another answer", kind=Kind.AGENT)
        await say(tx, "v2", "a0", "prompt 1, edited again")
        await say(tx, "v2a", "v2", "the needle", kind=Kind.AGENT)
        await say(tx, "v2u", "v2a", "more")
        assert await newest_hits.place(tx, "b1") == newest_hits.HitPlace(2, 3, 1, "b1")
        assert await newest_hits.place(tx, "v2a") == newest_hits.HitPlace(3, 3, 1, "v2u")
        assert await newest_hits.place(tx, "a2") == newest_hits.HitPlace(1, 3, 2, "a2")
        assert await newest_hits.place(tx, "u0") == newest_hits.HitPlace(1, 1, 0, "v2u")
        await new_conversation(tx, "fork", family="c1", fork_point_id="b1")
        await say(tx, "f1", "b1", "in the fork", conversation="fork")
        assert await newest_hits.place(tx, "f1") == newest_hits.HitPlace(1, 1, 2, "f1")


@pytest.mark.parametrize(
    ("text", "words", "marked"),
    [
        ("The login form", "log", "The [login] form"),
        ("The login form", "catalog", "The login form"),
        ("GRÜẞE aus Köln", "grüße koln", "[GRÜẞE] aus [Köln]"),
        ("see auth/views.py, line 3", "views.py", "see auth/[views.py], line 3"),
        ("one\n\n  two\tlogin\n", "log", "one two [login]"),
        ("x" * 400, "y", f"{'x' * 160}…"),
        ("", "log", ""),
        ("漢字の検索", "漢", "[漢字の検索]"),
        ("a_login", "log", "a_[login]"),
    ],
)
def test_h02_a_snippet_has_the_words_around_it_and_marks_what_matched(
    text: str, words: str, marked: str
) -> None:
    found = snippet(text, words.split())
    shown = found.text
    for start, end in reversed(found.spans):
        shown = f"{shown[:start]}[{shown[start:end]}]{shown[end:]}"
    assert shown == marked


def test_h02_a_snippet_is_from_where_most_of_the_words_are() -> None:
    text = f"login {'far ' * 100}away, the login form of the shop {'and ' * 100}"
    found = snippet(text, ["login", "shop"])
    assert found.text.startswith("…")
    assert "login form of the shop and" in found.text
    assert [found.text[start:end] for start, end in found.spans] == ["login", "shop"]
    assert len(found.text) <= 162


async def test_h02_long_texts_hold_no_key_up_while_their_snippets_are_made(tmp_path: Path) -> None:
    async with store(tmp_path) as db:
        async with db.write() as tx:
            for number in range(4):
                await new_conversation(tx, f"c{number}")
                text = f"the needle of the café, {'naïve words ' * 3_000}"
                await say(tx, f"m{number}", None, text, conversation=f"c{number}")
        with turns_counted() as turns:
            async with db.read() as r:
                hits = await newest_hits.newest_hits(r, ["needle", "cafe"])
        assert [len(hit.snippet.spans) for hit in hits.found] == [2] * 4
        assert turns.busiest < 5_000


HARD = st.text(alphabet=st.sampled_from("aAbß İıŞşé\u0301ﬁ漢字\u200d👩_-.\n\t\x00"), max_size=60)


@given(HARD, HARD)
def test_h02_whatever_stands_in_a_text_its_snippet_is_one_line_with_its_marks_inside(
    text: str, words: str
) -> None:
    found = snippet(text * 8, words.split())
    assert not {"\n", "\t"} & {*found.text}
    assert "  " not in found.text
    at = 0
    for start, end in found.spans:
        assert at <= start < end <= len(found.text)
        at = end
