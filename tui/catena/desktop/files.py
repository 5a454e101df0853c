"""Files between Catena and the desktop: paths in a paste, and those that the person opens with another program."""

from __future__ import annotations

import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LONGEST = 8_192  # characters of a paste
_MOST = 100  # paths
_DRIVE = re.compile(r"([A-Za-z]):[\\/](.*)", re.DOTALL)
_WSL_SHARE = re.compile(r"\\\\wsl(?:\.localhost|\$)\\[^\\]+(\\.*)", re.IGNORECASE | re.DOTALL)


def pasted_paths(
    text: str, *, exists: Callable[[str], bool], home: str, wsl: bool = False, host: str = ""
) -> tuple[str, ...]:
    """The paths that a paste consists of, absolute; empty where it is anything else, or one of them does not exist.

    A path is absolute, below ``~`` or a `file://` address of this machine; quoted, escaped with backslashes or as it
    is; several stand on lines of their own or are separated by blanks. ``wsl``: those of Windows are meant, too.
    """
    if len(text) > _LONGEST:
        return ()
    for words in _readings(text):
        paths = [_path_of(word, home=home, wsl=wsl, host=host) for word in words]
        found = tuple(path for path in paths if path and "\0" not in path)
        if found and len(found) == len(paths) <= _MOST and all(exists(path) for path in found):
            return found
    return ()


def is_wsl(environment: Mapping[str, str]) -> bool:
    """True in the Windows Subsystem for Linux."""
    return bool(environment.get("WSL_DISTRO_NAME") or environment.get("WSL_INTEROP"))


def host_name() -> str:
    """The name of this machine, as it stands in `file://` addresses."""
    return socket.gethostname()


def _readings(text: str) -> Iterator[Sequence[str]]:
    """What the words of a paste may be: one name with all that is in it, one on each line, or those of a shell."""
    lines = [line.strip("\r") for line in text.strip("\r\n").split("\n")]
    for each in (lines, [line.strip() for line in lines]):
        yield [line for line in each if line.strip()]
    yield [_unquoted(line.strip()) for line in lines if line.strip()]
    try:
        yield shlex.split(text)
    except ValueError:
        return


def _unquoted(line: str) -> str:
    quoted = len(line) > 1 and line[0] == line[-1] and line[0] in "'\""
    return line[1:-1] if quoted else line


def _path_of(word: str, *, home: str, wsl: bool, host: str) -> str | None:
    """The absolute path that a word is; None if it is none."""
    if word.startswith("file:"):
        return _path_of_address(word, host=host)
    if word.startswith("~/"):
        return f"{home.rstrip('/')}{word[1:]}"
    if word.startswith("/"):
        return word
    if not wsl:
        return None
    if drive := _DRIVE.fullmatch(word):
        below = drive[2].replace("\\", "/")
        return f"/mnt/{drive[1].lower()}/{below}"
    share = _WSL_SHARE.fullmatch(word)
    return share[1].replace("\\", "/") if share else None


def _path_of_address(address: str, *, host: str) -> str | None:
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    if parts.netloc.lower() not in ("", "localhost", host.lower()) or parts.query or parts.fragment:
        return None
    path = unquote(parts.path, errors="surrogateescape")
    return path if path.startswith("/") else None


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
        raise NotOpened("This terminal is on another machine.")
    names = ("open",) if platform == "darwin" else ("wslview",) if is_wsl(environment) else ()
    for name in (*names, "xdg-open"):
        if (path := shutil.which(name, path=environment.get("PATH"))) is not None:
            return (path,)
    raise NotOpened("No program to open images was found (xdg-open).")


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
