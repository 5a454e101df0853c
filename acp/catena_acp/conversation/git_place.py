"""Where a directory stands in its git repository, read from the repository's own small files: git is not run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_MOST_BYTES = 4 * 1024 * 1024  # of a file that is read; packed references can be long
_MOST_LINKS = 5  # references that lead to references
_HEADS = "refs/heads/"


@dataclass(frozen=True, slots=True)
class GitPlace:
    """A work tree and what is checked out in it."""

    worktree: str  # its top directory
    branch: str | None  # None on a commit of no branch
    commit: str | None  # None before the first one


def git_place(directory: str) -> GitPlace | None:
    """The work tree that the directory is in; None where it is in none, or where that cannot be read. Blocks."""
    try:
        top = Path(directory).resolve()
        for place in (top, *top.parents):
            if (git := _git_directory(place / ".git")) is not None:
                return _read(place, git)
    except (OSError, RuntimeError, ValueError):
        return None
    return None


def _git_directory(dot_git: Path) -> Path | None:
    """The directory that `.git` is, or the one that it names in a work tree of its own."""
    if dot_git.is_dir():
        return dot_git if (dot_git / "HEAD").is_file() else None
    if not dot_git.is_file():
        return None
    named = _text(dot_git).removeprefix("gitdir:").strip()
    return (dot_git.parent / named).resolve() if named else None


def _read(worktree: Path, git: Path) -> GitPlace | None:
    head = _text(git / "HEAD").strip()
    common = git
    if (git / "commondir").is_file():
        common = (git / _text(git / "commondir").strip()).resolve()
    if not head.startswith("ref:"):
        return GitPlace(str(worktree), None, head) if _is_commit(head) else None
    reference = head.removeprefix("ref:").strip()
    branch = reference.removeprefix(_HEADS)
    return GitPlace(str(worktree), branch, _commit(git, common, reference))


def _commit(git: Path, common: Path, reference: str) -> str | None:
    for _ in range(_MOST_LINKS):
        if ".." in Path(reference).parts:
            return None
        loose = next((base / reference for base in (git, common) if (base / reference).is_file()), None)
        if loose is None:
            return _packed(common / "packed-refs", reference)
        said = _text(loose).strip()
        if not said.startswith("ref:"):
            return said if _is_commit(said) else None
        reference = said.removeprefix("ref:").strip()
    return None


def _packed(path: Path, reference: str) -> str | None:
    if not path.is_file():
        return None
    for line in _text(path).splitlines():
        commit, _, name = line.partition(" ")
        if name == reference and _is_commit(commit):
            return commit
    return None


def _is_commit(text: str) -> bool:
    return len(text) in (40, 64) and all(character in "0123456789abcdef" for character in text)


def _text(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(_MOST_BYTES).decode("utf-8", "replace")
