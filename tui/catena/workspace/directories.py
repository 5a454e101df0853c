"""Directories as the person names them."""

from __future__ import annotations

from pathlib import Path

from catena.errors import CommandRefused


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
