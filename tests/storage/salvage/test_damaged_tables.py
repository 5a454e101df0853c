"""What is damaged beside the messages is mended where it is met; the messages open, and prompts go out."""

from __future__ import annotations

import asyncio
import functools
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from catena_store import places
from catena_store.conversations import conversations, messages
from catena_store.database.database import Database
from catena_store.database.repair import CORE, _is_search_sound, repair
from catena_store.errors import StoreDamaged
from catena_store.finding import search
from catena_store.records import StopReason
from catena_store.windows import inputs, windows
from support.clients.command_line import Catena, run
from support.conversations.rehearsed import Desk, World
from support.screen.pilot import at_the_screen
from support.storage.damage import leaves, overwrite_pages, roots
from support.storage.rows import new_conversation, say_much, store

AUXILIARY = (
    "message_fts_data",
    "message_fts_idx",
    "message_fts_docsize",
    "message_fts_config",
    "journal",
    "checkpoint",
    "input",
    "window",
    "window_leaf",
    "workspace",
    "queue_item",
    "ability",
    "attachment",
    "permission_rule",
    "link_event",
    "lease",
    "turn_surroundings",
    "conversation_directory",
    "window_choice",
    "checkpointing",
    "rewind_request",
    "conversation_mcp_server",
    "aside_question",
    "conversation_seen",
    "turn_asking",
    "conversation_file",
)
INDEXES = (
    "sqlite_autoindex_message_1",
    "message_parent",
    "message_conversation",
    "message_turn",
    "message_open",
    "turn_conversation",
    "turn_open_link",
    "turn_time",
    "link_session",
    "link_conversation",
    "conversation_updated",
    "sqlite_autoindex_window_1",
)


async def talked(place: Path) -> tuple[World, Desk]:
    """A conversation of one turn, with a draft in its tab; its client has gone."""
    world = World(place)
    async with world.client() as desk:
        await desk.say("say the first answer")
        async with desk.db.write() as tx:
            await windows.set_draft(tx, desk.window_id, "not sent yet")
    return world, desk


@pytest.mark.parametrize("name", [*AUXILIARY, *INDEXES])
async def test_r18_with_one_damaged_table_or_index_the_messages_open_and_a_prompt_goes_out(
    tmp_path: Path, name: str
) -> None:
    world, desk = await talked(tmp_path)
    overwrite_pages(world.store, [roots(world.store)[name]])
    told: list[str] = []

    async with Database.open(world.store) as db:
        db.tell_by(told.append)
        async with db.read() as r:
            assert await conversations.latest(r) is not None
            kept = await messages.of_conversation(r, desk.conversation.id)
            assert [row.text for row in kept][-1] == "the first answer"
            assert [hit.message_id for hit in await search.find(r, "first answer")]
            window = await windows.get(r, desk.window_id)
        if window is None:
            async with db.write() as tx:
                leaf = await places.of(tx, desk.conversation.id)
                await windows.open(tx, id=desk.window_id, conversation_id=desk.conversation.id, leaf_id=leaf)
    async with world.client(resume=desk) as again:
        again.db.tell_by(told.append)
        over = await again.say("say the second answer")
        assert over.turn is not None and over.turn.stop_reason is StopReason.END_TURN
        assert [row.text for row in await again.branch() if row.kind == "agent"] == [
            "the first answer",
            "the second answer",
        ]
        async with again.db.read() as r:
            typed = [text for _, text in await inputs.recent(r)]
            window = await windows.get(r, again.window_id)
            # What nothing reads is mended when somebody looks the file through.
            assert await r.all("PRAGMA integrity_check") == [("ok",)]
            assert await r.all("PRAGMA foreign_key_check") == []
    if name == "window":
        assert "not sent yet" in typed, "a draft outlives its tab"
    assert len(told) == 1, "it is told once"
    assert "repaired" in told[0] and "no messages were lost" in told[0]


async def test_r18_what_can_be_read_of_a_damaged_table_stays_in_it(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        for number in range(600):
            await inputs.add(tx, f"typed {number:03}" + " and more" * 8, "/")
    path = tmp_path / "catena.db"
    pages = leaves(path, "input")
    assert len(pages) > 4
    overwrite_pages(path, [pages[1], pages[3]])

    async with store(tmp_path) as db, db.read() as r:
        kept = {text for _, text in await inputs.recent(r, 1_000)}

    each = 600 / len(pages)
    assert {text[:9] for text in kept} >= {"typed 000", "typed 599"}
    assert 600 - 3 * each < len(kept) < 600 - each


async def test_r18_an_index_is_mended_in_the_middle_of_a_transaction_that_goes_on(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await say_much(tx, 50)
    path = tmp_path / "catena.db"
    overwrite_pages(path, [roots(path)["message_fts_data"]])

    async with store(tmp_path) as db:
        async with db.write() as tx:
            await inputs.add(tx, "written before", "/")
            await say_much(tx, 4, prefix="later")
            await inputs.add(tx, "written after", "/")
        async with db.read() as r:
            assert [text for _, text in await inputs.recent(r)] == ["written after", "written before"]
            assert len(await search.find(r, "row number", limit=100)) == 54
            assert await r.all("PRAGMA integrity_check") == [("ok",)]


@pytest.mark.parametrize("table", sorted(CORE))
async def test_r18_what_a_conversation_consists_of_is_never_mended_by_leaving_rows_out(
    tmp_path: Path, table: str
) -> None:
    world, _ = await talked(tmp_path)
    overwrite_pages(world.store, [roots(world.store)[table]])
    before = world.store.stat().st_size

    with pytest.raises(StoreDamaged, match="catena doctor salvage"):
        async with Database.open(world.store) as db, db.read() as r:
            await r.all(f"SELECT * FROM {table}")
    assert world.store.stat().st_size == before


async def test_r18_two_that_meet_the_same_damage_mend_it_once(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await say_much(tx, 50)
    path = tmp_path / "catena.db"
    overwrite_pages(path, [roots(path)["message_parent"]])

    async def read(db: Database) -> int:
        async with db.read() as r:
            return len(
                await r.all("SELECT count(*) FROM message INDEXED BY message_parent WHERE parent_id > 0")
            )

    async with store(tmp_path) as one, store(tmp_path) as other:
        assert list(await asyncio.gather(read(one), read(other))) == [1, 1]
        async with one.read() as r:
            assert await r.all("PRAGMA integrity_check") == [("ok",)]


async def test_r18_the_screen_says_once_what_was_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("say remember me")
        await person.sees("remember me")
        await person.idle()
    store_file = tmp_path / "data" / "catena.db"
    overwrite_pages(store_file, [roots(store_file)["window_leaf"]])

    async with at_the_screen(str(tmp_path)) as person:
        await person.sees("remember me", "has been repaired (window_leaf)")
        await person.say("say and go on")
        await person.sees("and go on")


def test_r18_the_doctor_finds_damage_that_nobody_met_and_mends_it(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    assert run(catena, "say hello").status == 0
    overwrite_pages(catena.store, [roots(catena.store)["checkpoint"]])

    found = catena("doctor")

    assert "has been repaired (checkpoint)" in found.out
    assert "sound" in catena("doctor").out


@pytest.mark.parametrize("where", ["integrity_check", "SELECT rowid", "said by the check"])
async def test_r18_a_disk_that_fails_for_a_moment_while_a_table_is_mended_costs_no_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        for number in range(600):
            await inputs.add(tx, f"typed {number:03}" + " and more" * 8, "/")
    path = tmp_path / "catena.db"
    if where == "SELECT rowid":
        overwrite_pages(path, [leaves(path, "input")[1]])
    before = path.read_bytes()

    class Failing(sqlite3.Connection):
        def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
            if where in sql and "input" in sql:
                error = sqlite3.OperationalError("disk I/O error")
                error.sqlite_errorcode = sqlite3.SQLITE_IOERR_READ
                raise error
            if where == "said by the check" and sql == "PRAGMA integrity_check('input')":
                sql = "SELECT 'Tree 9 page 9: unable to get the page. error code=266'"
            return super().execute(sql, parameters)

    with monkeypatch.context() as patched:
        patched.setattr(
            "catena_store.database.repair.sqlite3.connect",
            functools.partial(sqlite3.connect, factory=Failing),
        )
        with pytest.raises(sqlite3.OperationalError, match=r"I/O|unable to get the page"):
            repair(path, 1)
    assert path.read_bytes() == before


async def test_r18_another_process_that_writes_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await say_much(tx, 5)
    path = tmp_path / "catena.db"
    monkeypatch.setattr("catena_store.database.repair._BUSY_SECONDS", 0.01)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        look = sqlite3.connect(path, timeout=0.01, isolation_level=None)
        with closing(look), pytest.raises(sqlite3.OperationalError, match="locked"):
            _is_search_sound(look)
        other.execute("ROLLBACK")
    assert repair(path, 1) == ()


async def test_r18_messages_that_only_their_indexes_still_know_are_not_said_to_be_there(
    tmp_path: Path,
) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await say_much(tx, 20)
    path = tmp_path / "catena.db"
    (page,) = leaves(path, "message")
    before = path.read_bytes()
    async with store(tmp_path) as db, db.write() as tx:
        await say_much(tx, 3, prefix="later")
    size = int.from_bytes(before[16:18], "big")
    now, at = bytearray(path.read_bytes()), (page - 1) * size
    now[at : at + size] = before[at : at + size]  # as a disk leaves it that lost a write
    path.write_bytes(now)

    with pytest.raises(sqlite3.DatabaseError, match="message has 20 rows of 23"):
        repair(path, 1)
    assert path.read_bytes() == bytes(now)
