"""The repository of ours that keeps the snapshots of one directory, and what it can tell of them. All of it blocks."""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from catena_store.errors import SnapshotFailed
from catena_store.snapshots.git import ATTRIBUTES, Git, excludes_of_person, executable
from catena_store.snapshots.trees import (
    DirectorySnapshot,
    LeftOutFile,
    LeftOutReason,
    LineCounts,
    TreeChange,
    TreeEntry,
    parse_changes,
    parse_line_counts,
)

LARGEST = 5_000_000  # bytes of a file that is kept
_MOST_EXCLUDES = 1 << 20  # bytes of a file of ignored names
_REPACK_SECONDS = 600.0
_PLAIN = ("--no-ext-diff", "--no-textconv", "--no-color")
_COMPARED = ("diff-tree", "-r", "-z", "--no-abbrev", *_PLAIN)
_REFS = "refs/trees"
_ROOT_FILE = "catena.root"
_NO_BLOB = "0" * 40


class SnapshotRepository:
    """Snapshots of the files below one root. Several processes may use it: one works at a time.

    The first use makes it. ``directory`` is where all repositories are; the person's own repository is read for
    which files it ignores, and never written.
    """

    def __init__(self, program: str, directory: Path, root: Path) -> None:
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
        """Keep the files as they are now; ``day`` is a number of today, for `forget`. Raises SnapshotFailed."""
        with self._alone():
            self._ready()
            updated, removed, left_out = self._compared_with_index()
            if removed:
                self._update_index(removed, "--force-remove")
            if updated:
                self._update_index(updated, "--add", "--remove", "--replace")
            tree = self._git.run("write-tree").decode().strip()
            self._git.run("update-ref", f"{_REFS}/{day}/{tree}", tree)
        return DirectorySnapshot(tree, tuple(left_out))

    def changes(self, old: str, new: str, *, renames: bool = False) -> list[TreeChange]:
        """How two snapshots differ, by path; ``renames`` says of a new file which one it was before."""
        if old == new:
            return []
        return parse_changes(self._git.run(*_COMPARED, "--raw", _renames(renames), old, new))

    def line_counts(self, old: str, new: str) -> list[LineCounts]:
        """How many lines of each file two snapshots differ by."""
        if old == new:
            return []
        return parse_line_counts(self._git.run(*_COMPARED, "--numstat", _renames(True), old, new))

    def tree_with(self, tree: str, entries: Mapping[str, TreeEntry | None]) -> str:
        """A tree that differs from another in some paths; None for one that is not in it."""
        lines = (
            f"{entry.mode:o} {entry.blob}\t".encode() if entry else f"0 {_NO_BLOB}\t".encode()
            for entry in entries.values()
        )
        changed = b"".join(
            line + os.fsencode(path) + b"\0" for line, path in zip(lines, entries, strict=True)
        )
        with tempfile.TemporaryDirectory(dir=self.path) as place:
            git = replace(self._git, index=Path(place) / "index")
            git.run("read-tree", tree)
            git.run("update-index", "-z", "--index-info", stdin=changed)
            return git.run("write-tree").decode().strip()

    def patch(self, old: str, new: str) -> bytes:
        """The difference of two snapshots, for ``git apply``."""
        return self._git.run("diff-tree", "-r", "-p", "--binary", *_PLAIN, old, new)

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

    def forget(self, kept: Set[str], *, before: int) -> None:
        """Let go of the snapshots of days before that one, but for the kept, and free what only they took."""
        with self._alone():
            self._ready()
            listed = self._git.run("for-each-ref", "--format=%(refname)", _REFS).decode().split()
            gone = [name for name in listed if _day(name) < before and name.rsplit("/", 1)[1] not in kept]
            if gone:
                commands = "".join(f"delete {name}\n" for name in gone)
                self._git.run("update-ref", "--stdin", stdin=commands.encode())
                self._git.run("repack", "-a", "-d", "-q", seconds=_REPACK_SECONDS)
                self._git.run("prune", "--expire=now")

    def days(self) -> set[int]:
        """The days that snapshots are of."""
        listed = self._git.run("for-each-ref", "--format=%(refname)", _REFS).decode().split()
        return {_day(name) for name in listed}

    def pack(self) -> None:
        """Put what was kept since the last time into one file; others may capture meanwhile."""
        self._git.run("repack", "-d", "-q", seconds=_REPACK_SECONDS)
        self._git.run("prune-packed", "-q")
        self._git.run("pack-refs", "--all")

    def size(self) -> int:
        """Bytes that it takes on the disk."""
        total = 0
        for place, _, names in os.walk(self.path):
            for name in names:
                with suppress(OSError):
                    total += os.lstat(f"{place}/{name}").st_size
        return total

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Held against other processes and threads; the system lets go for one that is killed."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(self.path / "catena.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise SnapshotFailed(self.root, f"{self.path} cannot be written: {error.strerror}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _ready(self) -> None:
        """Make the repository where there is none, and clear what a killed git left."""
        try:
            if not (self.path / "HEAD").exists():
                self._git.run("init", "-q", "--template=")
            information = self.path / "info"
            information.mkdir(exist_ok=True)
            _write_if_other(self.path / _ROOT_FILE, os.fsencode(self.root))
            _write_if_other(information / "attributes", ATTRIBUTES.encode())
            _write_if_other(information / "exclude", self._excludes())
            (self.path / "index.lock").unlink(missing_ok=True)
        except OSError as error:
            raise SnapshotFailed(self.root, f"{self.path} cannot be written: {error.strerror}") from error

    def _excludes(self) -> bytes:
        """What the person ignores beside the ignore files in the tree."""
        names = [_excludes_of_repository(self.root), excludes_of_person(self._git.program)]
        return b"\n".join(_read_regular(name) for name in names if name is not None)

    def _compared_with_index(self) -> tuple[list[bytes], list[bytes], list[LeftOutFile]]:
        """The paths to be read anew, those to be taken out of the index, and what cannot be kept."""
        # Some 50,000 files: what is unchanged costs one look at each.
        changed = self._git.paths("diff-files", "-z", "--name-only", "--ignore-submodules=all")
        found = self._git.paths("ls-files", "-z", "--others", "--exclude-standard")
        removed = self._git.paths("ls-files", "-z", "--cached", "--ignored", "--exclude-standard")
        updated, left_out, ignored = [], [], set(removed)
        for path in dict.fromkeys((*changed, *found)):
            if path in ignored:
                continue
            reason = self._reason_to_leave_out(path)
            if reason is None:
                updated.append(path)
                continue
            if path in changed:
                removed.append(path)
            left_out.append(LeftOutFile(os.fsdecode(path.rstrip(b"/")), reason))
        return updated, removed, left_out

    def _reason_to_leave_out(self, path: bytes) -> LeftOutReason | None:
        whole = os.fsencode(self.root) + b"/" + path
        try:
            found = os.lstat(whole)
        except OSError:
            return None  # it is gone, and so is its entry
        if stat.S_ISDIR(found.st_mode):
            return LeftOutReason.REPOSITORY
        if stat.S_ISLNK(found.st_mode):
            return None
        if not stat.S_ISREG(found.st_mode) or not os.access(whole, os.R_OK):
            return LeftOutReason.UNREADABLE
        return LeftOutReason.TOO_LARGE if found.st_size > LARGEST else None

    def _update_index(self, paths: Sequence[bytes], *how: str) -> None:
        self._git.run("update-index", "-z", *how, "--stdin", stdin=b"\0".join(paths) + b"\0")


class ContentReader:
    """Reads contents by their ids, of which one git serves all."""

    def __init__(self, git: Git) -> None:
        self._git = git

    def __enter__(self) -> ContentReader:
        self._process = self._git.started("cat-file", "--batch")
        return self

    def __exit__(self, *raised: object) -> None:
        self._process.stdin.close()  # type: ignore[union-attr]  # it is a pipe
        self._process.stdout.close()  # type: ignore[union-attr]
        self._process.wait()

    def read(self, blob: str) -> bytes:
        """A content. Raises SnapshotFailed where the repository has lost it."""
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None and answers is not None
        requests.write(f"{blob}\n".encode())
        requests.flush()
        head = answers.readline().split()
        if len(head) != 3:
            raise SnapshotFailed(self._git.root, f"the content {blob[:8]} is not in {self._git.repository}")
        content = answers.read(int(head[2]))
        answers.read(1)
        return content


def snapshots_beside(store: Path) -> Path:
    """Where the repositories of a store are."""
    return store.with_name("snapshots")


def existing(store: Path, directory: str) -> SnapshotRepository | None:
    """The snapshots that were made of a directory, or None for none. Blocks for a moment."""
    if (program := executable()) is None:
        return None
    repository = SnapshotRepository(program, snapshots_beside(store), work_tree(Path(directory)))
    return repository if repository.path.exists() else None


def work_tree(directory: Path) -> Path:
    """The root of the work tree that a directory belongs to, or the directory itself; nothing is run for it."""
    real = directory.resolve()
    for place in (real, *real.parents):
        if (place / ".git").exists():
            return place
    return real


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
        path.write_bytes(content)
