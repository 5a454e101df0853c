"""Turns are taken out of files by merges: what others did to them since stays."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from catena_store.snapshots.merging import WithoutTurns, without_turns
from catena_store.snapshots.restoring import Why
from support.storage.work_trees import GIT, WorkTree

LINES = [f"{number}\n" for number in range(1, 31)]


@pytest.fixture
def tree(tmp_path: Path) -> WorkTree:
    return WorkTree(tmp_path)


def taken_out(tree: WorkTree) -> WithoutTurns:
    """Take the turns out of the files by the patch, as `git apply -R` does."""
    now = tree.capture()
    found = without_turns(tree.repository, tree.turns, now, unkept=tree.lacking)
    patch = tree.repository.patch(tree.repository.tree_with(now, found.entries), now, renames=True)
    if patch:
        done = subprocess.run([GIT, "apply", "-R", "-"], input=patch, cwd=tree.root, capture_output=True)
        assert done.returncode == 0, done.stderr
    return found


def write(tree: WorkTree, name: str, **changed: str) -> None:
    """Write thirty lines, of which some are others: ``_7="seven"``."""
    lines = [changed.get(f"_{number}", line[:-1]) + "\n" for number, line in enumerate(LINES, 1)]
    (tree / name).write_text("".join(lines))


def test_w29_lines_that_the_person_wrote_before_between_and_after_turns_stay(tree: WorkTree) -> None:
    write(tree, "a")
    tree.begin()
    write(tree, "a", _3="turn one")
    tree.end()
    write(tree, "a", _3="turn one", _12="mine")
    tree.begin()
    write(tree, "a", _3="turn one", _12="mine", _20="turn two")
    tree.end()
    write(tree, "a", _3="turn one", _12="mine", _20="turn two", _29="mine too")
    assert not taken_out(tree).left
    write(tree, "expected", _12="mine", _29="mine too")
    assert (tree / "a").read_text() == (tree / "expected").read_text()


@pytest.mark.parametrize("turns", [1, 2])
def test_w29_a_file_of_which_both_changed_the_same_lines_is_left_whole_and_named(
    tree: WorkTree, turns: int
) -> None:
    tree.begin()
    (tree / "notes.txt").write_text("agent\n")
    (tree / "other.txt").write_text("agent\n")
    tree.end()
    (tree / "notes.txt").write_text("agent\nmine\n")
    if turns == 2:
        tree.begin()
        (tree / "third.txt").write_text("agent\n")
        tree.end()
    assert taken_out(tree).left == {"notes.txt": Why.SAME_LINES}
    assert tree.files() == {"notes.txt": "agent\nmine\n"}


def test_w29_modes_links_executables_binaries_renames_and_deletions_are_taken_out_as_git_writes_them(
    tree: WorkTree,
) -> None:
    (tree / "tool").write_text("#!/bin/sh\n")
    (tree / "link").symlink_to("here")
    (tree / "picture").write_bytes(b"\0\1\2")
    (tree / "old").write_text("".join(LINES))
    (tree / "gone").write_text("gone\n")
    before = tree.files()
    tree.begin()
    (tree / "tool").chmod(0o755)
    (tree / "link").unlink()
    (tree / "link").symlink_to("there")
    (tree / "picture").write_bytes(b"\0\3\4")
    (tree / "old").rename(tree / "new name")
    (tree / "gone").unlink()
    (tree / "run").write_text("#!/bin/sh\n")
    (tree / "run").chmod(0o755)
    (tree / "ln").symlink_to("tool")
    tree.end()
    assert not taken_out(tree).left
    assert tree.files() == before


def test_w29_a_renamed_file_that_the_person_wrote_into_goes_back_with_their_lines_or_stays_with_both_names(
    tree: WorkTree,
) -> None:
    write(tree, "one")
    write(tree, "two")
    tree.begin()
    (tree / "one").unlink()
    write(tree, "first", _3="agent")
    (tree / "two").unlink()
    write(tree, "second", _3="agent")
    tree.end()
    write(tree, "first", _3="agent", _20="mine")
    write(tree, "second", _3="mine", _20="mine")
    found = taken_out(tree)
    assert found.left == {"two": Why.SAME_LINES, "second": Why.SAME_LINES}
    write(tree, "expected", _20="mine")
    assert tree.files().keys() == {"one", "second", "expected"}
    assert (tree / "one").read_text() == (tree / "expected").read_text()


def test_w29_what_the_person_deleted_made_anew_or_put_back_is_theirs(tree: WorkTree) -> None:
    for name in ("deleted", "back", "anew", "blocked"):
        write(tree, name)
    tree.begin()
    write(tree, "deleted", _3="agent")
    write(tree, "back", _3="agent")
    (tree / "anew").unlink()
    (tree / "blocked").unlink()
    (tree / "made").write_text("agent\n")
    tree.end()
    (tree / "deleted").unlink()
    write(tree, "back")
    (tree / "anew").write_text("mine\n")
    (tree / "made").unlink()
    (tree / "blocked").mkdir()
    (tree / "blocked/mine").write_text("mine\n")
    files = tree.files()
    assert taken_out(tree).left.keys() == {"deleted", "anew", "blocked"}
    assert tree.files() == files


@pytest.mark.parametrize("seed", range(12))
def test_w29_no_line_of_the_persons_goes_and_no_line_of_the_agents_stays_but_where_it_is_named(
    tree: WorkTree, seed: int
) -> None:
    chance = random.Random(seed)
    serial = 0

    def edit(whose: str) -> None:
        nonlocal serial
        for name in chance.sample(["a", "b", "c", "d/e"], 2):
            path = tree / name
            path.parent.mkdir(exist_ok=True)
            lines = path.read_text().splitlines(keepends=True) if path.exists() else []
            for _ in range(chance.randint(1, 3)):
                serial += 1
                at = chance.randint(0, len(lines))
                lines[at:at] = [f"{whose} {serial}\n"] + ["\n"] * chance.randint(0, 2)
                if chance.random() < 0.3 and lines:
                    del lines[chance.randrange(len(lines))]
            path.write_text("".join(lines))
            if chance.random() < 0.1:
                path.unlink()

    for name in ("a", "b"):
        (tree / name).write_text("".join(LINES))
    for _ in range(3):
        tree.begin()
        edit("agent")
        tree.end()
        if chance.random() < 0.7:
            edit("person")
    before = tree.files()
    found = taken_out(tree)
    after = tree.files()
    for name in before.keys() | after.keys():
        old, new = before.get(name, ""), after.get(name, "")
        if name in found.left:
            assert old == new
            continue
        theirs = [line for line in old.splitlines() if line.startswith("person")]
        assert [line for line in new.splitlines() if line in theirs] == theirs
        assert not [
            line for line in new.splitlines() if line.startswith("agent") and line in old.splitlines()
        ]
