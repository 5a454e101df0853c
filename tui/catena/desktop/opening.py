"""Files that the person opens with another program: written to a private directory, which goes with the program."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Mapping
from pathlib import Path

from catena.desktop.pasted_paths import is_wsl


class NotOpened(Exception):
    """A file that could not be opened; ``str()`` of it can be shown to a person."""


class OpenedFiles:
    """Copies of what was opened, readable by this person alone, until the program ends."""

    def __init__(self) -> None:
        self._directory: Path | None = None

    def write(self, name: str, content: bytes) -> Path:
        """Write a copy; the same file again has the same path. Raises OSError."""
        if self._directory is None:
            self._directory = Path(tempfile.mkdtemp(prefix="catena-"))
            weakref.finalize(self, shutil.rmtree, self._directory, ignore_errors=True)
        path = self._directory / name
        if not path.exists():
            with path.open("xb") as file:
                file.write(content)
        return path


def opener(environment: Mapping[str, str], platform: str = sys.platform) -> tuple[str, ...]:
    """The program with which the desktop opens a file. Raises NotOpened if there is none."""
    if environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"):
        raise NotOpened("This terminal is on another machine; s saves the image here.")
    names = ("open",) if platform == "darwin" else ("wslview",) if is_wsl(environment) else ()
    for name in (*names, "xdg-open"):
        if (path := shutil.which(name, path=environment.get("PATH"))) is not None:
            return (path,)
    raise NotOpened("No program to open images was found (xdg-open); s saves the image.")


def open_file(path: Path, environment: Mapping[str, str]) -> None:
    """Open a file with the desktop's program, without waiting for that. Raises NotOpened."""
    command = (*opener(environment), str(path))
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=dict(environment),
            start_new_session=True,
        )
    except OSError as error:
        raise NotOpened(f"{command[0]} cannot be started: {error.strerror}.") from error
    threading.Thread(target=process.wait, daemon=True).start()  # nothing is left of it when it ends
