"""The search of the history in messages: what is looked for, and what was found of it so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from catena.history.finding import Hits, MessageFinder
from catena.history.query import HistoryQuery, QueryFacts
from catena.history.reading import HistoryReader
from catena.history.scopes import HistoryScope


@dataclass(slots=True)
class Search:
    """What is looked for now, and what was found so far."""

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
