"""Entries and hits from a real store, in their one order."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from catena.history.entries import HistoryEntry, HistoryScope, Repositories, repository_of
from catena.history.finding import Hits, MessageFinder, answers, ranked
from catena.history.listing import HistoryListing
from catena.history.query import HistoryQuery, Quality
from catena.history.reading import HistoryReader
from catena_store.conversations import conversations, messages
from catena_store.database.database import Database
from catena_store.finding import history
from catena_store.keeping.removal import prune
from catena_store.records import Kind, MessageState
from support.counted_work import calls_counted, queries_counted
from support.storage.rows import Clock, new_conversation, say, store


@dataclass
class Shelf:
    """A store with a few conversations, and the history that reads it."""

    db: Database
    clock: Clock

    def __post_init__(self) -> None:
        self.listing = HistoryListing(directory="/shop")
        self.reader = HistoryReader(self.db, self.listing, lives=lambda _: True)
        self.finder = MessageFinder(self.db, self.listing)

    async def add(self, id: str, prompt: str, answer: str = "", **fields: object) -> None:
        """A conversation that is newer than all others."""
        self.clock.forward()
        async with self.db.write() as tx:
            await new_conversation(tx, id, **{"cwd": "/shop", **fields})
            await say(tx, f"{id}-u", None, prompt, conversation=id)
            await say(tx, f"{id}-a", f"{id}-u", answer, conversation=id, kind=Kind.AGENT)
            await conversations.touch(tx, id)

    async def read(self) -> list[int]:
        return [count async for count in self.reader.pages()]

    async def found(self, text: str, scope: HistoryScope = HistoryScope.EVERYWHERE) -> list[str]:
        """What a query finds: keys, with the message where one was found."""
        query = HistoryQuery.parse(text, now=self.clock())
        facts = await self.reader.facts(query)
        hits = await self.finder.find(query, scope, facts=facts)
        matches = self.listing.match(query, scope, facts=facts)
        return [
            f"{each.entry.key}{f' {each.hit.message_id}' if each.hit else ''}"
            for each in ranked(self.listing, matches, hits)
        ]


@pytest.fixture
async def shelf(tmp_path: Path) -> AsyncIterator[Shelf]:
    clock = Clock()
    async with store(tmp_path, clock) as db:
        yield Shelf(db, clock)


async def test_h02_words_in_titles_come_before_words_in_messages_and_letters_last(shelf: Shelf) -> None:
    await shelf.add("letters", "list of guests")  # l, o, g
    await shelf.add("spoken", "why?", "the log says so")
    await shelf.add("titled", "x", title="Dialogue")
    await shelf.add("begins", "x", "logs everywhere", title="Log in")
    await shelf.add("newer", "x", "the log again", cwd="/elsewhere")
    await shelf.add("put away", "x", title="log")
    async with shelf.db.write() as tx:
        await conversations.set_archived(tx, "put away", True)
    await shelf.read()
    assert await shelf.found("log") == [
        "begins begins-a",
        "titled",
        "newer newer-a",
        "spoken spoken-a",
        "letters",
        "put away",
    ]
    assert await shelf.found("log", HistoryScope.HERE) == [
        "begins begins-a",
        "titled",
        "spoken spoken-a",
        "letters",
        "put away",
    ]
    assert await shelf.found("log dir:elsewhere") == ["newer newer-a"]
    assert await shelf.found("dir:elsewhere") == ["newer"]
    assert await shelf.found("file:nothing log") == []


async def test_h01_pages_bring_what_stands_first_with_the_newest_and_the_archive_last(shelf: Shelf) -> None:
    for number in range(103):
        await shelf.add(f"c{number:03}", "x", "y")
    async with shelf.db.write() as tx:
        await tx.run("UPDATE conversation SET pinned = 1 WHERE id = 'c000'")
        await history.mark_seen(tx, "c001", "c001-u")
        await conversations.set_archived(tx, "c002", True)
        await conversations.set_archived(tx, "c050", True)
    pages = shelf.reader.pages()
    async with queries_counted(shelf.db) as counted:
        assert await anext(pages) == 101  # the newest hundred, and one more that stands first
    assert len(counted.asked) <= 7
    first = [match.key for match in shelf.listing.match(HistoryQuery())]
    assert first[:3] == ["c001", "c000", "c102"]
    assert [count async for count in pages] == [1, 2]
    assert [match.key for match in shelf.listing.match(HistoryQuery())][-3:] == ["c003", "c050", "c002"]


async def test_h20_a_refresh_leaves_out_what_was_removed_for_good_and_still_hears_of_what_comes_after(
    shelf: Shelf,
) -> None:
    for number in range(20):
        await shelf.add(f"c{number:03}", "x", "y")
    await shelf.read()
    async with shelf.db.write() as tx:
        for number in range(5, 15):
            await conversations.set_title(tx, f"c{number:03}", "removed soon")
    assert await shelf.reader.refresh()
    await prune(shelf.db, [f"c{number:03}" for number in range(5, 15)], lambda _: True)
    async with shelf.db.write() as tx:
        await conversations.set_title(tx, "c003", "renamed")
    assert await shelf.reader.refresh()
    assert len(shelf.listing) == 10 and shelf.listing.get("c010") is None
    renamed = shelf.listing.get("c003")
    assert renamed is not None and renamed.title == "renamed"


async def test_h25_what_an_agent_says_changes_no_row_of_the_list(shelf: Shelf) -> None:
    await shelf.add("c1", "x", "y")
    await shelf.add("c2", "x", "y")
    async with shelf.db.write() as tx:
        before = await history.look(tx)
        await say(tx, "c1-a2", "c1-a", "It", conversation="c1", kind=Kind.AGENT, state=MessageState.OPEN)
        for _ in range(3):
            await messages.append(tx, "c1-a2", " goes on")
        await messages.update(tx, "c1-a2", state=MessageState.FINAL)
        assert (await history.look(tx)).revision == before.revision


async def test_h20_a_refresh_reads_what_changed_and_not_the_whole_history(shelf: Shelf) -> None:
    for number in range(120):
        await shelf.add(f"c{number:03}", "x", "y")
    await shelf.read()
    assert not await shelf.reader.refresh()
    await shelf.add("new", "x", "y")
    async with shelf.db.write() as tx:
        await conversations.set_title(tx, "c100", "renamed")
        await conversations.set_deleted(tx, "c101", True)
        await say(tx, "c002-u2", "c002-a", "later", conversation="c002")
        await conversations.touch(tx, "c002")
    async with queries_counted(shelf.db) as counted:
        assert await shelf.reader.refresh()
    order = [match.entry for match in shelf.listing.match(HistoryQuery())]
    assert {order[0].key, order[1].key} == {"new", "c002"}
    assert {entry.key: entry.last_prompt for entry in order}["c002"] == "later"
    assert shelf.listing.get("c101") is None
    renamed = shelf.listing.get("c100")
    assert renamed is not None
    assert renamed.name == "renamed"
    few = counted.steps
    async with queries_counted(shelf.db) as counted:
        await shelf.read()
    assert few * 5 < counted.steps


async def test_h02_hits_are_those_of_the_scope_and_of_conversations_that_pass_the_filters(
    shelf: Shelf,
) -> None:
    await shelf.add("here", "x", "needle")
    await shelf.add("there", "x", "needle", cwd="/elsewhere", agent="codex")
    await shelf.read()

    async def hits(text: str, scope: HistoryScope = HistoryScope.EVERYWHERE) -> Sequence[str]:
        found: Hits = await shelf.finder.find(HistoryQuery.parse(text, now=shelf.clock()), scope)
        return [hit.conversation_id for hit in found]

    assert await hits("need") == ["there", "here"]
    assert await hits("need", HistoryScope.HERE) == ["here"]
    assert await hits("need agent:codex") == ["there"]
    assert await hits("agent:codex") == []
    (hit,) = (await shelf.finder.find(HistoryQuery.parse("need agent:codex", now=shelf.clock()))).found
    assert [hit.snippet[start:end] for start, end in hit.spans] == ["needle"]
    assert (await shelf.finder.place(hit)).turns == 0


def git(directory: Path, *arguments: str) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=directory, check=True, capture_output=True)


async def test_h03_a_repository_is_one_place_with_all_its_work_trees(tmp_path: Path) -> None:
    main, tree, other = tmp_path / "main", tmp_path / "tree", tmp_path / "other"
    git(main, "init", "-q")
    git(main, "commit", "-q", "--allow-empty", "-m", "begin")
    git(main, "worktree", "add", "-q", str(tree))
    git(other, "init", "-q")
    (main / "deep" / "down").mkdir(parents=True)
    assert repository_of(str(main)) == repository_of(str(tree)) == repository_of(str(main / "deep" / "down"))
    assert repository_of(str(main)) not in (None, repository_of(str(other)))
    assert repository_of(str(tmp_path)) is repository_of("/nowhere/\0") is None
    (other / ".git" / "HEAD").unlink()
    assert repository_of(str(other)) is None

    listing = HistoryListing(directory=str(main), repositories=Repositories())
    clock = Clock()
    for key, cwd in (("main", main), ("deep", main / "deep" / "down"), ("tree", tree), ("other", other)):
        at = clock()
        listing.put([HistoryEntry(key, key, "", "", "codex", str(cwd), at, at)])
    assert HistoryScope.REPOSITORY not in listing.scopes
    assert await listing.learn_places()
    assert HistoryScope.REPOSITORY in listing.scopes
    counts = listing.match(HistoryQuery(), HistoryScope.HERE).counts
    assert [counts[scope] for scope in HistoryScope] == [1, 3, 4, 4]
    assert {match.key for match in listing.match(HistoryQuery(), HistoryScope.REPOSITORY)} == {
        "main",
        "deep",
        "tree",
    }
    assert not await listing.learn_places()  # each directory is looked up once


@pytest.mark.parametrize("typed", ["", "log", "x y z", "agent:codex log"])
def test_h02_a_key_costs_a_few_calls_for_each_conversation(typed: str) -> None:
    clock = Clock()
    listing = HistoryListing(directory="/shop")
    query = HistoryQuery.parse(typed, now=clock())
    made = []
    for count in (1_000, 10_000):
        listing.put(
            HistoryEntry(f"c{number}", f"the log of {number}", "", "x", "codex", "/shop", clock(), clock())
            for number in range(count)
        )
        listing.match(query)  # what is folded and sorted once
        with calls_counted() as calls:
            listing.match(query)
        made.append(calls.made)
    assert made[1] <= 10.5 * made[0]
    assert made[1] <= 20 * 10_000, made
    assert listing.match(HistoryQuery.parse("log", now=clock())).qualities[0] is Quality.TITLE_WORD


async def test_h25_words_find_the_same_whether_all_pages_or_what_may_have_them_is_read(shelf: Shelf) -> None:
    named: list[tuple[str | None, str]] = [
        ("Log in", "x"),
        ("logarithm", "100% of it"),
        (None, "list of guests"),
        (
            None,
            "a prompt that is far too long to be called by all of it, so that dots end what it is called by",
        ),
        (None, " \n "),
        (None, ""),
        ("", "an empty title"),
        (None, "\n\nthe second line"),
        ("Straße nach Łódź", "Ω"),
        ("a_b", "!important"),
        ("NUL\0 and more", "after\0 it"),
        ("plain", "ünïcode in the prompt"),
    ]
    for number, (title, prompt) in enumerate(named):
        await shelf.add(f"c{number:02}", prompt, title=title, cwd="/Shop" if number % 2 else "/home/lädchen")
    words = [
        "log",
        "lgn",
        "lg",
        "untitled",
        "untl",
        "calls...",
        "...",
        "so that",
        "strasse",
        "lodz",
        "a_b",
        "%",
        "100%",
    ]
    words += [
        "!imp",
        "second",
        "shop",
        "ladchen",
        "unicode",
        "more",
        "after",
        "it",
        "l o",
        "ω",
        "x" * 600,
        "log x",
    ]
    for word in words:
        query = HistoryQuery.parse(word, now=shelf.clock())
        whole, some = (HistoryListing(directory="/shop") for _ in range(2))
        async for _ in HistoryReader(shelf.db, whole, lives=lambda _: True).pages():
            pass
        await HistoryReader(shelf.db, some, lives=lambda _: True).read_for(query, HistoryScope.EVERYWHERE)
        expected = [(match.key, match.quality) for match in whole.match(query)]
        assert [(match.key, match.quality) for match in some.match(query)] == expected, word


async def test_h25_a_search_reads_what_has_its_words_and_what_stands_first_and_nothing_else(
    shelf: Shelf,
) -> None:
    for number in range(60):
        await shelf.add(f"c{number:03}", f"prompt {number}", "y")
    await shelf.add("said", "x", "the word is lamp")
    query = HistoryQuery.parse("prompt 17", now=shelf.clock())
    found = await answers(shelf.reader, shelf.finder, query, HistoryScope.EVERYWHERE, limit=20)
    assert [each.entry.key for each in found] == ["c017"]
    assert len(shelf.listing) == 1
    query = HistoryQuery.parse("lamp", now=shelf.clock())
    found = await answers(shelf.reader, shelf.finder, query, HistoryScope.EVERYWHERE, limit=20)
    assert [(each.entry.key, each.hit is not None) for each in found] == [("said", True)]
    assert len(shelf.listing) == 2


async def test_h25_conversations_are_counted_without_looking_for_a_message_of_each(shelf: Shelf) -> None:
    for number in range(300):
        await shelf.add(f"c{number:03}", f"prompt {number}", "y", cwd="/shop" if number % 3 else "/elsewhere")
    await shelf.add("unprompted", "", "y", cwd="/elsewhere")
    async with shelf.db.write() as tx:
        await new_conversation(tx, "empty", cwd="/shop")
        await new_conversation(tx, "empty too", cwd="/nowhere")
        await conversations.set_deleted(tx, "c001", True)
    async with shelf.db.read() as reader, queries_counted(shelf.db) as counted:
        assert await history.counts(reader) == {"/shop": 199, "/elsewhere": 101}
    assert counted.steps < 10 * 300
