"""Repositories of snapshots that are damaged, gits that are no good, disks that are full, processes that are killed."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from catena_store.errors import SnapshotFailed
from catena_store.snapshots import git as git_module
from catena_store.snapshots import trees as contents_module
from catena_store.snapshots.repository import SnapshotRepository
from support.storage.work_trees import GIT, WorkTree

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.fixture
def tree(tmp_path: Path) -> WorkTree:
    return WorkTree(tmp_path)


def again(tree: WorkTree) -> SnapshotRepository:
    """The repository, as the next Catena has it."""
    return SnapshotRepository(GIT, tree.repository.path.parent, tree.root)


def program(place: Path, script: str) -> str:
    path = place / "git"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def objects(tree: WorkTree) -> list[Path]:
    return sorted(tree.repository.path.glob("objects/[0-9a-f][0-9a-f]/*"))


def truncated(path: Path) -> None:
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:10])


def damage_contents(tree: WorkTree) -> None:
    for path in objects(tree):
        truncated(path)


def damage_one_content(tree: WorkTree) -> None:
    for path in objects(tree):
        if (
            tree.repository._git.run("cat-file", "blob", path.parent.name + path.name, allowed=(0, 128))
            == b"b1"
        ):
            truncated(path)


def damage_pack(tree: WorkTree) -> None:
    tree.repository.pack()
    (pack,) = tree.repository.path.glob("objects/pack/*.pack")
    pack.chmod(0o600)
    content = pack.read_bytes()
    pack.write_bytes(content[: len(content) // 2])


def damage_names(tree: WorkTree) -> None:
    tree.repository.pack()
    packed = tree.repository.path / "packed-refs"
    packed.write_bytes(packed.read_bytes() + b"\0\0\0 garbage")
    (tree.repository.path / "refs/trees/1").mkdir(parents=True, exist_ok=True)
    (tree.repository.path / "refs/trees/1" / ("1" * 40)).write_bytes(b"")


def damage(name: str) -> Callable[[WorkTree], None]:
    def damaged(tree: WorkTree) -> None:
        (tree.repository.path / name).write_bytes(b"\0garbage")

    return damaged


DAMAGES = {
    "contents": damage_contents,
    "one content": damage_one_content,
    "pack": damage_pack,
    "names": damage_names,
    **{name: damage(name) for name in ("HEAD", "config", "index")},
}


@pytest.mark.parametrize("what", DAMAGES)
def test_g06_a_damaged_repository_is_said_and_whole_again_at_the_next_start(
    tree: WorkTree, what: str
) -> None:
    (tree / "a").write_text("a1")
    first = tree.capture()
    (tree / "b").write_text("b1")
    second = tree.capture()
    DAMAGES[what](tree)
    (tree / "a").write_text("a2")
    for act in (lambda: again(tree).changes(first, second), lambda: read(tree, second)):
        with contextlib.suppress(SnapshotFailed):
            act()
    # Where neither has met it, keeping the files does.
    with contextlib.suppress(SnapshotFailed):
        again(tree).capture(day=1)
    repository = again(tree)
    third = repository.capture(day=1).tree
    (tree / "a").write_text("a3")
    fourth = again(tree).capture(day=1).tree
    assert [each.path for each in repository.changes(third, fourth)] == ["a"]
    with repository.contents() as contents:
        assert [contents.read(each.old.blob) for each in repository.changes(third, fourth) if each.old] == [
            b"a2"
        ]
    if what not in ("contents", "pack"):  # what was not damaged is there
        assert [each.path for each in repository.changes(first, third)] == ["a", "b"]
    assert not (repository.path / git_module.DOUBTFUL).exists()
    repository.forget(set(), before=2)
    assert subprocess.run([GIT, "fsck", "--full"], cwd=repository.path, capture_output=True).returncode == 0


def read(tree: WorkTree, snapshot: str) -> None:
    repository = again(tree)
    listed = repository._git.run("ls-tree", "-r", snapshot).split(b"\n")[:-1]
    with repository.contents() as contents:
        for line in listed:
            contents.read(line.split()[2].decode())


def test_g06_a_content_that_the_disk_gives_back_otherwise_is_never_restored(tree: WorkTree) -> None:
    import zlib

    (tree / "a").write_text("start")
    tree.begin()
    (tree / "a").write_text("turn")
    tree.end()
    steps = tree.plan()
    blob = steps[0].wanted
    assert blob is not None
    path = tree.repository.path / "objects" / blob.blob[:2] / blob.blob[2:]
    path.chmod(0o600)
    path.write_bytes(zlib.compress(b"blob 5\0other"))
    with pytest.raises(SnapshotFailed, match="is not in"):
        tree.go_back()
    assert (tree / "a").read_text() == "turn"


def test_g09_a_git_that_is_too_old_or_fails_is_said(tmp_path: Path, tree: WorkTree) -> None:
    place = tmp_path / "snapshots"
    for script, words in (
        ("echo git version 1.8.3", "git is too old: 2.20 or newer is needed"),
        ("echo 'fatal: it is broken' >&2; exit 128", "it is broken"),
        ("kill -9 $$", "git ended with -9"),
    ):
        with pytest.raises(SnapshotFailed, match=words):
            SnapshotRepository(program(tmp_path, script), place, tree.root).capture(day=1)
    assert SnapshotRepository(GIT, place, tree.root).capture(day=1).tree


def test_g02_a_git_that_hangs_is_ended_after_its_time_or_when_it_is_given_up(
    tmp_path: Path, tree: WorkTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs = program(tmp_path, f'case "$*" in *write-tree*|*cat-file*) sleep 600;; esac; exec {GIT} "$@"')
    repository = SnapshotRepository(hangs, tmp_path / "snapshots", tree.root)
    failed: list[SnapshotFailed] = []

    def capture() -> None:
        try:
            repository.capture(day=1)
        except SnapshotFailed as error:
            failed.append(error)

    working = threading.Thread(target=capture)
    working.start()
    repository.give_up()
    working.join(60)
    assert not working.is_alive() and len(failed) == 1
    monkeypatch.setattr(contents_module, "SECONDS", 0.1)
    with repository.contents() as contents, pytest.raises(SnapshotFailed, match="took longer"):
        contents.read("1" * 40)
    with pytest.raises(SnapshotFailed, match="took longer than 0 s"):
        SnapshotRepository(hangs, tmp_path / "others", tree.root)._git.run("write-tree", seconds=0.1)


def test_g02_a_git_that_is_slow_to_read_gets_all_that_it_is_to_read(tmp_path: Path, tree: WorkTree) -> None:
    slow = SnapshotRepository(program(tmp_path, "sleep 0.3; cat"), tmp_path / "snapshots", tree.root)
    slow.path.mkdir(parents=True)
    listed = b"path\0" * 100_000
    assert slow._git.run("update-index", stdin=listed) == listed


KILLED = """
import os, sys
from pathlib import Path
from catena_store.snapshots.repository import SnapshotRepository
children = []
for place in map(Path, sys.argv[1:]):
    if not (child := os.fork()):
        repository = SnapshotRepository(str(place / "git"), place / "snapshots", place / "tree")
        repository.capture(day=1)
        repository.pack()
        os._exit(0)
    children.append(child)
print(*(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))
"""


def test_g06_whatever_step_of_a_snapshot_it_is_killed_at_the_next_one_is_whole(tmp_path: Path) -> None:
    trees = []
    for number in range(1, 13):
        place = tmp_path / str(number)
        place.mkdir()
        tree = WorkTree(place)
        for name in ("one", "two"):
            (tree / name).write_text(name)
        # The git that it is killed at goes on without it.
        steps = place / "steps"
        program(
            place, f'echo >> {steps}; [ $(wc -l < {steps}) = {number} ] && kill -9 $PPID; exec {GIT} "$@"'
        )
        trees.append(tree)
    command = [sys.executable, "-c", KILLED, *(str(tree.root.parent) for tree in trees)]
    done = subprocess.run(command, capture_output=True, env=ENVIRONMENT, text=True, timeout=60)
    assert done.stdout.split() == ["-9"] * 12, done.stderr
    for tree in trees:
        taken = again(tree).capture(day=1).tree
        assert tree.repository._git.run("ls-tree", "--name-only", taken) == b"one\ntwo\n"
        assert taken == trees[0].capture()


FULL = """
import os, resource, sys
from pathlib import Path
from catena_store.errors import SnapshotFailed
from catena_store.snapshots import repository
from catena_store.snapshots.restoring import restore
from support.storage.work_trees import WorkTree
repository._LEAST_FREE = 0  # the disk may fill up
place = Path(sys.argv[1])
tree = WorkTree(place)
for name in ("a", "b", "c"):
    (tree / name).write_bytes(name.encode() * 100_000)
tree.begin()
for name in ("a", "b", "c"):
    (tree / name).write_bytes(b"turn")
tree.end()
steps = tree.plan()
if len(sys.argv) > 2:
    filler = (place / "filler").open("wb", buffering=0)
    try:
        while True:
            filler.write(bytes(4096))
    except OSError:
        pass
else:
    import signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, resource.RLIM_INFINITY))
try:
    restore(tree.repository, steps)
except SnapshotFailed as error:
    assert "No space left" in str(error) or "File too large" in str(error), error
else:
    raise AssertionError("there was room")
found = {path.name: path.read_bytes() for path in tree.root.iterdir()}
assert found.keys() == {"a", "b", "c"}, found.keys()
for name, content in found.items():
    assert content in (b"turn", name.encode() * 100_000), name
if len(sys.argv) > 2:
    with (tree / "a").open("r+b") as file:  # its place on the disk it has
        file.write(os.urandom(4))
    try:
        tree.capture()
    except SnapshotFailed:
        pass
    else:
        raise AssertionError("there was room")
    with (tree / "a").open("r+b") as file:
        file.write(b"turn")
    filler.close()
    (place / "filler").unlink()
else:
    (tree / "random").write_bytes(os.urandom(49_000))
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, resource.RLIM_INFINITY))
    try:
        tree.capture()
    except SnapshotFailed:
        pass
    else:
        raise AssertionError("there was room")
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
taken = tree.capture()
assert restore(tree.repository, steps) == []
assert {name: (tree / name).read_bytes() for name in "abc"} == {name: name.encode() * 100_000 for name in "abc"}
assert tree.repository.changes(tree.turns[0].after, taken) is not None
"""


@pytest.mark.parametrize("how", ["a small file system", "a limit on files"])
def test_g06_a_full_disk_leaves_files_whole_and_what_was_kept_useful(tmp_path: Path, how: str) -> None:
    run = [sys.executable, "-c", FULL, str(tmp_path)]
    if how == "a small file system":
        mounted = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-ec"]
        script = 'mount -t tmpfs -o size=1m none "$0"; '
        try:
            subprocess.run([*mounted, script, str(tmp_path)], check=True, capture_output=True, timeout=60)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("file systems may not be mounted here")
        run = [*mounted, f'{script} exec "$@"', str(tmp_path), *run, "full"]
    done = subprocess.run(run, env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
