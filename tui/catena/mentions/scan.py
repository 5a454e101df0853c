"""The files below a directory: git's where it has any, else all but what every tool skips. Blocks."""

from __future__ import annotations

import os
import select
import stat
import subprocess
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MOST_FILES = 200_000  # of all directories of a conversation
_CHUNK = 1 << 16  # bytes
_LOOK = 0.1  # seconds until it is looked whether the scan is to end
# What tools make for themselves, and nobody mentions; only where git does not say what is ignored.
_SKIPPED = frozenset(
    (
        *(
            ".git",
            ".hg",
            ".svn",
            ".DS_Store",
            ".cache",
            ".eggs",
            ".gradle",
            ".next",
            ".nox",
            ".terraform",
            ".tox",
        ),
        *(".mypy_cache", ".pytest_cache", ".ruff_cache", "__pycache__", ".venv", "venv", "node_modules"),
    )
)
# A repository's own settings may name a program that git runs for a listing.
_GIT = ("git", "-c", "core.fsmonitor=false")
_OF_ANOTHER_PLACE = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"})
_LISTINGS = (("--cached",), ("--others", "--exclude-standard"))  # what is tracked comes at once


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file below a root, by its path from there; that of a directory of another repository ends with a slash."""

    path: str
    changed_at: float


def files_below(
    root: str, *, inside: Callable[[str], bool], stopped: Callable[[], bool]
) -> Iterator[FoundFile]:
    """The files below ``root``, each once: those of its git work tree and of those in it, else all.

    ``inside`` says whether a link leads to a place that may be offered; ``stopped`` ends it early. Names that a
    prompt could not mention are left out. Directories that cannot be read are skipped.
    """
    yield from _listed(f"{root.rstrip('/')}/", "", inside, stopped)


def _listed(
    root: str, below: str, inside: Callable[[str], bool], stopped: Callable[[], bool]
) -> Iterator[FoundFile]:
    """The files that git knows below a directory; those that a walk finds where git knows none."""
    seen: set[str] = set()
    nested: list[str] = []
    for name in _tracked_and_new(root + below, stopped):
        path = below + name
        if path in seen:
            continue
        seen.add(path)
        if path.endswith("/"):
            nested.append(path)
            continue
        try:
            found = os.lstat(root + path)
        except OSError:  # deleted, and still in git's index
            continue
        if stat.S_ISDIR(found.st_mode):  # a submodule
            nested.append(f"{path}/")
        elif (file := _file(root, path, found, inside)) is not None:
            yield file
    if not seen and not stopped():
        yield from _walked(root, below, inside, stopped)
    for path in nested:
        if _mentionable(path):
            yield FoundFile(path, 0.0)
            yield from _listed(root, path, inside, stopped)


def _tracked_and_new(directory: str, stopped: Callable[[], bool]) -> Iterator[str]:
    """What git knows below a directory and does not ignore; nothing where it knows nothing."""
    environment = {name: value for name, value in os.environ.items() if name not in _OF_ANOTHER_PLACE}
    environment["GIT_OPTIONAL_LOCKS"] = "0"
    for listing in _LISTINGS:
        try:
            git = subprocess.Popen(
                [*_GIT, "-C", directory, "ls-files", "-z", *listing],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment,
            )
        except OSError:
            return
        with git:
            assert git.stdout is not None
            rest, output = b"", git.stdout.fileno()
            while not stopped():
                if not select.select([output], [], [], _LOOK)[0]:
                    continue
                if not (data := os.read(output, _CHUNK)):
                    break
                *names, rest = (rest + data).split(b"\0")
                yield from map(os.fsdecode, names)
            git.kill()
        if stopped():
            return


def _walked(
    root: str, below: str, inside: Callable[[str], bool], stopped: Callable[[], bool]
) -> Iterator[FoundFile]:
    """The files of a directory without git, the nearest first; work trees in it are listed by git."""
    places = deque([below])
    while places and not stopped():
        place = places.popleft()
        with suppress(OSError), os.scandir(root + place) as entries:
            for entry in sorted(entries, key=lambda each: each.name):
                path = place + entry.name
                if entry.name in _SKIPPED:
                    continue
                with suppress(OSError):
                    if not entry.is_dir(follow_symlinks=False):
                        if file := _file(root, path, entry.stat(follow_symlinks=False), inside):
                            yield file
                    elif _is_there(f"{entry.path}/.git"):
                        yield FoundFile(f"{path}/", 0.0)
                        yield from _listed(root, f"{path}/", inside, stopped)
                    else:
                        places.append(f"{path}/")


def _file(root: str, path: str, found: os.stat_result, inside: Callable[[str], bool]) -> FoundFile | None:
    """A file that can be offered: regular, or a link to a place that is inside."""
    if not _mentionable(path):
        return None
    if stat.S_ISLNK(found.st_mode):
        whole = root + path
        if not inside(whole):
            return None
        return FoundFile(f"{path}/" if Path(whole).is_dir() else path, found.st_mtime)
    return FoundFile(path, found.st_mtime) if stat.S_ISREG(found.st_mode) else None


def _is_there(path: str) -> bool:
    try:
        os.lstat(path)
    except OSError:
        return False
    return True


def _mentionable(path: str) -> bool:
    """False for a name that no mention can be written for: with control characters, quotes, or not UTF-8."""
    return path.isprintable() and '"' not in path
