"""Copies of transcripts, kept before the tools that wrote them prune them.

A copy is named after its session and its content, and has its original's time. What only grew replaces the copy before;
what became something else is kept beside it, since that may be the stub that a tool left of it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from catena_acp.transcripts.lines import UnreadableTranscript, opened
from catena_acp.transcripts.session import ForeignSession, Tool
from catena_acp.transcripts.sources import SourcePlace

FOLDER = "transcripts"  # below the data folder
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_BLOCK = 1 << 20


class Copies:
    """The copies below a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, sessions: Iterable[ForeignSession]) -> int:
        """Copy the transcripts that are new or have changed; return how many those were.

        Blocks while it reads: for a thread. One that cannot be read is left; databases are not copied. Raises OSError
        where nothing can be written.
        """
        kept = 0
        self._sweep()
        for session in sessions:
            if session.path and not session.copied and session.path.suffix == ".jsonl":
                with suppress(UnreadableTranscript):
                    kept += self._keep(session, session.path)
        return kept

    def files(self) -> list[tuple[SourcePlace, Path]]:
        """Every copy, the newest first."""
        found = [
            (SourcePlace(tool, self._folder), path)
            for tool in Tool
            for path in (self._folder / tool).glob("*.jsonl")
        ]
        return sorted(found, key=lambda each: each[1].stat().st_mtime_ns, reverse=True)

    def _sweep(self) -> None:
        """Remove what processes that are no more have left of copies."""
        for partial in self._folder.glob("*/*.partial"):
            pid = partial.suffixes[-2].removeprefix(".") if len(partial.suffixes) > 1 else ""
            if not (pid.isdecimal() and _runs(int(pid))):
                partial.unlink(missing_ok=True)

    def _keep(self, session: ForeignSession, path: Path) -> bool:
        import hashlib  # with OpenSSL: 4 MiB that nothing else on the way to the screen needs

        folder = self._folder / session.source
        name = _UNSAFE.sub("-", session.session_id)[:100]
        before = sorted(folder.glob(f"{name}.*.jsonl"), key=lambda each: each.stat().st_size)
        with opened(path) as (file, status):
            if any(_looks_like(each, status) for each in before):
                return False
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            partial = folder / f"{name}.{os.getpid()}.partial"
            grown_from = {each.stat().st_size: each for each in before}
            outgrown: list[Path] = []
            digest = hashlib.sha256()
            try:
                # The copy is there whole, or not at all: a crash leaves a partial file, which is none.
                with partial.open("wb") as copy:
                    partial.chmod(0o600)
                    for block in _blocks(file, status.st_size, grown_from):
                        digest.update(block)
                        copy.write(block)
                        earlier = grown_from.get(copy.tell())
                        if earlier and earlier.name.endswith(f".{digest.hexdigest()[:16]}.jsonl"):
                            outgrown.append(earlier)
                    copy.flush()
                    os.fsync(copy.fileno())
                os.utime(partial, ns=(status.st_atime_ns, status.st_mtime_ns))
                kept = folder / f"{name}.{digest.hexdigest()[:16]}.jsonl"
                partial.replace(kept)
            finally:
                partial.unlink(missing_ok=True)
        for each in outgrown:
            if each != kept:
                each.unlink(missing_ok=True)
        return True


def _looks_like(copy: Path, status: os.stat_result) -> bool:
    kept = copy.stat()
    return (kept.st_size, kept.st_mtime_ns) == (status.st_size, status.st_mtime_ns)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # someone else's
    return True


def _blocks(file: BinaryIO, size: int, stops: Iterable[int]) -> Iterator[bytes]:
    """The first ``size`` bytes in blocks, each of which ends where one of the stops is, if it would go beyond it."""
    at = 0
    ends = sorted(stop for stop in stops if stop < size)
    while at < size:
        while ends and ends[0] <= at:
            ends.pop(0)
        until = min([size, at + _BLOCK, *ends[:1]])
        block = file.read(until - at)
        if not block:
            return
        at += len(block)
        yield block
