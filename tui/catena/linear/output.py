"""Lines of linear mode: appended, never moved or drawn over.

Of control characters only newlines, tabs and the bell are written, whatever an agent, a file or a setting holds.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from catena.text.safe_text import safe

if TYPE_CHECKING:
    from catena.linear.editor import LineEditor

BELL: Final = "\a"
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# How our own words are spelt where the terminal's encoding does not have them.
_SPELLING = str.maketrans(
    {
        "“": '"',
        "”": '"',
        "‘": "'",
        "’": "'",
        "…": "...",
        "–": "-",
        "—": "-",
        "−": "-",
        "·": ",",
        "×": "x",
        "␉": " ",
    }
)


class LineOutput:
    """Writer of whole lines, behind a marker where the person types."""

    def __init__(
        self,
        write: Callable[[str], object],
        *,
        encoding: str = "utf-8",
        most_bells: int = 3,
        marks: bool = True,
    ) -> None:
        """``most_bells`` ring where the person is called. ``marks``: what is typed is seen behind a marker."""
        self._marks = marks
        self._write = write
        self._has_everything = codecs.lookup(encoding).name == "utf-8"
        self._most_bells = most_bells
        self._marker = ""  # that stands at the end, with the person's typing behind it
        self.editor: LineEditor | None = None  # of the line that is typed, unless that is the terminal's own

    @property
    def marker(self) -> str:
        """The marker that stands at the end, "" for none."""
        return self._marker

    def line(self, text: str = "") -> None:
        """Append a text as a line, or as several where it has several."""
        with self._above():
            self._put(f"{text}\n")

    def lines(self, texts: Iterable[str]) -> None:
        """Append lines."""
        for text in texts:
            self.line(text)

    def last_line(self, text: str, *, bells: int = 1) -> None:
        """Append a line, and call the person with its end: one bell says done, two ask, three say failed."""
        with self._above():
            self._put(text)
            self._write(f"{BELL * min(bells, self._most_bells)}\n")

    def mark(self, text: str) -> None:
        """Append a marker, behind which the person types; the same one again is not repeated."""
        if not self._marks or text == self._marker:
            return
        with self._above(_safe(text)):
            if self.editor is None:
                self._put(text)
        self._marker = text

    def entered(self) -> None:
        """Note that the person pressed Enter: the terminal has begun a new line by its echo."""
        self._marker = ""

    def interrupted(self) -> None:
        """Note that the terminal may have written what was typed, without a new line."""
        if self.editor is not None:
            if stood := self._marker + self.editor.text:
                self.line(stood)
        elif self._marks:
            self._marker = self._marker or " "

    @contextmanager
    def _above(self, marker: str = "") -> Iterator[None]:
        """Write lines that begin where none stands: above the line that is typed, or behind the marker's."""
        stood, self._marker = self._marker, ""
        if self.editor is not None:
            with self.editor.aside(marker):
                yield
            return
        if stood:
            self._put("\n")
        yield

    def _put(self, text: str) -> None:
        shown = _safe(text)
        self._write(shown if self._has_everything else shown.translate(_SPELLING))


def _safe(text: str) -> str:
    return _CONTROLS.sub("", safe(text))
