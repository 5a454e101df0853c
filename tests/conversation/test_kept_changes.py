"""The changes of turns are the files' own where their snapshots are kept."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from catena.screens.comparison.screen import changed_files, shared_part
from catena_acp.changes.changed_file import By, FileContents, FileState, OnDisk, diffs_of_files
from catena_acp.changes.reading import ChangeScope, Since
from catena_acp.snapshots import keeping
from catena_acp.snapshots.keeping import FileSnapshots
from catena_acp.snapshots.scope import SnapshotScope
from catena_store.database.database import Database
from catena_store.ids import utc_now
from support.conversations.rehearsed import Desk, World
from support.storage.work_trees import GIT


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(keeping, "PATIENCE", 60)  # else a turn may have written before its first snapshot
    monkeypatch.setattr(keeping, "_SLOW", 60)  # nor is it looked at before its last one
    world = World(tmp_path)
    (world.project / ".git").mkdir()
    return world


class Keeper:
    """Keeps the files around the turns of one client."""

    def __init__(self, world: World) -> None:
        self._place = world.store.parent / "snapshots"

    def __call__(self, db: Database) -> FileSnapshots:
        scope = SnapshotScope.REPOSITORIES
        self.snapshots = FileSnapshots(
            db,
            self._place,
            GIT,
            scope,
            clock=utc_now,
            monotonic=lambda: 0.0,  # none is too slow
        )
        return self.snapshots


def in_a_shell(directory: Path, script: str) -> None:
    subprocess.run(["sh", "-c", script], cwd=directory, check=True)


async def leaf_of(desk: Desk) -> str | None:
    return (await desk.stored_window()).leaf_id


async def test_g03_what_a_shell_did_to_files_is_among_the_changes_of_its_turn(world: World) -> None:
    keeper, project = Keeper(world), world.project
    (project / "old").write_text("same\n" * 5)
    (project / "binary").write_bytes(b"\0\1")
    async with world.client(snapshots=keeper) as desk:
        await desk.say("say begun")
        await keeper.snapshots.settled()
        await desk.window.say("say busy; cue done")
        await world.heard("session/prompt", 2)
        await keeper.snapshots.settled()
        in_a_shell(project, r"mv old new; echo more >> new; echo hi > made; printf '\0\2' > binary")
        world.cue("done")
        await desk.window.wait_idle()
        await keeper.snapshots.settled()
        (project / "made").write_text("changed since\n")
        changes = await desk.conversation.changes.read(await leaf_of(desk), ChangeScope(Since.TURN))
    assert changes.caveat == ""
    files = {Path(each.path).name: each.read() for each in changes.files}
    binary, made, new = files["binary"], files["made"], files["new"]
    assert binary and made and new and len(files) == 3
    assert binary.contents is FileContents.BINARY
    assert (made.state, made.on_disk) == (FileState.NEW, OnDisk.CHANGED)
    assert made.mixed and [(each.by, each.old, each.new) for each in made.changes] == [
        (By.AGENT, None, "hi\n"),
        (By.OTHERS, "hi\n", "changed since\n"),
    ]
    assert (new.state, new.renamed_from, new.on_disk) == (
        FileState.RENAMED,
        str(project / "old"),
        OnDisk.SAME,
    )
    assert new.net and new.net.new == "same\n" * 5 + "more\n"


async def test_g03_the_changes_of_a_turn_that_has_just_ended_are_the_files_own(world: World) -> None:
    keeper = Keeper(world)
    async with world.client(snapshots=keeper) as desk:
        await desk.say("terminal touch made.txt", "allow")
        changes = await desk.conversation.changes.read(await leaf_of(desk), ChangeScope(Since.TURN))
    assert changes.kept and [Path(each.path).name for each in changes.files] == ["made.txt"]


async def test_g03_what_somebody_changed_between_two_turns_is_not_theirs(world: World) -> None:
    keeper = Keeper(world)
    async with world.client(snapshots=keeper) as desk:
        await desk.say("write first.txt one", "allow")
        await keeper.snapshots.settled()
        (world.project / "mine").write_text("mine\n")
        await desk.say("write second.txt two", "allow")
        await keeper.snapshots.settled()
        leaf = await leaf_of(desk)
        changes = await desk.conversation.changes.read(leaf, ChangeScope())
        (first, *_) = await desk.branch()
        turn = await desk.conversation.changes.read(leaf, ChangeScope(Since.TURN, first.id))
    assert [Path(each.path).name for each in changes.files] == ["first.txt", "second.txt"]
    assert [Path(each.path).name for each in turn.files] == ["first.txt"]


async def test_g03_a_turn_that_was_not_kept_is_told_as_the_agent_reported_it_beside_those_that_were(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.say("edit! notes.txt")
    keeper = Keeper(world)
    async with world.client(snapshots=keeper, resume=desk) as again:
        await again.say("write kept.txt yes", "allow")
        await keeper.snapshots.settled()
        leaf = await leaf_of(again)
        branch = await again.conversation.changes.read(leaf, ChangeScope())
        turn = await again.conversation.changes.read(leaf, ChangeScope(Since.TURN))
    assert branch.caveat.startswith("1 turn has no snapshots: its changes are as the agent reported")
    assert [Path(each.path).name for each in branch.files] == ["kept.txt", "notes.txt"]
    patch = branch.source.patch()
    assert b"+++ b/kept.txt" in patch.content and b"b/notes.txt" not in patch.content
    assert [(Path(each.path).name, each.why) for each in patch.left_out] == [
        ("notes.txt", "the exact place of its changes is not known")
    ]
    assert turn.caveat == "" and [Path(each.path).name for each in turn.files] == ["kept.txt"]


async def test_t03_two_kept_branches_are_compared_by_the_files_themselves(world: World) -> None:
    keeper, project = Keeper(world), world.project
    (project / "shared.txt").write_text("one\n")
    async with world.client(snapshots=keeper) as desk:
        await desk.say("say begun")
        point = (await desk.branch())[-1].id
        leaves = []
        for prompt in ("terminal rm shared.txt; write made.txt hi", "write other.txt two"):
            await desk.window.rewind(point)
            (project / "shared.txt").write_text("one\n")
            await desk.say(prompt, "allow")
            await keeper.snapshots.settled()
            leaves.append((await desk.branch())[-1].id)
        found = await desk.conversation.tree.compare(*leaves)
        read = [
            await desk.conversation.changes.read(leaf, ChangeScope(Since.CHECKPOINT, found.shared))
            for leaf in leaves
        ]
    assert [changes.kept for changes in read] == [True, True]
    assert not any("shared.txt" in path for path in found.tails[0].files), (
        "no agent reported what the shell did"
    )
    own = [changed_files(changes, diffs_of_files(changes.files)) for changes in read]
    words = shared_part(found, str(project), own).plain
    assert words.splitlines()[2:] == [
        "Files",
        "  made.txt",
        "    A  new +1",
        "    B  not touched",
        "  other.txt",
        "    A  not touched",
        "    B  new +1",
        "  shared.txt",
        "    A  deleted −1",
        "    B  not touched",
    ]
    assert "Files, as reported by the agents" in shared_part(found, str(project)).plain
