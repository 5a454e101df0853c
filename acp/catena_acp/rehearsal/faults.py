"""Faults on demand: a JSON file, read again at each request, says how the next requests of a method fail.

Each key is a method (``load`` for ``session/load``, or ``any``), each value a fault or a list of
them, tried in order::

    {"load": {"error": [-32002, "Resource not found"]}, "prompt": {"error": [-32603, "no"], "times": 1}}

How often each was used is kept beside the file, in ``<file>.used``, so that ``times`` counts across
processes; a file that is written anew is counted anew.
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
    """The control file."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def take(self, method: str) -> Fault:
        """The fault that the next request of ``method`` is to have; used up by one. Empty: none."""
        if self._path is None:
            return NO_FAULT
        try:
            with self._path.open() as file:
                # Of the file that is read: by its name it may be another one already.
                stat = os.fstat(file.fileno())
                written = json.load(file)
        except (FileNotFoundError, ValueError):
            return NO_FAULT
        version = f"{stat.st_mtime_ns}.{stat.st_size}"  # two files may be of one tick of the clock
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
    """A directory; a cue is given, once and for all, by making a file in it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def wait(self, name: str, cancelled: threading.Event) -> bool:
        """Wait until the cue is given; False where that was given up before."""
        while not (self._directory / name).exists():
            if cancelled.wait(_LOOK_SECONDS):
                return False
        return True
