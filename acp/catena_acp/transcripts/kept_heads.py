"""Heads of sessions as a file keeps them, so that a program that starts reads only what has changed since."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

from catena_acp.transcripts.session import ForeignSession

FILE = "heads.json"  # below the data folder

FileState: TypeAlias = tuple[int, int]  # size and time of the last change
Heads: TypeAlias = Mapping[Path, tuple[FileState, Sequence[ForeignSession]]]

_TIMES = ("created_at", "updated_at")


class KeptHeads:
    """The heads that were read from files, by path, with the states of those files.

    Other readers than those of now may have found something else in a file: then nothing counts as kept.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> Heads:
        """The heads that are kept; none where the file is not there or cannot be read."""
        try:
            kept = json.loads(self._path.read_bytes())
            if kept["readers"] != _readers():
                return {}
            return {
                Path(path): ((size, changed), [_head(Path(path), each) for each in heads])
                for path, (size, changed, heads) in kept["files"].items()
            }
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return {}

    def save(self, heads: Heads) -> None:
        """Keep these heads and no others; where nothing can be written, they are read again next time."""
        files = {
            str(path): (*state, [_record(head) for head in found]) for path, (state, found) in heads.items()
        }
        beside = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            beside.touch(mode=0o600)
            beside.write_text(json.dumps({"readers": _readers(), "files": files}))
            beside.replace(self._path)
        except OSError:
            with suppress(OSError):
                beside.unlink()


def _readers() -> list[list[object]]:
    """What tells the modules that read heads from those of another version."""
    found = []
    for module in sorted(Path(__file__).parent.glob("*.py")):
        status = module.stat()
        found.append([module.name, status.st_size, status.st_mtime_ns])
    return found


def _record(head: ForeignSession) -> dict[str, Any]:
    record = {name: value for name, value in asdict(head).items() if name != "path"}
    return record | {name: record[name] and record[name].isoformat() for name in _TIMES}


def _head(path: Path, record: Mapping[str, Any]) -> ForeignSession:
    times = {name: record[name] and datetime.fromisoformat(record[name]) for name in _TIMES}
    return ForeignSession(**{**record, **times}, path=path)
