"""A conversation to read without opening it: nothing is started, and nothing in it changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from catena.history.entries import HistoryEntry
from catena.history.finding import MessageHit
from catena.keys.bindings import priority_bindings
from catena.screens.common.reading_screen import SCROLL_KEYS, ReadingScreen
from catena.transcript import Transcript
from catena.widgets.column import Centred
from catena.widgets.foot import SheetKey
from catena.widgets.sheet_head import SheetWords, Subject
from catena_store.records import Message


class ReadTranscript(Transcript):
    """A transcript in which nothing can be done but read."""

    PROMPT_ACTS = ()


class ReadScreen(ReadingScreen[None]):
    """The messages of a branch."""

    KEYS: ClassVar[tuple[SheetKey, ...]] = (
        SheetKey("{row_up row_down}", "scroll"),
        SheetKey("{leave}", "close", "leave"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        *priority_bindings(leave="leave", cancel="leave", close_page="leave", next_page="page(1)"),
        *SCROLL_KEYS,
    ]

    def __init__(
        self,
        title: str,
        rows: Sequence[Message],
        *,
        directory: str,
        about: str,
        found: tuple[str, tuple[str, ...]] | None = None,
    ) -> None:
        """``found``: the message to begin at, and the words that are marked; else it begins at the end."""
        super().__init__(SheetWords(title, "read-only", Subject(about)))
        self._rows = rows
        self._found = found
        self._transcript = ReadTranscript(directory=directory, id="read")

    def compose(self) -> ComposeResult:
        """Head, transcript, keys."""
        with Centred():
            yield from self.compose_head()
        yield self._transcript
        with Centred():
            yield from self.compose_foot(*self.KEYS)

    def on_mount(self) -> None:
        """Show the messages."""
        self.set_focus(self._transcript)
        self._transcript.show(self._rows, more_above=False)
        if self._found is not None:
            self._transcript.call_after_refresh(self._transcript.show_found, *self._found)

    @property
    def reader(self) -> Transcript:
        """The transcript."""
        return self._transcript


def read_screen(
    entry: HistoryEntry, rows: Sequence[Message], hit: MessageHit | None, *, agent: str
) -> ReadScreen:
    """The messages of a conversation; a hit and its words are marked if there is one."""
    words = tuple(dict.fromkeys(hit.snippet[start:end] for start, end in hit.spans)) if hit else ()
    found = (hit.message_id, words) if hit else None
    return ReadScreen(entry.name, rows, directory=entry.cwd, about=agent, found=found)
