"""The files of a conversation's directories, found once in a thread, and those that fit what is typed, best first.

They are git's if it has any, else all but what every tool skips.
"""

from __future__ import annotations

import asyncio
import heapq
import operator
import os
import re
import select
import stat
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, compress, islice, repeat
from pathlib import Path


def resolved_roots(roots: Sequence[str]) -> tuple[Path, ...]:
    """The directories with links resolved; one that leads in a circle is left out."""
    return tuple(path for path in map(_resolved, roots) if path is not None)


def leads_inside(path: str | Path, roots: Sequence[Path]) -> bool:
    """True where a path exists and is below one of ``roots``, after links are resolved."""
    target = _resolved(path, strict=True)
    return target is not None and any(target.is_relative_to(root) for root in roots)


def _resolved(path: str | Path, *, strict: bool = False) -> Path | None:
    try:
        return Path(path).resolve(strict=strict)
    except (OSError, RuntimeError, ValueError):  # RuntimeError: links in a circle
        return None


OFFERED = 50  # rows
_LOOKED_AT = 400  # of one rank, of which the shortest names are offered
_RANKED = 10_000  # names with what is typed in them, of which those go first that have it where a word begins
_FIRST, _TIMES = 500, 20  # files that are shown at once, and then so many times as many
_RECENT = 50  # files that were changed last
_RECENTLY = 7 * 24 * 3600.0  # seconds
_PAUSE = 5  # times as long as the last scan took, until there is another,
_LONGEST_PAUSE = 10.0  # and at most so many seconds

_MOST_FILES = 200_000  # of all directories of a conversation
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


class FileTable:
    """Paths in the order in which they are offered where they fit alike; the first of them are ``favourites``."""

    def __init__(self, paths: Sequence[str], *, favourites: int = 0, below: str = "") -> None:
        """``below`` is where all of them are; what is typed is compared with what follows it."""
        self.paths = paths
        self.below = below
        self._favourites = favourites
        cut = len(below)
        # Most are the same.
        self._lows = [path if (low := path[cut:].lower()) == path else low for path in paths]
        self._names = [low.rstrip("/").rpartition("/")[2] for low in self._lows]
        self._narrowed: tuple[str, list[int]] = ("", [])  # what was typed last, and what it leaves

    def __contains__(self, path: str) -> bool:
        return path in self.paths

    def best(self, typed: str, limit: int = OFFERED) -> list[str]:
        """The paths that fit, best first: by name before by path, whole names and beginnings of words first.

        A name typed to the letter goes before one that differs in capitals.
        """
        if not typed:
            return list(self.paths[:limit])
        found: dict[int, None] = {}
        for rank in self._ranks(typed):
            found.update(dict.fromkeys(self._shortest(islice(rank, _LOOKED_AT))))
            if len(found) >= limit or (found and typed.startswith(".")):  # a dot is in nearly every name
                break
        return [self.paths[at] for at in islice(found, limit)]

    def _shortest(self, rank: Iterator[int]) -> list[int]:
        """The places of a rank: favourites as they stand, then the shorter names first."""
        hits = list(rank)
        first = [at for at in hits if at < self._favourites]
        return first + sorted(hits[len(first) :], key=lambda at: len(self._names[at]))

    def _ranks(self, as_typed: str) -> Iterator[Iterator[int]]:
        typed, names, every = as_typed.lower(), self._names, range(len(self._names))
        whole = list(compress(every, map(operator.eq, names, repeat(typed))))
        yield (at for at in whole if self.paths[at].rstrip("/").rpartition("/")[2] == as_typed)
        yield iter(whole)
        yield compress(every, map(str.startswith, names, repeat(typed)))
        within = list(islice(compress(every, map(operator.contains, names, repeat(typed))), _RANKED))
        begins = re.compile(rf"(?:^|[^a-z0-9]){re.escape(typed)}").search
        yield compress(within, map(begins, map(names.__getitem__, within)))
        yield iter(within)
        yield compress(every, map(operator.contains, self._lows, repeat(typed)))
        letters = self._with_letters(typed)
        in_order = _in_order(typed)
        yield compress(letters, map(in_order, map(names.__getitem__, letters)))
        yield iter(letters)

    def _with_letters(self, typed: str) -> list[int]:
        """The places of the paths that have these letters in this order."""
        before, left = self._narrowed
        if not (before and typed.startswith(before)):
            left = list(compress(range(len(self._lows)), map(_in_order(typed), self._lows)))
        elif typed != before:
            left = list(compress(left, map(_in_order(typed), map(self._lows.__getitem__, left))))
        self._narrowed = (typed, left)
        return left

    def under(self, directory: str) -> FileTable | None:
        """The table of what is below a directory, given with its slash; None if there is nothing."""
        low = directory.lower()
        fitting = compress(self.paths, map(str.startswith, self._lows, repeat(low)))
        below = [path for path in fitting if len(path) > len(directory)]
        if not below:
            return None
        first = below[0][: len(directory)]
        return FileTable(below, below=first)

    @property
    def children(self) -> list[str]:
        """The paths right below the directory that this is the table of."""
        cut = len(self.below)
        return [path for path in self.paths if "/" not in path[cut:].rstrip("/")]


def _in_order(typed: str) -> Callable[[str], object]:
    """A search for letters in this order, in time proportional to the text."""
    letters = [re.escape(letter) for letter in typed]
    return re.compile(letters[0] + "".join(f"[^{each}]*{each}" for each in letters[1:])).search


class FileIndex:
    """The files below some directories: those of the first by their paths from there, others by absolute ones.

    Nothing that is hidden is offered unless a dot is typed for it.
    """

    def __init__(self, roots: Sequence[str], *, clock: Callable[[], float] = time.time) -> None:
        self.roots = tuple(roots)
        self.complete = False  # all was looked at, once
        self.scans = 0
        self.published: Callable[[], None] = lambda: None  # called when there are other files than before
        self._clock = clock
        self._open = FileTable(())
        self._hidden = FileTable(())
        self._below: dict[tuple[str, bool], FileTable | None] = {}
        self._stopped = threading.Event()
        self._scanned = asyncio.Event()
        self._scanning = False
        self._rest_until = 0.0
        self._mentioned: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self._open.paths) + len(self._hidden.paths)

    def __contains__(self, path: str) -> bool:
        return path in self._open or path in self._hidden

    @property
    def looking(self) -> bool:
        """True from when a scan is due until it has ended."""
        return not self._scanned.is_set()

    def due(self) -> None:
        """Note that somebody waits for the next scan, unless that comes only after a rest."""
        if time.monotonic() >= self._rest_until:
            self._scanned.clear()

    def stop(self) -> None:
        """End a scan early."""
        self._stopped.set()

    async def refresh(self, mentioned: Sequence[str] = ()) -> None:
        """Look at the directories again, in a thread; not while one does, and some time after a long one.

        ``mentioned`` are absolute paths that are offered first, the newest first.
        """
        if self._scanning or self._stopped.is_set():
            return
        self._scanning = True
        self._mentioned = tuple(mentioned)
        loop = asyncio.get_running_loop()
        began = time.monotonic()

        def publish(tables: tuple[FileTable, FileTable]) -> None:
            if not self._stopped.is_set():
                loop.call_soon_threadsafe(self._publish, tables)

        try:
            await asyncio.sleep(max(0.0, self._rest_until - began))
            began = time.monotonic()
            tables = await asyncio.to_thread(self._scan, None if self.complete else publish)
            self.scans += 1
            self.complete = True
        finally:
            ended = time.monotonic()
            self._rest_until = ended + min(_LONGEST_PAUSE, _PAUSE * (ended - began))
            self._scanning = False
            self._scanned.set()
        self._publish(tables)  # who hears of it finds it done

    async def scanned(self, seconds: float) -> None:
        """Wait until the scan that is due has ended, or for so long."""
        try:
            async with asyncio.timeout(seconds):
                await self._scanned.wait()
        except TimeoutError:
            pass

    def _publish(self, tables: tuple[FileTable, FileTable]) -> None:
        if any(new.paths != old.paths for new, old in zip(tables, (self._open, self._hidden), strict=True)):
            self._open, self._hidden = tables
            self._below.clear()
        self.published()

    # --- what is offered

    def best(self, typed: str, limit: int = OFFERED) -> list[str]:
        """The paths that fit what is typed, best first; those of directories end with a slash."""
        hidden = any(part.startswith(".") for part in typed.split("/"))
        table = self._hidden if hidden else self._open
        directory, slash, rest = typed.rpartition("/")
        if not slash:
            return table.best(typed, limit)
        below = self._table_below(directory + slash, hidden)
        if below is None:
            return table.best(typed, limit)
        if rest:
            return below.best(rest, limit)
        shown = below.children
        if not hidden or directory.rpartition("/")[2].startswith("."):
            shown = [path for path in shown if not path[len(below.below) :].startswith(".")]
        return shown[:limit]

    def _table_below(self, directory: str, hidden: bool) -> FileTable | None:
        key = (directory, hidden)
        if key not in self._below:
            self._below[key] = (self._hidden if hidden else self._open).under(directory)
        return self._below[key]

    # --- in the thread

    def _scan(
        self, publish: Callable[[tuple[FileTable, FileTable]], None] | None
    ) -> tuple[FileTable, FileTable]:
        files: list[FoundFile] = []
        wanted = _FIRST
        for file in islice(self._files(), _MOST_FILES):
            files.append(file)
            if publish is not None and len(files) == wanted:
                publish(self._tables(files))
                wanted *= _TIMES
        return self._tables(files)

    def _files(self) -> Iterator[FoundFile]:
        inside = partial(leads_inside, roots=resolved_roots(self.roots))
        for at, root in enumerate(self.roots):
            before = f"{root.rstrip('/')}/" if at else ""
            for file in _files_below(root, inside=inside, stopped=self._stopped.is_set):
                yield FoundFile(before + file.path, file.changed_at) if before else file

    def _tables(self, files: Sequence[FoundFile]) -> tuple[FileTable, FileTable]:
        """The files and directories that are open, and those that are hidden: favourites first, then by depth."""
        first = self.roots[0].rstrip("/") + "/" if self.roots else ""
        known = {file.path for file in files}
        mentioned = [path.removeprefix(first) for path in self._mentioned]
        since = self._clock() - _RECENTLY
        recent = heapq.nlargest(
            _RECENT, (file for file in files if file.changed_at > since), key=lambda file: file.changed_at
        )
        favourites = dict.fromkeys(
            path for path in chain(mentioned, (file.path for file in recent)) if path in known
        )
        levels: list[list[str]] = []
        for path in _with_directories(file.path for file in files):
            if path in favourites:
                continue
            depth = path.count("/") - path.endswith("/")
            while len(levels) <= depth:
                levels.append([])
            levels[depth].append(path)
        every = [*favourites, *chain.from_iterable(levels)]
        hidden = re.compile(r"(?:^|/)\.").search
        further = [f"{root.rstrip('/')}/" for root in self.roots[1:]]

        def shown(path: str) -> bool:
            before = next((root for root in further if path.startswith(root)), "")
            return hidden(path[len(before) :]) is None

        seen = [path for path in every if shown(path)]
        unseen = [path for path in every if not shown(path)]
        return (
            FileTable(seen, favourites=sum(map(shown, favourites))),
            FileTable(unseen, favourites=sum(not shown(path) for path in favourites)),
        )


def _with_directories(paths: Iterable[str]) -> Iterator[str]:
    """Each path once, and before it the directories that it is in."""
    seen: set[str] = set()
    for path in paths:
        above, last = [], path.rstrip("/").rpartition("/")[0]
        while last and f"{last}/" not in seen:
            seen.add(f"{last}/")
            above.append(f"{last}/")
            last = last.rpartition("/")[0]
        yield from reversed(above)
        if path not in seen:
            seen.add(path)
            yield path


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file below a root, by its path from there; that of a directory of another repository ends with a slash."""

    path: str
    changed_at: float


def _files_below(
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
