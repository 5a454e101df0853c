"""Conversations and the lists of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from catena_store.chains import hidden_sessions, links
from catena_store.clients import leases
from catena_store.conversations import conversations
from catena_store.errors import Ambiguous, NotFound
from catena_store.records import Cause, Kind, Summary
from catena_store.windows import queue, windows
from support.storage.rows import (
    Clock,
    Explained,
    an_owner,
    everything,
    new_conversation,
    new_link,
    say,
    store,
)


async def test_m01_a_conversation_keeps_its_id_through_all_that_happens_to_it(tmp_path: Path) -> None:
    clock = Clock()
    async with store(tmp_path, clock) as db:
        async with db.write() as tx:
            made = await conversations.create(tx, id="c1", agent="claude", cwd="/shop")
            await say(tx, "u1", None)
            for number in range(3):
                await new_link(tx, f"l{number}")
                await links.record(tx, f"l{number}", links.CARRIED)
        clock.forward()
        async with db.write() as tx:
            await conversations.set_agent(tx, "c1", "codex", "work")
            await conversations.set_title(tx, "c1", "The login")
            await conversations.touch(tx, "c1")
    async with store(tmp_path, clock) as db, db.read() as r:
        found = await conversations.get(r, "c1")
        assert found is not None
        assert (found.id, found.created_at, found.family) == ("c1", made.created_at, "c1")
        assert (found.agent, found.profile, found.title) == ("codex", "work", "The login")
        assert found.updated_at == clock()
        assert await r.one("SELECT count(*) FROM conversation") == (1,)


async def test_a_fork_remembers_its_family_and_where_it_began(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await say(tx, "u1", None)
        made = await conversations.create(
            tx, id="c2", agent="claude", cwd="/", family="c1", fork_point_id="u1", title="Fork"
        )
        assert await conversations.get(tx, "c2") == made
        assert (made.family, made.fork_point_id) == ("c1", "u1")
        with pytest.raises(NotFound):
            await new_conversation(tx, "c3", fork_point_id="nobody")


async def test_what_is_not_there_cannot_be_changed(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        for change in (
            conversations.set_title(tx, "nobody", "title"),
            conversations.set_agent(tx, "nobody", "claude", ""),
            conversations.touch(tx, "nobody"),
        ):
            with pytest.raises(NotFound):
                await change


async def test_h10_a_conversation_is_found_by_its_id_by_how_its_id_begins_and_by_its_title(
    tmp_path: Path,
) -> None:
    clock = Clock()
    async with store(tmp_path, clock) as db:
        for id, title in (
            ("abcd", "Login"),
            ("abef", None),
            ("xyz", "Docs"),
            ("old", "Docs"),
            ("new", "Docs"),
        ):
            clock.forward(-1 if id == "old" else 1)
            async with db.write() as tx:
                await new_conversation(tx, id, title=title)
        async with db.read() as r:
            for text, id in (
                ("abcd", "abcd"),
                ("abc", "abcd"),
                ("x", "xyz"),
                ("Login", "abcd"),
                ("Docs", "new"),
            ):
                assert (await conversations.find(r, text)).id == id
            with pytest.raises(Ambiguous) as several:
                await conversations.find(r, "ab")
            assert several.value.matches == ("abcd", "abef")
            for text in ("nothing", "", "ab%", "Log"):
                with pytest.raises(NotFound):
                    await conversations.find(r, text)


async def test_of_more_conversations_than_are_named_it_is_not_said_how_many_there_are(tmp_path: Path) -> None:
    async with store(tmp_path) as db:
        for count, words in (
            (10, "10 conversations start with 'ab': "),
            (12, "more than 10 conversations start with 'ab': "),
        ):
            async with db.write() as tx:
                for at in range(count):
                    if await conversations.get(tx, f"ab{at:02}") is None:
                        await new_conversation(tx, f"ab{at:02}")
            async with db.read() as r:
                with pytest.raises(Ambiguous) as several:
                    await conversations.find(r, "ab")
            assert str(several.value).startswith(words)
            assert several.value.matches == tuple(f"ab{at:02}" for at in range(10))


async def test_the_title_is_taken_where_several_ids_begin_so(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        for id in ("ab1", "ab2"):
            await new_conversation(tx, id)
        await new_conversation(tx, "titled", title="ab")
        assert (await conversations.find(tx, "ab")).id == "titled"


async def many_conversations(tmp_path: Path, count: int) -> None:
    clock = Clock()
    async with store(tmp_path, clock) as db:
        for number in range(count):
            if number % 3:
                clock.forward()  # every third one is as old as the one before
            async with db.write() as tx:
                id = f"c{number:02}"
                await new_conversation(tx, id, cwd="/odd" if number % 2 else "/even")
                if number % 5:
                    await say(tx, f"u{number}", None, f"question {number}", conversation=id)
                    await say(tx, f"a{number}", f"u{number}", "answer", kind=Kind.AGENT, conversation=id)
                    await say(tx, f"x{number}", f"a{number}", "tool", kind=Kind.TOOL, conversation=id)


async def test_pages_list_every_conversation_that_has_a_message_once_newest_first(tmp_path: Path) -> None:
    await many_conversations(tmp_path, 23)
    expected = [f"c{number:02}" for number in reversed(range(23)) if number % 5]
    async with store(tmp_path) as db, db.read() as r:
        whole = await conversations.page(r)
        assert [summary.id for summary in whole] == expected
        assert whole[0].messages == 2
        assert whole[0].preview == "question 22"
        paged: list[Summary] = []
        while page := await conversations.page(
            r, limit=4, before=conversations.page_key(paged[-1]) if paged else None
        ):
            assert len(page) <= 4
            paged += page
        assert paged == whole


async def test_a_directory_has_a_list_and_a_latest_one_of_its_own(tmp_path: Path) -> None:
    await many_conversations(tmp_path, 21)
    async with store(tmp_path) as db, db.read() as r:
        assert [summary.id for summary in await conversations.page(r, cwd="/odd", limit=2)] == ["c19", "c17"]
        assert await conversations.count(r, cwd="/odd") == len(await conversations.page(r, cwd="/odd")) == 8
        latest = await conversations.latest(r), await conversations.latest(r, cwd="/odd")
        assert [found.id for found in latest if found] == ["c19", "c19"]
        assert await conversations.latest(r, cwd="/nowhere") is None


async def test_lists_are_read_in_the_order_of_an_index(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        read = Explained(tx)
        await conversations.page(read, before=(0, "c1"))
        await conversations.page(read, before=(0, "c1"), cwd="/")
        await conversations.latest(read)
        assert not [step for step in read.steps if "TEMP B-TREE" in step]
        assert set(read.scans("c", "message")) == {"SCAN c USING INDEX conversation_updated"}


async def test_h10_an_empty_conversation_goes_without_a_trace(tmp_path: Path) -> None:
    async with store(tmp_path) as db:
        tables = ("conversation", "link", "link_event", "lease", "window", "window_leaf", "queue_item")
        async with db.write() as tx:
            workspace = await windows.ensure_workspace(tx, "/", new_id=lambda: "s1")
            await new_conversation(tx)
            await new_link(tx, "l1")
            await new_link(tx, "l2", source_id="l1")
            await new_link(tx, "l3", cause=Cause.IMPORT)
            await leases.acquire(tx, "c1", an_owner(), is_dead=lambda lease: False)
            await windows.open(tx, id="w1", conversation_id="c1", leaf_id=None, workspace_id=workspace.id)
            await windows.set_draft(tx, "w1", "   ")
            await windows.set_scroll(tx, "w1", 3)
            await windows.set_active(tx, workspace.id, "w1")
            assert await conversations.delete_if_empty(tx, "c1")
            assert not await conversations.delete_if_empty(tx, "c1")
            for table in tables:
                assert await everything(tx, table) == []
            assert (await windows.ensure_workspace(tx, "/", new_id=lambda: "s2")).active_window_id is None
            # Their agents may list them; the one that was there before is the person's.
            hidden = {session for _, _, session in await hidden_sessions.deleted(tx)}
        assert hidden == {"session-l1", "session-l2"}


async def test_r12_a_conversation_with_something_typed_in_it_is_kept(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        for id in ("said", "drafted", "queued", "forked"):
            await new_conversation(tx, id)
            await windows.open(tx, id=f"w-{id}", conversation_id=id, leaf_id=None)
        await say(tx, "u1", None, conversation="said")
        await windows.set_draft(tx, "w-drafted", "not sent yet")
        await queue.add(tx, id="q1", window_id="w-queued", text="waits")
        await new_link(tx, "l1", "forked")
        await new_link(tx, "l2", "said", source_id="l1")
        for id in ("said", "drafted", "queued", "forked"):
            assert not await conversations.delete_if_empty(tx, id)
            assert await conversations.get(tx, id) is not None
        await windows.close(tx, "w-drafted")
        assert await conversations.delete_if_empty(tx, "drafted")


async def test_removing_an_empty_conversation_goes_through_no_table_of_messages_or_turns(
    tmp_path: Path,
) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await new_link(tx, "l1")
        removal = Explained(tx)
        assert await conversations.delete_if_empty(removal, "c1")
        assert removal.scans("message", "turn", "link", "own", "other", "link_event", "window", "w") == []
        # Checking that nothing refers to a link looks it up in each table that could.
        assert any("message_link" in step for step in removal.steps), removal.steps
