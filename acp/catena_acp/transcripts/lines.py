"""Files of lines of JSON, as other programs leave them: growing, torn, or no files at all; and the main line of one."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from catena_acp.transcripts.session import time_of

_pread = os.pread
_BLOCK = 1 << 15
_LARGE_BLOCK = 1 << 20
MOST_OF_HEAD = 1 << 18  # bytes of the lines from which a head is read, unless nothing was found in them
MOST_OF_TAIL = 1 << 16
_LONG_LINE = 1 << 18  # bytes of a line up to which it is kept whole
_LARGE_TEXT = 1 << 17  # bytes of a text in a long line that are kept: more than a prior context of ours has
_REST_OF_TEXT = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_LAST_ESCAPE = re.compile(rb"(\\+)(?:u[0-9a-fA-F]{0,3})?\Z")
_LAST_CODE_POINT = re.compile(rb"[\xc0-\xff][\x80-\xbf]{0,3}\Z")
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


def head_lines(file: BinaryIO, most: int | None = MOST_OF_HEAD) -> Iterator[bytes]:
    """The first lines, read in blocks as they are asked for, up to ``most`` bytes of them; the last may be cut off.

    In a long line the ends of large texts are left out, and count for nothing: a picture hides no line behind it.
    """
    line, taken, kept = _HeadLine(), 0, 0
    while most is None or kept + line.length < most:
        block = _read_at(file, taken, _LARGE_BLOCK if line.is_long else _BLOCK)
        if not block:
            break
        taken += len(block)
        *ends, rest = block.split(b"\n")
        for end in ends:
            line.add(end)
            whole, line = line.text, _HeadLine()
            kept += len(whole)
            yield whole
        line.add(rest)
    if line.length:
        yield line.text


class _HeadLine:
    """A line that is being read: as it is, or, if it is long, without the ends of its large texts."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self.length = 0  # bytes that are kept
        self.is_long = False
        self._quoted = False  # within a text
        self._escaped = False  # behind a backslash
        self._value = bytearray()  # what is kept of the text so far

    @property
    def text(self) -> bytes:
        return b"".join(self._parts)

    def add(self, part: bytes) -> None:
        """Add the next bytes of the line."""
        if not self.is_long and self.length + len(part) <= _LONG_LINE:
            self._keep(part)
            return
        if not self.is_long:
            self.is_long = True
            before, self._parts, self.length = self.text, [], 0
            self._shorten(before)
        self._shorten(part)

    def _keep(self, part: bytes) -> None:
        self._parts.append(part)
        self.length += len(part)

    def _shorten(self, part: bytes) -> None:
        at = 0
        while at < len(part):
            if not self._quoted:
                quote = part.find(b'"', at)
                end = len(part) if quote < 0 else quote + 1
                self._quoted = quote >= 0
                self._keep(part[at:end])
                at = end
                continue
            end = at
            if self._escaped:  # a block ended behind a backslash
                end, self._escaped = at + 1, False
            if found := _REST_OF_TEXT.match(part, end):
                end = found.end()
            closed = part[end : end + 1] == b'"'
            if part[end : end + 1] == b"\\":  # the last byte of the block
                end, self._escaped = end + 1, True
            self._value += part[at : min(end, at + _LARGE_TEXT + 1 - len(self._value))]
            if closed:
                self._keep(_without_end(bytes(self._value)) + b'"')
                self._value.clear()
                self._quoted = False
            at = end + closed


def _without_end(text: bytes) -> bytes:
    """A JSON text without its quotes, cut between two characters if it is large."""
    if len(text) <= _LARGE_TEXT:
        return text
    text = text[:_LARGE_TEXT]
    escape = _LAST_ESCAPE.search(text)
    if escape and len(escape[1]) % 2:
        return text[: escape.end(1) - 1]
    return _LAST_CODE_POINT.sub(b"", text)


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

    Lines that are appended meanwhile are not read: the file counts as it was when it was opened. Raises
    UnreadableTranscript.
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


@dataclass(frozen=True, slots=True)
class MainLine:
    """The records from the root to the newest message, in the order of the file, and those beside them."""

    records: Sequence[Record]
    beside: Sequence[Record]
    gaps: int  # records whose parent is not in the file


def main_line(
    said: Sequence[Record], is_message: Callable[[Record], bool], message_id: Callable[[Record], str | None]
) -> MainLine:
    """The main line: the way up from the newest record that is a message, and what follows it.

    Records of one ``message_id`` belong together: of calls that were made at once, only one leads to the next.
    """
    by_id = {record["uuid"]: at for at, record in enumerate(said)}
    newest = next((at for at in range(len(said) - 1, -1, -1) if is_message(said[at])), None)
    if newest is None:
        return MainLine((), (), 0)
    on_line: set[int] = set()
    gaps = 0
    at: int | None = newest
    while at is not None and at not in on_line:
        on_line.add(at)
        above = said[at].get("parentUuid") or said[at].get("logicalParentUuid")
        if above is None:
            break
        place = by_id.get(above) if isinstance(above, str) else None
        if place is None:  # the best guess at what it hangs from is what stands before it
            gaps += 1
            place = at - 1 if at else None
        at = place
    together = {message_id(said[each]) for each in on_line} - {None}
    kept = [
        each in on_line or each > newest or message_id(record) in together for each, record in enumerate(said)
    ]
    return MainLine(
        [record for record, keeps in zip(said, kept, strict=True) if keeps],
        [record for record, keeps in zip(said, kept, strict=True) if not keeps],
        gaps,
    )
