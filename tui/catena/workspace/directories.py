"""Directories as the person names them, and possible new places of one that is gone.

For a directory that is gone only files are read: `git worktree move` leaves the old name of a work tree and its new
place in its repository, and a repository that was moved whole has the former commit in its log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from catena.errors import CommandRefused, refusing_path

if TYPE_CHECKING:
    from catena_store.records import TurnEnvironment


def git_branch(directory: str) -> str:
    """The branch that a directory's repository is on, "" if there is none or its head is on no branch."""
    for folder in (Path(directory), *Path(directory).parents):
        head = folder / ".git"
        try:
            if head.is_file():  # of a worktree: where its own folder is
                head = folder / head.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
            elif not head.is_dir():
                continue
            _, is_branch, name = (head / "HEAD").read_text(encoding="utf-8").strip().partition("refs/heads/")
        except (OSError, UnicodeDecodeError, ValueError):
            return ""
        return name if is_branch else ""
    return ""


def is_directory(path: str) -> bool:
    """True if there is a directory at a path."""
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def existing_directory(named: str | None, *, base: str | None = None) -> str:
    """The absolute path, links resolved, of the directory that was named; of the current one if none was.

    A relative name counts from ``base``, or else from the current directory.

    Raises CommandRefused if there is no such directory.
    """
    with refusing_path(named or "the current directory"):
        path = (Path(base or ".") / Path(named or ".").expanduser()).resolve(strict=True)
    if not path.is_dir():
        raise CommandRefused(f"{named}: not a directory")
    try:
        str(path).encode()
    except UnicodeEncodeError as error:  # neither the protocol nor the store has a way to name it
        raise CommandRefused(f"{path}: the name is not UTF-8") from error
    return str(path)


def absolute_directory(named: str) -> str:
    """The absolute path, links resolved, of a directory that may be gone. Raises CommandRefused."""
    with refusing_path(named):
        return str(Path(named).expanduser().resolve())


_MOST_BYTES = 4 * 1024 * 1024  # of a log of a repository
_MOST_PLACES = 200  # directories that are looked at


@dataclass(frozen=True, slots=True)
class MovedDirectory:
    """A directory that may be the one that is gone, and why."""

    path: str
    why: str


def moved_directories(
    gone: str, last: TurnEnvironment | None, known: Sequence[str], here: str | None = None
) -> list[MovedDirectory]:
    """Where ``gone`` may be now, the surest first. Blocks.

    ``last`` is the environment of the conversation's last turn, ``known`` are directories of other conversations,
    ``here`` is the one that Catena was started in, and comes last.
    """
    found: dict[str, MovedDirectory] = {}
    places = list(dict.fromkeys((here, *known) if here else known))[:_MOST_PLACES]
    for each in _found(gone, last, places):
        if each.path != gone and is_directory(each.path):
            found.setdefault(each.path, each)
    if here and is_directory(here) and here != gone:
        found.setdefault(here, MovedDirectory(here, "where Catena was started"))
    return list(found.values())


def _found(gone: str, last: TurnEnvironment | None, places: Sequence[str]) -> Iterator[MovedDirectory]:
    if last is None or last.git_worktree is None:
        return
    top, within = _parts(gone, last.git_worktree)
    repositories = {common: tree for tree, common in _work_trees(places)}
    for common in repositories:
        if place := _moved_work_tree(common, top.name):
            yield MovedDirectory(str(place / within), "git moved the work tree there")
    if last.git_commit:
        for common, tree in repositories.items():
            if _has_seen(common, last.git_commit):
                yield MovedDirectory(str(tree / within), f"its repository has commit {last.git_commit[:10]}")


def _parts(gone: str, top: str) -> tuple[Path, Path]:
    """The work tree that a directory was in, and its place there; if it was not in that one, a work tree itself."""
    try:
        return Path(top), Path(gone).relative_to(top)
    except ValueError:  # the conversation went to another directory since
        return Path(gone), Path()


def _work_trees(places: Iterable[str]) -> Iterator[tuple[Path, Path]]:
    """The work trees that directories are in, with the common directory of each one's repository."""
    for place in places:
        for folder in (Path(place), *Path(place).parents):
            git = folder / ".git"
            try:
                if (git / "HEAD").is_file():
                    yield folder, git
                    break
                if git.is_file():
                    own = (folder / _read(git).removeprefix("gitdir:").strip()).resolve()
                    yield folder, (own / _read(own / "commondir").strip()).resolve()
                    break
            except OSError:
                break


def _moved_work_tree(common: Path, name: str) -> Path | None:
    """Where git has a linked work tree now that was added by this name."""
    try:
        return Path(_read(common / "worktrees" / name / "gitdir").strip()).parent
    except OSError:
        return None


def _has_seen(common: Path, commit: str) -> bool:
    """True if a commit is in a repository's log of what was checked out."""
    try:
        return commit in _read(common / "logs" / "HEAD")
    except OSError:
        return False


def _read(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(_MOST_BYTES).decode("utf-8", "surrogateescape")
