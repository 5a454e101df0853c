"""The fields of the history, filter and title, and what stands around the filter: scope, mistakes and completions."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import partial

from textual.content import Content
from textual.css.query import NoMatches
from textual.worker import WorkType

from catena.history.entries import HistoryEntry, HistoryScope
from catena.history.listing import HistoryListing
from catena.history.query import HistoryQuery, Known, QueryCompletion, completions
from catena.history.reading import HistoryReader
from catena.text.safe_text import safe_line
from catena.widgets.fields.text_fields import SafeInput
from catena.widgets.row_list import Row, RowList
from catena.widgets.typing_box import EdgeWord, TypingBox
from catena_acp.continuity.wording.counts import counted
from catena_store.errors import StoreError

_SCOPES = {
    HistoryScope.HERE: "this directory",
    HistoryScope.REPOSITORY: "repository",
    HistoryScope.EVERYWHERE: "everywhere",
    HistoryScope.ALL_SOURCES: "other tools",
}
_HERE = {
    HistoryScope.HERE: "here",
    HistoryScope.REPOSITORY: "in this repository",
    HistoryScope.EVERYWHERE: "anywhere",
    HistoryScope.ALL_SOURCES: "anywhere",
}
_LEAST_LETTERS = 3  # of the name of a filter: ordinary words begin like one, too


class HistoryFilter(SafeInput):
    """The filter of the history; ``box`` shows the completions of the word at the cursor."""

    def __init__(self, listing: HistoryListing, reader: HistoryReader, box: QueryCompletions) -> None:
        super().__init__(placeholder="Type to filter", compact=True, id="filter")
        self.cursor_blink = False
        self.box = box
        self._listing = listing
        self._reader = reader
        self._known: Known | None = None  # what words can become; None where that may have changed

    def fill(self, text: str) -> None:
        """Filter by a text, as if it were typed."""
        self.value = text
        self.cursor_position = len(text)

    def forget_known(self) -> None:
        """Learn anew what words can become, when that is asked next."""
        self._known = None

    def offer(self) -> None:
        """Show what the word at the cursor can become."""
        word = _word_before(self.value, self.cursor_position)
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


def nothing_found(
    scope: HistoryScope, elsewhere: int, *, searching: bool, any_at_all: bool, wider: str
) -> str:
    """Words in place of the rows if there are none; ``wider`` is the key of the next scope."""
    if elsewhere:
        return f"0 {_HERE[scope]} · {elsewhere:,} elsewhere{wider and f', {wider}'}"
    if searching:
        return "searching messages"
    return "no match" if any_at_all else "no conversations yet"


def count_words(shown: int, total: int, *, marked: int, narrowed: bool, cut: bool) -> str:
    """How many conversations are shown, of how many; ``cut``: there may be more that match."""
    count = counted(total, "conversation")
    if narrowed or (cut and shown < total):
        count = f"{shown:,}{'+' if cut and shown < total else ''} of {count}"
    return f"{marked:,} marked · {count}" if marked else count


class HistoryHead(TypingBox):
    """The box around the filter; its lower edge has the scopes."""

    def show(
        self,
        *,
        title: str,
        count: str,
        scopes: Sequence[HistoryScope],
        scope: HistoryScope,
        query: HistoryQuery,
        note: str,
    ) -> None:
        """Show these words; a problem of the query takes the place of the ``note``."""
        heading = [EdgeWord(Content.styled(safe_line(title), "bold $foreground"), 3)]
        counted = [EdgeWord(Content.styled(count, "$muted"), 2)] if count else []
        self.upper.show(heading, counted)
        problem = next((each.problem for each in query.problems), None)
        right = (
            EdgeWord(Content.styled(safe_line(problem), "$asking"), 4)
            if problem
            else EdgeWord(Content.styled(note, "$muted"), 0)
        )
        words = [
            EdgeWord(
                Content.styled(_SCOPES[each], "$accent" if each is scope else "$muted"),
                5 if each is scope else 1,
                clicked=each.name,
            )
            for each in scopes
        ]
        self.lower.show(words, [right])
        here = [EdgeWord(Content.styled(_SCOPES[scope], "$accent"), 1)]
        self.behind.show([right, *here] if problem else [*here, *counted])


class QueryCompletions(RowList):
    """The completions of the word at the cursor; hidden if there are none."""

    DEFAULT_CSS = """
    QueryCompletions {
        height: auto;
        max-height: 6;
        display: none;
        &.-open { display: block; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._offered: Sequence[QueryCompletion] = ()

    @property
    def is_open(self) -> bool:
        """True while there is something to take."""
        return self.has_class("-open")

    @property
    def completion(self) -> QueryCompletion | None:
        """The one under the cursor."""
        return self._offered[self.cursor] if self.is_open and self.cursor < len(self._offered) else None

    def offer(self, offered: Sequence[QueryCompletion]) -> None:
        """Show these."""
        self._offered = offered
        self.set_class(bool(offered), "-open")
        if offered:
            self.show([Row(str(at), each.text, note=each.note) for at, each in enumerate(offered)])

    def close(self) -> None:
        """Hide it, until something else is typed."""
        self._offered = ()
        self.set_class(False, "-open")


def _word_before(text: str, cursor: int) -> str:
    """The beginning of the word at the cursor; "" where it is too short to be the name of a filter."""
    word = text[:cursor].rpartition(" ")[2]
    return word if ":" in word or len(word) >= _LEAST_LETTERS else ""
