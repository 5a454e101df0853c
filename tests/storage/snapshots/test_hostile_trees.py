"""Trees that are odd on purpose: nothing of them is run, nothing outside is touched, and what is kept comes back."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from catena_store.snapshots.repository import SnapshotRepository, case_counts
from catena_store.snapshots.restoring import Why, restore
from catena_store.snapshots.trees import LARGEST, LeftOutFile, LeftOutReason
from support.storage.work_trees import GIT, WorkTree


@pytest.fixture
def tree(tmp_path: Path) -> WorkTree:
    return WorkTree(tmp_path)


def git(*arguments: str | Path, cwd: Path) -> None:
    """The person's own git."""
    settings = ("-c", "user.name=me", "-c", "user.email=me@localhost", "-c", "protocol.file.allow=always")
    subprocess.run([GIT, *settings, *map(str, arguments)], cwd=cwd, check=True, capture_output=True)


def conflicts(tree: WorkTree) -> dict[str, Why | None]:
    return {step.path: step.conflict for step in tree.plan()}


def trap(place: Path) -> tuple[Path, Path]:
    """A program, and the file that tells that it ran."""
    program, ran = place / "program", place / "ran"
    program.write_text(f"#!/bin/sh\ntouch '{ran}'\ncat\n")
    program.chmod(0o755)
    return program, ran


def test_g09_files_under_a_large_file_filter_are_kept_as_they_lie_there_and_the_filter_is_not_run(
    tree: WorkTree, tmp_path: Path
) -> None:
    program, ran = trap(tmp_path)
    git("init", "-q", cwd=tree.root)
    for key in ("process", "clean", "smudge"):
        git("config", f"filter.lfs.{key}", program, cwd=tree.root)
    git("config", "filter.lfs.required", "true", cwd=tree.root)
    (tree / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n")
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 7\n"
    (tree / "pointer.bin").write_text(pointer)
    (tree / "real.bin").write_bytes(bytes(range(256)))
    tree.begin()
    (tree / "pointer.bin").write_bytes(b"fetched")
    (tree / "real.bin").unlink()
    tree.end()
    assert tree.go_back() == []
    assert (tree / "pointer.bin").read_text() == pointer
    assert (tree / "real.bin").read_bytes() == bytes(range(256))
    assert not ran.exists()


def test_g09_line_ends_encodings_and_ident_are_bytes_like_all_others(tree: WorkTree) -> None:
    (tree / ".gitattributes").write_text(
        "*.crlf text eol=crlf\n*.lf text eol=lf\n*.utf16 text working-tree-encoding=UTF-16LE-BOM\n*.id ident\n"
    )
    contents = {
        "a.crlf": b"one\ntwo\r\n",
        "a.lf": b"one\r\ntwo\n",
        "a.utf16": "é\r\n".encode("utf-16"),
        "not.utf16": b"\xff",
        "a.id": b"$Id: of somebody $",
    }
    for name, content in contents.items():
        (tree / name).write_bytes(content)
    tree.begin()
    for name in contents:
        (tree / name).write_bytes(b"changed\n")
    tree.end()
    assert tree.go_back() == []
    assert {name: (tree / name).read_bytes() for name in contents} == contents


def test_g09_submodules_are_left_out_and_nothing_in_them_changes(tree: WorkTree, tmp_path: Path) -> None:
    program, ran = trap(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    for place in (tree.root, other):
        git("init", "-q", cwd=place)
    (other / "theirs").write_text("theirs")
    git("add", "theirs", cwd=other)
    git("commit", "-qm", "one", cwd=other)
    git("submodule", "add", "-q", other, "sub", cwd=tree.root)
    for name in ("fsmonitor", "hooksPath"):
        git("config", f"core.{name}", program, cwd=tree / "sub")
    git("config", "submodule.sub.update", f"!{program}", cwd=tree.root)
    (tree / "mine").write_text("start")
    tree.begin()
    (tree / "mine").write_text("turn")
    (tree / "sub/theirs").write_text("turn")
    (tree / "sub/new").write_text("turn")
    tree.end()
    assert tree.lacking == {"sub"}
    assert tree.go_back() == []
    assert (tree / "mine").read_text() == "start"
    assert [(tree / "sub" / name).read_text() for name in ("theirs", "new")] == ["turn", "turn"]
    assert not ran.exists()


ODD_NAMES = [
    *(
        "'single'",
        '"double"',
        "back\\slash",
        "new\nline",
        "tab\t",
        " spaces ",
        "-rf",
        "--index-info",
        "*",
        ":(glob)**",
    ),
    *(
        "a",
        "A",
        "é",
        "e\u0301",
        "\udcff\udcfe",
        "x" * 255,
        "..data",
        "$(touch ran)",
        "HEAD",
        "#",
        "!not",
        "git~2",
    ),
]


@pytest.mark.skipif(sys.platform == "darwin", reason="its file systems do not take all of these apart")
def test_g09_names_of_every_kind_come_back(tree: WorkTree) -> None:
    for name in ODD_NAMES:
        (tree / name).write_text(name, "utf-8", "surrogateescape")
        folder = tree / f"of {name}"[:255]
        folder.mkdir()
        (folder / name).write_text("below")
    before = tree.files()
    assert len(before) == 2 * len(ODD_NAMES)
    tree.begin()
    for number, name in enumerate(ODD_NAMES):
        if number % 2:
            (tree / name).unlink()
        else:
            (tree / name).write_text("turn")
        (tree / f"of {name}"[:255] / name).rename(tree / f"moved {number}")
    tree.end()
    assert tree.go_back() == []
    assert {name: what for name, what in tree.files().items() if what != "(empty)"} == before


@pytest.mark.skipif(sys.platform == "darwin", reason="no path there is so long")
def test_g09_a_path_that_is_longer_than_the_system_takes_at_once_comes_back(tree: WorkTree) -> None:
    name, depth = "d" * 200, 19
    path = "/".join([name] * depth)  # with the root in front, over 4,096 bytes

    def at_the_end(write: str | None) -> str:
        place = os.open(tree.root, os.O_RDONLY)
        for _ in range(depth):
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, dir_fd=place)
            below = os.open(name, os.O_RDONLY, dir_fd=place)
            os.close(place)
            place = below
        try:
            if write is not None:
                with os.fdopen(
                    os.open("end", os.O_CREAT | os.O_TRUNC | os.O_WRONLY, dir_fd=place), "w"
                ) as out:
                    out.write(write)
                return write
            with os.fdopen(os.open("end", os.O_RDONLY, dir_fd=place)) as file:
                return file.read()
        finally:
            os.close(place)

    at_the_end("start")
    tree.begin()
    at_the_end("turn")
    tree.end()
    assert [step.path for step in tree.plan()] == [f"{path}/end"]
    assert tree.go_back() == []
    assert at_the_end(None) == "start"


def test_g09_what_poses_as_a_repository_does_not_stop_snapshots_and_is_never_written(tree: WorkTree) -> None:
    for name in (".GIT/hooks", "git~1", "below/.Git"):
        (tree / name).mkdir(parents=True)
        (tree / name / "file").write_text("start")
    (tree / "plain").write_text("start")
    tree.begin()
    for name in (".GIT/hooks/file", "git~1/file", "below/.Git/file", "plain"):
        (tree / name).write_text("turn")
    tree.end()
    assert tree.go_back() == []
    assert (tree / "plain").read_text() == "start"


def test_g09_sockets_pipes_and_devices_are_neither_opened_nor_removed(tree: WorkTree) -> None:
    (tree / "was").write_text("start")
    os.mkfifo(tree / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        here = os.open(tree.root, os.O_RDONLY)
        os.fchdir(here)  # a socket's path is short
        try:
            listening.bind("socket")
        finally:
            os.chdir("/")
            os.close(here)
        tree.begin()
        (tree / "was").unlink()
        os.mkfifo(tree / "was")
        tree.end()
        assert [step.path for step in restore(tree.repository, tree.plan())] == ["was"]
        assert all((tree / name).exists() for name in ("pipe", "socket")) and (tree / "was").is_fifo()


def test_g09_a_directory_that_becomes_a_link_is_not_followed_when_files_are_kept(
    tree: WorkTree, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (tree / "below").mkdir()
    (tree / "below/secret").write_text("start")
    tree.begin()
    (tree / "below/secret").unlink()
    (tree / "below").rmdir()
    (tree / "below").symlink_to(outside)
    tree.end()
    listed = tree.repository._git.run("ls-tree", "-r", "--name-only", tree.turns[0].after)
    assert listed == b"below\n"
    assert tree.go_back() == []
    assert (tree / "below/secret").read_text() == "start" and not (tree / "below").is_symlink()
    assert (outside / "secret").read_text() == "secret"


def test_g09_a_repository_that_appears_goes_on_being_kept_and_one_that_was_there_loses_nothing(
    tree: WorkTree,
) -> None:
    for name in ("between", "within", "gone"):
        (tree / name).mkdir()
        (tree / name / "file").write_text("start")
    git("init", "-q", cwd=tree / "gone")
    tree.begin()
    (tree / "between/file").write_text("turn")
    tree.end()
    git("init", "-q", cwd=tree / "between")
    tree.begin()
    git("init", "-q", cwd=tree / "within")
    (tree / "within/file").write_text("turn")
    (tree / "within/new").write_text("turn")
    (tree / "gone/.git").rename(tree.root.parent / "moved")
    tree.end()
    assert conflicts(tree) == {
        "between/file": None,
        "gone/file": Why.NOT_KEPT,
        "within/file": None,
        "within/new": None,
    }
    assert tree.go_back() == []
    found = {path: (tree / path).read_text() for path in ("between/file", "within/file", "gone/file")}
    assert set(found.values()) == {"start"} and not (tree / "within/new").exists()
    for name in ("between", "within"):
        git("status", cwd=tree / name)


def test_g09_what_was_there_but_ignored_or_too_large_is_not_taken_for_new(tree: WorkTree) -> None:
    (tree / ".gitignore").write_text("/secret\n/build/\n")
    for name in ("secret", "build/out", "open"):
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_text("mine")
    (tree / "shrinks").write_bytes(b"x" * (LARGEST + 1))
    (tree / "grows").write_text("mine")
    tree.begin()
    (tree / ".gitignore").write_text("/open\n")
    (tree / "shrinks").write_bytes(b"x")
    (tree / "grows").write_bytes(b"x" * (LARGEST + 1))
    (tree / "made").write_text("turn")
    tree.end()
    assert conflicts(tree) == {
        ".gitignore": None,
        "build/out": Why.NOT_KEPT,
        "grows": Why.IN_NO_SNAPSHOT,
        "made": None,
        "secret": Why.NOT_KEPT,
        "shrinks": Why.NOT_KEPT,
    }
    before = tree.files()
    steps = [step for step in tree.plan() if step.conflict is None]
    assert restore(tree.repository, steps) == []
    kept = {name: content for name, content in tree.files().items() if name != ".gitignore"}
    assert kept == {name: content for name, content in before.items() if name not in (".gitignore", "made")}
    assert restore(tree.repository, [step.reversed for step in steps]) == []
    assert tree.files() == before


def test_g09_what_the_persons_own_rules_ignored_when_the_turn_began_is_not_taken_for_new(
    tree: WorkTree,
) -> None:
    git("init", "-q", cwd=tree.root)
    (tree / ".git/info/exclude").write_text("secret\n")
    (tree / "secret").write_text("mine")
    tree.begin()
    (tree / ".git/info/exclude").write_text("!secret\n")
    (tree / "made").write_text("turn")
    tree.end()
    assert conflicts(tree) == {"made": None, "secret": Why.NOT_KEPT}
    assert tree.go_back() == [] and (tree / "secret").read_text() == "mine"


def test_g09_what_somebody_wrote_while_a_file_was_ignored_between_turns_is_left_alone(tree: WorkTree) -> None:
    (tree / "mine").write_text("kept\n")
    tree.begin()
    (tree / ".gitignore").write_text("mine\n")
    tree.end()
    tree.begin()
    (tree / "mine").write_text("written by me, and seen by no snapshot\n")
    (tree / ".gitignore").unlink()
    tree.end()
    assert [(step.path, step.conflict) for step in tree.plan()] == [("mine", Why.NOT_KEPT)]
    tree.go_back()
    assert (tree / "mine").read_text() == "written by me, and seen by no snapshot\n"


def test_g09_a_file_that_changes_while_it_is_read_stops_no_snapshot(tree: WorkTree) -> None:
    (tree / "steady").write_text("steady")
    over = threading.Event()

    def write() -> None:
        while not over.is_set():
            for size in (4_000_000, 10, 2_000_000):
                (tree / "log").write_bytes(b"x" * size)

    (tree / "log").write_bytes(b"x")
    writing = threading.Thread(target=write)
    writing.start()
    try:
        taken = [tree.repository.capture(day=1) for _ in range(5)]
    finally:
        over.set()
        writing.join()
    for each in taken:
        assert set(each.left_out) <= {LeftOutFile("log", LeftOutReason.UNREADABLE)}
        listed = tree.repository._git.run("ls-tree", "--name-only", each.tree).split()
        assert b"steady" in listed


UNPRIVILEGED = """
import ctypes, os, sys
from pathlib import Path
if os.geteuid() == 0:  # what root may do all the same goes with the next program
    library = ctypes.CDLL(None)
    for capability in (1, 2):
        library.prctl(24, capability, 0, 0, 0)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
IN_CLOSED_PLACES = """
import os, sys
from pathlib import Path
from catena_store.errors import SnapshotFailed
from catena_store.snapshots.restoring import Why, restore
from support.storage.work_trees import WorkTree
tree = WorkTree(Path(sys.argv[1]))
for name in ("open", "secret", "closed/file", "fixed/file"):
    (tree / name).parent.mkdir(exist_ok=True)
    (tree / name).write_text("start")
(tree / "secret").chmod(0)
(tree / "closed").chmod(0)
tree.begin()
assert tree.lacking == {"secret", "closed"}, tree.lacking
(tree / "secret").chmod(0o600)
(tree / "closed").chmod(0o700)
for name in ("open", "secret", "closed/file", "fixed/file"):
    (tree / name).write_text("turn")
tree.end()
steps = {step.path: step for step in tree.plan()}
assert {path: step.conflict for path, step in steps.items()} == {
    "closed/file": Why.NOT_KEPT, "fixed/file": None, "open": None, "secret": Why.NOT_KEPT
}, steps
(tree / "fixed").chmod(0o500)
try:
    restore(tree.repository, [steps["fixed/file"]])
except SnapshotFailed as error:
    assert "fixed/file" in str(error)
else:
    raise AssertionError("it was written")
assert os.listdir(tree / "fixed") == ["file"] and (tree / "fixed/file").read_text() == "turn"
(tree / "fixed").chmod(0o700)
assert restore(tree.repository, [steps["fixed/file"], steps["open"]]) == []
assert (tree / "fixed/file").read_text() == (tree / "open").read_text() == "start"
tree.root.chmod(0o500)
tree.capture()
"""


def test_g09_what_cannot_be_read_or_written_is_named_and_whole(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", UNPRIVILEGED, "-c", IN_CLOSED_PLACES, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


def test_g09_linked_work_trees_of_one_repository_are_kept_apart(tmp_path: Path) -> None:
    main, linked = tmp_path / "main", tmp_path / "linked"
    main.mkdir()
    git("init", "-q", cwd=main)
    git("commit", "-q", "--allow-empty", "-m", "one", cwd=main)
    git("worktree", "add", "-q", linked, cwd=main)
    assert (linked / ".git").is_file()
    kept = []
    for place in (main, linked):
        repository = SnapshotRepository(GIT, tmp_path / "snapshots", place)
        (place / "file").write_text(place.name)
        kept.append((repository, repository.capture(day=1)))
    (first, taken), (second, other) = kept
    assert first.path != second.path and taken.tree != other.tree
    assert taken.left_out == other.left_out == ()
    assert (linked / ".git").is_file()


def test_g09_whether_case_counts_is_told_from_what_is_there(tmp_path: Path) -> None:
    assert case_counts(tmp_path / "gone") and case_counts(tmp_path)
    (tmp_path / "1").touch()
    assert case_counts(tmp_path)
    (tmp_path / "name").touch()
    assert case_counts(tmp_path) != (tmp_path / "NAME").exists()
    with contextlib.suppress(FileExistsError):
        (tmp_path / "NAME").hardlink_to(tmp_path / "name")
        assert case_counts(tmp_path), "two names of one file are two files"


@pytest.mark.parametrize("name", ["d/a", "a"])
def test_g09_where_case_does_not_count_a_file_that_was_renamed_to_its_own_name_is_never_lost(
    tree: WorkTree, name: str
) -> None:
    (tree / ".git").mkdir()
    if case_counts(tree.root):
        pytest.skip("case counts in this file system")
    (tree / name).parent.mkdir(exist_ok=True)
    (tree / name).write_text("one\n")
    tree.begin()
    (tree / name.split("/")[0]).rename(tree / name.split("/")[0].upper())
    tree.end()
    assert tree.go_back() == [] and (tree / name).read_text() == "one\n"
    (tree / name).write_text("two\n")
    tree.end()
    assert tree.go_back() == [] and (tree / name).read_text() == "one\n"
