"""The location of the file: its directory, its permissions, and what the file system can carry: a log, and locks."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

# A write-ahead log is coordinated through shared memory, which two hosts do not share.
_NETWORK = frozenset(
    {"9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs"}
    | {"nfs4", "smb3", "smbfs"}
    | {"fuse.davfs2", "fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "fuse.sshfs"}
)


def data_directory() -> Path:
    """The data folder: ``CATENA_DATA_DIR``, or the user data folder of the system."""
    if chosen := os.environ.get("CATENA_DATA_DIR"):
        return Path(chosen).expanduser().absolute()
    from platformdirs import user_data_path

    return user_data_path("catena", appauthor=False)


def default_path() -> Path:
    """The path of the store's file."""
    return data_directory() / "catena.db"


def make_private(path: Path) -> None:
    """Create the file and its directory, readable for us alone; take an existing file's grants to others away.

    SQLite gives the log and the shared memory beside the file its mode, so that must be right before SQLite opens it.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        # Closing a handle on the database file drops every lock that this process has on it, but nobody has a lock
        # on a file that does not exist yet. (A umask would do as well, but agents started meanwhile inherit it.)
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        for file in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
            _restrict(file)


def may_write(path: Path) -> bool:
    """True where the file and its directory can be written, or the file does not exist."""
    if not path.exists():
        return True  # creating it will tell
    effective = {"effective_ids": True} if os.access in os.supports_effective_ids else {}
    return os.access(path, os.W_OK, **effective) and os.access(path.parent, os.W_OK, **effective)


def write_refusal(directory: Path) -> str | None:
    """The system's words if no file can be made in a directory, or in the nearest above it that is there; else None."""
    nearest = next(each for each in (directory, *directory.parents) if os.path.isdir(each))  # noqa: PTH112
    trial = nearest / f".catena-{os.getpid()}.trial"
    try:
        os.close(os.open(trial, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
        trial.unlink()
    except OSError as error:
        return error.strerror or str(error)
    return None


def lock_refusal(directory: Path) -> str | None:
    """The system's words if it locks no file in a directory, as on a network without a lock service; else None.

    It is tried on a file of its own, which is gone at once; where none can be made, nothing is known.
    """
    trial = directory / f".catena-{os.getpid()}.lock-trial"
    try:
        handle = os.open(trial, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        trial.unlink()
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.strerror or "no locks available"
    finally:
        os.close(handle)
    return None


def identity(path: Path) -> tuple[int, int] | None:
    """The device and inode of a file, which its path leads to; None where it leads to nothing."""
    # Never by a descriptor: see ``make_private``.
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino


def _restrict(file: Path) -> None:
    try:
        status = file.stat()
        if status.st_mode & 0o077 and status.st_uid == os.geteuid():
            file.chmod(status.st_mode & 0o700)
    except FileNotFoundError:
        return  # another process closed the store just now and removed its log


def on_network(directory: Path, mounts: Path = Path("/proc/self/mounts")) -> bool:
    """True where the system says that the directory lies on a network file system."""
    try:
        lines = mounts.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return False
    real = directory.resolve()
    best, kind = -1, ""
    for line in lines:
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = Path(_unescaped(fields[1]))
        # A later line is mounted over an earlier one at the same place.
        if real.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), fields[2]
    return kind in _NETWORK


def _unescaped(field: str) -> str:
    for escape, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        field = field.replace(escape, character)
    return field
