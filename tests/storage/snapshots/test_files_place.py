"""Where files stand: who goes along, what a turn that ends adds, and what a file of an older version tells of it."""

from __future__ import annotations

from pathlib import Path

from catena_store.chains import turns
from catena_store.database.database import Database, Writer
from catena_store.database.schema import shipped
from catena_store.keeping.selection import POINTED_TO
from catena_store.records import Kind, StopReason
from catena_store.snapshots import files_place
from catena_store.snapshots import turns as turn_files
from catena_store.snapshots.files_place import FilesPlace
from catena_store.windows import journal, windows
from catena_store.windows.journal import Act
from support.storage.rows import Clock, a_turn, new_conversation, new_link, say, store

_FILES = next(each.version for each in shipped() if each.script.stem.endswith("_files_place"))
_BEFORE = tuple(each for each in shipped() if each.version < _FILES)


async def two_versions(tx: Writer) -> None:
    """A prompt, and below its answer two versions of a second one, each answered; two windows."""
    await new_conversation(tx)
    await new_link(tx, "l1")
    await say(tx, "u1", None)
    await say(tx, "a1", "u1", kind=Kind.AGENT)
    for version in ("2", "3"):
        await say(tx, f"u{version}", "a1")
        await say(tx, f"a{version}", f"u{version}", kind=Kind.AGENT)
    for id in ("w1", "w2"):
        await windows.open(tx, id=id, conversation_id="c1", leaf_id="a2")


async def ended(tx: Writer, number: str, window: str, stop: StopReason = StopReason.END_TURN) -> None:
    await turns.insert(tx, a_turn(f"t{number}", f"u{number}", "l1", window_id=window, last_id=f"a{number}"))
    await turns.end(tx, f"t{number}", stop_reason=stop)


async def test_g10_a_turn_adds_itself_a_move_leaves_one_end_and_windows_that_stood_there_go_along(
    tmp_path: Path,
) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await two_versions(tx)
        assert await files_place.of_window(tx, "w1") == ("a2",)
        await windows.show(tx, "w2", "c1", None)
        await ended(tx, "2", "w1")
        await ended(tx, "3", "w1", StopReason.NOT_SENT)
        assert await files_place.of_window(tx, "w2") == ("a2",)
        await turns.insert(tx, a_turn("t4", "u3", "l1", window_id="w2", last_id="a3"))
        assert await files_place.of_window(tx, "w2") == ("a3", "a2")  # it is under way
        assert await files_place.of_window(tx, "w1") == ("a2",)
        await turns.end(tx, "t4", stop_reason=StopReason.ERROR)
        for id in ("w1", "w2"):
            assert await files_place.of_window(tx, id) == ("a3", "a2")
        await files_place.move(tx, FilesPlace("c1", "w1", ("a1",)))
        assert await files_place.of_conversation(tx, "c1", "a3") == ("a1",)
        assert await files_place.of_window(tx, "w2") == ("a1",)
        needed = await tx.all(f"WITH kin (id) AS (SELECT 'c1') {POINTED_TO}")
        assert (await tx.one("SELECT id FROM message WHERE uid = 'a1'")) in needed


async def test_g10_a_window_that_comes_from_another_conversation_of_the_directory_knows_what_is_in_its_files(
    tmp_path: Path,
) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await two_versions(tx)
        await ended(tx, "2", "w1")
        await new_conversation(tx, "fork", family="c1", fork_point_id="a1")
        await files_place.move(tx, FilesPlace("fork", None, ("a3", "gone")))
        for id in ("w1", "w2"):
            await windows.show(tx, id, "fork", "a1")
            assert await files_place.of_window(tx, id) == ("a2",)
        await files_place.move(tx, FilesPlace("fork", "w1", ("a1",)))
        assert await files_place.of_window(tx, "w2") == ("a1",)
        await new_conversation(tx, "stranger")
        await windows.show(tx, "w1", "stranger", None)
        assert await files_place.of_window(tx, "w1") == ()


async def test_g10_a_turn_that_was_cut_off_and_whose_files_were_taken_away_adds_nothing_when_it_is_ended(
    tmp_path: Path,
) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await two_versions(tx)
        await turns.insert(tx, a_turn("t2", "u2", "l1", window_id="w1", last_id="a2"))
        await turn_files.begin(tx, "t2", "/work", "tree")
        assert await files_place.of_conversation(tx, "c1", None) == ("a2",)
        await files_place.move(tx, FilesPlace("c1", None, ()))
        await files_place.leave_open(tx, "c1")
        assert await files_place.of_conversation(tx, "c1", "a2") == ()
        await turns.end(tx, "t2", stop_reason=StopReason.INTERRUPTED)
        assert await files_place.of_window(tx, "w1") == ()


async def test_g10_in_an_older_file_files_stand_where_the_newest_turn_ended_or_a_later_act_took_them(
    tmp_path: Path,
) -> None:
    path, clock = tmp_path / "catena.db", Clock()
    async with Database.open(path, migrations=_BEFORE, clock=clock) as db, db.write() as tx:
        await two_versions(tx)
        # A column of a later migration, since rows of today are written with it.
        await tx.run("ALTER TABLE turn ADD COLUMN waited INTEGER NOT NULL DEFAULT 0")
        for number in ("2", "3"):
            fields = {"last_id": f"a{number}", "stop_reason": StopReason.END_TURN, "window_id": "w1"}
            await turns.insert(tx, a_turn(f"t{number}", f"u{number}", "l1", **fields))
        await tx.run("ALTER TABLE turn DROP COLUMN waited")
    (tmp_path / "turn.db").write_bytes(path.read_bytes())
    async with Database.open(tmp_path / "turn.db") as db, db.read() as r:
        assert await files_place.of_conversation(r, "c1", None) == ("a3",)

    clock.forward(60)
    async with Database.open(path, migrations=_BEFORE, clock=clock) as db, db.write() as tx:
        files = {"root": "/work", "tree": "then", "moved_at": tx.now()}
        await journal.record(
            tx,
            workspace_id=None,
            window_id="w1",
            conversation_id="c1",
            act=Act.REWIND,
            before={"conversation_id": "c1", "leaf_id": "a3", "files": files},
            after={"conversation_id": "c1", "leaf_id": None, "files": {**files, "tree": "since"}},
        )
    async with Database.open(path) as db, db.read() as r:
        assert await files_place.of_conversation(r, "c1", "a3") == ()
