"""File access of an agent through the client: which files, how large, and how many at once."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TypeVar

from catena_acp.errors import FileRefused
from catena_acp.permissions.own_request_policy import OwnRequests
from catena_acp.permissions.own_requests import MAX_SHOWN, Unshown

MAX_READ = 8 * 1024 * 1024  # bytes of one answer
MAX_SCANNED = 256 * 1024 * 1024  # bytes read to find the requested lines
MAX_WRITTEN = 32 * 1024 * 1024
MAX_PATH = 4_096  # characters; a longer path takes too long to resolve


class FileAccess:
    """Reading and writing of text files below ``roots``, after links and ``..`` are resolved.

    A path is resolved to names first, which must lie below a root, and is then walked from `/` name by name without
    following a link: a directory that is swapped for a link in between is refused, and so is a root that is now a
    link, since roots are resolved once, when they are given.
    """

    def __init__(
        self,
        roots: Iterable[Path],
        *,
        readable: bool = True,
        writable: bool = True,
        follows_sessions: bool = False,
        own_requests: OwnRequests = OwnRequests.RECORD,
    ) -> None:
        """``follows_sessions``: the working directory of each session is a root of it, too.

        ``own_requests``: what comes of a request that no permission request covered.
        """
        self.follows_sessions = follows_sessions
        self.own_requests = own_requests
        self._roots = tuple(root.resolve() for root in roots)
        self.readable = readable
        self.writable = writable

    def with_roots(self, more: Iterable[Path]) -> FileAccess:
        """A copy with further roots."""
        access = FileAccess(
            more, readable=self.readable, writable=self.writable, own_requests=self.own_requests
        )
        access._roots = self._roots + access._roots
        return access

    def read_only(self) -> FileAccess:
        """A copy that writes nothing."""
        access = FileAccess((), readable=self.readable, writable=False)
        access._roots = self._roots
        return access

    def read(self, path: str, line: int | None = None, limit: int | None = None) -> str:
        """Read a file, or ``limit`` lines from ``line`` on, counted from 1. Blocks; raises FileRefused."""
        if not self.readable:
            raise FileRefused("reading files is switched off")
        target = self._resolve(path)
        try:
            with _directory(target.parent) as parent, _open_to_read(parent, target.name) as file:
                if line is None and limit is None:
                    data = file.read(MAX_READ + 1)
                else:
                    data = _read_lines(file, max(line or 1, 1), limit)
        except FileNotFoundError as error:
            raise FileRefused(f"{path} is not there", missing=True) from error
        except OSError as error:
            raise FileRefused(f"{path} cannot be read: {error.strerror or error}") from error
        if len(data) > MAX_READ:
            raise FileRefused(f"{path} has more than {MAX_READ} bytes; ask for some of its lines")
        if b"\0" in data:
            raise FileRefused(f"{path} is not a text file")
        return data.decode("utf-8", "replace")

    def write(self, path: str, text: str) -> str | Unshown | None:
        """Write a file atomically, with its directories where needed; returns its text before, None if it was new.

        A file with further names is refused: one of them may lie outside. Blocks; raises FileRefused.
        """
        if not self.writable:
            raise FileRefused("writing files is switched off")
        data = text.encode("utf-8", "replace")
        if len(data) > MAX_WRITTEN:
            raise FileRefused(f"{path} would have more than {MAX_WRITTEN} bytes")
        target = self._resolve(path)
        try:
            with _directory(target.parent, create=True) as parent:
                before = _text_before(parent, target.name)
                _replace(parent, target.name, data)
        except OSError as error:
            raise FileRefused(f"{path} cannot be written: {error.strerror or error}") from error
        return before

    def before(self, path: str) -> str | Unshown | None:
        """What ``write`` would return. Blocks; raises FileRefused for a file outside of the roots."""
        target = self._resolve(path)
        try:
            with _directory(target.parent) as parent:
                return _text_before(parent, target.name)
        except OSError:
            return None

    def directory(self, path: str) -> Path:
        """A directory in which a command may be started. Blocks; raises FileRefused."""
        target = self._resolve(path)
        if not target.is_dir():
            raise FileRefused(f"{path} is not a directory", missing=not target.exists())
        return target

    def _resolve(self, path: str) -> Path:
        """Resolve ``path`` to names. Raises FileRefused if it is outside of the roots."""
        if len(path) > MAX_PATH:
            raise FileRefused(f"a path of more than {MAX_PATH} characters leads nowhere")
        if "\0" in path or not os.path.isabs(path):  # noqa: PTH117
            raise FileRefused(f"{path!r} is not an absolute path")
        try:
            target = Path(path).resolve()
        except (OSError, RuntimeError) as error:
            raise FileRefused(f"{path} leads nowhere") from error
        if not any(target.is_relative_to(root) for root in self._roots):
            raise FileRefused(f"{path} is outside of the directories of this conversation")
        return target


# A descriptor that needs no permission to list the directory, where the system has such.
_WALK = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)


@contextmanager
def _directory(path: Path, *, create: bool = False) -> Iterator[int]:
    """A descriptor of a directory that is reached from `/` without a link. Raises OSError where there is a link."""
    fd = os.open("/", _WALK)
    try:
        for name in path.parts[1:]:
            above, fd = fd, _subdirectory(fd, name, create=create)
            os.close(above)
        yield fd
    finally:
        os.close(fd)


def _subdirectory(parent: int, name: str, *, create: bool) -> int:
    try:
        return os.open(name, _WALK, dir_fd=parent)
    except FileNotFoundError:
        if not create:
            raise
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=parent)
    return os.open(name, _WALK, dir_fd=parent)


def _open_to_read(parent: int, name: str) -> BinaryIO:
    # The name is resolved, so a link under it is newer than that; a pipe or a device would never end.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    fd = os.open(name or ".", flags, dir_fd=parent)
    with ExitStack() as undoing:
        undoing.callback(os.close, fd)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(f"{name} is not a regular file")
        file = os.fdopen(fd, "rb")
        undoing.pop_all()
    return file


def _read_lines(file: BinaryIO, first: int, limit: int | None) -> bytes:
    kept: list[bytes] = []
    size = scanned = 0
    number = 1
    while (limit is None or number < first + limit) and scanned < MAX_SCANNED and size <= MAX_READ:
        text = file.readline(MAX_READ + 1)
        if not text:
            break
        scanned += len(text)
        if number >= first:
            kept.append(text)
            size += len(text)
        if text.endswith(b"\n"):
            number += 1
    return b"".join(kept)


def _replace(parent: int, name: str, data: bytes) -> None:
    """Replace a file of the directory ``parent``, or make it; it keeps its permissions, but no set-user-id bit."""
    mode = _mode(parent, name)
    new = f".catena-{os.urandom(8).hex()}"
    fd = os.open(
        new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666, dir_fd=parent
    )
    with ExitStack() as undoing:
        undoing.callback(_remove, parent, new)
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(fd)
            if mode is not None:
                os.fchmod(fd, mode & _PERMISSIONS)
        os.replace(new, name, src_dir_fd=parent, dst_dir_fd=parent)
        undoing.pop_all()


def _remove(parent: int, name: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=parent)


_PERMISSIONS = 0o777


def _mode(parent: int, name: str) -> int | None:
    """The mode of a regular file, None where there is nothing. Raises OSError for anything else."""
    try:
        status = os.stat(name or ".", dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None
    found = status.st_mode
    if stat.S_ISDIR(found):
        raise IsADirectoryError(errno.EISDIR, "it is a directory")
    if not stat.S_ISREG(found):
        raise OSError(errno.EINVAL, "it is not a regular file")
    if status.st_nlink > 1:
        raise OSError(errno.EMLINK, "it has another name (a hard link), which may lie outside")
    return found


def _text_before(parent: int, name: str) -> str | Unshown | None:
    """The text of a file that is about to be replaced, or why it is not shown; None without one."""
    try:
        with _open_to_read(parent, name) as file:
            data = file.read(MAX_SHOWN + 1)
    except FileNotFoundError:
        return None
    except OSError:
        return Unshown.UNREADABLE
    if len(data) > MAX_SHOWN:
        return Unshown.LARGE
    return Unshown.BINARY if b"\0" in data else data.decode("utf-8", "replace")


MAX_RUNNING = 4
MAX_WAITING = 256

T = TypeVar("T")


class RequestQueue:
    """Queue of an agent's requests for files and outputs of terminals, which run in threads, four at a time.

    An answer has up to eight megabytes; without limits an agent that makes thousands of requests, or reads no answers,
    would fill our memory. ``has_room`` returns False while too much waits for the agent.
    """

    def __init__(self, has_room: Callable[[], bool]) -> None:
        self._has_room = has_room
        self._running = asyncio.Semaphore(MAX_RUNNING)
        self._waiting = 0

    async def run(self, work: Callable[[], T]) -> T:
        """Run ``work`` in its turn. Raises FileRefused, also where too many requests wait."""
        if self._waiting >= MAX_WAITING:
            raise FileRefused(f"more than {MAX_WAITING} requests were made at once")
        self._waiting += 1
        try:
            async with self._running:
                if not self._has_room():
                    raise FileRefused("too much that was asked for has not been read yet")
                return await asyncio.to_thread(work)
        finally:
            self._waiting -= 1
