"""Cues: whoever waits for one goes on as soon as a file of its name is there, however fast or slow the machine is."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Final

_LOOK_SECONDS: Final = 0.01


class Cues:
    """A directory; a cue is given, once and for all, by making a file in it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def wait(self, name: str, given_up: threading.Event) -> bool:
        """Wait until the cue is given; False where that was given up before."""
        while not (self._directory / name).exists():
            if given_up.wait(_LOOK_SECONDS):
                return False
        return True
