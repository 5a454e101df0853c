"""Notes on directories for use before the store is open, from a small file beside it.

The first frame shows the tabs of a directory or lets an agent be chosen, and must not wait for the store to tell which.
Only the store is believed later: if the file is missing or wrong, only the first frame is wrong.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_FILE_NAME = "starts"
_MOST_DIRECTORIES = 500
_SEPARATOR = "\t"
_UNFIT = frozenset("\t\r\n")  # in a directory's name; nothing is known of such a one


@dataclass(frozen=True, slots=True)
class StartNote:
    """What a directory was left with."""

    has_tabs: bool = False
    agent: str = ""  # last used there, by its stored name and profile; else last used anywhere
    profile: str = ""

    @property
    def last_used(self) -> tuple[str, str] | None:
        """The stored name and profile of the agent that was used last; None if none was."""
        return (self.agent, self.profile) if self.agent else None


class StartNotes:
    """The notes on directories, the one that was left last first."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _FILE_NAME

    def of(self, directory: str) -> StartNote:
        """The note on a directory; without one, only which agent was used last."""
        notes = self._read()
        if directory in notes:
            return notes[directory]
        newest = next(iter(notes.values()), StartNote())
        return StartNote(agent=newest.agent, profile=newest.profile)

    def write(self, directory: str, note: StartNote) -> None:
        """Note what a directory is left with; where that cannot be written, nothing is noted."""
        words = (directory, note.agent, note.profile)
        if any(_UNFIT.intersection(word) for word in words):
            return
        notes = {directory: note, **{of: each for of, each in self._read().items() if of != directory}}
        lines = [
            _SEPARATOR.join((str(int(each.has_tabs)), each.agent, each.profile, of))
            for of, each in list(notes.items())[:_MOST_DIRECTORIES]
        ]
        beside = self._path.with_suffix(".new")
        with suppress(OSError):
            beside.write_text("\n".join(lines), encoding="utf-8")
            beside.replace(self._path)

    def _read(self) -> dict[str, StartNote]:
        try:
            lines = self._path.read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError):
            return {}
        notes = {}
        for line in lines:
            words = line.split(_SEPARATOR)
            if len(words) == 4:
                tabs, agent, profile, directory = words
                notes[directory] = StartNote(tabs == "1", agent, profile)
        return notes
