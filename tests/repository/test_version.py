"""The version comes from git's tags, and from nowhere else."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hatch_version import UNKNOWN, version


def git(place: Path, *arguments: str) -> str:
    person = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
    done = subprocess.run(["git", *person, *arguments], cwd=place, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A repository with two commits."""
    place = tmp_path / "source"
    place.mkdir()
    git(place, "init", "-q", ".")
    for said in ("Begin", "Go on"):
        git(place, "commit", "-q", "--allow-empty", "-m", said)
    return place


def commit(source: Path) -> str:
    return git(source, "rev-parse", "--short", "HEAD")


def test_before_the_first_tag_the_commits_are_counted(source: Path) -> None:
    assert version(source) == f"0.1.0.dev2+g{commit(source)}"


def test_a_tag_is_the_version_and_what_comes_behind_it_leads_to_the_next(source: Path) -> None:
    git(source, "tag", "v0.4.2")
    git(source, "tag", "unrelated")
    assert version(source) == "0.4.2"
    git(source, "commit", "-q", "--allow-empty", "-m", "Further")
    assert version(source) == f"0.4.3.dev1+g{commit(source)}"


def test_a_shallow_clone_says_that_it_does_not_know(source: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--depth", "1", source.as_uri(), "shallow")
    assert version(tmp_path / "shallow") == UNKNOWN


def test_an_unpacked_archive_has_the_version_that_it_was_made_with(source: Path, tmp_path: Path) -> None:
    inner = source / "unpacked"  # in somebody else's repository
    inner.mkdir()
    assert version(inner) == UNKNOWN
    (inner / "PKG-INFO").write_text("Metadata-Version: 2.4\nName: catena-chat\nVersion: 0.4.2\n")
    assert version(inner) == "0.4.2"
