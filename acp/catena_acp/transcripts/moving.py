"""Bringing a session's transcript to where its tool looks for it from another directory, or with another account.

A copy is whole or not there at all: it is written beside its place, and takes it once it is on the disk. An older file
in that place is only replaced by one that has gone on from it; notes of its tool behind the last message do not count.
With another account the original stays; within one it goes once the copy is on the disk, for Claude Code takes the
first file of an id that it finds in any directory's folder.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Protocol

from catena_acp.errors import NotCopied
from catena_acp.transcripts.session import Tool

_BLOCK = 1 << 20
_TRIES = 3
_NOTES = frozenset({"cost-state", "last-prompt", "atis-latch"})
_PLAIN_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")  # nothing else is the name of a file
# By the names that links are stamped with and that agents report, lower case.
_TOOLS: Mapping[str, Tool] = {
    "claude": Tool.CLAUDE,
    "@agentclientprotocol/claude-agent-acp": Tool.CLAUDE,
    "@zed-industries/claude-code-acp": Tool.CLAUDE,
    "codex": Tool.CODEX,
    "@agentclientprotocol/codex-acp": Tool.CODEX,
}


class SessionHome(Protocol):
    """Where an agent keeps a session."""

    @property
    def profile(self) -> str: ...
    @property
    def environment(self) -> Mapping[str, str]:
        """That by which it finds its transcripts."""
        ...

    @property
    def cwd(self) -> str: ...


class TranscriptFiles:
    """The transcripts of the agents that keep them as files which can be read. Every function blocks.

    ``agents`` are the names that an agent is known by.
    """

    def knows(self, agents: Iterable[str]) -> bool:
        """True for an agent that keeps its sessions so."""
        return _tool_of(agents) is not None

    def path_of(self, agents: Iterable[str], session_id: str, home: SessionHome) -> Path | None:
        """The transcript of a session; None if there is none."""
        with suppress(OSError):
            if places := _places(agents, session_id, home, home):
                return places[0]
        return None

    def can_copy(self, agents: Iterable[str], session_id: str, here: SessionHome, there: SessionHome) -> bool:
        """True if a session's transcript is here, and no other version of it is known to be there."""
        with suppress(OSError):
            places = _places(agents, session_id, here, there)
            return places is not None and (places[0] == places[1] or _may_replace(*places))
        return False

    def copy(self, agents: Iterable[str], session_id: str, here: SessionHome, there: SessionHome) -> None:
        """Copy a session's transcript; within one profile it moves. Raises NotCopied."""
        try:
            places = _places(agents, session_id, here, there)
            if places is None:
                raise NotCopied("its transcript is not there")
            source, target = places
            if source != target:
                # What subagents said, and long results: before the transcript that names them.
                if (beside := source.with_suffix("")).is_dir():
                    shutil.copytree(beside, target.with_suffix(""), dirs_exist_ok=True)
                bring = move_file if here.profile == there.profile else copy_file
                bring(source, target)
        except OSError as error:
            raise NotCopied(f"its transcript cannot be copied: {error.strerror or error}") from error


def _places(
    agents: Iterable[str], session_id: str, here: SessionHome, there: SessionHome
) -> tuple[Path, Path] | None:
    """The transcript of a session here, and its place there.

    None where there is none, and for two profiles with the same files: each would take the session for its own.
    """
    tool = _tool_of(agents)
    if tool is None or not _PLAIN_ID.fullmatch(session_id):
        return None
    # With all that reads transcripts, which few prompts need.
    from catena_acp.transcripts import (
        claude,
        codex,
    )

    if tool is Tool.CLAUDE:
        root, other = claude.root(here.environment), claude.root(there.environment)
        source = claude.transcript_path(root, here.cwd, session_id)
        if not source.is_file():  # it was made, or went on, in another directory
            source = _newest(root.glob(f"projects/*/{session_id}.jsonl")) or source
        target = claude.transcript_path(other, there.cwd, session_id)
    else:
        root, other = codex.root(here.environment), codex.root(there.environment)
        found = _newest(root.glob(f"sessions/*/*/*/rollout-*-{session_id}.jsonl"))
        if found is None:
            return None
        source, target = found, other / found.relative_to(root)
    if not source.is_file() or (here.profile != there.profile and root.resolve() == other.resolve()):
        return None
    return source, target


def _tool_of(agents: Iterable[str]) -> Tool | None:
    return next((_TOOLS[name] for name in map(str.lower, agents) if name in _TOOLS), None)


def _newest(paths: Iterable[Path]) -> Path | None:
    return max(paths, key=lambda path: path.stat().st_mtime_ns, default=None)


def move_file(source: Path, target: Path) -> None:
    """Move a file as ``copy_file`` copies it; at any moment one of the two is whole. Raises OSError, NotCopied."""
    copy_file(source, target)
    if source.stat().st_size != target.stat().st_size:
        raise NotCopied("its transcript is still being written")
    source.unlink()


def copy_file(source: Path, target: Path) -> None:
    """Copy a file that another program may just be writing. Raises OSError, NotCopied.

    A file that is there already is replaced if the source has gone on from it, and else left alone.
    """
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.partial")
    for _ in range(_TRIES):
        with source.open("rb") as file:
            before = os.fstat(file.fileno())
            if not stat.S_ISREG(before.st_mode):
                raise NotCopied("its transcript is not a file")
            if not _goes_on_from(file, target):
                raise NotCopied("another version of its transcript is there")
            file.seek(0)
            try:
                with partial.open("wb") as copy:
                    partial.chmod(stat.S_IMODE(before.st_mode) & 0o600)
                    shutil.copyfileobj(file, copy, _BLOCK)
                    copy.flush()
                    os.fsync(copy.fileno())
                if _looks_as(source, before):
                    partial.replace(target)
                    _settle(target.parent)
                    return
            finally:
                partial.unlink(missing_ok=True)
    raise NotCopied("its transcript is still being written")


def _goes_on_from(file: BinaryIO, target: Path) -> bool:
    """True if the file begins with all that was said at a path, also if nothing was."""
    try:
        with target.open("rb") as before:
            return _has_all(file, before)
    except FileNotFoundError:
        return True


def _has_all(file: BinaryIO, before: BinaryIO) -> bool:
    """True if a file goes on with what another one has from here on, but for what its tool notes at its end."""
    while block := before.read(_BLOCK):
        found = file.read(len(block))
        if found != block:
            pairs = enumerate(zip(found, block, strict=False))
            same = next((at for at, (ours, theirs) in pairs if ours != theirs), len(found))
            line = block.rfind(b"\n", 0, same) + 1
            if not line and before.tell() > len(block):
                return False  # it begins before this block: no note is so long
            before.seek(line - len(block), os.SEEK_CUR)
            return all(map(_is_note, before))
    return True


def _is_note(line: bytes) -> bool:
    """True for a line that says nothing of the conversation, which Claude Code adds when a session is left."""
    try:
        record = json.loads(line)
    except ValueError:
        return False
    return isinstance(record, dict) and record.get("type") in _NOTES and "uuid" not in record


def _may_replace(source: Path, target: Path) -> bool:
    """True unless the end of what is at the target tells that the source did not go on from it; read in no time."""
    try:
        with source.open("rb") as file, target.open("rb") as before:
            begin = max(0, os.fstat(before.fileno()).st_size - _BLOCK)
            file.seek(begin)
            before.seek(begin)
            return _has_all(file, before)
    except FileNotFoundError:
        return True


def _looks_as(path: Path, before: os.stat_result) -> bool:
    now = path.stat()
    return (now.st_size, now.st_mtime_ns, now.st_ino) == (before.st_size, before.st_mtime_ns, before.st_ino)


def _settle(directory: Path) -> None:
    """Let the name of a new file survive a power cut, where the system knows how."""
    with suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
