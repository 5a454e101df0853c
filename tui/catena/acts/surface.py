"""The surface of an act, which every front implements, and the values that go over it.

An act says no by raising ``Refused``, returns ``Done``, and prints nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from catena.errors import CommandRefused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catena.settings.settings import Settings
    from catena.workspace.tab import Tab
    from catena.workspace.tabs import OpenTabs

Sizes = Callable[[int, int], str]  # the words of a front for lines that were added and removed


class Refused(CommandRefused):
    """An act that cannot be done; ``str()`` of it is a sentence, ``status`` the exit status of a program."""


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One row of a report: its name ("" continues the row before), and what is said of it."""

    name: str
    values: Sequence[str] | Callable[[Sizes], Sequence[str]]

    def said(self, sizes: Sizes) -> Sequence[str]:
        """Return the values in words; ``sizes`` words lines that were added and removed."""
        return self.values(sizes) if callable(self.values) else self.values


@dataclass(frozen=True, slots=True)
class Report:
    """What an act found, in values: rows, or a text of someone else's."""

    title: str  # of a sheet
    word: str  # that each line of it begins with
    rows: Sequence[ReportRow] = ()
    note: str = ""  # about all rows, for those who see them at once
    heading: str = ""  # the line before the text
    text: str = ""  # unsafe

    def lines(self, between: str, sizes: Sizes) -> Iterator[str]:
        """Yield the heading and the rows, one line each; ``between`` parts what is said of one."""
        if self.heading:
            yield f"{self.word}: {self.heading}"
        for row in self.rows:
            yield f"{self.word}: {between.join(filter(None, (row.name, *row.said(sizes))))}"


@dataclass(frozen=True, slots=True)
class Done:
    """What an act has done, in words, and what it found."""

    words: str = ""
    report: Report | None = None


class Surface(Protocol):
    """What an act asks of the front that it runs on."""

    def say(self, words: str) -> None:
        """Say what was done."""

    async def write(self, text: str = "") -> None:
        """Put a text behind the draft of the tab, which the person goes on with."""

    async def show(self, report: Report) -> None:
        """Show a report, and return when the user is done with it."""


@dataclass(frozen=True, slots=True)
class Here:
    """Where an act is done: a tab, among the open ones, on a surface, with the settings in effect."""

    tabs: OpenTabs
    tab: Tab
    surface: Surface
    settings: Settings
