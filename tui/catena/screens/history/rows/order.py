"""The rows of the history in their order: what matches, what was found in messages, and a row that stays. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from catena.history.entries import HistoryEntry
from catena.history.finding import Hits, ranked
from catena.history.listing import HistoryListing, Matches
from catena.history.ranking import Quality
from catena.screens.history.rows.rows import BY_LETTERS, IN_MESSAGES, HistoryRows, time_headings

_HIGHER = 4  # rows that the row under the cursor is put higher, at most
_LOOKED_AT = 200  # rows, for those that wait


class RowOrder:
    """The order of the rows for one query, with the lines between them; ``headed``: there is room for headings."""

    def __init__(self, hits: Hits, words: tuple[str, ...], now: datetime, *, headed: bool) -> None:
        self._hits = hits
        self._words = words
        self._now = now
        self._headed = headed

    def rows(self, listing: HistoryListing, matches: Matches) -> HistoryRows:
        """The rows of what matches, and of what was found in messages."""
        if self._hits.found:
            return self._rows(*with_messages(listing, matches, self._hits))
        return self._rows(matches.entries, matches.qualities)

    def with_row_at(
        self, rows: HistoryRows, key: str, place: int, fits: Callable[[HistoryRows, str], bool]
    ) -> HistoryRows:
        """The rows with the one of a key at its place, or so much higher that new rows that wait stay in sight."""
        first = sum(1 for each in rows.entries[:_LOOKED_AT] if each.waits and each.key != key)
        kept = rows
        for index in range(place, max(-1, min(first, place) - 1, place - _HIGHER), -1):
            entries, qualities = _kept_at(rows.entries, rows.qualities, key, index)
            kept = rows if entries is rows.entries else self._rows(entries, qualities)
            if fits(kept, key):
                break
        return kept

    def _rows(self, entries: Sequence[HistoryEntry], qualities: Sequence[Quality]) -> HistoryRows:
        return HistoryRows(
            entries,
            qualities,
            {hit.conversation_id: hit for hit in self._hits},
            self._words,
            headings=time_headings(entries, self._now) if self._headed and not self._words else {},
            rules=_rules(qualities) if self._words else {},
        )


def _rules(qualities: Sequence[Quality]) -> dict[int, str]:
    """The lines before what was found in messages, and before what letters alone found, by the rows below them."""
    words = {Quality.NONE: IN_MESSAGES, Quality.FUZZY: BY_LETTERS}
    return {qualities.index(quality): word for quality, word in words.items() if quality in qualities}


def with_messages(
    listing: HistoryListing, matches: Matches, hits: Hits
) -> tuple[Sequence[HistoryEntry], Sequence[Quality]]:
    """The entries in the order of ``ranked``, without a value for each of thousands."""
    found = {hit.conversation_id for hit in hits}
    letters = next((at for at, each in enumerate(matches.qualities) if each is Quality.FUZZY), len(matches))
    if any(entry.key in found for entry in matches.entries[letters:]):
        rows = ranked(listing, matches, hits)
        return [row.entry for row in rows], [row.quality for row in rows]
    known = {entry.key for entry in matches.entries[:letters]}
    new = [
        entry
        for hit in hits
        if hit.conversation_id not in known and (entry := listing.get(hit.conversation_id)) is not None
    ]
    return (
        [*matches.entries[:letters], *new, *matches.entries[letters:]],
        [*matches.qualities[:letters], *([Quality.NONE] * len(new)), *matches.qualities[letters:]],
    )


def _kept_at(
    entries: Sequence[HistoryEntry], qualities: Sequence[Quality], key: str, index: int
) -> tuple[Sequence[HistoryEntry], Sequence[Quality]]:
    """The rows, with one of them kept at its index."""
    if index < len(entries) and entries[index].key == key:
        return entries, qualities
    at = next((at for at, entry in enumerate(entries) if entry.key == key), None)
    if at is None:
        return entries, qualities
    moved, moved_qualities = list(entries), list(qualities)
    index = min(index, len(moved) - 1)
    moved.insert(index, moved.pop(at))
    moved_qualities.insert(index, moved_qualities.pop(at))
    return moved, moved_qualities
