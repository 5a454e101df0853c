"""Agents that Catena installed, each below `agents/ID` in the data directory.

An install is a directory of its own, which never changes once it is there. `install.json` beside it names the one in
use, and is written last: until then, whatever happens, the one before is in use. Replaced ones may still run, so
they are removed with the next install. Completion and the first frame look for them, without the registry's data.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from catena_acp.errors import InstallFailed
from catena_store.database.location import data_directory

_NOTE = "install.json"
_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Install:
    """An installed agent: its version, where it is, what starts it, and where it came from."""

    id: str
    version: str
    directory: str  # its name below `agents/ID`
    command: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    source: str
    size: int  # bytes
    verified: bool  # its sha256 was known, and right

    @property
    def path(self) -> Path:
        """The directory that everything of it is in."""
        return agents_directory() / self.id / self.directory

    @property
    def found(self) -> bool:
        """True while its program is there."""
        return os.access(self.command[0], os.X_OK)


def find_install(id: str) -> Install | None:
    """The install of an agent that is in use; None if there is none, or its program is gone."""
    home = agents_directory() / id
    if not _ID.fullmatch(id) or not home.is_dir():
        return None
    install = _read(id, home / _NOTE)
    return install if install is not None and install.found else None


def installed_agents() -> tuple[Install, ...]:
    """All installs that are in use, by id."""
    try:
        names = sorted(entry.name for entry in os.scandir(agents_directory()) if entry.is_dir())
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return ()
    return tuple(install for name in names if (install := find_install(name)))


@contextmanager
def locked(id: str) -> Iterator[Path]:
    """The directory of an agent's installs, made if need be, with nobody else installing or removing it.

    Raises InstallFailed.
    """
    home = agents_directory() / id
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Beside the directory, and never removed: a lock on a removed file would hold nobody back.
        lock = os.open(home.with_name(f".{id}.lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise InstallFailed(f"{home} cannot be written: {error.strerror}") from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InstallFailed("another Catena is installing or removing it") from error
        except OSError as error:  # a file system without locks
            raise InstallFailed(f"{home} cannot be locked: {error.strerror}") from error
        yield home
    finally:
        os.close(lock)


def new_directory(home: Path, version: str) -> Path:
    """Make the directory of a new install of a version. Raises OSError."""
    for number in range(1, 1000):
        path = home / (version if number == 1 else f"{version}-{number}")
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
            return path
    raise OSError(errno.EEXIST, os.strerror(errno.EEXIST), str(home))


def take_into_use(install: Install) -> None:
    """Make an install the one in use; remove those that were replaced before the last one. Raises OSError."""
    home = agents_directory() / install.id
    before = _read(install.id, home / _NOTE)
    import json

    write_whole(home / _NOTE, json.dumps(asdict(install), indent=1).encode())
    remove_leftovers(home, {install.directory, before.directory if before else ""})


def remove_leftovers(home: Path, kept: set[str]) -> None:
    """Remove what earlier installs left, finished or not, without those that are kept."""
    for entry in os.scandir(home):
        if entry.is_dir(follow_symlinks=False) and entry.name not in kept:
            remove_tree(Path(entry.path))


def remove_install(id: str) -> int:
    """Remove all installs of an agent; the bytes that they took. Raises InstallFailed."""
    with locked(id) as home:
        size = size_of(home)
        try:
            (home / _NOTE).unlink(missing_ok=True)  # from here on it is not installed
            for entry in os.scandir(home):
                if entry.is_dir(follow_symlinks=False):
                    remove_tree(Path(entry.path))
        except OSError as error:
            raise InstallFailed(f"{home} cannot be removed: {error.strerror}") from error
        with suppress(OSError):
            home.rmdir()
    return size


def remove_tree(path: Path) -> None:
    """Remove a directory, with directories in it that may not be written; what is left then is left."""
    for folder, _, _ in os.walk(path):
        with suppress(OSError):
            Path(folder).chmod(0o700)
    shutil.rmtree(path, ignore_errors=True)


def size_of(directory: Path) -> int:
    """The bytes of all files below a directory."""
    size = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            with suppress(OSError):
                size += (Path(folder) / name).lstat().st_size
    return size


def _read(id: str, note: Path) -> Install | None:
    """The install that a note names; None where there is none, or it is damaged."""
    import json

    try:
        fields = json.loads(note.read_bytes())
        directory, command = fields["directory"], tuple(fields["command"])
        env = tuple((name, value) for name, value in fields["env"])
        texts = (
            fields["version"],
            directory,
            fields["source"],
            *command,
            *(text for pair in env for text in pair),
        )
        if not command or not all(isinstance(text, str) for text in texts):
            return None
        return Install(
            id,
            fields["version"],
            directory,
            command,
            env,
            fields["source"],
            int(fields["size"]),
            bool(fields["verified"]),
        )
    except (OSError, ValueError, TypeError, KeyError):
        return None


def agents_directory() -> Path:
    """The directory of installed agents and of the registry's data."""
    return data_directory() / "agents"


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that a reader finds all of it or the old one, also after a crash. Raises OSError."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
