"""The place of a conversation: one leaf, whoever moved it last; and what a file of an older version tells of it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from catena_store import places
from catena_store.chains import turns
from catena_store.conversations import messages
from catena_store.database.database import Database, Writer
from catena_store.database.schema import shipped
from catena_store.records import Kind, MessageState, StopReason
from catena_store.windows import journal, queue, windows
from catena_store.windows.journal import Act, WindowPlace
from support.storage.rows import START, Clock, Explained, a_turn, new_conversation, new_link, say, store

_PLACE = next(each.version for each in shipped() if each.script.stem.endswith("_place"))
_BEFORE = tuple(each for each in shipped() if each.version < _PLACE)


async def two_branches(tx: Writer) -> None:
    """A prompt and its answer, and below that two versions of a second prompt, each answered."""
    await new_conversation(tx)
    await say(tx, "u1", None)
    await say(tx, "a1", "u1", kind=Kind.AGENT)
    for version in ("2", "3"):
        await say(tx, f"u{version}", "a1")
        await say(tx, f"a{version}", f"u{version}", kind=Kind.AGENT)


async def test_m16_a_conversation_that_nobody_moved_goes_on_at_its_newest_row(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await two_branches(tx)
        await say(tx, "refused", "a2", state=MessageState.REFUSED)
        read = Explained(tx)
        assert await places.of(read, "c1") == "a3"
        assert read.scans("m", "message", "c") == []
        await new_conversation(tx, "fork", family="c1", fork_point_id="a2")
        assert await places.of(tx, "fork") == "a2"
        assert await places.of(tx, "nobody") is None
        await new_conversation(tx, "refused only")
        await say(tx, "r1", None, conversation="refused only", state=MessageState.REFUSED)
        assert await places.of(tx, "refused only") is None
        assert await places.to_show(tx, "refused only") == "r1"


async def test_m16_the_place_is_where_it_was_moved_last_and_the_beginning_is_a_place(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await two_branches(tx)
        for leaf in ("a2", None, "a3"):
            await places.move(tx, "c1", leaf)
            assert await places.of(tx, "c1") == leaf
            assert await places.to_show(tx, "c1") == leaf
        await windows.open(tx, id="w1", conversation_id="c1", leaf_id="a2")
        await windows.set_scroll(tx, "w1", 3)
        await windows.close(tx, "w1")
        assert await places.of(tx, "c1") == "a3"


async def test_m16_the_place_goes_along_with_rows_below_it_and_never_with_those_elsewhere(
    tmp_path: Path,
) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await two_branches(tx)
        await places.move(tx, "c1", "u2")
        await places.grow(tx, "c1", "u3", "a3")
        assert await places.of(tx, "c1") == "u2"
        await places.grow(tx, "c1", "u2", "a2")
        assert await places.of(tx, "c1") == "a2"
        await places.give_back(tx, "c1", "u3", None)
        assert await places.of(tx, "c1") == "a2"
        await places.give_back(tx, "c1", "u2", "a1")
        assert await places.of(tx, "c1") == "a1"


async def test_m06_a_tab_that_comes_back_follows_with_its_draft_or_knows_what_it_lacks(
    tmp_path: Path,
) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await two_branches(tx)
        for id, leaf in (("behind", "a1"), ("waits", "a1"), ("beside", "a2"), ("there", "a3")):
            await windows.open(tx, id=id, conversation_id="c1", leaf_id=leaf)
            await windows.set_draft(tx, id, f"draft of {id}")
        await queue.add(tx, id="q1", window_id="waits", text="later")
        await places.move(tx, "c1", "a3")
        found = {}
        for id in ("behind", "waits", "beside", "there"):
            later = await places.follow(tx, id)
            window = await windows.get(tx, id)
            assert later and window and window.draft == f"draft of {id}"
            found[id] = (window.leaf_id, later.turns)
        assert found == {"behind": ("a3", 1), "waits": ("a1", 1), "beside": ("a2", 1), "there": ("a3", 0)}
        await windows.set_leaf(tx, "behind", "a1")
        left = await windows.get(tx, "behind")
        assert left and left.draft == "", "the draft is in one place only"


async def _turn(tx: Writer, version: str, window: str | None, at: int, **fields: object) -> None:
    await turns.insert(
        tx,
        a_turn(
            f"t{version}",
            f"u{version}",
            "l1",
            window_id=window,
            last_id=f"a{version}",
            started_at=START + timedelta(seconds=at),
            **{"stop_reason": StopReason.END_TURN, **fields},
        ),
    )


_LATER = ("tools_left_out", "shortened", "masked", "waited")


async def _with_later_columns(tx: Writer) -> None:
    """Add what later migrations add, since rows of today are written with it."""
    await tx.run("CREATE TEMP TABLE fork_intent (made TEXT, agent TEXT, profile TEXT)")
    for column in _LATER:
        await tx.run(f"ALTER TABLE turn ADD COLUMN {column} INTEGER NOT NULL DEFAULT 0")


async def _without_later_columns(tx: Writer) -> None:
    await tx.run("DROP TABLE temp.fork_intent")
    for column in _LATER:
        await tx.run(f"ALTER TABLE turn DROP COLUMN {column}")


async def _place_after_migration(path: Path) -> str | None:
    async with Database.open(path, clock=Clock()) as db, db.read() as r:
        return await places.of(r, "c1")


async def test_m16_an_old_file_goes_on_where_its_newest_turn_or_move_was(tmp_path: Path) -> None:
    """The fault of before: a tab that was left open came before all runs, however new."""

    async def old(name: str, clock: Clock) -> Path:
        path = tmp_path / name / "catena.db"
        path.parent.mkdir()
        async with Database.open(path, migrations=_BEFORE, clock=clock) as db, db.write() as tx:
            await two_branches(tx)
            await _with_later_columns(tx)
            await new_link(tx, "l1")
            await windows.open(tx, id="tab", conversation_id="c1", leaf_id="a2")
            await windows.open(tx, id="run", conversation_id="c1", leaf_id="a3")
            await windows.close(tx, "run")
            await _turn(tx, "2", "tab", 1)
            await _turn(tx, "3", "run", 2)
            await _without_later_columns(tx)
        return path

    clock = Clock()
    assert await _place_after_migration(await old("run last", clock)) == "a3"

    path = await old("moved last", clock)
    async with Database.open(path, migrations=_BEFORE, clock=clock) as db:
        clock.forward(60)
        async with db.write() as tx:
            places_of = [WindowPlace("c1", leaf).as_mapping() for leaf in ("a2", "a1")]
            await journal.record(
                tx,
                workspace_id=None,
                window_id="tab",
                conversation_id="c1",
                act=Act.REWIND,
                before=places_of[0],
                after=places_of[1],
            )
            await windows.set_leaf(tx, "tab", "a1")
    assert await _place_after_migration(path) == "a1"

    path = await old("refused last", clock)
    async with Database.open(path, migrations=_BEFORE, clock=clock) as db, db.write() as tx:
        await say(tx, "u4", "a2", state=MessageState.REFUSED)
        await _with_later_columns(tx)
        await turns.insert(
            tx, a_turn("t4", "u4", "l1", window_id="tab", last_id="u4", stop_reason=StopReason.NOT_SENT)
        )
        await _without_later_columns(tx)
    assert await _place_after_migration(path) == "a3"

    path = tmp_path / "imported" / "catena.db"
    path.parent.mkdir()
    async with Database.open(path, migrations=_BEFORE) as db, db.write() as tx:
        await two_branches(tx)
        await _with_later_columns(tx)
        await new_link(tx, "l1")
        await _turn(tx, "3", None, 1)
        await _without_later_columns(tx)
        await windows.open(tx, id="import", conversation_id="c1", leaf_id="a2")
        await windows.close(tx, "import")
    assert await _place_after_migration(path) == "a2"
    async with Database.open(path) as db, db.read() as r:
        assert (await messages.page(r, await places.of(r, "c1"), 1))[0].id == "a2"
