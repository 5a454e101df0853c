"""Files of exports: complete or absent, readable by the person alone, and never over another file unasked."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from catena.errors import CommandRefused
from catena.text.safe_text import safe_line

_LONGEST_NAME = 60


@contextmanager
def writing(path: Path, *, force: bool = False) -> Iterator[TextIO]:
    """A text file that is put in its place when the block ends, with mode 0600; it is gone where that fails.

    Raises FileExistsError unless ``force`` is given, and OSError.
    """
    if not force and path.exists():
        raise FileExistsError(17, "exists already", str(path))
    # Mode 0600.
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if force:
            os.replace(beside, path)  # noqa: PTH105 - as what it is
        else:
            _put_new(beside, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(beside)  # noqa: PTH108


@contextmanager
def refusing(named: str) -> Iterator[None]:
    """Refuse, in words, what cannot be written under a name. Raises CommandRefused."""
    try:
        yield
    except FileExistsError as error:
        raise CommandRefused(f"{named} exists already. Name another file.") from error
    except OSError as error:
        raise CommandRefused(f"{named} cannot be written: {error.strerror or error}") from error


def _put_new(beside: str, path: Path) -> None:
    try:
        os.link(beside, path)  # fails where the name was taken meanwhile
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        with path.open("x"):
            pass
        os.replace(beside, path)  # noqa: PTH105


def file_name(title: str, ending: str) -> str:
    """The name of a file for a title, without anything that a shell or a file system reads."""
    words = re.findall(r"[^\W_]+", safe_line(title).lower())
    name = "-".join(words)[:_LONGEST_NAME].strip("-") or "conversation"
    return f"{name}.{ending}"


def free_path(directory: Path, title: str, ending: str) -> Path:
    """A path in a directory that has no file yet, named after a title."""
    path = directory / file_name(title, ending)
    number = 2
    while path.exists() or path.is_symlink():
        path = directory / file_name(f"{title[:_LONGEST_NAME]} {number}", ending)
        number += 1
    return path


def write_new(directory: str, stem: str, text: str) -> Path:
    """Write a text into a new Markdown file of a directory, and return its path. Blocks; raises OSError."""
    path = free_path(Path(directory), stem, "md")
    with writing(path) as file:
        file.write(f"{text.rstrip()}\n".encode("utf-8", "replace").decode())
    return path
