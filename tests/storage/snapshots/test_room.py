"""Snapshots and the room on their disk: what does not fit is not begun, and what failed leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from catena_store.errors import SnapshotFailed
from catena_store.snapshots import repository as room_module
from catena_store.snapshots.repository import SnapshotRepository
from support.storage.work_trees import GIT, WorkTree

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
STEPS = ("--force-remove", "--add", "write-tree", "update-ref")  # each after objects or an index were written


@pytest.fixture
def tree(tmp_path: Path) -> WorkTree:
    """Files that were kept once, and have changed since: one is gone, one is new, one has other content."""
    tree = WorkTree(tmp_path)
    for name in ("changed", "gone", "same"):
        (tree / name).write_text(name)
    tree.capture()
    (tree / "changed").write_text("changed again")
    (tree / "gone").unlink()
    (tree / "new").write_bytes(os.urandom(3_000_000))  # git writes it straight into a pack
    return tree


def kept(repository: SnapshotRepository) -> dict[str, bytes]:
    """Every file of a repository of ours but its locks and marks."""
    return {
        path.relative_to(repository.path).as_posix(): path.read_bytes()
        for path in repository.path.rglob("*")
        if path.is_file() and path.suffix not in (".lock", ".packing", ".doubtful")
    }


def stopping_at(place: Path, step: str, how: str) -> str:
    """A git that ends behind a step as on a full disk, or takes whoever runs it along."""
    path = place / "git"
    end = 'echo "error: unable to write file: No space left on device" >&2; exit 128'
    if how == "killed":
        end = "kill -9 $PPID"
    path.write_text(f'#!/bin/sh\n{GIT} "$@" || exit\ncase "$*" in *{step}*) {end};; esac\n')
    path.chmod(0o755)
    return str(path)


def test_g02_files_are_not_kept_where_the_disk_would_be_too_full_afterwards(
    tree: WorkTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = kept(tree.repository)
    disk = os.statvfs(tree.root)
    monkeypatch.setattr(os, "statvfs", lambda place: disk)  # others write meanwhile
    free = disk.f_bavail * disk.f_frsize
    # There is room for one more, not for three.
    monkeypatch.setattr(room_module, "_LEAST_FREE", free - 1_000_000)
    monkeypatch.setattr(room_module, "_LEAST_SHARE", 0)
    with pytest.raises(SnapshotFailed, match=r"free, these files need 3 MB, and [\d,]+ MB must stay free"):
        tree.capture()
    assert kept(tree.repository) == before
    (tree / "new").write_bytes(b"small")
    tree.capture()


def test_g02_as_much_stays_free_as_the_larger_of_200_megabytes_and_2_percent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = os.statvfs(tmp_path)

    def with_free(free: int, whole: int) -> str | None:
        shown = (1, 1, whole, free, free, *disk[5:])
        monkeypatch.setattr(os, "statvfs", lambda place: os.statvfs_result(shown))
        return room_module.want_of_room(tmp_path, [])

    assert with_free(200_000_000, 1_000_000_000) is None
    assert with_free(199_999_999, 1_000_000_000) is not None
    assert with_free(2_000_000_000, 100_000_000_000) is None
    assert with_free(1_999_999_999, 100_000_000_000) is not None


@pytest.mark.parametrize("step", STEPS)
def test_g02_a_snapshot_that_fails_leaves_index_names_and_disk_as_they_were(
    tree: WorkTree, tmp_path: Path, step: str
) -> None:
    before = kept(tree.repository)
    program = stopping_at(tmp_path, step, "full")
    failing = SnapshotRepository(program, tree.repository.path.parent, tree.root)
    with pytest.raises(SnapshotFailed, match="No space left on device"):
        failing.capture(day=1)
    after = kept(tree.repository)
    if step != "update-ref":  # the name of a whole snapshot may be there
        assert after == before
    assert after["index"] == before["index"]
    assert not [name for name in after if "tmp_" in name or "catena-" in name]


KILLED = """
import sys
from pathlib import Path
from catena_store.snapshots.repository import SnapshotRepository
SnapshotRepository(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])).capture(day=1)
"""


@pytest.mark.parametrize("step", STEPS)
def test_g02_what_a_killed_snapshot_wrote_goes_with_the_next(
    tree: WorkTree, tmp_path: Path, step: str
) -> None:
    program = stopping_at(tmp_path, step, "killed")
    run = [sys.executable, "-c", KILLED, program, str(tree.repository.path.parent), str(tree.root)]
    assert subprocess.run(run, env=ENVIRONMENT, timeout=60).returncode == -9
    (tree / "new").unlink()
    taken = tree.capture()
    assert tree.repository._git.run("ls-tree", "--name-only", taken) == b"changed\nsame\n"
    assert (
        subprocess.run([GIT, "fsck", "--full"], cwd=tree.repository.path, capture_output=True).returncode == 0
    )
    if step != "update-ref":  # else the snapshot was whole
        assert sum(map(len, kept(tree.repository).values())) < 100_000
    assert not [name for name in kept(tree.repository) if "tmp_" in name or "catena-" in name]


def test_g02_what_a_packing_that_was_killed_wrote_goes_with_the_next_snapshot(tree: WorkTree) -> None:
    packs = tree.repository.path / "objects/pack"
    for name in ("tmp_pack_Xy", ".tmp-12-pack-ab.pack"):
        (packs / name).write_bytes(b"begun")
    with tree.repository._packing(seconds=0):  # somebody is at it
        (packs / "tmp_pack_Yz").write_bytes(b"begun")
        tree.capture()
        assert (packs / "tmp_pack_Yz").exists()
    tree.capture()
    assert not list(packs.glob("*tmp*"))


FULL = """
import os, sys
from pathlib import Path
from catena_store.errors import SnapshotFailed
from support.storage.work_trees import WorkTree
place = Path(sys.argv[1])
from catena_store.snapshots import repository
tree = WorkTree(place)
(tree / "small").write_bytes(b"small")
try:
    tree.capture()
except SnapshotFailed as error:
    assert "must stay free" in str(error), error
else:
    raise AssertionError("there was no room")
assert not (tree.repository.path / "objects").exists()
repository._LEAST_FREE = 0
kept = tree.capture()
elsewhere = Path(sys.argv[2])
for number in range(8):
    (elsewhere / f"large{number}").write_bytes(os.urandom(3_000_000))
    (elsewhere / f"small{number}").write_bytes(os.urandom(300_000))
repository.want_of_room = lambda place, sizes: None  # someone else's files took the room meanwhile
from catena_store.snapshots.repository import SnapshotRepository
large = SnapshotRepository(tree.repository.program, place / "snapshots", elsewhere)
free = os.statvfs(place).f_bfree
try:
    large.capture(day=1)
except SnapshotFailed as error:
    assert "No space left" in str(error) or "unable to" in str(error), error
else:
    raise AssertionError("there was room")
left = [path.name for path in large.path.rglob("*") if "tmp_" in path.name or path.name == "catena-objects"]
assert not left, left
assert not list(large.path.glob("objects/??/*")) and not (large.path / "index").exists()
assert free - os.statvfs(place).f_bfree < 64, "what failed stays on the disk"
(place / "answer").write_bytes(bytes(1_000_000))
"""


def test_g02_a_small_disk_is_not_filled_and_one_that_filled_up_is_free_again(tmp_path: Path) -> None:
    small, elsewhere = tmp_path / "small", tmp_path / "elsewhere"
    small.mkdir()
    elsewhere.mkdir()
    mounted = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-ec"]
    script = 'mount -t tmpfs -o size=8m none "$0"; '
    try:
        subprocess.run([*mounted, script, str(small)], check=True, capture_output=True, timeout=60)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("file systems may not be mounted here")
    run = [
        *mounted,
        f'{script} exec "$@"',
        str(small),
        sys.executable,
        "-c",
        FULL,
        str(small),
        str(elsewhere),
    ]
    done = subprocess.run(run, env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
