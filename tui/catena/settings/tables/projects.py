"""The `[projects."DIR"]` tables: what new conversations in a directory begin with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from catena.errors import InvalidSettings

Wrong = Callable[[tuple[str, ...], str], InvalidSettings]  # the error of a key, with its file and line


@dataclass(frozen=True, slots=True)
class ProjectSetting:
    """One `[projects."DIR"]` table; it holds in that directory and below."""

    directory: str  # as it is written
    directories: tuple[str, ...] = ()  # additional ones of its conversations, relative to it


def read_projects(document: Mapping[str, Any], wrong: Wrong) -> tuple[ProjectSetting, ...]:
    """The projects of a settings file. Raises what ``wrong`` makes."""
    tables = document.get("projects", {})
    if not isinstance(tables, dict):
        raise wrong(("projects",), 'must be a table: [projects."~/work/api"]')
    return tuple(_project(name, table, wrong) for name, table in tables.items())


def _project(directory: str, table: Any, wrong: Wrong) -> ProjectSetting:
    at = ("projects", directory)
    if not isinstance(table, dict):
        raise wrong(at, "must be a table with `directories`")
    if not is_absolute(directory):
        raise wrong(at, "must be named by a directory that begins with / or ~")
    for key in table:
        if key != "directories":
            raise wrong((*at, key), "is not a setting; known: directories")
    named = table.get("directories", [])
    if not isinstance(named, list) or not all(isinstance(each, str) and each for each in named):
        raise wrong((*at, "directories"), 'must be a list of directories: ["../shared"]')
    if any("\0" in each for each in named):
        raise wrong((*at, "directories"), "contains a NUL character")
    return ProjectSetting(directory, tuple(named))


def additional_directories(projects: tuple[ProjectSetting, ...], cwd: str) -> tuple[str, ...]:
    """The additional directories of a new conversation, absolute; one that is not there is left out. Blocks."""
    found: dict[str, None] = {}
    for project in projects:
        top = absolute(project.directory)
        if Path(cwd).is_relative_to(top):
            named = (absolute(each, base=top) for each in project.directories)
            found |= dict.fromkeys(path for path in named if path != cwd and Path(path).is_dir())
    return tuple(found)


def is_absolute(path: str) -> bool:
    """True for a path that begins with / or ~, and can be one."""
    return path.startswith(("/", "~")) and "\0" not in path


def absolute(path: str, *, base: str = "/") -> str:
    """The absolute path of a directory, links resolved, whether it is there or not. Blocks."""
    try:
        return str(Path(base, Path(path).expanduser()).resolve())
    except (OSError, RuntimeError):  # `~nobody`, or links in a circle
        return str(Path(base, path))
