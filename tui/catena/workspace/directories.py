"""Directories as the person names them."""

from __future__ import annotations

from pathlib import Path

from catena.errors import CommandRefused


def git_branch(directory: str) -> str:
    """The branch that a directory's repository is on, "" if there is none or its head is on no branch."""
    for folder in (Path(directory), *Path(directory).parents):
        head = folder / ".git"
        try:
            if head.is_file():  # of a worktree: where its own folder is
                head = folder / head.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
            elif not head.is_dir():
                continue
            _, is_branch, name = (head / "HEAD").read_text(encoding="utf-8").strip().partition("refs/heads/")
        except (OSError, UnicodeDecodeError, ValueError):
            return ""
        return name if is_branch else ""
    return ""


def is_directory(path: str) -> bool:
    """True if there is a directory at a path."""
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def existing_directory(named: str | None, *, base: str | None = None) -> str:
    """The absolute path, links resolved, of the directory that was named; of the current one if none was.

    A relative name counts from ``base``, or else from the current directory.

    Raises CommandRefused if there is no such directory.
    """
    try:
        path = (Path(base or ".") / Path(named or ".").expanduser()).resolve(strict=True)
    except (OSError, RuntimeError) as error:  # RuntimeError: `~nobody`, or links in a circle
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise CommandRefused(f"{named or 'the current directory'}: {why}") from error
    if not path.is_dir():
        raise CommandRefused(f"{named}: not a directory")
    try:
        str(path).encode()
    except UnicodeEncodeError as error:  # neither the protocol nor the store has a way to name it
        raise CommandRefused(f"{path}: the name is not UTF-8") from error
    return str(path)


def absolute_directory(named: str) -> str:
    """The absolute path, links resolved, of a directory that may be gone. Raises CommandRefused."""
    try:
        return str(Path(named).expanduser().resolve())
    except (OSError, RuntimeError) as error:
        raise CommandRefused(f"{named}: {error}") from error
