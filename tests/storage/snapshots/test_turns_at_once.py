"""What was at work in the time of turns, other turns and restores: what a plan of files reads of it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from catena_store.chains import turns
from catena_store.database.database import Writer
from catena_store.ids import to_milliseconds
from catena_store.records import StopReason
from catena_store.snapshots import turns as turn_files
from catena_store.snapshots.turns import FilesMove
from catena_store.windows import journal
from catena_store.windows.journal import Act
from support.storage.rows import START, Explained, a_turn, new_conversation, new_link, say, store

_ROOT = "/home/ada/shop"


async def a_turn_at(
    tx: Writer, id: str, began: int, ended: int | None, *, root: str | None = None, sent: bool = True
) -> None:
    """A turn between two seconds; kept in a root, or in none."""
    await say(tx, f"u {id}", None)
    ends = None if ended is None else START + timedelta(seconds=ended)
    stop = (StopReason.END_TURN if sent else StopReason.NOT_SENT) if ends else None
    fields = {"started_at": START + timedelta(seconds=began), "ended_at": ends, "stop_reason": stop}
    await turns.insert(tx, a_turn(id, f"u {id}", "l1", **fields))
    if root:
        await turn_files.begin(tx, id, root, "before")


async def test_of_all_turns_that_ever_were_only_those_of_a_time_are_looked_at(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await new_link(tx, "l1")
        await a_turn_at(tx, "asked", 100, 200, root=_ROOT)
        for name, root in (("bare", None), ("elsewhere", "/mnt"), ("kept", _ROOT)):
            await a_turn_at(tx, f"{name} before", 10, 99, root=root)
            await a_turn_at(tx, f"{name} into", 50, 150, root=root)
            await a_turn_at(tx, f"{name} around", 50, 250, root=root)
            await a_turn_at(tx, f"{name} still", 60, None, root=root)
            await a_turn_at(tx, f"{name} after", 201, 300, root=root)
            await a_turn_at(tx, f"{name} later", 201, None, root=root)
        await a_turn_at(tx, "never sent", 120, 130, sent=False)
        read, since = Explained(tx), to_milliseconds(START)
        beside = await turn_files.unkept_beside(read, ["asked"], _ROOT, since)
        assert [turn.id for turn, _ in beside] == [
            f"{name} {when}" for name in ("bare", "elsewhere") for when in ("into", "around", "still")
        ]
        within = since + 100_000, since + 200_000
        near = await turn_files.of_root(read, _ROOT, since, within=within)
        assert [turn.id for turn in near] == ["asked", "kept into", "kept around", "kept still"]
        assert read.scans("t", "turn", "f", "turn_files", "l", "link") == []
        assert {step for step in read.steps if "t USING" in step and "PRIMARY KEY" not in step} == {
            "SEARCH t USING INDEX turn_time (ended_at=? AND started_at<?)",
            "SEARCH t USING INDEX turn_time (ended_at>?)",
        }
        assert [step for step in read.steps if "turn_files_root" in step] == []


async def test_g04_a_restore_that_was_undone_or_done_again_counts_by_its_latest_change_of_files(
    tmp_path: Path,
) -> None:
    def at(tree: str, *times: int) -> dict[str, object]:
        names = ("moved_at", "began_at")
        return {"files": {"root": _ROOT, "tree": tree, **dict(zip(names, times, strict=False))}}

    acts = [
        (at("old", 20, 10), at("new", 20, 10), False),
        (at("old", 30, 25), at("new", 50, 40), True),
        (at("old", 70, 60), at("new", 50, 40), False),
        (at("old", 80), at("new", 80), False),  # of an earlier version
    ]
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        for before, after, undone in acts:
            await journal.record(
                tx,
                workspace_id=None,
                window_id=None,
                conversation_id="c1",
                act=Act.FILES,
                before=before,
                after=after,
            )
            await tx.run("UPDATE journal SET undone = ? WHERE id = last_insert_rowid()", (undone,))
        assert await turn_files.moves(tx, _ROOT) == [
            FilesMove(10, 20, "old", "new"),
            FilesMove(40, 50, "new", "old"),
            FilesMove(60, 70, "old", "new"),
            FilesMove(80, 80, "old", "new"),
        ]
        assert await turn_files.moves(tx, "/elsewhere") == []
