"""What the history is read from, and what is done to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from catena.history.entries import HistoryEntry
from catena.history.finding import HitPlace, MessageFinder, MessageHit
from catena.history.listing import HistoryListing
from catena.history.other_tools import OtherTools
from catena.history.preview import ActPrices, Preview
from catena.history.reading import HistoryReader
from catena.screens.history.acts import HistoryActs
from catena_store.records import Message


@dataclass(frozen=True, slots=True)
class HistorySources:
    """What the history is read from, and what is done to it."""

    listing: HistoryListing
    reader: HistoryReader
    finder: MessageFinder
    preview: Callable[[HistoryEntry, MessageHit | None, HitPlace | None], Awaitable[Preview | None]]
    prices: Callable[[HistoryEntry, MessageHit | None, HitPlace | None], Awaitable[ActPrices]]
    rows: Callable[[HistoryEntry, MessageHit | None, HitPlace | None], Awaitable[list[Message]]]
    sizes: Callable[[Sequence[str]], Awaitable[Mapping[str, int]]]  # in bytes, of conversations
    acts: HistoryActs
    others: OtherTools
    save_copies: Callable[[bool], None]  # as a setting; raises SettingsNotWritten, InvalidSettings
