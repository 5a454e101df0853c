"""The process that keeps others from writing to the file, as Linux tells of it; elsewhere it is not known."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

# Bytes that SQLite's writers lock: with a log, one of the shared memory; without one, two of the file.
_WITH_LOG = range(120, 121)
_WITHOUT_LOG = range(0x40000000, 0x40000002)


@dataclass(frozen=True, slots=True)
class LockOwner:
    """A process that has the lock, or had it a moment ago."""

    pid: int
    stopped: bool  # by a signal, such as Ctrl+Z: until somebody lets it go on, it keeps the lock


def lock_owner(path: Path) -> LockOwner | None:
    """The other process that is writing to the file; None if there is none, or if the system does not tell."""
    with suppress(OSError):
        locks = Path("/proc/locks").read_text("ascii", "replace")
        for file, writing in ((path.with_name(f"{path.name}-shm"), _WITH_LOG), (path, _WITHOUT_LOG)):
            with suppress(FileNotFoundError):
                told = file.stat()
                for pid in _writers(locks, told.st_ino, writing):
                    if _has_open(pid, told):
                        return LockOwner(pid, _is_stopped(pid))
    return None


def _writers(locks: str, inode: int, writing: range) -> Iterator[int]:
    """The processes that have a lock to write on these bytes of a file with this inode, on any device."""
    for line in locks.splitlines():
        match line.split():
            case [_, "POSIX", _, "WRITE", pid, where, first, last] if where.endswith(f":{inode}"):
                end = writing.stop if last == "EOF" else int(last)
                if int(first) < writing.stop and end >= writing.start and 0 < int(pid) != os.getpid():
                    yield int(pid)


def _has_open(pid: int, file: os.stat_result) -> bool:
    """True if a process has the file open: on some file systems the table of locks names another device."""
    with suppress(OSError):
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                if os.path.samestat(descriptor.stat(), file):
                    return True
    return False


def _is_stopped(pid: int) -> bool:
    with suppress(OSError):
        # The name of the program, in parentheses, may have anything in it.
        _, _, behind = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")
        return behind.split()[:1] == ["T"]
    return False
