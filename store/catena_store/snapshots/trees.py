"""What git keeps of a directory: entries of a tree, how two trees differ, and the contents of files."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator, Set
from dataclasses import dataclass
from enum import StrEnum

from catena_store.errors import SnapshotFailed
from catena_store.snapshots.git import SECONDS, Git, end_group, readable

_CHUNK = 1 << 16  # bytes that a pipe holds


class ContentReader:
    """Reads contents by their ids, of which one git serves all. Each is the bytes that its id is of, or none at all."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._rest = b""  # what git said beyond what was read

    def __enter__(self) -> ContentReader:
        self._process = self._git.started("cat-file", "--batch")
        return self

    def __exit__(self, *raised: object) -> None:
        end_group(self._process)

    def read(self, blob: str) -> bytes:
        """A content. Raises SnapshotFailed where the repository has lost it, or git is silent."""
        ends = time.monotonic() + SECONDS
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(f"{blob}\n".encode())
            self._process.stdin.flush()
        except OSError:  # it ended: over the content before, or killed
            raise self._lost(blob) from None
        head = self._line(ends).split()
        if len(head) != 3:
            raise self._lost(blob)
        content = self._exactly(int(head[2]) + 1, ends)[:-1]
        # Nothing else looks whether what a disk gave back is what was kept.
        if blob_id(content) != blob:
            raise self._lost(blob)
        return content

    def _line(self, ends: float) -> bytes:
        while b"\n" not in self._rest and (more := self._more(ends)):
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _exactly(self, size: int, ends: float) -> bytes:
        parts, found = [self._rest], len(self._rest)
        while found < size and (more := self._more(ends)):
            parts.append(more)
            found += len(more)
        whole = b"".join(parts)
        self._rest = whole[size:]
        return whole[:size]

    def _more(self, ends: float) -> bytes:
        assert self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        if not readable(pipe, max(0.0, ends - time.monotonic())):
            raise SnapshotFailed(self._git.root, f"git took longer than {SECONDS:.0f} s")
        return os.read(pipe, _CHUNK)

    def _lost(self, blob: str) -> SnapshotFailed:
        self._git.doubt()
        return SnapshotFailed(self._git.root, f"the content {blob[:8]} is not in {self._git.repository}")


LARGEST = 5_000_000  # bytes of a file that is kept
EXECUTABLE, REGULAR, LINK, REPOSITORY = 0o100755, 0o100644, 0o120000, 0o160000


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A file of a tree: its kind and mode as git has them, and the id of its content."""

    mode: int
    blob: str

    @property
    def is_link(self) -> bool:
        """Whether it is a symbolic link, whose content is its target."""
        return self.mode == LINK

    @property
    def is_executable(self) -> bool:
        """Whether its owner may run it."""
        return self.mode == EXECUTABLE


@dataclass(frozen=True, slots=True)
class TreeChange:
    """A path that two trees have different entries for; None where a tree has none."""

    path: str  # from the root; bytes that are not UTF-8 as surrogates
    old: TreeEntry | None
    new: TreeEntry | None
    old_path: str | None = None  # of a file that was renamed


@dataclass(frozen=True, slots=True)
class LineCounts:
    """How many lines of a file were added and removed; None of both for one that is not text."""

    path: str
    added: int | None
    removed: int | None


class LeftOutReason(StrEnum):
    """Why a file is not in a snapshot."""

    TOO_LARGE = "too large"
    UNREADABLE = "unreadable"
    REPOSITORY = "a repository of its own"
    IGNORED = "ignored until then"


@dataclass(frozen=True, slots=True)
class LeftOutFile:
    """A file that a snapshot does not have."""

    path: str
    reason: LeftOutReason


@dataclass(frozen=True, slots=True)
class DirectorySnapshot:
    """The files of a directory at one moment, without those that are ignored or left out."""

    tree: str
    left_out: tuple[LeftOutFile, ...] = ()


def blob_id(content: bytes) -> str:
    """The id that git gives to a content."""
    import hashlib  # with OpenSSL: 4 MiB that nothing else on the way to the screen needs

    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def mode_of(found: os.stat_result) -> int | None:
    """The mode that git gives to a file; None for what is neither a file nor a link."""
    if stat.S_ISLNK(found.st_mode):
        return LINK
    if not stat.S_ISREG(found.st_mode):
        return None
    return EXECUTABLE if found.st_mode & stat.S_IXUSR else REGULAR


def above(path: str) -> Iterator[str]:
    """The directories above a path."""
    while path := path.rpartition("/")[0]:
        yield path


def is_among(path: str, places: Set[str]) -> bool:
    """Whether a path, or a directory above it, is one of some places."""
    return path in places or any(each in places for each in above(path))


def parse_changes(output: bytes) -> list[TreeChange]:
    """The changes in what ``diff-tree -r -z --raw --no-abbrev`` prints; repositories below the root are left out."""
    fields = iter(output.split(b"\0"))
    changes = []
    for field in fields:
        if not field.startswith(b":"):
            continue
        old_mode, new_mode, old_blob, new_blob, status = field[1:].split(b" ")
        first = os.fsdecode(next(fields))
        path = os.fsdecode(next(fields)) if status[:1] in b"RC" else first
        old, new = _entry(old_mode, old_blob), _entry(new_mode, new_blob)
        if old is not None or new is not None:
            changes.append(TreeChange(path, old, new, first if path != first else None))
    return changes


def parse_tree(output: bytes) -> dict[str, TreeEntry]:
    """The files in what ``ls-tree -r -z`` prints, by path."""
    entries = {}
    for line in output.split(b"\0"):
        if line:
            head, name = line.split(b"\t", 1)
            mode, _, blob = head.split(b" ")
            if (entry := _entry(mode, blob)) is not None:
                entries[os.fsdecode(name)] = entry
    return entries


def parse_line_counts(output: bytes) -> list[LineCounts]:
    """The counts in what ``diff-tree -r -z --numstat`` prints."""
    fields = iter(output.split(b"\0"))
    counts = []
    for field in fields:
        if not field:
            continue
        added, removed, path = field.split(b"\t", 2)
        if not path:  # a rename: the old and the new name follow
            next(fields)
            path = next(fields)
        counts.append(LineCounts(os.fsdecode(path), _number(added), _number(removed)))
    return counts


def _entry(mode: bytes, blob: bytes) -> TreeEntry | None:
    number = int(mode, 8)
    return TreeEntry(number, blob.decode()) if number not in (0, REPOSITORY) else None


def _number(field: bytes) -> int | None:
    return None if field == b"-" else int(field)
