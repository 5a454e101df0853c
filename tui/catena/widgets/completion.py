"""Completion of a beginning slash: Catena's commands, then the agent's; fuzzy, best first."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from catena.widgets.commands import CommandWords
from catena.widgets.row_list import Row, RowList

if TYPE_CHECKING:
    from catena_acp.session_events import Command


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


_OWN = "own:"
_AGENT = "agent:"
_PATH = "path:"


class CompletionList(RowList):
    """List of the commands that fit what is typed; hidden where none does."""

    DEFAULT_CSS = """
    CompletionList {
        height: auto;
        max-height: 8;
        display: none;
        &.-open { display: block; }
    }
    """

    def __init__(self, commands: Sequence[CommandWords], *, id: str | None = None) -> None:
        """``commands`` are Catena's own."""
        super().__init__(id=id)
        self._commands = commands

    @property
    def is_open(self) -> bool:
        """True while there is something to take."""
        return self.has_class("-open")

    def offer(self, text: str, agent_commands: Sequence[Command], directory: str) -> None:
        """Show what ``text`` can become; relative paths in it are below ``directory``."""
        rows = completions(text, self._commands, agent_commands)
        if not rows and text.startswith("/attach "):
            rows = path_rows(text, directory)
        self.set_class(bool(rows), "-open")
        if rows:
            self.show(rows)

    def close(self) -> None:
        """Hide it, until something else is typed."""
        self.remove_class("-open")

    def completed(self) -> tuple[str, bool] | None:
        """The text that the chosen row stands for, and whether it can be sent as it is."""
        row = self.chosen
        if row is None:
            return None
        if row.key.startswith(_PATH):
            path = row.key.removeprefix(_PATH)
            return path, not path.endswith("/")
        if row.key.startswith(_AGENT):
            takes_more = row.label != f"/{row.key.removeprefix(_AGENT)}"
            return f"/{row.key.removeprefix(_AGENT)}" + (" " if takes_more else ""), not takes_more
        # Ours ask for what is missing, so that they can all be sent at once.
        command = row.key.removeprefix(_OWN)
        return f"/{command}", True


def completions(
    text: str, own_commands: Sequence[CommandWords], agent_commands: Sequence[Command]
) -> list[Row]:
    """The rows for a text that is one unfinished word behind a slash; empty for any other text."""
    if not text.startswith("/") or any(character.isspace() or character == "/" for character in text[1:]):
        return []
    own = [((each.name, *each.aliases), _own_row(each)) for each in own_commands]
    taken = {name for names, _ in own for name in names}
    agents = [((each.name,), _agent_row(each, hidden=each.name in taken)) for each in agent_commands]
    return _ranked(text[1:], own) + _ranked(text[1:], agents)


def _ranked(typed: str, candidates: Sequence[tuple[tuple[str, ...], Row]]) -> list[Row]:
    if not typed:
        return [row for _, row in candidates]
    from textual.fuzzy import FuzzySearch

    search = FuzzySearch()

    def score(name: str) -> float:
        if name.startswith(typed):
            return 1_000.0 - len(name)
        return search.match(typed, name)[0]

    scored = [(max(map(score, names)), row) for names, row in candidates]
    return [row for points, row in sorted(scored, key=lambda each: -each[0]) if points > 0]


def _own_row(command: CommandWords) -> Row:
    label = f"/{command.name}" + (f" {command.argument}" if command.argument else "")
    return Row(_OWN + command.name, label, detail=command.key, note=command.summary)


def _agent_row(command: Command, *, hidden: bool) -> Row:
    label = f"/{command.name}" + (f" {command.hint}" if command.hint else "")
    if hidden:
        return Row(
            _AGENT + command.name,
            label,
            detail="from the agent",
            note="hidden: Catena has a command of that name",
            dim=True,
        )
    return Row(_AGENT + command.name, label, detail="from the agent", note=command.description)


_LONGEST = 8_192  # characters


def pasted_files(text: str) -> list[str]:
    """The files that a pasted text names, where it is nothing but whole paths of files that exist."""
    text = text.strip()
    if not text or len(text) > _LONGEST or not _begins_like_a_path(text):
        return []
    if "\n" not in text and _is_file(text):
        return [text]
    try:
        words = [_path_of(word) for word in shlex.split(text)]
    except ValueError:
        return []
    return words if words and all(_begins_like_a_path(word) and _is_file(word) for word in words) else []


def _begins_like_a_path(text: str) -> bool:
    return text.startswith(("/", "~/", "'/", '"/', "file:///"))


def _path_of(word: str) -> str:
    return unquote(urlsplit(word).path) if word.startswith("file://") else word


def _is_file(path: str) -> bool:
    try:
        return Path(path).expanduser().is_file()
    except (OSError, ValueError, RuntimeError):
        return False
