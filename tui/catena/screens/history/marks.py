"""Which conversations of the history an act is meant for, and doing it to them."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol

from catena.history.entries import HistoryEntry
from catena.history.listing import HistoryListing
from catena.history.reading import HistoryReader
from catena.screens.history.rows.list import HistoryList


class ListedHistory(Protocol):
    """The sheet that the marks are on."""

    @property
    def row_list(self) -> HistoryList:
        """The rows."""

    def say(self, text: str) -> None:
        """Show a message."""

    def list_again(self, *, held: bool) -> None:
        """List what was read; ``held``: the row under the cursor stays where it is."""


class MarkedConversations:
    """The marked conversations of the history; where none is, the one under the cursor is meant."""

    def __init__(self, sheet: ListedHistory, listing: HistoryListing, reader: HistoryReader) -> None:
        self._sheet = sheet
        self._listing = listing
        self._reader = reader
        self._marked: dict[str, HistoryEntry] = {}
        self._touched: set[str] = set()  # by acts here, which may be undone

    def __len__(self) -> int:
        return len(self._marked)

    @property
    def keys(self) -> frozenset[str]:
        """The keys of the marked conversations."""
        return frozenset(self._marked)

    @property
    def meant(self) -> list[HistoryEntry]:
        """The marked conversations as they are now, else the one under the cursor."""
        found = [known for key in self._marked if (known := self._listing.get(key)) is not None]
        if not found and (entry := self._sheet.row_list.chosen) is not None:
            found = [entry]
        return [entry for entry in found if not entry.foreign]

    def toggle(self, entry: HistoryEntry) -> None:
        """Mark or unmark a conversation."""
        if self._marked.pop(entry.key, None) is None:
            self._marked[entry.key] = entry

    def clear(self) -> None:
        """Unmark all."""
        self._marked.clear()

    async def do(self, act: Awaitable[str], *, stays: bool = False) -> None:
        """Await an act, read again what it changed whether or not it succeeded, and show its message.

        ``stays``: the cursor stays where it is, and not on its conversation.
        """
        self._touched |= {entry.key for entry in self.meant}
        rows = self._sheet.row_list
        before = {entry.key for entry in rows.content.entries}
        place = None if stays or rows.chosen is None else rows.chosen.key
        try:
            words = await act
            self.clear()
        finally:
            await self._reader.refresh(self._touched)
            at = rows.cursor
            self._sheet.list_again(held=False)
            entries = rows.content.entries
            back = next((at for at, entry in enumerate(entries) if entry.key not in before), None)
            there = rows.content.index(place) if back is None else back
            rows.cursor = min(at if there is None else there, max(0, len(entries) - 1))
        self._sheet.say(words)
