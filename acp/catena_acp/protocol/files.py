"""File access of an agent through the client: which files, how large, and how many at once."""

from __future__ import annotations

import asyncio
import errno
import os
import secrets
import stat
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, TypeVar

from catena_acp.errors import FileRefused

MAX_READ = 8 * 1024 * 1024  # bytes of one answer
MAX_SCANNED = 256 * 1024 * 1024  # bytes read to find the requested lines
MAX_WRITTEN = 32 * 1024 * 1024
MAX_PATH = 4_096  # characters; a longer path takes too long to resolve


@dataclass(frozen=True, slots=True)
class FileAccess:
    """Reading and writing of text files below ``roots``, after links and ``..`` are resolved."""

    roots: tuple[Path, ...]
    writable: bool = True

    def with_roots(self, more: tuple[Path, ...]) -> FileAccess:
        """A copy with further roots."""
        return replace(self, roots=self.roots + more) if more else self

    def read(self, path: str, line: int | None = None, limit: int | None = None) -> str:
        """Read a file, or ``limit`` lines from ``line`` on, counted from 1. Blocks; raises FileRefused."""
        target = self._resolve(path)
        try:
            with _open_to_read(target) as file:
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

    def write(self, path: str, text: str) -> None:
        """Write a file atomically, with its directories where needed. Blocks; raises FileRefused."""
        if not self.writable:
            raise FileRefused("writing files is switched off")
        data = text.encode("utf-8", "replace")
        if len(data) > MAX_WRITTEN:
            raise FileRefused(f"{path} would have more than {MAX_WRITTEN} bytes")
        target = self._resolve(path)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            _replace(target, data)
        except OSError as error:
            raise FileRefused(f"{path} cannot be written: {error.strerror or error}") from error

    def _resolve(self, path: str) -> Path:
        """Resolve ``path``. Raises FileRefused if it is outside of the roots."""
        if len(path) > MAX_PATH:
            raise FileRefused(f"a path of more than {MAX_PATH} characters leads nowhere")
        if "\0" in path or not os.path.isabs(path):  # noqa: PTH117
            raise FileRefused(f"{path!r} is not an absolute path")
        try:
            target = Path(path).resolve()
            inside = any(target.is_relative_to(root.resolve()) for root in self.roots)
        except (OSError, RuntimeError) as error:
            raise FileRefused(f"{path} leads nowhere") from error
        if not inside:
            raise FileRefused(f"{path} is outside of the directories of this conversation")
        return target


def _open_to_read(target: Path) -> BinaryIO:
    # The path is resolved, so a link at its end is newer than that; a pipe or a device would never end.
    fd = os.open(target, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(f"{target.name} is not a regular file")
        return os.fdopen(fd, "rb")
    except BaseException:
        os.close(fd)
        raise


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


def _replace(target: Path, data: bytes) -> None:
    if target.is_dir():
        raise IsADirectoryError(21, "it is a directory")
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "it is not a regular file")
    new = target.with_name(f".{target.name[:200]}.{secrets.token_hex(4)}")
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(fd)
            if target.exists():
                os.fchmod(fd, stat.S_IMODE(target.stat().st_mode))
        new.replace(target)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


MAX_RUNNING = 4
MAX_WAITING = 256

T = TypeVar("T")


class FileQueue:
    """Queue of an agent's file requests, which run in threads, four at a time.

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
            raise FileRefused(f"more than {MAX_WAITING} files were asked for at once")
        self._waiting += 1
        try:
            async with self._running:
                if not self._has_room():
                    raise FileRefused("too much that was asked for has not been read yet")
                return await asyncio.to_thread(work)
        finally:
            self._waiting -= 1
