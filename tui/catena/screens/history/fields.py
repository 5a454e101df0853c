"""The fields of the history: the filter, whose words complete themselves, and the title of who is renamed."""

from __future__ import annotations

import contextlib
from functools import partial

from textual.css.query import NoMatches
from textual.worker import WorkType

from catena.history.entries import HistoryEntry
from catena.history.listing import HistoryListing
from catena.history.query import Known, completions
from catena.history.reading import HistoryReader
from catena.screens.history.search import QueryCompletions, word_before
from catena.widgets.fields.text_fields import SafeInput
from catena_store.errors import StoreError


class HistoryFilter(SafeInput):
    """What the history is filtered by; ``box`` shows what the word at the cursor can become."""

    def __init__(self, listing: HistoryListing, reader: HistoryReader, box: QueryCompletions) -> None:
        super().__init__(placeholder="Type to filter", compact=True, id="filter")
        self.cursor_blink = False
        self.box = box
        self._listing = listing
        self._reader = reader
        self._known: Known | None = None  # what words can become; None where that may have changed

    def forget_known(self) -> None:
        """Learn anew what words can become, when that is asked next."""
        self._known = None

    def offer(self) -> None:
        """Show what the word at the cursor can become."""
        word = word_before(self.value, self.cursor_position)
        if not word:
            self.box.close()
            return
        if word.lower().startswith("file:"):
            work: WorkType[None] = partial(self._offer_files, self.value, word.partition(":")[2])
            self.run_worker(work, group="files", exclusive=True)
            return
        if ":" in word and self._known is None:
            self._known = self._listing.known
        self.box.offer(completions(self.value, self.cursor_position, self._known or Known()))

    async def _offer_files(self, text: str, beginning: str) -> None:
        with contextlib.suppress(StoreError, NoMatches):
            known = Known(files=await self._reader.files(beginning.strip('"')))
            if self.value == text:
                self.box.offer(completions(text, self.cursor_position, known))

    def complete(self) -> bool:
        """Put what is offered in the place of the word; False where nothing is."""
        if (taken := self.box.completion) is None:
            return False
        self.box.close()
        behind = "" if taken.text.endswith((":", ">")) else " "
        self.value = f"{self.value[: taken.start]}{taken.text}{behind}{self.value[taken.end :].lstrip()}"
        self.cursor_position = taken.start + len(taken.text) + len(behind)
        return True


class TitleField(SafeInput):
    """The title of a conversation that is being renamed, in the place of the filter."""

    def __init__(self) -> None:
        super().__init__(placeholder="No title", compact=True, id="rename")
        self.cursor_blink = False
        self.display = False
        self.entry: HistoryEntry | None = None  # the conversation that is renamed

    def begin(self, entry: HistoryEntry) -> None:
        """Show the title of a conversation, to be changed."""
        self.entry = entry
        self.value = entry.name
        self.cursor_position = len(entry.name)
        self.display = True

    def end(self) -> HistoryEntry | None:
        """Give way to the filter; returns the conversation that was renamed."""
        entry, self.entry = self.entry, None
        self.display = False
        return entry
