"""The sources of the history: our conversations, a search in their messages, and sessions of other tools.

Sessions of other tools are listed on demand; the person is asked once whether to keep copies of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from catena.errors import InvalidSettings, SettingsNotWritten
from catena.history.entries import HistoryEntry, HistoryScope
from catena.history.finding import HitPlace, Hits, MessageFinder, MessageHit
from catena.history.listing import HistoryListing
from catena.history.other_tools import OtherTools
from catena.history.preview import ActPrices, Preview
from catena.history.query import HistoryQuery, QueryFacts
from catena.history.reading import HistoryReader
from catena.keys.keymap import KeyMap
from catena.screens.history.acts import HistoryActs
from catena_store.records import Message

_KEEP_COPIES = "Keep copies of other tools' sessions? {keep_copies} yes · {no_copies} no"


@dataclass(frozen=True, slots=True)
class HistorySources:
    """The sources of the history, and the acts on it."""

    listing: HistoryListing
    reader: HistoryReader
    finder: MessageFinder
    preview: Callable[[HistoryEntry, MessageHit | None, HitPlace | None], Awaitable[Preview | None]]
    prices: Callable[[HistoryEntry, MessageHit | None, HitPlace | None], Awaitable[ActPrices]]
    rows: Callable[[HistoryEntry, MessageHit | None, HitPlace | None], Awaitable[list[Message]]]
    sizes: Callable[[Sequence[str]], Awaitable[Mapping[str, int]]]  # in bytes, of conversations
    acts: HistoryActs
    others: OtherTools
    others_here: Callable[[], Awaitable[str]]  # words on those that they have in this directory; "" for none
    save_copies: Callable[[bool], None]  # as a setting; raises SettingsNotWritten, InvalidSettings


@dataclass(slots=True)
class Search:
    """The current search: its query, and its hits so far."""

    query: HistoryQuery = field(default_factory=HistoryQuery)
    facts: QueryFacts | None = None
    hits: Hits = field(default_factory=Hits)
    elsewhere: int = 0  # conversations outside of the scope in whose messages it was found
    searching: bool = False
    take: bool = False  # Enter was pressed before anything was found

    def narrowed_to(self, query: HistoryQuery) -> Search:
        """The search for another query, with the facts that are known of it."""
        return Search(query, self.facts if query.unknown == self.query.unknown else None)

    def begin(self) -> None:
        """Forget what was found."""
        self.hits, self.elsewhere, self.take = Hits(), 0, False
        self.searching = bool(self.query.words or self.query.unknown)


class MessageSearch:
    """Fills a `Search` with what the store finds."""

    def __init__(self, reader: HistoryReader, finder: MessageFinder) -> None:
        self._reader = reader
        self._finder = finder

    async def learn_facts(self, search: Search) -> bool:
        """Read what the query needs to know; False where that is known already. Raises StoreError."""
        if not search.query.unknown or search.facts is not None:
            return False
        search.facts = await self._reader.facts(search.query)
        return True

    async def find(self, search: Search, scope: HistoryScope) -> None:
        """Find messages in a scope. Raises StoreError."""
        search.hits = await self._finder.find(search.query, scope, facts=search.facts)

    async def count_everywhere(self, search: Search) -> None:
        """Count the conversations in whose messages it is found, wherever they are. Raises StoreError."""
        hits = await self._finder.find(search.query, HistoryScope.EVERYWHERE, facts=search.facts)
        search.elsewhere = len(hits)


class OtherSessions:
    """Reads sessions of other tools into the listing, once; ``save_copies`` writes the answer as a setting."""

    def __init__(
        self, listing: HistoryListing, tools: OtherTools, save_copies: Callable[[bool], None]
    ) -> None:
        self._listing = listing
        self._tools = tools
        self._save_copies = save_copies
        self._begun = False
        self.question = ""  # that stands above the keys until it is answered

    def begin(self) -> bool:
        """True the first time: then the sessions are to be read."""
        begun, self._begun = self._begun, True
        return not begun

    async def read(self, listed: Callable[[], None], keys: KeyMap) -> None:
        """Read the sessions, and ask what is not answered yet. Raises StoreError."""
        any_known = False
        try:
            async for count in self._tools.read_into(self._listing):
                any_known = any_known or count > 0
                listed()
        finally:
            if any_known and self._tools.copied is None:
                self.question = keys.said(_KEEP_COPIES)

    async def answer(self, keep: bool, say: Callable[[str], None]) -> None:
        """Answer whether sessions are copied before their tools remove them, and say what became of that."""
        self.question = ""
        try:
            self._save_copies(keep)
        except (SettingsNotWritten, InvalidSettings) as error:
            say(f"The answer could not be saved: {error}")
        else:
            say("Copied from now on." if keep else "Nothing is copied. `[history] copies` changes that.")
        await self._tools.keep_copies(keep)
