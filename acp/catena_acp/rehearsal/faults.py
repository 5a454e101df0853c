"""Faults and cues, by which tests control the agent through files.

A JSON file of faults is read at each request. Each key is a method (``load`` for ``session/load``, or ``any``), each
value a fault or a list of them, tried in order::

    {"load": {"error": [-32002, "Resource not found"]}, "prompt": {"error": [-32603, "no"], "times": 1}}

Uses are counted in ``<file>.used``, so that ``times`` holds across processes; a new version of the file is counted
afresh.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

Fault = Mapping[str, Any]
NO_FAULT: Final[Fault] = MappingProxyType({})


class Faults:
    """Reader of the fault file."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def take(self, method: str) -> Fault:
        """Take the fault for the next request of ``method``, and count its use; empty if there is none."""
        if self._path is None:
            return NO_FAULT
        try:
            with self._path.open() as file:
                # Of the open file: the name may already belong to a newer one.
                stat = os.fstat(file.fileno())
                written = json.load(file)
        except (FileNotFoundError, ValueError):
            return NO_FAULT
        version = f"{stat.st_mtime_ns}.{stat.st_size}"  # two versions may have the same time
        name = method.rpartition("/")[2]
        for key in (name, method, "any"):
            faults = written.get(key, [])
            for fault in faults if isinstance(faults, list) else [faults]:
                mark = f"{version} {key} {json.dumps(fault, sort_keys=True)}"
                times = fault.get("times")
                if times is None or self._use_count(mark) < times:
                    self._count_use(mark)
                    return MappingProxyType(dict(fault))
        return NO_FAULT

    def _record_path(self) -> Path:
        assert self._path is not None
        return self._path.with_name(self._path.name + ".used")

    def _use_count(self, mark: str) -> int:
        try:
            return self._record_path().read_text().splitlines().count(mark)
        except FileNotFoundError:
            return 0

    def _count_use(self, mark: str) -> None:
        with self._record_path().open("a") as record:
            record.write(mark + "\n")


_LOOK_SECONDS: Final = 0.01


class Cues:
    """A directory in which a file gives the cue of its name, once and for all."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def wait(self, name: str, cancelled: threading.Event) -> bool:
        """Wait for a cue; False if the wait was cancelled first."""
        while not (self._directory / name).exists():
            if cancelled.wait(_LOOK_SECONDS):
                return False
        return True
