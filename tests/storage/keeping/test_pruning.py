"""Removal of conversations for good: what goes, what stays, and what the file looks like after it."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catena_store.chains import hidden_sessions, links, turns
from catena_store.conversations import conversations, messages
from catena_store.conversations.checkpoints import Checkpoint, SqliteCheckpoints
from catena_store.database.database import Database, Reader, Writer
from catena_store.errors import NotFound
from catena_store.finding import search
from catena_store.keeping import removal
from catena_store.keeping.removal import Removed, give_back, prune
from catena_store.keeping.selection import PruneRule, PruneSelection, Spared, select
from catena_store.keeping.sizes import sizes
from catena_store.records import Attachment, Cause, Kind, Lease, LinkState, StopReason
from catena_store.windows import attachments, queue, windows
from support.counted_work import queries_counted
from support.storage.rows import Clock, a_turn, an_owner, new_conversation, new_link, say, say_much, store


def nobody_is_dead(_: Lease) -> bool:
    return False


def everybody_is_dead(_: Lease) -> bool:
    return True


async def selected(
    db: Database, clock: Clock, *, days: int = 30, keep: int = 0, **more: str
) -> PruneSelection:
    rule = PruneRule(clock() - timedelta(days=days), keep, **more)
    async with db.read() as reader:
        return await select(reader, rule, nobody_is_dead)


def assert_whole(path: Path) -> None:
    """SQLite finds no fault, nothing points nowhere, and the index agrees with the rows."""
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert file.execute("PRAGMA foreign_key_check").fetchall() == []
        file.execute("INSERT INTO message_fts (message_fts, rank) VALUES ('integrity-check', 1)")
        lone = file.execute(
            "SELECT count(*) FROM message m WHERE NOT EXISTS (SELECT 1 FROM ancestry a WHERE a.id = m.id)"
        ).fetchone()
        assert lone == (0,)


def rows_in(path: Path) -> dict[str, int]:
    """How many rows each table has that has any, but for what is of no conversation."""
    with closing(sqlite3.connect(path)) as file:
        names = [
            name
            for (name,) in file.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
                " AND name NOT LIKE 'message_fts%' AND name NOT IN ('workspace', 'input', 'ability')"
            )
        ]
        counts = {name: file.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names}
        return {name: count for name, count in counts.items() if count}


async def a_full_one(tx: Writer, id: str, *, prompts: int = 3) -> None:
    """A conversation that has something in every table that a conversation has rows in."""
    await new_conversation(tx, id)
    await new_link(tx, f"{id}-l", id)
    parent = None
    for number in range(prompts):
        prompt, turn, answer = f"{id}-u{number}", f"{id}-t{number}", f"{id}-a{number}"
        await say(tx, prompt, parent, f"please {id} number{number}", conversation=id)
        await turns.insert(tx, a_turn(turn, prompt, f"{id}-l", conversation_id=id))
        words = f"answer {id} number{number}"
        await say(
            tx, answer, prompt, words, conversation=id, kind=Kind.AGENT, turn_id=turn, link_id=f"{id}-l"
        )
        await turns.set_last(tx, turn, answer)
        await turns.end(tx, turn, stop_reason=StopReason.END_TURN)
        await links.move(tx, f"{id}-l", knows=answer, reach=answer, event="carried")
        parent = answer
    picture = Attachment("0" * 64, "image/png", "a.png", None, b"x" * 5_000)
    await attachments.add_to_message(tx, f"{id}-u0", [picture])
    workspace = await windows.ensure_workspace(tx, "/home/ada/shop", new_id=lambda: "ws")
    await windows.open(tx, id=f"{id}-w", conversation_id=id, leaf_id=parent, workspace_id=workspace.id)
    await windows.set_draft(tx, f"{id}-w", "  ")
    await windows.close(tx, f"{id}-w")
    await conversations.touch(tx, id)


async def a_fork(tx: Writer, id: str, source: str, at: str | None) -> None:
    await new_conversation(tx, id, family=source, fork_point_id=at)
    await new_link(tx, f"{id}-l", id, source_id=f"{source}-l", knows=at, reach=at, base=at)
    await say(tx, f"{id}-u", at, f"please {id}", conversation=id)
    await say(tx, f"{id}-a", f"{id}-u", f"answer {id}", conversation=id, kind=Kind.AGENT)
    await conversations.touch(tx, id)


async def test_h09_what_nobody_used_for_so_long_is_listed_with_its_bytes_and_goes_without_a_trace(
    tmp_path: Path,
) -> None:
    clock = Clock()
    async with store(tmp_path, clock) as db:
        async with db.write() as tx:
            await a_full_one(tx, "old")
        clock.forward(40 * 86_400)
        async with db.write() as tx:
            await a_full_one(tx, "new")
        found = await selected(db, clock)
        assert [(each.id, each.messages, each.kept) for each in found.prunable] == [("old", 6, 0)]
        async with db.read() as reader:
            of_old = (await sizes(reader, ["old"]))["old"]
        assert found.size == of_old.total and of_old.attachments == 5_000
        assert await prune(db, ["old"], nobody_is_dead) == Removed(1, 0, 6)
        async with db.read() as reader:
            assert await conversations.get(reader, "old") is None
            assert await search.find(reader, "old") == []
            assert len(await search.find(reader, "new")) == 6
    assert_whole(tmp_path / "catena.db")
    both = rows_in(tmp_path / "catena.db")
    alone = tmp_path / "alone"
    alone.mkdir()
    async with store(alone, clock) as db, db.write() as tx:
        await a_full_one(tx, "new")
    assert both == rows_in(alone / "catena.db"), "no table has a row of what went"


async def test_h09_many_conversations_are_measured_by_a_few_queries(tmp_path: Path) -> None:
    clock = Clock()
    async with store(tmp_path, clock) as db:
        async with db.write() as tx:
            for number in range(40):
                await a_full_one(tx, f"c{number:02}", prompts=1)
            await a_full_one(tx, "source")
            await a_fork(tx, "fork", "source", "source-a0")
        clock.forward(40 * 86_400)
        async with db.write() as tx:
            await conversations.touch(tx, "fork")
        async with queries_counted(db) as queries:
            found = await selected(db, clock)
        assert len(queries.asked) < 10
        of = {each.id: each for each in found.prunable}
        assert len(of) == 41 and all(of[f"c{number:02}"].messages == 2 for number in range(40))
        assert (of["source"].messages, of["source"].kept) == (4, 2)
        async with db.read() as reader:
            assert of["c07"].size == (await sizes(reader, ["c07"]))["c07"].total
            # The picture of a prompt that stays is not counted.
            assert of["source"].size < (await sizes(reader, ["source"]))["source"].messages
        assert [each.used_at for each in found.prunable] == sorted(each.used_at for each in found.prunable)


async def test_h09_the_newest_stay_and_a_rule_can_be_for_one_agent_or_directory(tmp_path: Path) -> None:
    clock = Clock()
    async with store(tmp_path, clock) as db:
        async with db.write() as tx:
            for id, more in (("a", {}), ("b", {"agent": "codex"}), ("c", {"cwd": "/other"}), ("d", {})):
                await new_conversation(tx, id, **more)
                await say(tx, f"{id}-u", None, "x", conversation=id)
        for id in "abcd":
            clock.forward()
            async with db.write() as tx:
                await conversations.touch(tx, id)
        clock.forward(40 * 86_400)

        async def ids(**rule: object) -> list[str]:
            return [each.id for each in (await selected(db, clock, **rule)).prunable]  # type: ignore[arg-type]

        assert await ids() == ["a", "b", "c", "d"]
        assert await ids(keep=3) == ["a"]
        assert await ids(agent="codex") == ["b"]
        assert await ids(cwd="/other", keep=1) == []
        assert await ids(days=41) == []
        async with db.read() as reader:
            by_number = await select(reader, PruneRule(None, 1), nobody_is_dead)
        assert [each.id for each in by_number.prunable] == ["a", "b", "c"]


async def test_h09_what_is_pinned_labelled_open_unsent_or_held_is_spared_also_if_it_became_so_since(
    tmp_path: Path,
) -> None:
    clock = Clock()
    ids = ("pinned", "labelled", "tab", "draft", "queued", "held", "plain")
    async with store(tmp_path, clock) as db:
        async with db.write() as tx:
            for id in ids:
                await a_full_one(tx, id, prompts=1)
        clock.forward(40 * 86_400)
        async with db.read() as reader:
            assert len((await select(reader, PruneRule(None, 0), nobody_is_dead)).prunable) == len(ids)
        checkpoint = Checkpoint(
            id="k",
            conversation_id="labelled",
            message_id="labelled-a0",
            label="here",
            automatic=False,
            link_id=None,
            data={},
            created_at=clock(),
        )
        await SqliteCheckpoints(db.read, db.write).save(checkpoint)
        async with db.write() as tx:
            await conversations.set_pinned(tx, "pinned", True)
            await windows.reopen(tx, "tab-w")
            await windows.set_draft(tx, "draft-w", "unsent")
            await queue.add(tx, id="q", window_id="queued-w", text="later")
            from catena_store.clients import leases

            await leases.acquire(tx, "held", an_owner("me"), is_dead=nobody_is_dead)
        found = await selected(db, clock)
        assert [each.id for each in found.prunable] == ["plain"]
        assert dict(found.spared) == {
            Spared.PINNED: 1,
            Spared.CHECKPOINT: 1,
            Spared.TAB: 1,
            Spared.DRAFT: 1,
            Spared.QUEUED: 1,
            Spared.RUNNING: 1,
        }
        # They were listed before, and became so while the person read the list.
        assert (await prune(db, ids, nobody_is_dead)).conversations == 1
        async with db.read() as reader:
            left = [id for id in ids if await conversations.get(reader, id)]
        assert left == list(ids[:-1])
        assert (await prune(db, ["held"], everybody_is_dead)).conversations == 1
    assert_whole(tmp_path / "catena.db")


async def test_h09_a_deleted_conversation_goes_when_it_was_deleted_for_so_long(tmp_path: Path) -> None:
    clock = Clock()
    async with store(tmp_path, clock) as db:
        async with db.write() as tx:
            await a_full_one(tx, "gone")
        clock.forward(40 * 86_400)
        async with db.write() as tx:
            await conversations.set_deleted(tx, "gone", True)
        assert (await selected(db, clock)).prunable == ()
        async with db.read() as reader:
            assert (await select(reader, PruneRule(None, 0), nobody_is_dead)).prunable == ()
        clock.forward(31 * 86_400)
        assert [(each.id, each.deleted) for each in (await selected(db, clock, keep=5)).prunable] == [
            ("gone", True)
        ]


async def test_h09_rows_that_a_fork_s_branch_runs_over_stay_until_the_fork_goes_too(tmp_path: Path) -> None:
    clock = Clock()
    path = tmp_path / "catena.db"
    async with store(tmp_path, clock) as db:
        async with db.write() as tx:
            await a_full_one(tx, "src")
            await say(tx, "side", "src-a0", "please aside", conversation="src")
        clock.forward(60)
        async with db.write() as tx:
            await a_fork(tx, "fork", "src", "src-a1")
        clock.forward(40 * 86_400)
        async with db.write() as tx:
            await conversations.touch(tx, "fork")
        (found,) = (await selected(db, clock)).prunable
        assert (found.id, found.messages, found.kept) == ("src", 3, 4)
        assert await prune(db, ["src"], nobody_is_dead) == Removed(0, 1, 3)
        assert_whole(path)
        async with db.read() as reader:
            branch = [row.id for row in await messages.page(reader, "fork-a", 20)]
            assert branch == ["src-u0", "src-a0", "src-u1", "src-a1", "fork-u", "fork-a"]
            assert await conversations.get(reader, "src") is None
            assert await conversations.page(reader) == await conversations.page(reader, cwd="/home/ada/shop")
            lost = await links.get(reader, "src-l")
            assert lost and lost.state is LinkState.LOST and lost.knows is lost.reach is None
            own = await links.get(reader, "fork-l")
            assert own and (own.state, own.knows) == (LinkState.OPEN, "src-a1")
            with pytest.raises(NotFound):
                await conversations.find(reader, "src")
        async with db.write() as tx:  # it goes on as if nothing had been
            await say(tx, "fork-u2", "fork-a", "and on", conversation="fork")
        clock.forward(40 * 86_400)
        assert (await selected(db, clock)).prunable[0].id == "fork"
        assert await prune(db, ["fork"], nobody_is_dead) == Removed(2, 0, 7)
    assert_whole(path)
    assert rows_in(path) == {}


async def test_h09_a_link_whose_pointers_all_stay_can_still_be_forked(tmp_path: Path) -> None:
    async with store(tmp_path) as db:
        async with db.write() as tx:
            await a_full_one(tx, "src")
            await new_link(tx, "early", "src", knows="src-a0", reach="src-a0")
            await a_fork(tx, "fork", "src", "src-a1")
        await prune(db, ["src"], nobody_is_dead)
        async with db.read() as reader:
            early = await links.get(reader, "early")
        assert early and (early.state, early.knows) == (LinkState.OPEN, "src-a0")


async def test_h04_what_was_made_for_ourselves_stays_hidden_after_its_conversation_was_pruned(
    tmp_path: Path,
) -> None:
    async with store(tmp_path) as db:
        async with db.write() as tx:
            await a_full_one(tx, "c1")
            await new_link(tx, "parked", "c1", cause=Cause.PARK)
        await prune(db, ["c1"], nobody_is_dead)
        async with db.read() as reader:
            assert await hidden_sessions.deleted(reader) == {("rehearsal", "", "session-parked")}
    assert_whole(tmp_path / "catena.db")


async def test_h09_the_file_becomes_smaller_while_another_client_has_it_open_unless_that_takes_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "catena.db"
    async with store(tmp_path) as db:
        async with db.write() as tx:
            await new_conversation(tx, "big")
            leaf = await say_much(tx, 2_000, conversation="big", prefix="b")
            for number in range(40):
                file = Attachment("0" * 64, "image/png", "a.png", None, os.urandom(50_000))
                await attachments.add_to_message(tx, f"b{number}", [file])
            await new_conversation(tx, "small")
            await say(tx, "s", None, "hello", conversation="small")
        assert leaf == "b1999"
        async with Database.open(path) as other, other.read_concurrently() as reading:
            assert await messages.get(reading, "b0") is not None  # its snapshot stays what it is
            await prune(db, ["big"], nobody_is_dead)
            assert await messages.get(reading, "b0") is not None
            async with other.write() as tx:
                await say(tx, "s2", "s", "still here", conversation="small")
        async with Database.open(path) as other:
            with monkeypatch.context() as looking_often:
                looking_often.setattr(removal, "_STEPS", 1)
                assert await give_back(db, seconds=0) == 0
            assert await give_back(db, seconds=600) > 2_000_000
            async with other.write() as tx:
                await say(tx, "s3", "s2", "and here", conversation="small")
            async with db.read() as reader:
                assert await messages.get(reader, "s3") is not None
                assert await messages.get(reader, "b0") is None
        async with Database.open(path):
            pass
        assert path.stat().st_size < 500_000
    assert_whole(path)


_KILLED = """
import os, signal, sqlite3, sys, time
from pathlib import Path
from catena_store.keeping import removal

steps = int(sys.argv[2])

def breathe(_):
    global steps
    steps -= 1
    if steps == 0:
        os.kill(os.getpid(), signal.SIGKILL)

removal.time = type("Time", (), {"sleep": staticmethod(breathe), "monotonic": staticmethod(time.monotonic)})
removal._ROWS, removal._BREAK_AFTER = 2, 0.0
removal.remove(Path(sys.argv[1]), ["src", "fork"], now=1, is_free=lambda owner: True)
"""


async def test_h09_a_kill_after_any_step_leaves_a_whole_file_and_the_next_prune_finishes(
    tmp_path: Path,
) -> None:
    path = tmp_path / "catena.db"
    async with store(tmp_path) as db, db.write() as tx:
        await a_full_one(tx, "src")
        await a_fork(tx, "fork", "src", "src-a1")
        await a_fork(tx, "stays", "src", "src-a0")
    steps = 0
    while True:
        steps += 1
        copy = tmp_path / f"after-{steps}.db"
        _copy(path, copy)
        died = _removed_and_killed(copy, steps)
        assert_whole(copy)
        async with Database.open(copy) as db:
            async with db.read() as reader:
                assert [row.id for row in await messages.page(reader, "stays-a", 9)] == [
                    "src-u0",
                    "src-a0",
                    "stays-u",
                    "stays-a",
                ]
                assert await conversations.get(reader, "src") is None
            await prune(db, [], nobody_is_dead)
        assert_whole(copy)
        assert rows_in(copy)["message"] == 4
        if died == 0:
            break
        assert died == -signal.SIGKILL
    assert steps > 8


def _removed_and_killed(path: Path, steps: int) -> int:
    return subprocess.run([sys.executable, "-c", _KILLED, path, str(steps)], check=False).returncode


def _copy(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source)) as file:
        file.execute("VACUUM INTO ?", (str(target),))


@settings(max_examples=25)
@given(
    tree=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), min_size=1, max_size=14),
    going=st.sets(st.integers(0, 3), min_size=1),
)
def test_h09_whatever_goes_every_branch_of_what_stays_is_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, tree: Sequence[tuple[int, int]], going: set[int]
) -> None:
    import asyncio

    asyncio.run(_walk(tmp_path_factory.mktemp("walk"), tree, going))


async def _walk(directory: Path, tree: Sequence[tuple[int, int]], going: set[int]) -> None:
    """Conversations of one family, whose rows hang from any row of their own or of an older one."""
    clock = Clock()
    path = directory / "catena.db"
    async with store(directory, clock) as db:
        born: dict[int, list[str]] = {}
        async with db.write() as tx:
            await new_conversation(tx, "c0")
            born[0] = [(await say(tx, "r", None, "root", conversation="c0")).id]
        for number, (conversation, parent) in enumerate(tree):
            clock.forward()
            async with db.write() as tx:
                reachable = [row for each, ids in born.items() if each <= conversation for row in ids]
                above = reachable[parent % len(reachable)]
                if conversation not in born:
                    await new_conversation(tx, f"c{conversation}", family="c0", fork_point_id=above)
                    born[conversation] = []
                elif conversation:
                    above = (born[conversation] or [above])[-1]
                row = await say(tx, f"m{number}", above, f"word{number}", conversation=f"c{conversation}")
                born[conversation].append(row.id)
        staying = [row for each, ids in born.items() if each not in going for row in ids]
        async with db.read() as reader:
            before = {row: await _branch(reader, row) for row in staying}
        await prune(db, [f"c{each}" for each in going], nobody_is_dead)
        async with db.read() as reader:
            assert {row: await _branch(reader, row) for row in staying} == before
            (left,) = await reader.all("SELECT count(*) FROM message")
        assert left == (len({row for branch in before.values() for row in branch}),), "nothing else is left"
    assert_whole(path)


async def _branch(reader: Reader, leaf: str) -> tuple[str, ...]:
    return tuple(row.id for row in await messages.page(reader, leaf, 100))
