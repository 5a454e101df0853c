"""What a path that is being typed can become."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path

from catena.widgets.row_list import Row

_READ = 2_000  # entries of one directory
_OFFERED = 200
_COMMANDS = ("/attach ",)  # what takes a path
PATH = "path:"  # the keys of rows that are paths


def path_rows(text: str, directory: str) -> list[Row]:
    """The rows for a text that is a command with the beginning of a path; a directory's path ends with a slash."""
    command = next((each for each in _COMMANDS if text.startswith(each)), None)
    if command is None or "\n" in text:
        return []
    typed = text.removeprefix(command).lstrip()
    before, slash, beginning = typed.rpartition("/")
    shown_before = before + slash
    try:
        place = Path(directory, Path(shown_before or ".").expanduser())
        with os.scandir(place) as entries:
            found = [(each.name, each.is_dir()) for each in islice(entries, _READ)]
    except (OSError, ValueError, RuntimeError):
        return []
    fitting = [
        (name, is_directory)
        for name, is_directory in found
        if name.lower().startswith(beginning.lower()) and (beginning or not name.startswith("."))
    ]
    fitting.sort(key=lambda each: (each[0].startswith("."), each[0].lower()))
    if [name for name, is_directory in fitting if not is_directory] == [beginning] and len(fitting) == 1:
        return []  # nothing is missing
    return [
        Row(
            f"{PATH}{command}{shown_before}{name}{'/' if is_directory else ''}",
            f"{name}{'/' if is_directory else ''}",
        )
        for name, is_directory in fitting[:_OFFERED]
    ]
