"""Files go back to what they were before some turns, and nothing of anybody else's goes with them."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from catena_store.errors import SnapshotFailed
from catena_store.snapshots.restoring import RestoreStep, TurnSnapshots, Why, plan, restore
from catena_store.snapshots.trees import LARGEST
from support.storage.work_trees import WorkTree


@pytest.fixture
def tree(tmp_path: Path) -> WorkTree:
    return WorkTree(tmp_path)


def test_g04_edits_new_files_deletions_renames_modes_and_links_come_back(tree: WorkTree) -> None:
    (tree / "edited").write_text("one\n")
    (tree / "deleted").write_text("gone\n")
    (tree / "old name").write_text("same\n" * 9)
    (tree / "script").write_text("#!/bin/sh\n")
    (tree / "script").chmod(0o755)
    (tree / "link").symlink_to("edited")
    before = tree.files()
    tree.begin()
    (tree / "edited").write_text("two\n")
    (tree / "deleted").unlink()
    (tree / "new/deep").mkdir(parents=True)
    (tree / "new/deep/file").write_text("new\n")
    (tree / "old name").rename(tree / "new/name")
    (tree / "script").chmod(0o644)
    (tree / "link").unlink()
    (tree / "link").symlink_to("script")
    tree.end()
    after = tree.files()
    assert {step.path for step in tree.plan()} == {
        *("edited", "deleted", "old name", "new/name", "new/deep/file", "script", "link")
    }
    steps = tree.plan()
    assert restore(tree.repository, steps) == []
    assert tree.files() == before
    assert restore(tree.repository, [step.reversed for step in steps]) == []
    assert tree.files() == after


def test_g04_a_file_and_a_directory_take_each_others_place_and_go_back(tree: WorkTree) -> None:
    (tree / "a").write_text("file\n")
    (tree / "b").mkdir()
    (tree / "b/inside").write_text("inside\n")
    before = tree.files()
    tree.begin()
    (tree / "a").unlink()
    (tree / "a").mkdir()
    (tree / "a/inside").write_text("inside\n")
    (tree / "b/inside").unlink()
    (tree / "b").rmdir()
    (tree / "b").write_text("file\n")
    tree.end()
    assert tree.go_back() == []
    assert tree.files() == before


def test_g04_an_empty_directory_in_the_place_of_a_file_makes_room_and_one_with_a_file_does_not(
    tree: WorkTree,
) -> None:
    (tree / ".gitignore").write_text("*.ignored\n")
    for name in ("empty", "full"):
        (tree / name).write_text("start\n")
    tree.begin()
    for name in ("empty", "full"):
        (tree / name).unlink()
        (tree / name / "below").mkdir(parents=True)
    tree.end()
    (tree / "full/below/mine.ignored").write_text("mine\n")
    assert [step.path for step in tree.go_back()] == ["full"]
    assert tree.files() == {
        ".gitignore": "*.ignored\n",
        "empty": "start\n",
        "full/below/mine.ignored": "mine\n",
    }


def test_g04_what_somebody_else_changed_is_named_and_left(tree: WorkTree) -> None:
    for name in ("since", "between", "before", "untouched", "theirs"):
        (tree / name).write_text("start\n")
    tree.begin()
    for name in ("since", "between", "untouched"):
        (tree / name).write_text("first turn\n")
    tree.end()
    (tree / "between").write_text("somebody\n")
    (tree / "before").write_text("somebody, before the agent came to it\n")
    (tree / "theirs").write_text("somebody\n")
    tree.begin()
    (tree / "before").write_text("second turn\n")
    tree.end()
    (tree / "since").write_text("somebody\n")
    conflicts = {step.path: step.conflict for step in tree.plan()}
    assert conflicts == {
        "since": Why.CHANGED_SINCE,
        "between": Why.CHANGED_BETWEEN,
        "before": None,
        "untouched": None,
    }
    assert tree.go_back() == []
    assert tree.files() == {
        "since": "somebody\n",
        "between": "somebody\n",
        "before": "somebody, before the agent came to it\n",
        "untouched": "start\n",
        "theirs": "somebody\n",
    }


def test_g04_a_file_that_changes_after_the_plan_is_not_written_over(tree: WorkTree) -> None:
    (tree / "one").write_text("start\n")
    tree.begin()
    (tree / "one").write_text("turn\n")
    (tree / "two").write_text("turn\n")
    tree.end()
    steps = tree.plan()
    (tree / "one").write_text("just now\n")
    (tree / "two").unlink()
    (tree / "two").mkdir()
    assert [step.path for step in restore(tree.repository, steps)] == ["two", "one"]
    assert tree.files() == {"one": "just now\n", "two": "(empty)"}


def test_g06_whatever_step_it_is_killed_at_the_same_steps_finish_it_or_undo_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    calls = 0
    for name in ("rename", "unlink", "open", "symlink", "mkdir", "rmdir", "fsync"):
        real = getattr(os, name)

        def counted(*given: object, real: object = real, **named: object) -> object:
            nonlocal calls
            calls -= 1
            if calls == 0:
                raise Killed
            return real(*given, **named)  # type: ignore[operator]

        monkeypatch.setattr(os, name, counted)
    calls = -1
    tree = WorkTree(tmp_path)
    (tree / "edited").write_text("one\n")
    (tree / "gone/from").mkdir(parents=True)
    (tree / "gone/from/here").write_text("x\n")
    (tree / "link").symlink_to("edited")
    before = tree.files()
    tree.begin()
    (tree / "edited").write_text("two\n")
    (tree / "gone/from/here").unlink()
    (tree / "gone/from").rmdir()
    (tree / "gone").rmdir()
    (tree / "link").unlink()
    (tree / "new/place").mkdir(parents=True)
    (tree / "new/place/file").write_text("new\n")
    tree.end()
    after, steps, copy = tree.files(), tree.plan(), tmp_path / "copy"
    shutil.copytree(tree.root, copy, symlinks=True)
    for number in range(1, 200):
        shutil.rmtree(tree.root)
        shutil.copytree(copy, tree.root, symlinks=True)
        calls = number
        try:
            restore(tree.repository, steps)
        except Killed:
            calls = -1
        else:
            assert number > 20, "it was killed at every step"
            break
        for name, content in tree.files().items():
            temporary = Path(name).name.startswith(".catena-restore-")
            assert temporary or content == "(empty)" or content in (before.get(name), after.get(name)), name
        if number % 2:
            assert restore(tree.repository, steps) == []
            assert tree.files() == before
        else:
            assert restore(tree.repository, [step.reversed for step in steps]) == []
            assert {name: what for name, what in tree.files().items() if what != "(empty)"} == after
    else:
        pytest.fail("it never came to its end")


def test_g09_nothing_is_written_through_a_link_that_took_the_place_of_a_directory(
    tree: WorkTree, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tree / "below").mkdir()
    (tree / "below/file").write_text("start\n")
    (tree / "below/lost").write_text("start\n")
    tree.begin()
    (tree / "below/file").write_text("turn\n")
    (tree / "below/lost").unlink()
    tree.end()
    steps = tree.plan()
    (tree / "below").rename(tmp_path / "moved")
    (tree / "below").symlink_to(outside)
    (outside / "file").write_text("turn\n")
    assert {step.path for step in restore(tree.repository, steps)} == {"below/file", "below/lost"}
    assert [path.read_text() for path in outside.iterdir()] == ["turn\n"]


def test_g04_a_file_keeps_who_may_read_it(tree: WorkTree) -> None:
    (tree / "secret").write_text("start\n")
    (tree / "secret").chmod(0o600)
    tree.begin()
    (tree / "secret").write_text("turn\n")
    tree.end()
    tree.go_back()
    assert stat.S_IMODE((tree / "secret").stat().st_mode) == 0o600


def test_g06_a_disk_that_is_full_leaves_every_file_whole(
    tree: WorkTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        (tree / name).write_text("start\n")
    tree.begin()
    for name in ("a", "b"):
        (tree / name).write_text("turn\n")
    tree.end()
    steps = tree.plan()
    done: list[RestoreStep] = []

    def full(step: RestoreStep) -> None:
        done.append(step)
        monkeypatch.setattr(os, "fsync", no_space)

    def no_space(file: int) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(SnapshotFailed, match="b: No space left"):
        restore(tree.repository, steps, done=full)
    assert tree.files() == {"a": "start\n", "b": "turn\n"}
    monkeypatch.undo()
    assert restore(tree.repository, steps) == []
    assert tree.files() == {"a": "start\n", "b": "start\n"}


def test_g10_what_is_not_surely_the_turns_is_named_where_they_are_entered_as_where_they_are_left(
    tree: WorkTree,
) -> None:
    (tree / "mine").write_text("mine\n")
    start = tree.capture()
    (tree / "agent").write_text("agent\n")
    (tree / "both").write_text("agent\n")
    certain = tree.capture()
    (tree / "other").write_text("another agent\n")
    other = tree.capture()
    (tree / "mine").unlink()
    (tree / "person").write_text("person\n")
    first = TurnSnapshots(start, tree.capture(), certain, shared=((certain, other, Why.AT_WORK_TOO),))
    (tree / "both").write_text("person\n")
    before = tree.capture()
    (tree / "last").write_text("agent\n")
    second = TurnSnapshots(before, tree.capture())
    named = {
        "both": Why.CHANGED_BETWEEN,
        "mine": Why.KEPT_LATER,
        "other": Why.KEPT_LATER,
        "person": Why.KEPT_LATER,
        **dict.fromkeys(("agent", "last")),
    }
    leaving = plan(tree.repository, [first, second], tree.capture())
    assert {step.path: step.conflict for step in leaving} == named
    restore(tree.repository, leaving)
    assert tree.files() == {"mine": "mine\n"}
    entering = plan(tree.repository, [], tree.capture(), [first, second])
    assert {step.path: step.conflict for step in entering} == named
    shared = ((certain, other, Why.AT_WORK_TOO),)
    alone = plan(tree.repository, [], tree.capture(), [TurnSnapshots(start, other, shared=shared)])
    assert {step.path: step.conflict for step in alone} == {
        "agent": None,
        "both": None,
        "other": Why.AT_WORK_TOO,
    }


def test_g10_what_a_later_entered_turn_had_found_is_not_taken_for_what_is_there_now(tree: WorkTree) -> None:
    tree.begin()
    (tree / "a").write_text("of the first\n")
    tree.end()
    (tree / "c").write_text("someone else's\n")
    tree.begin()
    (tree / "c").write_text("of the second\n")
    tree.end()
    for name in ("a", "c"):
        (tree / name).unlink()
    steps = plan(tree.repository, [], tree.capture(), tree.turns)
    assert {step.path: (step.now, step.conflict) for step in steps} == {
        "a": (None, None),
        "c": (None, Why.CHANGED_SINCE),
    }
    assert restore(tree.repository, steps) == []
    assert tree.files() == {"a": "of the first\n", "c": "of the second\n"}


def test_g04_what_is_in_no_snapshot_is_named_and_cannot_be_chosen(tree: WorkTree) -> None:
    (tree / "grew").write_text("small\n")
    tree.begin()
    (tree / "grew").write_text("turn\n")
    (tree / "made").write_bytes(bytes(LARGEST + 1))
    tree.end()
    (tree / "grew").write_bytes(bytes(LARGEST + 1))
    now = tree.capture()
    steps = plan(tree.repository, tree.turns, now, unkept=tree.lacking, made={"made"})
    assert {step.path: (step.conflict, step.possible) for step in steps} == {
        "grew": (Why.IN_NO_SNAPSHOT, False),
        "made": (Why.IN_NO_SNAPSHOT, False),
    }


def test_g04_what_comes_back_belongs_to_whom_it_belonged(tree: WorkTree) -> None:
    if os.geteuid():
        pytest.skip("only root may give files away")
    for name in ("there", "gone"):
        (tree / name).write_text("start\n")
        os.chown(tree / name, 1234, 5678)
    (tree / "deep").mkdir()
    (tree / "deep/inside").symlink_to("there")
    os.chown(tree / "deep", 1234, 5678)
    tree.begin()
    (tree / "there").write_text("turn\n")
    (tree / "gone").unlink()
    shutil.rmtree(tree / "deep")
    tree.end()
    os.chown(tree.root, 1234, 5678)
    tree.go_back()
    for name in ("there", "gone", "deep", "deep/inside"):
        found = (tree / name).lstat()
        assert (name, found.st_uid, found.st_gid) == (name, 1234, 5678)
