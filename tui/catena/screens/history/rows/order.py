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
        self, rows: HistoryRows, key: str, place: int, fits: Callable[[HistoryRows, int], bool]
    ) -> HistoryRows:
        """The rows with the one of a key at its place, or so much higher that new rows that wait stay in sight."""
        at = rows.index(key)
        if at is None:
            return rows
        first = sum(1 for each in rows.entries[:_LOOKED_AT] if each.waits and each.key != key)
        kept = rows
        for wanted in range(place, max(-1, min(first, place) - 1, place - _HIGHER), -1):
            index = min(wanted, len(rows) - 1)
            kept = rows if index == at else self._moved(rows, at, index)
            if fits(kept, index):
                break
        return kept

    def _moved(self, rows: HistoryRows, at: int, index: int) -> HistoryRows:
        entries, qualities = [*rows.entries], [*rows.qualities]
        entries.insert(index, entries.pop(at))
        qualities.insert(index, qualities.pop(at))
        return self._rows(entries, qualities, moved=index)

    def _rows(
        self, entries: Sequence[HistoryEntry], qualities: Sequence[Quality], *, moved: int | None = None
    ) -> HistoryRows:
        headed = self._headed and not self._words
        return HistoryRows(
            entries,
            qualities,
            {hit.conversation_id: hit for hit in self._hits},
            self._words,
            headings=time_headings(entries, self._now, moved=moved) if headed else {},
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
    letters = matches.qualities.index(Quality.FUZZY) if Quality.FUZZY in matches.qualities else len(matches)
    if any(entry.key in found for entry in matches.entries[letters:]):
        rows = ranked(listing, matches, hits)
        return [row.entry for row in rows], [row.quality for row in rows]
    known = {entry.key for entry in matches.entries[:letters] if entry.key in found}
    new = [
        entry
        for hit in hits
        if hit.conversation_id not in known and (entry := listing.get(hit.conversation_id)) is not None
    ]
    return (
        [*matches.entries[:letters], *new, *matches.entries[letters:]],
        [*matches.qualities[:letters], *([Quality.NONE] * len(new)), *matches.qualities[letters:]],
    )
