"""The rows of the history: what each says of its conversation, and what keeps them cheap."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from catena_store.chains import environments, turns
from catena_store.clients import leases
from catena_store.conversations import conversations, messages
from catena_store.database.database import Database, Reader
from catena_store.database.repair import derive_files
from catena_store.database.salvage.salvage import salvage
from catena_store.database.schema import shipped
from catena_store.finding import history
from catena_store.finding.history import HistoryRow
from catena_store.records import Kind, MessageState, StopReason, TurnEnvironment
from support.counted_work import queries_counted
from support.storage.rows import (
    Clock,
    Explained,
    a_turn,
    an_owner,
    everything,
    new_conversation,
    new_link,
    say,
    say_much,
    store,
)


async def row(r: Reader, id: str = "c1") -> HistoryRow:
    (found,) = await history.of_conversations(r, [id])
    return found


def call(path: str, status: str = "completed") -> dict[str, Any]:
    return {"status": status, "kind": "read", "locations": [{"path": path, "line": 3}]}


async def test_h01_a_row_says_what_its_conversation_is(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx, title="The login", profile="work")
        await say(tx, "u1", None, "Why does the login fail?")
        await say(tx, "a1", "u1", "Because.", kind=Kind.AGENT)
        steps = [{"status": "completed"}, {"status": "pending"}, {"status": "in_progress"}, {}, "text"]
        await say(tx, "p1", "a1", kind=Kind.PLAN, data={"entries": steps})
        await say(tx, "u2", "p1", "Then mend it.")
        await say(tx, "u3", "p1", "Then write a test.")
        found = await row(tx)
        assert (found.title, found.profile, found.cwd) == ("The login", "work", "/home/ada/shop")
        assert (found.first_prompt, found.last_prompt) == ("Why does the login fail?", "Then write a test.")
        assert (found.messages, found.branches, found.todos) == (4, 2, 3)
        await say(tx, "u4", "p1", "Refused.", state=MessageState.REFUSED)
        await say(tx, "u5", "u2", "Refused, too.", state=MessageState.REFUSED)
        await say(tx, "u6", "u2", "Refused again.", state=MessageState.REFUSED)
        assert (await row(tx)).branches == 2
        await say(tx, "p2", "u3", kind=Kind.PLAN, data={"entries": [{"status": "completed"}]})
        await say(tx, "p3", "p2", kind=Kind.PLAN, data={"entries": "no list"})
        assert (await row(tx)).todos == 0


async def test_pages_of_rows_follow_each_other_without_a_gap_and_archived_ones_are_apart(
    tmp_path: Path,
) -> None:
    clock = Clock()
    async with store(tmp_path, clock) as db:
        for number in range(7):
            async with db.write() as tx:
                await new_conversation(tx, f"c{number}")
                await say(tx, f"m{number}", None, "x", conversation=f"c{number}")
                await conversations.touch(tx, f"c{number}")
            clock.forward()
        async with db.write() as tx:
            await new_conversation(tx, "empty")
            await conversations.set_archived(tx, "c3", True)
            await conversations.set_deleted(tx, "c5", True)
            read = Explained(tx)
            found: list[HistoryRow] = []
            while page := await history.page(
                read, limit=2, before=history.page_key(found[-1]) if found else None
            ):
                found += page
            assert [each.id for each in found] == ["c6", "c4", "c2", "c1", "c0"]
            assert read.scans("message", "turn", "t", "l", "s", "g", "branch_end", "o", "a") == []
            assert not [step for step in read.steps if "TEMP B-TREE FOR ORDER" in step]
            assert [each.id for each in await history.page(tx, archived=True)] == ["c3"]
            assert await history.of_conversations(tx, ["c5", "empty", "nowhere"]) == []


async def test_h20_a_turn_that_is_open_runs_and_may_ask_and_its_end_takes_both_away(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await leases.acquire(tx, "c1", an_owner(), is_dead=lambda _: False)
        await new_link(tx, "l1")
        await say(tx, "u1", None, "do")
        await turns.insert(tx, a_turn("t1", "u1", "l1"))
        await turns.set_asking(tx, "t1", True)
        await turns.set_asking(tx, "t1", True)
        found = await row(tx)
        assert (found.running, found.asks, found.failed) == (True, True, False)
        assert found.lease is not None
        assert found.lease.owner == an_owner()
        assert await history.standing_first(tx) == ["c1"]
        await turns.set_asking(tx, "t1", False)
        assert not (await row(tx)).asks
        await turns.set_asking(tx, "t1", True)
        await turns.end(tx, "t1", stop_reason=StopReason.AGENT_GONE, error="killed")
        found = await row(tx)
        assert (found.running, found.asks, found.failed) == (False, False, True)
        assert await everything(tx, "turn_asking") == []
        await turns.set_asking(tx, "t1", True)
        assert await everything(tx, "turn_asking") == []


async def test_h20_an_answer_is_unseen_until_somebody_saw_it_and_what_nobody_opened_is_not(
    tmp_path: Path,
) -> None:
    clock = Clock()
    async with store(tmp_path, clock) as db, db.write() as tx:
        await new_conversation(tx)
        await say(tx, "u1", None, "one")
        await say(tx, "a1", "u1", "answer", kind=Kind.AGENT)
        assert (await row(tx)).unseen_answer is False
        unseen = await row(tx)
        await history.mark_seen(tx, "c1", "u1")
        assert (await row(tx)).unseen_answer is True
        assert await history.standing_first(tx) == ["c1"]
        await history.mark_seen(tx, "c1", "a1")
        await history.mark_seen(tx, "c1", "u1")  # an earlier row does not take it back
        await history.mark_seen(tx, "gone", "u1")
        found = await row(tx)
        assert (found.unseen_answer, found.seen_at) == (False, clock())
        assert found.updated_at == unseen.updated_at
        assert await history.standing_first(tx) == []
        before = await history.look(tx)
        clock.forward()
        await new_conversation(tx, "c2")
        await say(tx, "u2", None, "two", conversation="c2")
        read = Explained(tx)
        assert await history.changed_since(read, replace(before, at=clock())) == ["c2"]
        assert [step for step in read.scans("message", "conversation", "turn") if "INDEX" not in step] == []


async def test_the_git_branch_and_the_cost_are_those_of_turns(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        for id in ("c1", "c2"):
            await new_conversation(tx, id)
            await new_link(tx, f"l-{id}", id)
            await say(tx, f"u-{id}", None, "do", conversation=id)
            for number, cost in enumerate((0.4, 0.8)):
                name = f"t{number}-{id}"
                await turns.insert(tx, a_turn(name, f"u-{id}", f"l-{id}", conversation_id=id))
                await turns.end(tx, name, stop_reason=StopReason.END_TURN, cost=cost if id == "c1" else 0.1)
                await environments.put(tx, TurnEnvironment(name, git_branch=f"branch{number}"))
        assert (await row(tx)).git_branch == "branch1"
        assert await history.costing(tx, ">", 1) == ["c1"]
        assert sorted(await history.costing(tx, "<", 2)) == ["c1", "c2"]


async def test_h03_files_are_those_of_calls_that_are_done_whenever_their_rows_close(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await new_conversation(tx, "c2")
        await say(tx, "x1", None, kind=Kind.TOOL, data=call("/shop/auth/Views.py"))
        await say(tx, "x2", "x1", kind=Kind.TOOL, data=call("/shop/failed.py", "failed"))
        await say(tx, "x3", "x2", kind=Kind.TOOL, state=MessageState.OPEN, data=call("/shop/open.py"))
        await say(
            tx, "x4", "x3", kind=Kind.TOOL, data={"status": "completed", "locations": "none", "content": [1]}
        )
        edit = {
            "status": "completed",
            "content": [{"type": "diff", "path": "/shop/urls.py", "old": "", "new": "a"}],
        }
        await say(tx, "x5", None, kind=Kind.TOOL, conversation="c2", data=edit)
        assert await history.with_file(tx, "views.py") == ["c1"]
        assert await history.files(tx, "shop", limit=9) == ["/shop/urls.py", "/shop/auth/Views.py"]
        await messages.update(tx, "x3", state=MessageState.FINAL)
        await messages.update(tx, "x3", data=call("/shop/later.py"))
        assert await history.files(tx, "shop", limit=1) == ["/shop/urls.py"]
        assert sorted(await history.files(tx, "", limit=9)) == [
            "/shop/auth/Views.py",
            "/shop/later.py",
            "/shop/open.py",
            "/shop/urls.py",
        ]


async def test_files_of_an_older_file_are_found_after_its_migration(tmp_path: Path) -> None:
    older = tuple(each for each in shipped() if each.version < 8)
    async with Database.open(tmp_path / "catena.db", migrations=older) as db, db.write() as tx:
        await new_conversation(tx)
        data = json.dumps(call("/shop/a.py"))
        await tx.run(
            "INSERT INTO message (uid, conversation_id, kind, state, depth, created_at, data)"
            " VALUES ('x1', 'c1', 'tool', 'final', 0, 0, ?)",
            (data,),
        )
    async with Database.open(tmp_path / "catena.db") as db, db.read() as r:
        assert await history.with_file(r, "a.py") == ["c1"]


async def test_a_row_of_a_long_conversation_costs_little_more_than_that_of_a_short_one(
    tmp_path: Path,
) -> None:
    async with store(tmp_path) as db:
        async with db.write() as tx:
            for id, count in (("c1", 20), ("c2", 2_000)):
                await new_conversation(tx, id)
                await say_much(tx, count, conversation=id, prefix=id)
        steps = []
        for id in ("c1", "c2"):
            async with queries_counted(db) as counted, db.read() as r:
                await row(r, id)
            steps.append(counted.steps)
        # Its messages are counted within an index; nothing else grows.
        assert steps[1] <= steps[0] + 6 * 2_000


async def test_r18_files_that_were_lost_with_their_table_are_found_again_in_the_tool_calls(
    tmp_path: Path,
) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await say(tx, "x1", None, kind=Kind.TOOL, data=call("/shop/a.py"))
        await say(tx, "x2", "x1", kind=Kind.TOOL, data=call("/shop/a.py"))
        await history.mark_seen(tx, "c1", "x1")
    with closing(sqlite3.connect(tmp_path / "catena.db", isolation_level=None)) as file:
        before = file.execute("SELECT * FROM conversation_file").fetchall()
        file.execute("DELETE FROM conversation_file")
        derive_files(file)
        assert file.execute("SELECT * FROM conversation_file").fetchall() == before
    salvage(tmp_path / "catena.db")
    async with store(tmp_path) as db, db.read() as r:
        assert await history.with_file(r, "a.py") == ["c1"]
        assert (await row(r)).seen_at is not None
