"""The files of a directory are kept as they are, whatever its own repository would make of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from catena_store.errors import SnapshotFailed
from catena_store.snapshots.repository import SnapshotRepository, work_tree
from catena_store.snapshots.tidying import measure_roots
from catena_store.snapshots.trees import LARGEST, LeftOutFile, LeftOutReason
from support.storage.work_trees import GIT, WorkTree


@pytest.fixture
def tree(tmp_path: Path) -> WorkTree:
    return WorkTree(tmp_path)


def git(*arguments: str | Path, cwd: Path) -> str:
    """The person's own git."""
    settings = ("-c", "user.name=me", "-c", "user.email=me@localhost", "-c", "commit.gpgSign=false")
    done = subprocess.run(
        [GIT, *settings, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, check=True
    )
    return done.stdout


def paths(tree: WorkTree, old: str, new: str) -> set[str]:
    return {change.path for change in tree.repository.changes(old, new)}


def everything(tree: WorkTree) -> set[str]:
    """The paths of a snapshot of now."""
    taken = tree.capture()
    return set(tree.repository._git.run("ls-tree", "-r", "--name-only", taken).decode().split())


def test_g01_untracked_and_tracked_files_count_and_ignored_ones_never(
    tree: WorkTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tmp_path / "all-ignored").write_text("*.everywhere\n")
    (tmp_path / ".gitconfig").write_text(f"[core]\n\texcludesFile = {tmp_path / 'all-ignored'}\n")
    git("init", "-q", cwd=tree.root)
    (tree / ".git/info/exclude").write_text("*.mine\n")
    (tree / ".gitignore").write_text("*.tree\n")
    for name in ("tracked", "new", "no.tree", "no.mine", "no.everywhere"):
        (tree / name).write_text(name)
    git("add", "tracked", cwd=tree.root)
    assert everything(tree) == {".gitignore", "tracked", "new"}
    (tree / ".gitignore").write_text("*.tree\nnew\n")
    assert everything(tree) == {".gitignore", "tracked"}


def test_g01_the_persons_repository_is_as_it_was(tree: WorkTree) -> None:
    git("init", "-q", cwd=tree.root)
    (tree / "staged").write_text("staged")
    git("add", "staged", cwd=tree.root)
    git("commit", "-qm", "one", cwd=tree.root)
    (tree / "staged").write_text("changed")

    def state() -> dict[str, bytes]:
        files = (path for path in (tree / ".git").rglob("*") if path.is_file())
        return {str(path): path.read_bytes() for path in files}

    before = state()
    tree.begin()
    (tree / "staged").write_text("again")
    tree.end()
    tree.go_back()
    assert state() == before
    assert (tree / "staged").read_text() == "changed"


def test_g09_nothing_that_a_tree_names_is_run_and_every_byte_comes_back(
    tree: WorkTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch '{ran}'\ncat\n")
    program.chmod(0o755)
    for place in (tree.root, tree / "nested"):
        place.mkdir(exist_ok=True)
        git("init", "-q", cwd=place)
        for name in ("core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "diff.evil.command"):
            git("config", name, program, cwd=place)
        git("config", "diff.evil.textconv", program, cwd=place)
        git("config", "core.hooksPath", tmp_path, cwd=place)
    for hook in ("post-index-change", "pre-commit", "reference-transaction"):
        (tmp_path / hook).symlink_to(program)
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(program))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    (tree / ".gitattributes").write_text("* text=auto eol=crlf filter=evil diff=evil ident\n")
    (tree / ".gitmodules").write_text(
        '[submodule "x"]\n\tpath = nested\n\turl = ext::touch\n\tupdate = !touch\n'
    )
    contents = {b"dos": b"a\r\nb\r\n", b"unix": b"a\nb\n", b"ident": b"$Id$\n", b"\xff\nodd": b"\0\xff"}
    for odd, content in contents.items():
        (tree.root / os.fsdecode(odd)).write_bytes(content)
    os.mkfifo(tree / "pipe")
    (tree / "out").symlink_to("/etc/passwd")
    tree.begin()
    for odd in contents:
        (tree.root / os.fsdecode(odd)).write_bytes(b"other")
    (tree / "out").unlink()
    tree.end()
    assert tree.repository.line_counts(tree.turns[0].before, tree.turns[0].after)
    assert tree.go_back() == []
    assert {name: (tree.root / os.fsdecode(name)).read_bytes() for name in contents} == contents
    assert (tree / "out").readlink() == Path("/etc/passwd")
    assert not ran.exists() and not (tmp_path / "index").exists()


def test_g02_what_is_too_large_or_a_repository_of_its_own_is_named_and_left_out(tree: WorkTree) -> None:
    (tree / "kept").write_bytes(b"x" * LARGEST)
    (tree / "grows").write_bytes(b"x")
    (tree / "large").write_bytes(b"x" * (LARGEST + 1))
    (tree / "nested").mkdir()
    git("init", "-q", cwd=tree / "nested")
    (tree / "nested/file").write_text("theirs")
    left_out = tree.repository.capture(day=1).left_out
    assert set(left_out) == {
        LeftOutFile("large", LeftOutReason.TOO_LARGE),
        LeftOutFile("nested", LeftOutReason.REPOSITORY),
    }
    assert everything(tree) == {"kept", "grows"}
    (tree / "grows").write_bytes(b"x" * (LARGEST + 1))
    assert everything(tree) == {"kept"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_g02_what_cannot_be_read_is_left_out(tree: WorkTree) -> None:
    (tree / "secret").write_text("x")
    (tree / "secret").chmod(0)
    assert tree.repository.capture(day=1).left_out == (LeftOutFile("secret", LeftOutReason.UNREADABLE),)


def test_g01_work_trees_and_subdirectories_have_one_root_and_what_is_no_repository_is_its_own(
    tmp_path: Path,
) -> None:
    main, other, plain = (tmp_path / name for name in ("main", "other", "plain"))
    for place in (main, plain):
        place.mkdir()
    git("init", "-q", cwd=main)
    git("commit", "-q", "--allow-empty", "-m", "one", cwd=main)
    (main / ".git/info/exclude").write_text("ignored\n")
    git("worktree", "add", "-q", other, cwd=main)
    (main / "below").mkdir()
    assert [work_tree(place) for place in (main / "below", other, plain)] == [main, other, plain]
    (other / "ignored").write_text("x")
    (other / "kept").write_text("x")
    repository = SnapshotRepository(GIT, tmp_path / "snapshots", other)
    listed = repository._git.run("ls-tree", "--name-only", repository.capture(day=1).tree)
    assert listed == b"kept\n"


def test_g01_two_processes_keep_the_same_directory_one_after_the_other(tree: WorkTree) -> None:
    for number in range(50):
        (tree / str(number)).write_text(str(number))
    code = (
        "import sys; from pathlib import Path; from catena_store.snapshots.repository import SnapshotRepository\n"
        "r = SnapshotRepository(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))\n"
        "print(*{r.capture(day=1).tree for _ in range(5)})"
    )
    command = [sys.executable, "-c", code, GIT, str(tree.repository.path.parent), str(tree.root)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert {process.communicate(timeout=60)[0].strip() for process in running} == {tree.capture()}


def test_g01_what_a_killed_git_left_does_not_stop_the_next(tree: WorkTree) -> None:
    (tree / "one").write_text("one")
    first = tree.capture()
    (tree / "two").write_text("two")
    second = SnapshotRepository(GIT, tree.root.parent / "other", tree.root).capture(day=1).tree
    for name in ("index", "packed-refs", "HEAD", "config", f"refs/trees/1/{second}"):
        (tree.repository.path / f"{name}.lock").write_bytes(b"half")
    assert paths(tree, first, tree.capture()) == {"two"}


def test_g02_snapshots_that_no_turn_refers_to_are_let_go_of(tree: WorkTree) -> None:
    (tree / "one").write_bytes(os.urandom(200_000))
    kept = tree.capture()
    (tree / "two").write_bytes(os.urandom(300_000))
    gone = tree.capture()
    (tree / "two").unlink()
    (tree / "three").write_text("three")
    recent = tree.repository.capture(day=5).tree
    tree.repository.pack()
    size = tree.repository.size()
    assert 300_000 < tree.repository.exclusive({kept}, before=5) < 310_000
    assert tree.repository.exclusive({kept, gone, recent}) == 0
    store = tree.root.parent / "catena.db"  # the snapshots are beside it
    assert measure_roots(store, [str(tree.root), "/no/root"], {kept, recent}, seconds=60) > 290_000
    tree.repository.forget({kept}, before=5)
    assert size - tree.repository.size() > 290_000
    assert paths(tree, kept, recent) == {"three"}
    with pytest.raises(SnapshotFailed):
        tree.repository.changes(kept, gone)


def test_g01_a_root_that_cannot_be_kept_says_why(tmp_path: Path) -> None:
    tree = WorkTree(tmp_path)
    tree.repository.path.parent.write_text("a file is in the way")
    with pytest.raises(SnapshotFailed, match="cannot be written"):
        tree.capture()
    with pytest.raises(SnapshotFailed, match="git could not be run"):
        SnapshotRepository("/no/git", tmp_path / "other", tree.root).capture(day=1)
