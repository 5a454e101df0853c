"""Files of lines of JSON, as other programs leave them: growing, torn, or no files at all. Nothing here writes."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from catena_acp.transcripts.session import time_of

_pread = os.pread
_BLOCK = 1 << 15
MOST_OF_HEAD = 1 << 18  # bytes from which a head is read
MOST_OF_TAIL = 1 << 16
LONGEST_LINE = 1 << 26  # a longer one is left out

Record = dict[str, Any]


class UnreadableTranscript(Exception):
    """Raised for a file that is no transcript that can be read; the text says why."""


@contextmanager
def opened(path: Path) -> Iterator[tuple[BinaryIO, os.stat_result]]:
    """A regular file, also behind a symbolic link, open for reading, and its status. Raises UnreadableTranscript."""
    try:
        # A pipe that nobody writes to would be waited for.
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise UnreadableTranscript(_why(error)) from error
    status = os.fstat(number)
    if not stat.S_ISREG(status.st_mode):
        os.close(number)
        raise UnreadableTranscript("is not a file")
    with os.fdopen(number, "rb", buffering=0) as file:
        yield file, status


def _why(error: Exception) -> str:
    return f"cannot be read: {getattr(error, 'strerror', None) or error}"


def parsed(line: bytes) -> Record | None:
    """The JSON object of a line; None if it is none."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):  # also for a number of too many digits
        return None
    return value if isinstance(value, dict) else None


def head_lines(file: BinaryIO, most: int = MOST_OF_HEAD) -> Iterator[bytes]:
    """The first lines, read in blocks as they are asked for; the last may be cut off."""
    pending = b""
    taken = 0
    while taken < most:
        block = _read_at(file, taken, min(_BLOCK, most - taken))
        if not block:
            break
        taken += len(block)
        pending += block
        *whole, pending = pending.split(b"\n")
        yield from whole
    if pending:
        yield pending


def tail_lines(file: BinaryIO, size: int, most: int = MOST_OF_TAIL) -> list[bytes]:
    """The last lines, newest first; the last of the list may be the end of a longer one."""
    start = max(0, size - most)
    return _read_at(file, start, size - start).split(b"\n")[::-1]


def newest_time(lines: Iterable[bytes], *keys: str) -> datetime | None:
    """The time that the newest of some lines tells, newest first, under one of these keys."""
    for line in lines:
        record = parsed(line) or {}
        for told in (record, record.get("$set")):
            for key in keys:
                if isinstance(told, dict) and (at := time_of(told.get(key))):
                    return at
    return None


def _read_at(file: BinaryIO, start: int, length: int) -> bytes:
    try:
        return _pread(file.fileno(), length, start)
    except OSError as error:
        raise UnreadableTranscript(_why(error)) from error


def records(path: Path) -> Iterator[Record | None]:
    """Every line of a file as JSON, None for one that is not; blank lines are skipped.

    What is appended meanwhile is not read: the file counts as it was when it was opened. Raises UnreadableTranscript.
    """
    with opened(path) as (file, status):
        left = status.st_size
        pending: list[bytes] = []
        held = 0
        while left > 0:
            try:
                block = file.read(min(1 << 20, left))
            except OSError as error:
                raise UnreadableTranscript(_why(error)) from error
            if not block:
                break
            left -= len(block)
            *whole, rest = block.split(b"\n")
            for line in whole:
                if held + len(line) > LONGEST_LINE:
                    yield None
                elif (joined := b"".join([*pending, line])).strip():
                    yield parsed(joined)
                pending, held = [], 0
            held += len(rest)
            if held <= LONGEST_LINE:
                pending.append(rest)
            else:
                pending = []
        if held > LONGEST_LINE:
            yield None
        elif (joined := b"".join(pending)).strip():
            yield parsed(joined)
