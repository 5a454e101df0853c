"""What is read of a row only when it is seen: what its outline lacks, where its hit stands, how large it is."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence

from catena.history.entries import HistoryEntry
from catena.history.finding import HitPlace, MessageFinder, MessageHit
from catena.history.listing import HistoryListing
from catena.history.reading import HistoryReader
from catena_store.errors import StoreError


class RowDetails:
    """Outlines made whole, places of hits and sizes of conversations, each read once."""

    def __init__(
        self,
        finder: MessageFinder,
        read_sizes: Callable[[Sequence[str]], Awaitable[Mapping[str, int]]],
        listing: HistoryListing,
        reader: HistoryReader,
    ) -> None:
        self._finder = finder
        self._read_sizes = read_sizes
        self._listing = listing
        self._reader = reader
        self._places: dict[str, HitPlace] = {}  # by message
        self._sizes: dict[str, int] = {}

    def of(self, entry: HistoryEntry) -> HistoryEntry:
        """The entry with all that was read of it."""
        return (self._listing.get(entry.key) or entry) if entry.outlined else entry

    async def complete(self, entries: Sequence[HistoryEntry]) -> None:
        """Read what these entries, which are outlines, lack. Raises StoreError."""
        await self._reader.read([each.key for each in entries])

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes that are known, in bytes."""
        return dict(self._sizes)

    @property
    def versions(self) -> dict[str, tuple[int, int]]:
        """The version of each hit whose place is known, and how many there are, by message."""
        return {id: (place.version, place.versions) for id, place in self._places.items()}

    def is_placed(self, hit: MessageHit) -> bool:
        """True once the place of a hit is known."""
        return hit.message_id in self._places

    async def place_of(self, hit: MessageHit | None) -> HitPlace | None:
        """Where a hit stands in its conversation; None where the store does not say."""
        if hit is None:
            return None
        if not self.is_placed(hit):
            with contextlib.suppress(StoreError):
                self._places[hit.message_id] = await self._finder.place(hit)
        return self._places.get(hit.message_id)

    async def measure(self, entries: Sequence[HistoryEntry]) -> None:
        """Read the sizes of conversations. Raises StoreError."""
        wanted = [each.key for each in entries if not each.foreign and each.key not in self._sizes]
        if wanted:
            self._sizes |= await self._read_sizes(wanted)

    def size_of(self, entry: HistoryEntry) -> int:
        """The size of a conversation in bytes, 0 where that is not known."""
        return self._sizes.get(entry.key, entry.size or 0)
