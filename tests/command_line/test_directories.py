"""Directories and times as a person reads them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from catena.text.formats import from_home, time_or_day
from catena.workspace.directories import git_branch

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC).astimezone()


@pytest.mark.parametrize(
    ("then", "words"),
    [
        (NOW - timedelta(hours=2), f"{NOW - timedelta(hours=2):%H:%M}"),
        (NOW + timedelta(days=1), f"{NOW:%H:%M}"),
        (NOW - timedelta(days=1), "yesterday"),
        (NOW - timedelta(days=4), "Thursday"),
        (NOW - timedelta(days=7), "16 Nov"),
        (NOW - timedelta(days=365), "2025-11-23"),
    ],
)
def test_a_time_is_told_by_how_long_ago_it_was(then: datetime, words: str) -> None:
    assert time_or_day(then.astimezone(UTC), NOW) == words


def test_a_directory_below_the_home_begins_with_a_tilde(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/her")
    told = [from_home(path) for path in ("/home/her", "/home/her/shop", "/home/hers", "/")]
    assert told == ["~", "~/shop", "/home/hers", "/"]


def test_the_branch_of_a_directory_is_that_of_the_repository_around_it(tmp_path: Path) -> None:
    below = tmp_path / "shop" / "src"
    below.mkdir(parents=True)
    git = tmp_path / "shop" / ".git"
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/fix/login\n")
    assert git_branch(str(below)) == "fix/login"
    (git / "HEAD").write_text("3f786850e387550fdab836ed7e6dc881de23001b\n")
    assert git_branch(str(below)) == ""
    (git / "HEAD").unlink()
    assert git_branch(str(below)) == ""
    worktree = tmp_path / "beside"
    worktree.mkdir()
    (worktree / ".git").write_text("gitdir: ../shop/.git/worktrees/beside\n")
    (git / "worktrees" / "beside").mkdir(parents=True)
    (git / "worktrees" / "beside" / "HEAD").write_text("ref: refs/heads/main\n")
    assert git_branch(str(worktree)) == "main"
