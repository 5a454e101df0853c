"""The repository of ours that keeps the snapshots of one directory, and what it can tell of them. All of it blocks."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from catena_store.errors import SnapshotFailed
from catena_store.ids import to_milliseconds
from catena_store.snapshots.git import (
    ATTRIBUTES,
    DOUBTFUL,
    SECONDS,
    Git,
    GitFailed,
    excludes_of_person,
    executable,
    is_too_old,
)
from catena_store.snapshots.mending import mend
from catena_store.snapshots.trees import (
    LARGEST,
    ContentReader,
    DirectorySnapshot,
    LeftOutFile,
    LeftOutReason,
    LineCounts,
    TreeChange,
    TreeEntry,
    parse_changes,
    parse_line_counts,
    parse_tree,
)

_MOST_EXCLUDES = 1 << 20  # bytes of a file of ignored names
_READ_SECONDS = 300.0  # the first time it is every file
_REPACK_SECONDS = 600.0
_PLAIN = ("--no-ext-diff", "--no-textconv", "--no-color")
_COMPARED = ("diff-tree", "-r", "-z", "--no-abbrev", *_PLAIN)
_REFS = "refs/trees"
_LOCK = "catena.lock"
_PACKING_LOCK = "catena.packing"  # beside the other: files are kept meanwhile
_LEFT_SECONDS = 86_400.0
_LOCK_SECONDS = 0.01  # between two looks at a lock that somebody has
_MOST_UNREAD = 20  # files of one snapshot that change while they are read
_MOST_LOOSE = 2_000  # contents that are files of their own
_SAMPLE = [f"{number:02x}" for number in range(0, 256, 16)]  # of the directories that these are in
_OF_THE_DISK = (
    *(b"unable to write", b"unable to create", b"No space left", b"quota", b"File too large"),
    *(b"insufficient permission", b"Read-only file system", b"bad config", b"not a git repository"),
)
_IGNORE_FILE = b".gitignore"
_TEMPORARY = "catena-"  # before the names of directories that are removed again
_ROOT_FILE = "catena.root"
_WRITTEN = "catena-objects"  # what a snapshot adds, until it is whole
_INDEX_BEFORE = "catena-index"  # the index of before it
_NO_BLOB = "0" * 40

_LEAST_FREE = 200_000_000  # bytes that stay free whatever is kept
_LEAST_SHARE = 0.02  # of the whole disk
_PER_FILE = 4_096  # bytes that a small content takes beside its own


class SnapshotRepository:
    """Snapshots of the files below one root. Several processes may use it: one works at a time.

    The first use makes it. ``directory`` is where all repositories are; the person's own repository is read for
    which files it ignores, and never written.
    """

    def __init__(self, program: str, directory: Path, root: Path) -> None:
        self.program = program
        self.root = root
        import hashlib  # with OpenSSL: 4 MiB that nothing else on the way to the screen needs

        self.path = directory / hashlib.sha256(os.fsencode(root)).hexdigest()[:20]
        self._git = Git(program, self.path, root)

    @classmethod
    def at(cls, program: str, path: Path) -> SnapshotRepository:
        """The repository at a path, of whichever root it is."""
        root = Path(os.fsdecode(_read_regular(path / _ROOT_FILE)) or "/")
        return cls(program, path.parent, root)

    def capture(self, *, day: int) -> DirectorySnapshot:
        """Keep the files as they are now; ``day`` is a number of today, for `forget`.

        Raises SnapshotFailed, also where the disk has too little room for them; then all is as before.
        """
        with self._alone() as git:
            self._ask_for_room([])
            before = _read_regular(self.path / "info/exclude")
            self._ready(git)
            with self._whole_or_not_at_all(git) as beside:
                left_out = self._update(beside)
                if before != _read_regular(self.path / "info/exclude"):
                    left_out += self._ignored_until_now(beside, before)
                tree = beside.run("write-tree").decode().strip()
                self._move_in()
                git.run("update-ref", f"{_REFS}/{day}/{tree}", tree)
        return DirectorySnapshot(tree, tuple(left_out))

    def keep(self, tree: str, *, day: int) -> None:
        """Keep a tree that was made of others, as `capture` keeps what it takes. Raises SnapshotFailed."""
        with self._alone() as git:
            git.run("update-ref", f"{_REFS}/{day}/{tree}", tree)

    def give_up(self) -> None:
        """End what other threads do here: a git that hangs. They raise SnapshotFailed, and so does what follows."""
        self._git.commands.end()

    def changes(self, old: str, new: str, *, renames: bool = False) -> list[TreeChange]:
        """How two snapshots differ, by path; ``renames`` says of a new file which one it was before."""
        if old == new:
            return []
        return parse_changes(self._git.run(*_COMPARED, "--raw", _renames(renames), old, new))

    def line_counts(self, old: str, new: str, *, renames: bool = True) -> list[LineCounts]:
        """How many lines of each file two snapshots differ by; without ``renames`` each path counts for itself."""
        if old == new:
            return []
        return parse_line_counts(self._git.run(*_COMPARED, "--numstat", _renames(renames), old, new))

    def entries(self, tree: str) -> dict[str, TreeEntry]:
        """Every file of a tree, by path."""
        return parse_tree(self._git.run("ls-tree", "-r", "-z", tree))

    def merged(self, one: bytes, base: bytes, other: bytes) -> bytes | None:
        """A text with what became of a base in two others; None where both changed one place, or one is no text."""
        with tempfile.TemporaryDirectory(prefix=_TEMPORARY, dir=self.path) as place:
            paths = [Path(place) / name for name in ("one", "base", "other")]
            for path, content in zip(paths, (one, base, other), strict=True):
                path.write_bytes(content)
            return self._git.merge_file(*paths)

    def put(self, content: bytes) -> str:
        """Put a content into the repository that no snapshot needs; its id."""
        return self._git.run("hash-object", "-w", "--stdin", stdin=content).decode().strip()

    def tree_with(self, tree: str, entries: Mapping[str, TreeEntry | None]) -> str:
        """A tree that differs from another in some paths; None for one that is not in it."""
        lines = (
            f"{entry.mode:o} {entry.blob}\t".encode() if entry else f"0 {_NO_BLOB}\t".encode()
            for entry in entries.values()
        )
        changed = b"".join(
            line + os.fsencode(path) + b"\0" for line, path in zip(lines, entries, strict=True)
        )
        with tempfile.TemporaryDirectory(prefix=_TEMPORARY, dir=self.path) as place:
            git = replace(self._git, index=Path(place) / "index")
            git.run("read-tree", tree)
            git.run("update-index", "-z", "--index-info", stdin=changed)
            return git.run("write-tree").decode().strip()

    def tree_until(self, before: str, after: str, moment: datetime) -> str:
        """A tree with those changes between two that were made until a moment, by the times of the files now."""
        changes = self.changes(before, after)
        with opened_directory(self.root) as root:
            certain = [each for each in changes if _stands_since(root, each.path, to_milliseconds(moment))]
        if len(certain) == len(changes):
            return after
        return self.tree_with(before, {each.path: each.new for each in certain})

    def lacks(self, trees: Iterable[str]) -> set[str]:
        """Those of the trees that the repository has lost."""
        asked = "".join(f"{tree}\n" for tree in trees).encode()
        lines = self._git.run("cat-file", "--batch-check", stdin=asked).decode().splitlines()
        return {line.removesuffix(" missing") for line in lines if line.endswith(" missing")}

    def patch(self, old: str, new: str, *, renames: bool = False) -> bytes:
        """The difference of two snapshots, for ``git apply``."""
        return self._git.run("diff-tree", "-r", "-p", "--binary", _renames(renames), *_PLAIN, old, new)

    @contextmanager
    def contents(self) -> Iterator[ContentReader]:
        """A reader of contents, of which one git serves all."""
        with ContentReader(self._git) as reader:
            yield reader

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nobody else changes files from these snapshots meanwhile, or makes new ones. Raises SnapshotFailed."""
        with self._alone():
            yield

    def ignored(self, tree: str, paths: Iterable[str]) -> set[str]:
        """Those of some paths that the ignore files of a tree leave out of it. Raises SnapshotFailed."""
        listed = (line.split(b"\t", 1) for line in self._git.paths("ls-tree", "-r", "-z", tree))
        rules = {
            name: entry.split()[2].decode()
            for entry, name in listed
            if name.rpartition(b"/")[2] == _IGNORE_FILE and not entry.startswith(b"120000")
        }
        if not rules:
            return set()
        with tempfile.TemporaryDirectory(prefix=_TEMPORARY, dir=self.path) as place:
            with self.contents() as contents:
                for name, blob in rules.items():
                    file = Path(place) / os.fsdecode(name)
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(contents.read(blob))
            asked = b"".join(b"./" + os.fsencode(path) + b"\0" for path in paths)
            elsewhere = replace(self._git, root=Path(place), literal=False)
            found = elsewhere.run("check-ignore", "--no-index", "-z", "--stdin", stdin=asked, allowed=(0, 1))
        return {os.fsdecode(path[2:]) for path in found.split(b"\0") if path}

    def forget(self, kept: Set[str], *, before: int) -> None:
        """Let go of the snapshots of days before that one, but for the kept, and free what only they took."""
        with self._alone() as git:
            self._ready(git)
            self._clear_killed()
            listed = git.run("for-each-ref", "--format=%(refname)", _REFS).decode().split()
            gone = [name for name in listed if _day(name) < before and name.rsplit("/", 1)[1] not in kept]
            if gone:
                commands = "".join(f"delete {name}\n" for name in gone)
                # Before the names go: later nothing would tell that there is something to free.
                self._ask_for_room_to_rewrite(self._size_of({*listed} - {*gone}))
                git.run("update-ref", "--stdin", stdin=commands.encode())
                with self._packing() as packing:
                    packing.run("repack", "-a", "-d", "-q", seconds=_REPACK_SECONDS)
                git.run("prune", "--expire=now")

    def days(self) -> set[int]:
        """The days that snapshots are of."""
        listed = self._git.run("for-each-ref", "--format=%(refname)", _REFS).decode().split()
        return {_day(name) for name in listed}

    def is_loose(self) -> bool:
        """Whether so much was kept since the last time that `pack` is worth its while."""
        found = 0
        for name in _SAMPLE:
            with suppress(OSError):
                found += len(list((self.path / "objects" / name).iterdir()))
        return found * 256 // len(_SAMPLE) > _MOST_LOOSE

    def pack(self) -> None:
        """Put what was kept since the last time into one file; others may capture meanwhile. Raises SnapshotFailed."""
        with self._packing(seconds=0) as git:
            self._ask_for_room_to_rewrite(self._loose_size())
            git.run("repack", "-d", "-q", seconds=_REPACK_SECONDS)
            git.run("prune-packed", "-q")
        with self._alone() as git:
            git.run("pack-refs", "--all")
            self._clear_killed()

    def exclusive(self, kept: Set[str], *, before: int | None = None, seconds: float = SECONDS) -> int:
        """The bytes that `forget` would free, or 0 where git is too old to tell; without ``before``, of all days.

        Raises SnapshotFailed, also where it takes longer than so many seconds.
        """
        listed = self._git.run("for-each-ref", "--format=%(refname)", _REFS).decode().split()
        gone = {name.rsplit("/", 1)[1] for name in listed if before is None or _day(name) < before} - kept
        stay = {name.rsplit("/", 1)[1] for name in listed} - gone
        if not gone:
            return 0
        asked = "".join([*(f"{tree}\n" for tree in gone), *(f"^{tree}\n" for tree in stay)])
        try:
            return int(
                self._git.run("rev-list", "--objects", "--disk-usage", "--stdin", stdin=asked.encode())
            )
        except (GitFailed, ValueError):
            return 0

    def size(self) -> int:
        """Bytes that it takes on the disk."""
        total = 0
        for place, _, names in os.walk(self.path):
            for name in names:
                with suppress(OSError):
                    total += os.lstat(f"{place}/{name}").st_size
        return total

    @contextmanager
    def _alone(self) -> Iterator[Git]:
        """Held against other processes and threads."""
        with self._locked(_LOCK) as git:
            yield replace(git, case_counts=case_counts(self.root))

    @contextmanager
    def _locked(self, name: str, *, seconds: float = SECONDS) -> Iterator[Git]:
        """A git with a lock; after a kill, the system lets go of it once the git has ended. Raises SnapshotFailed."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(self.path / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            self._wait_for(lock, seconds)
            yield replace(self._git, lock=lock)
        finally:
            os.close(lock)

    def _wait_for(self, lock: int, seconds: float) -> None:
        ends = time.monotonic() + seconds
        while True:
            try:
                return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > ends or self._git.commands.ended:
                    raise SnapshotFailed(self.root, "another Catena is at its snapshots") from None
            except OSError as error:  # a file system without locks
                raise self._unwritable(error) from error
            time.sleep(_LOCK_SECONDS)

    def _ready(self, git: Git) -> None:
        """Make the repository where there is none, mend what is damaged, and clear what a killed git left."""
        try:
            self._clear()
            if (self.path / DOUBTFUL).exists():
                mend(git)
            elif not (self.path / "HEAD").exists():
                if is_too_old(git.run("--version")):
                    raise SnapshotFailed(self.root, "git is too old: 2.20 or newer is needed")
                git.run("init", "-q", "--template=")
            information = self.path / "info"
            information.mkdir(mode=0o700, exist_ok=True)
            _write_if_other(self.path / _ROOT_FILE, os.fsencode(self.root))
            _write_if_other(information / "attributes", ATTRIBUTES.encode())
            _write_if_other(information / "exclude", self._excludes())
        except OSError as error:
            raise self._unwritable(error) from error

    def _clear(self) -> None:
        """Remove what a git that was killed held: whoever holds our lock is the only one."""
        for name in ("index", "HEAD", "config", "packed-refs", "shallow"):
            (self.path / f"{name}.lock").unlink(missing_ok=True)
        for stale in (self.path / _REFS).glob("*/*.lock"):
            stale.unlink(missing_ok=True)
        self._take_back_cut()
        with suppress(SnapshotFailed), self._packing(seconds=0):
            pass

    def _clear_killed(self) -> None:
        """Remove the temporary directories of processes that were killed a day ago or earlier."""
        for place in self.path.glob(f"{_TEMPORARY}*/"):
            with suppress(OSError):
                if time.time() - place.lstat().st_mtime > _LEFT_SECONDS:
                    shutil.rmtree(place)

    @contextmanager
    def _packing(self, *, seconds: float = SECONDS) -> Iterator[Git]:
        """A git that may write packs; what another left of one, or this one does, goes. Raises SnapshotFailed."""
        with self._locked(_PACKING_LOCK, seconds=seconds) as git:
            try:
                self._remove_begun_packs()
                yield git
            except BaseException:
                self._remove_begun_packs()
                raise

    def _remove_begun_packs(self) -> None:
        for path in self.path.glob("objects/pack/*tmp[_-]*"):
            with suppress(OSError):
                path.unlink()

    def _ask_for_room(self, sizes: list[int]) -> None:
        """Refuse to keep files of these sizes where the disk is too full for them. Raises SnapshotFailed."""
        try:
            want = want_of_room(self.path, sizes)
        except OSError as error:
            raise self._unwritable(error) from error
        if want is not None:
            raise SnapshotFailed(self.root, want)

    def _ask_for_room_to_rewrite(self, size: int) -> None:
        """Refuse to write so many bytes beside those that they replace. Raises SnapshotFailed."""
        try:
            fits = _has_room_to_rewrite(self.path, size)
        except OSError as error:
            raise self._unwritable(error) from error
        if not fits:
            raise SnapshotFailed(self.root, "the disk is too full to write snapshots anew")

    def _loose_size(self) -> int:
        return sum(
            each.stat().st_size
            for place in self.path.glob("objects/[0-9a-f][0-9a-f]")
            for each in os.scandir(place)
        )

    def _size_of(self, names: Set[str]) -> int:
        """The bytes that snapshots take on the disk; of all of them where git is too old to tell."""
        if not names:
            return 0
        asked = "".join(f"{name}\n" for name in sorted(names)).encode()
        try:
            return int(self._git.run("rev-list", "--objects", "--disk-usage", "--stdin", stdin=asked))
        except (GitFailed, ValueError):
            return self.size()

    @contextmanager
    def _whole_or_not_at_all(self, git: Git) -> Iterator[Git]:
        """A git that writes beside what is kept; where the block fails, or is killed, nothing of it stays."""
        written = self.path / _WRITTEN
        try:
            try:
                _copy_of_index(self.path / "index", self.path / _INDEX_BEFORE)
                written.mkdir(mode=0o700)
                (written / "info").mkdir(mode=0o700)
                _write_private(written / "info/alternates", b"../objects\n")
            except OSError as error:
                raise self._unwritable(error) from error
            yield replace(git, written=written)
        except BaseException:
            self._take_back_cut()
            raise
        shutil.rmtree(written, ignore_errors=True)
        (self.path / _INDEX_BEFORE).unlink(missing_ok=True)

    def _move_in(self) -> None:
        """Put what was written beside what is kept among it."""
        try:
            for place in (self.path / _WRITTEN).iterdir():
                if place.name == "info":
                    continue
                target = self.path / "objects" / place.name
                target.mkdir(mode=0o700, exist_ok=True)
                # A pack is there for git once its index is.
                for path in sorted(place.iterdir(), key=lambda each: each.suffix == ".idx"):
                    path.replace(target / path.name)
        except OSError as error:
            raise self._unwritable(error) from error

    def _take_back_cut(self) -> None:
        """Undo a snapshot that failed or was killed: the index is as it was, and what was written is gone."""
        written, before = self.path / _WRITTEN, self.path / _INDEX_BEFORE
        with suppress(OSError):
            if written.exists():
                if before.exists():
                    before.replace(self.path / "index")
                else:
                    (self.path / "index").unlink(missing_ok=True)
                shutil.rmtree(written, ignore_errors=True)
            before.unlink(missing_ok=True)

    def _unwritable(self, error: OSError) -> SnapshotFailed:
        return SnapshotFailed(self.root, f"{self.path} cannot be written: {error.strerror}")

    def _excludes(self) -> bytes:
        """What the person ignores beside the ignore files in the tree."""
        names = [_excludes_of_repository(self.root), excludes_of_person(self._git.program)]
        return b"\n".join(_read_regular(name) for name in names if name is not None)

    def _update(self, git: Git) -> list[LeftOutFile]:
        """Bring the index to what the files are now; what cannot be kept."""
        sizes, removed, left_out = self._compared_with_index(git)
        self._ask_for_room(list(sizes.values()))
        if removed:
            self._update_index(git, removed, "--force-remove")
        updated = list(sizes)
        unread = self._read(git, updated) if updated else []
        if unread:
            self._update_index(git, unread, "--force-remove")
            (self.path / DOUBTFUL).unlink(missing_ok=True)  # that was the files' fault
        return left_out + [LeftOutFile(os.fsdecode(path), LeftOutReason.UNREADABLE) for path in unread]

    def _ignored_until_now(self, git: Git, rules: bytes) -> list[LeftOutFile]:
        """The files that other rules of the person's ignored: they are new here, and were there before, maybe."""
        with tempfile.NamedTemporaryFile(prefix=_TEMPORARY, dir=self.path) as file:
            file.write(rules)
            file.flush()
            found = git.paths("ls-files", "-z", "--cached", "--ignored", f"--exclude-from={file.name}")
        return [LeftOutFile(os.fsdecode(path), LeftOutReason.IGNORED) for path in found]

    def _read(self, git: Git, paths: Sequence[bytes], most: int = _MOST_UNREAD) -> list[bytes]:
        """Read files into the repository; those that git fails on since they change just now, at most so many."""
        try:
            self._update_index(git, paths, "--add", "--remove", "--replace")
        except GitFailed as error:
            # It ends at the first such file: one that is shorter than it was, or beyond a link that is new.
            if most <= 0 or not _is_of_one_file(error):
                raise
            if len(paths) == 1:
                return list(paths)
            half = len(paths) // 2
            first = self._read(git, paths[:half], most)
            return first + self._read(git, paths[half:], most - len(first))
        return []

    def _compared_with_index(self, git: Git) -> tuple[dict[bytes, int], list[bytes], list[LeftOutFile]]:
        """The paths to be read anew with their sizes, those to be taken out of the index, and what cannot be kept."""
        # Some 50,000 files: what is unchanged costs one look at each.
        differing = iter(git.paths("diff-files", "-z", "--name-status", "--ignore-submodules=all"))
        states = {path: state for state, path in zip(differing, differing, strict=True)}
        listed, warnings = git.run_aloud("ls-files", "-z", "--others", "--exclude-standard")
        found = [path for path in listed.split(b"\0") if path]
        removed = git.paths("ls-files", "-z", "--cached", "--ignored", "--exclude-standard")
        ignored = set(removed)
        # Git sees whether a link or a file stands where one of the directories was.
        gone = {path for path, state in states.items() if state == b"D"} - ignored
        removed += gone
        left_out = [LeftOutFile(path, LeftOutReason.UNREADABLE) for path in _closed_directories(warnings)]
        updated: dict[bytes, int] = {}
        with opened_directory(self.root) as root:
            for path in dict.fromkeys((*states, *found)):
                if path in ignored or path in gone:
                    continue
                reason = _size_or_reason(root, path)
                if not isinstance(reason, LeftOutReason):
                    updated[path] = reason
                    continue
                if path in states:
                    removed.append(path)
                    if reason is LeftOutReason.REPOSITORY:
                        continue  # a directory where a file was: its files are listed, or it is
                left_out.append(LeftOutFile(os.fsdecode(path.rstrip(b"/")), reason))
        return updated, removed, left_out

    def _update_index(self, git: Git, paths: Sequence[bytes], *how: str) -> None:
        # One that was killed by a signal, over a file that became shorter, has left it.
        (self.path / "index.lock").unlink(missing_ok=True)
        listed = b"\0".join(paths) + b"\0"
        git.run("update-index", "-z", *how, "--stdin", stdin=listed, seconds=_READ_SECONDS)


@contextmanager
def opened_directory(path: Path) -> Iterator[int]:
    """The descriptor of a directory. Raises OSError."""
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield directory
    finally:
        os.close(directory)


def case_counts(directory: Path) -> bool:
    """Whether `a` and `A` are two files in a directory; also where nothing there tells. Blocks for a moment."""
    try:
        with os.scandir(directory) as entries:
            for each in entries:
                if (other := each.name.swapcase()) != each.name:
                    # One that is listed is a file of its own, whatever it is.
                    return not os.path.lexists(directory / other) or directory / other in directory.iterdir()
    except OSError:
        pass
    return True


def snapshots_beside(store: Path) -> Path:
    """Where the repositories of a store are."""
    return store.with_name("snapshots")


def existing(store: Path, directory: str) -> SnapshotRepository | None:
    """The snapshots that were made of a directory, or None for none. Blocks for a moment."""
    return existing_at(store, work_tree(Path(directory)))


def existing_at(store: Path, root: Path) -> SnapshotRepository | None:
    """The snapshots of a root, also of one that is no work tree any more, or None for none. Blocks for a moment."""
    if (program := executable()) is None:
        return None
    repository = SnapshotRepository(program, snapshots_beside(store), root)
    return repository if repository.path.exists() else None


def work_tree(directory: Path) -> Path:
    """The root of the work tree that a directory belongs to, or the directory itself; nothing is run for it."""
    real = directory.resolve()
    for place in (real, *real.parents):
        if (place / ".git").exists():
            return place
    return real


def reaching(directories: Iterable[str], root: Path) -> list[str]:
    """Those of the directories that are around a root, or in it and in no repository of their own there."""
    found = []
    for each in directories:
        real = Path(os.path.realpath(each))
        inside = [place for place in (real, *real.parents) if place != root and place.is_relative_to(root)]
        is_in = real.is_relative_to(root) and not any(os.path.lexists(place / ".git") for place in inside)
        if is_in or root.is_relative_to(real):
            found.append(each)
    return found


def _copy_of_index(index: Path, copy: Path) -> None:
    """Put the index by; git never writes into it, but puts another in its place. Raises OSError."""
    copy.unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        try:
            os.link(index, copy)
        except FileNotFoundError:
            raise
        except OSError:  # a file system without links
            shutil.copyfile(index, copy)


def _size_or_reason(root: int, path: bytes) -> int | LeftOutReason:
    """The size of a file, or why it is left out."""
    try:
        found = os.lstat(path, dir_fd=root)
    except OSError:
        return 0  # it is gone, and so is its entry
    if stat.S_ISDIR(found.st_mode):
        return LeftOutReason.REPOSITORY
    if stat.S_ISLNK(found.st_mode):
        return found.st_size
    if not stat.S_ISREG(found.st_mode) or not os.access(path, os.R_OK, dir_fd=root):
        return LeftOutReason.UNREADABLE
    return LeftOutReason.TOO_LARGE if found.st_size > LARGEST else found.st_size


def _stands_since(root: int, path: str, moment: int) -> bool:
    """Whether what is at a path, or that nothing is there, has been so since a moment in milliseconds."""
    while True:
        try:
            # Not the time of its content: that of another file may be older, and anybody can set it.
            return os.lstat(path or ".", dir_fd=root).st_ctime_ns // 1_000_000 <= moment
        except (FileNotFoundError, NotADirectoryError):
            path = path.rpartition("/")[0]  # a directory tells when an entry went
        except OSError:
            return False


def _is_of_one_file(error: GitFailed) -> bool:
    """Whether git failed over a file of the tree, and not over the repository or the disk."""
    if error.status < 0:  # the signal says that the file became shorter while it was read
        return error.status == -signal.SIGBUS
    return not any(words in error.output for words in _OF_THE_DISK)


def _closed_directories(warnings: bytes) -> list[str]:
    return [os.fsdecode(path) for path in re.findall(rb"could not open directory '(.*?)/?': ", warnings)]


def _renames(wanted: bool) -> str:
    return "--find-renames" if wanted else "--no-renames"


def _day(name: str) -> int:
    return int(name.split("/")[2])


def _excludes_of_repository(root: Path) -> Path | None:
    """The ``info/exclude`` of the person's repository, also of one with several work trees."""
    place = root / ".git"
    if place.is_file():
        link = _read_regular(place).strip()
        if not link.startswith(b"gitdir: "):
            return None
        place = root / os.fsdecode(link[8:])
        common = _read_regular(place / "commondir").strip()
        if common:
            place = place / os.fsdecode(common)
    return place / "info" / "exclude" if place.is_dir() else None


def _read_regular(path: Path) -> bytes:
    """A small regular file, or nothing where it is none: a pipe would hold us up."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return b""
            return file.read(_MOST_EXCLUDES)
    except (OSError, ValueError):
        return b""


def _write_if_other(path: Path, content: bytes) -> None:
    if _read_regular(path) != content:
        _write_private(path, content)


def _write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner reads, whatever the umask. Raises OSError."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(content)


def want_of_room(place: Path, sizes: list[int]) -> str | None:
    """The reason why files of these sizes are not kept on the disk of a place; None if there is room for them.

    As much stays free as the larger of 200 MB and 2 % of the disk. Raises OSError.
    """
    disk = os.statvfs(place)
    free, whole = disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize
    least = max(_LEAST_FREE, int(whole * _LEAST_SHARE))
    needed = sum(sizes) + len(sizes) * _PER_FILE
    if free - needed >= least:
        return None
    need = f", these files need {_megabytes(needed)}" if sizes else ""
    return f"the disk has {_megabytes(free)} free{need}, and {_megabytes(least)} must stay free"


def _has_room_to_rewrite(place: Path, size: int) -> bool:
    """Whether so many bytes can be written beside those that they replace: in half of what is free. Raises OSError."""
    disk = os.statvfs(place)
    return size <= disk.f_bavail * disk.f_frsize // 2


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"
