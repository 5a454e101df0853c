"""What stands around the filter of the history: its scope, what is wrong with it, and what its words can become."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from catena.history.query import HistoryQuery, QueryCompletion
from catena.history.scopes import HistoryScope
from catena.text.safe_text import safe_line
from catena.widgets.row_list import Row, RowList
from catena.widgets.typing_box import EdgeWord, TypingBox

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


def nothing_found(
    scope: HistoryScope, elsewhere: int, *, searching: bool, any_at_all: bool, wider: str
) -> str:
    """Words in the place of rows, where there are none; ``wider`` is the key of the next scope."""
    if elsewhere:
        return f"0 {_HERE[scope]} · {elsewhere:,} elsewhere{wider and f', {wider}'}"
    if searching:
        return "searching messages"
    return "no match" if any_at_all else "no conversations yet"


def count_words(shown: int, total: int, *, marked: int, narrowed: bool, cut: bool) -> str:
    """How many conversations are shown, of how many; ``cut``: there may be more that match."""
    count = f"{shown:,} of {total:,}" if narrowed else f"{shown:,}"
    if cut and shown < total:
        count = f"{shown:,}+ of {total:,}"
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
    """What the word at the cursor can become; hidden where there is nothing."""

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


def word_before(text: str, cursor: int) -> str:
    """The beginning of the word at the cursor; "" where it is too short to be the name of a filter."""
    word = text[:cursor].rpartition(" ")[2]
    return word if ":" in word or len(word) >= _LEAST_LETTERS else ""
