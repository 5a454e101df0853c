"""What is not surely a turn's own since somebody else changed files while it was at work."""

from __future__ import annotations

import asyncio
import os.path
import threading
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import pytest

from catena_acp.changes.reading import ChangeScope, read_changes
from catena_acp.snapshots import restoring
from catena_acp.snapshots.restoring import RestoreNote, carry_out, plan_restore, plan_return
from catena_store.chains import environments
from catena_store.conversations import conversations
from catena_store.records import TurnEnvironment
from catena_store.snapshots.repository import SnapshotRepository
from catena_store.snapshots.restoring import RestoreStep, Why, restore
from support.storage.written_files import WrittenFiles, written_files


@pytest.fixture
async def files(tmp_path: Path) -> AsyncIterator[WrittenFiles]:
    async with written_files(tmp_path) as made:
        yield made


async def conflicts(files: WrittenFiles, prompt: str) -> dict[str, Why | None]:
    """What going back to the beginning would change, from where files stand at the end of a turn."""
    plan = await plan_restore(files.db, files.repository, (prompt,), None, day=1, now=files.clock())
    return {step.path: step.conflict for step in plan.steps}


@pytest.mark.parametrize(
    ("place", "reaches"),
    [
        ("tree", True),
        ("tree/below", True),
        (".", True),  # the work tree is in a directory of theirs
        ("further", True),
        ("further, by now no more", True),
        ("elsewhere", False),
        ("tree/nested", False),  # a repository of its own, whose files are not among these
    ],
)
async def test_g04_all_that_a_turn_changed_may_be_of_one_at_work_too_that_was_not_kept_here(
    files: WrittenFiles, place: str, reaches: bool
) -> None:
    (files / "nested/.git").mkdir(parents=True)
    await files.conversation("garden", files.root.parent / place)
    first = await files.turn("shop", ("alone", "mine\n"))
    ours = await files.begin("shop")
    theirs = await files.begin("garden", kept=False)
    async with files.db.write() as tx:
        if place == "further":
            await conversations.add_further_directory(tx, "garden", str(files.root))
        if place == "further, by now no more":
            await environments.put(tx, TurnEnvironment(theirs, directories=(str(files.root),)))
    (files / "theirs").write_text("theirs\n")
    (files / "mine").write_text("mine\n")
    await files.end(theirs, kept=False)
    await files.end(ours)
    assert first == "turn1" and await conflicts(files, "prompt2") == {
        "alone": None,
        "mine": Why.AT_WORK_TOO if reaches else None,
        "theirs": Why.AT_WORK_TOO if reaches else None,
    }


async def test_g04_what_changed_before_a_late_start_of_another_turn_was_kept_may_be_that_turn_s(
    files: WrittenFiles,
) -> None:
    await files.conversation("garden")
    ours = await files.begin("shop")
    (files / "theirs").write_text("theirs\n")
    theirs = await files.begin("garden")
    await files.end(theirs)
    (files / "mine").write_text("mine\n")
    await files.end(ours)
    assert await conflicts(files, "prompt1") == {"mine": None, "theirs": None}
    async with files.db.write() as tx:
        await tx.run("UPDATE turn_files SET late = 1 WHERE turn_id = ?", (theirs,))
    assert await conflicts(files, "prompt1") == {"mine": None, "theirs": Why.AT_WORK_TOO}


@pytest.mark.parametrize(
    ("meanwhile", "is_its"),
    [("ends", True), ("ended, and its end is being kept", True), ("ended, and its end was kept", False)],
)
async def test_g04_what_was_restored_before_the_end_of_a_turn_was_kept_is_not_that_turn_s(
    files: WrittenFiles, monkeypatch: pytest.MonkeyPatch, meanwhile: str, is_its: bool
) -> None:
    moved, go_on = threading.Event(), threading.Event()

    def long(repository: SnapshotRepository, steps: Iterable[RestoreStep]) -> list[RestoreStep]:
        left = restore(repository, steps)
        moved.set()
        assert go_on.wait(30)
        return left

    monkeypatch.setattr(restoring, "restore", long)
    await files.turn("shop", ("old", "old\n"))
    await files.conversation("garden")
    ours = await files.begin("garden")
    (files / "mine").write_text("mine\n")
    plan = await plan_restore(files.db, files.repository, ("prompt1",), None, day=1, now=files.clock())
    if meanwhile != "ends":
        await files.end(ours, kept="was" in meanwhile)
    files.clock.forward()
    restoring_it = asyncio.create_task(carry_out(files.db, plan, plan.free, RestoreNote("note", "shop")))
    await asyncio.to_thread(moved.wait, 30)
    if meanwhile == "ends":
        await files.end(ours)
    files.clock.forward()
    go_on.set()
    assert await restoring_it == []
    if "being" in meanwhile:
        await files.keep_end(ours)
    assert await conflicts(files, "prompt2") == {"mine": None} | ({"old": Why.MOVED} if is_its else {})


@pytest.mark.parametrize("asks", ["plan", "plan of a return", "changes", "blame"])
async def test_g04_the_store_is_free_while_a_directory_of_a_turn_at_the_same_time_is_on_a_disk_that_does_not_answer(
    files: WrittenFiles, monkeypatch: pytest.MonkeyPatch, asks: str
) -> None:
    await files.conversation("garden", files.root.parent / "dead")
    ours = await files.begin("shop")
    theirs = await files.begin("garden", kept=False)
    (files / "mine").write_text("mine\n")
    await files.end(theirs, kept=False)
    await files.end(ours)
    asked, answers = threading.Event(), threading.Event()

    def dead(path: str, *, strict: bool = False) -> str:
        if str(path) == str(files.root.parent / "dead"):
            asked.set()
            answers.wait(30)
        return realpath(path, strict=strict)

    realpath = os.path.realpath
    monkeypatch.setattr(os.path, "realpath", dead)

    async def read() -> object:
        if asks == "plan":
            return await conflicts(files, "prompt1")
        if asks == "blame":
            return await files.blame("mine")
        if asks == "changes":
            return await read_changes(
                files.db.read,
                "shop",
                "prompt1",
                ChangeScope(),
                (str(files.root),),
                files.repository,
                now=files.clock(),
            )
        tree = files.repository.capture(day=1).tree
        return await plan_return(
            files.db,
            files.repository,
            tree,
            tree,
            stood_then=(),
            stood_since=(),
            stand=("prompt1",),
            day=1,
            now=files.clock(),
        )

    reading = asyncio.create_task(read())
    try:
        await asyncio.to_thread(asked.wait, 30)
        async with asyncio.timeout(5):
            async with files.db.write() as tx:
                await conversations.set_title(tx, "garden", "Meanwhile")
            async with files.db.read_concurrently() as reader:
                assert await conversations.get(reader, "garden")
        assert not reading.done()
    finally:
        answers.set()
    await reading
