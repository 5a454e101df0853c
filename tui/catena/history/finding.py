"""Finding: words within messages, of every branch, and the one order of entries and hits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from catena.history.entries import HistoryEntry, HistoryScope
from catena.history.listing import HistoryListing, Matches, between_keys
from catena.history.query import HistoryQuery, Quality, QueryFacts, Span
from catena.history.reading import HistoryReader
from catena_store.database.database import Database
from catena_store.finding import newest_hits
from catena_store.finding.newest_hits import HitPlace
from catena_store.records import Kind

__all__ = ["FoundConversation", "HitPlace", "Hits", "MessageFinder", "MessageHit", "answers", "ranked"]

HITS = 50


@dataclass(frozen=True, slots=True)
class MessageHit:
    """The newest hit in a conversation."""

    conversation_id: str
    message_id: str
    kind: Kind
    snippet: str  # the words around it, in one line: hostile text
    spans: tuple[Span, ...]  # of the snippet: what matched
    at: datetime
    more: int = 0  # further hits in the conversation, as far as they were counted
    more_uncounted: bool = False  # there may be still more


@dataclass(frozen=True, slots=True)
class Hits:
    """What a search found, newest first, one a conversation."""

    found: Sequence[MessageHit] = ()
    cut: bool = False  # there are more

    def __iter__(self) -> Iterator[MessageHit]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)

    def of(self, conversation_id: str) -> MessageHit | None:
        """The hit in a conversation."""
        return next((hit for hit in self.found if hit.conversation_id == conversation_id), None)


class MessageFinder:
    """Full-text search over the messages of conversations; cancelling a call stops SQLite at once."""

    def __init__(self, db: Database, listing: HistoryListing) -> None:
        self._db = db
        self._listing = listing

    async def find(
        self,
        query: HistoryQuery,
        scope: HistoryScope = HistoryScope.EVERYWHERE,
        *,
        facts: QueryFacts | None = None,
        limit: int = HITS,
    ) -> Hits:
        """The newest hit of each conversation of the scope that passes the query's filters; empty without words."""
        if not query.words:
            return Hits()
        within = await between_keys(self._listing.within(query, scope, facts=facts))
        async with self._db.read_concurrently() as reader:
            found = await newest_hits.newest_hits(reader, query.words, within=within, limit=limit)
        return Hits(tuple(map(_hit, found.found)), found.cut)

    async def place(self, hit: MessageHit) -> HitPlace:
        """Where a hit stands; for hits that are shown. Raises NotFound where it is gone."""
        async with self._db.read_concurrently() as reader:
            return await newest_hits.place(reader, hit.message_id)


@dataclass(frozen=True, slots=True)
class FoundConversation:
    """One row of an answer: an entry, found by its name, directory or last prompt, or by a message, or by both."""

    entry: HistoryEntry
    quality: Quality  # NONE where only a message was found
    hit: MessageHit | None


def ranked(listing: HistoryListing, matches: Matches, hits: Hits) -> list[FoundConversation]:
    """The one order of the picker and of `catena search`: words in entries, then in messages, then letters alone."""
    of = {hit.conversation_id: hit for hit in hits}
    words: list[FoundConversation] = []
    letters: list[FoundConversation] = []
    for entry, quality in zip(matches.entries, matches.qualities, strict=True):
        row = FoundConversation(entry, quality, of.pop(entry.key, None))
        (letters if quality is Quality.FUZZY and row.hit is None else words).append(row)
    messages = [
        FoundConversation(known, Quality.NONE, hit)
        for id, hit in of.items()
        if (known := listing.get(id)) is not None
    ]
    # What is archived comes last here, too.
    return sorted([*words, *messages, *letters], key=lambda found: found.entry.archived)


async def answers(
    reader: HistoryReader,
    finder: MessageFinder,
    query: HistoryQuery,
    scope: HistoryScope,
    *,
    limit: int,
) -> list[FoundConversation]:
    """What a query finds in the order of ``ranked``, with at most ``limit`` hits; no more is read than it needs.

    What stands in the listing already, as sessions of other tools do, is looked through as well.
    """
    await reader.read_for(query, scope)
    facts = await reader.facts(query) if query.unknown else QueryFacts()
    hits = await finder.find(query, scope, facts=facts, limit=limit)
    await reader.read_unknown(hit.conversation_id for hit in hits)
    return ranked(reader.listing, reader.listing.match(query, scope, facts=facts), hits)


def _hit(found: newest_hits.NewestHit) -> MessageHit:
    return MessageHit(
        found.conversation_id,
        found.message_id,
        found.kind,
        found.snippet.text,
        found.snippet.spans,
        found.created_at,
        found.hits - 1,
        found.more,
    )
