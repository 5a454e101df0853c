"""Reading: the entries of our own conversations from the store, page by page, and what changes of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from catena.history.entries import EntryState, HistoryEntry, HistoryScope
from catena.history.listing import HistoryListing
from catena.history.query import FilterKind, HistoryQuery, QueryFacts, QueryFilter, folded
from catena_acp.process_group import process_start_time
from catena_store.database.database import Database, Reader
from catena_store.finding import history
from catena_store.finding.history import HistoryLook, HistoryRow, Outline
from catena_store.ids import from_milliseconds
from catena_store.records import Lease

FIRST = 100  # conversations that a list shows without reading on
_MORE = 400  # outlines: no key waits longer than for these
_FOREIGN_SILENCE = timedelta(seconds=60)
_FACTS = set(HistoryEntry._fields) & set(HistoryRow.__slots__)  # an entry shows them as they stand in its row

Lives = Callable[[Lease], bool]


def lives(host: str, clock: Callable[[], datetime]) -> Lives:
    """Whether the client that has a lease lives: known for this machine, inferred from its heartbeat for another."""

    def tell(lease: Lease) -> bool:
        if lease.owner.host == host:
            return process_start_time(lease.owner.pid) == lease.owner.started
        return clock() - lease.heartbeat_at <= _FOREIGN_SILENCE

    return tell


class HistoryReader:
    """Reads a listing's own entries; a page is a short transaction, so that nobody waits for it."""

    def __init__(self, db: Database, listing: HistoryListing, *, lives: Lives) -> None:
        self._db = db
        self._listing = listing
        self._lives = lives
        self._look: HistoryLook | None = None  # None before the first page
        self._standing: frozenset[str] = frozenset()

    @property
    def listing(self) -> HistoryListing:
        """What it reads into."""
        return self._listing

    async def pages(self) -> AsyncIterator[int]:
        """Read all entries into the listing; yields how many each page has.

        The first page has those that may stand first and the newest ones, of the listing's directory and of all, as a
        list shows them. All others are outlines, the archive last: who wants more of one reads it (``read``).
        """
        async with self._db.read() as reader:
            self._look = await history.look(reader)
            standing = await history.standing_first(reader)
            first = await history.of_conversations(reader, standing)
            first += await history.page(reader, limit=FIRST, cwd=self._listing.directory)
            page = await history.page(reader, limit=FIRST)
        self._standing = frozenset(standing)
        yield await self._put(list({row.id: row for row in [*first, *page]}.values()))
        if len(page) == FIRST:
            async for count in self._outlines(history.page_key(page[-1])):
                yield count
        async for count in self._outlines(None, archived=True):
            yield count

    async def read_for(self, query: HistoryQuery, scope: HistoryScope) -> None:
        """Read the entries that a query may find by its words; all entries, if filters or a scope look at each of them.

        Further finds in messages are read with ``read_unknown``.
        """
        if not query.folded or query.filters or scope < HistoryScope.EVERYWHERE:
            async for _ in self.pages():
                pass
            return
        async with self._db.read() as reader:
            standing = await history.of_conversations(reader, await history.standing_first(reader))
            outlines = await history.outlines_with(reader, query.folded)
        await self._put(standing)
        self._listing.put(map(outline_of, outlines))

    async def read_unknown(self, ids: Iterable[str]) -> None:
        """Read those of the conversations that are not in the listing yet."""
        if unknown := [id for id in ids if self._listing.get(id) is None]:
            await self.read(unknown)

    async def _outlines(
        self, before: tuple[int, str] | None, *, archived: bool = False
    ) -> AsyncIterator[int]:
        while True:
            async with self._db.read() as reader:
                page = await history.outlines(reader, limit=_MORE, before=before, archived=archived)
            if page:
                self._listing.put(map(outline_of, page))
                yield len(page)
            if len(page) < _MORE:
                return
            before = page[-1].updated_at, page[-1].id

    async def count(self) -> None:
        """Tell the listing how many conversations each directory has, before all of them are read."""
        async with self._db.read_concurrently() as reader:
            self._listing.set_counts(await history.counts(reader))

    async def refresh(self, ids: Collection[str] = ()) -> bool:
        """Read again what may have changed since: what runs, waits or was used, and ``ids``; True where anything has.

        For a screen that stays open: other clients write to the same store. It costs what has changed.
        """
        if self._look is None:
            return False
        async with self._db.read() as reader:
            wanted = (
                self._standing | frozenset(ids) | frozenset(await history.changed_since(reader, self._look))
            )
            before, self._look = self._look, await history.look(reader)
            if self._look.conversations < before.conversations:
                wanted |= frozenset(await history.gone(reader, self._listing.own_keys))
            found = await history.of_conversations(reader, sorted(wanted))
        known = {key: self._listing.get(key) for key in wanted}
        await self._put(found)
        self._listing.remove(wanted - {row.id for row in found})
        entries = {key: entry for key in wanted if (entry := self._listing.get(key)) is not None}
        self._standing = frozenset(key for key, entry in entries.items() if entry.waits or entry.state)
        return any(entries.get(key) != entry for key, entry in known.items())

    async def read(self, ids: Sequence[str]) -> None:
        """Read the entries of these conversations, and no others, into the listing."""
        async with self._db.read() as reader:
            found = await history.of_conversations(reader, ids)
        await self._put(found)

    async def facts(self, query: HistoryQuery) -> QueryFacts:
        """The store's answers to the filters that not every entry can answer."""
        passing: dict[QueryFilter, frozenset[str]] = {}
        async with self._db.read_concurrently() as reader:
            for each in query.unknown:
                passing[each] = frozenset(await self._passing(reader, each))
        return QueryFacts(passing)

    async def _passing(self, reader: Reader, each: QueryFilter) -> Iterable[str]:
        match each.kind:
            case FilterKind.FILE:
                return await history.with_file(reader, each.value)
            case FilterKind.COST:
                return await history.costing(reader, each.sign, each.amount)
            case FilterKind.TODO:
                return await history.with_todos(reader)
            case FilterKind.BRANCH:
                found = await history.git_branches(reader)
                return [id for id, branch in found.items() if each.value in folded(branch)]
            case _:
                return await history.failed(reader)

    async def files(self, beginning: str, *, limit: int = 50) -> list[str]:
        """Paths of files that tool calls touched, whose names begin so, the newest first; for completions."""
        async with self._db.read_concurrently() as reader:
            return await history.files(reader, beginning, limit=limit)

    async def _put(self, rows: Sequence[HistoryRow]) -> int:
        leases = {row.id: row.lease for row in rows if row.running and row.lease is not None}
        alive: frozenset[str] = frozenset()
        if leases:
            alive = await asyncio.to_thread(
                lambda: frozenset(id for id, lease in leases.items() if self._lives(lease))
            )
        entries = [entry_of(row, alive=row.id in alive) for row in rows]
        self._listing.put(entries)
        return len(entries)


def outline_of(row: Outline) -> HistoryEntry:
    """The entry of a conversation of which only its own row was read."""
    return HistoryEntry(
        row.id,
        row.title,
        row.first_prompt,
        row.last_prompt,
        row.agent,
        row.cwd,
        from_milliseconds(row.created_at),
        from_milliseconds(row.updated_at),
        profile=row.profile,
        pinned=bool(row.pinned),
        archived=bool(row.archived),
        outlined=True,
    )


def entry_of(row: HistoryRow, *, alive: bool) -> HistoryEntry:
    """The entry of a conversation; ``alive``: the client that has it lives, so that an open turn runs."""
    unseen = row.unseen_answer or row.unseen_end
    failed = row.failed or (row.running and not alive)
    if row.running and alive:
        state = EntryState.ASKS if row.asks else EntryState.WORKING
    elif failed:
        state = EntryState.FAILED
    else:
        state = EntryState.UNREAD if row.unseen_answer else EntryState.NONE
    waits = state in (EntryState.ASKS, EntryState.UNREAD) or (state is EntryState.FAILED and unseen)
    facts: dict[str, Any] = {name: getattr(row, name) for name in _FACTS}
    return HistoryEntry(key=row.id, state=state, waits=waits, opened_at=row.seen_at, **facts)
