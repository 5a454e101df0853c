"""Rows of the history: headings and lines of lists of any length, made without looking at each entry."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest

from catena.history.entries import EntryState, HistoryEntry
from catena.history.finding import Hits, MessageHit
from catena.history.listing import HistoryListing
from catena.history.query import HistoryQuery
from catena.screens.history.rows.list import RowOrder
from catena.screens.history.rows.rows import time_headings
from catena_store.records import Kind
from support.counted_work import calls_counted

NOW = datetime(2026, 11, 23, 14, 0, tzinfo=UTC)


def entries_of(chance: random.Random, count: int) -> list[HistoryEntry]:
    """Entries of all ages and states, in the order of the list."""
    listing = HistoryListing(directory="/shop")
    states = [EntryState.NONE] * 8 + [EntryState.WORKING, EntryState.ASKS]
    for number in range(count):
        at, state = NOW - timedelta(hours=chance.randrange(1_200)), chance.choice(states)
        pinned, archived = chance.random() < 0.1, chance.random() < 0.1
        entry = HistoryEntry(f"c{number}", f"Title {number}", "", "", "codex", "/shop", at, at)
        entry = entry._replace(state=state, waits=state is EntryState.ASKS, pinned=pinned, archived=archived)
        listing.put([entry])
    return list(listing.match(HistoryQuery()).entries)


def headings_of_each(entries: list[HistoryEntry]) -> dict[int, str]:
    """The headings by the look at every entry."""
    found = [time_headings([entry], NOW)[0] for entry in entries]
    return {at: word for at, word in enumerate(found) if at == 0 or found[at - 1] != word}


@pytest.mark.parametrize("seed", range(30))
def test_h25_headings_are_those_of_a_look_at_every_entry_also_where_one_row_was_moved(seed: int) -> None:
    chance = random.Random(seed)
    entries = entries_of(chance, chance.randrange(1, 40))
    assert time_headings(entries, NOW) == headings_of_each(entries)
    at, index = chance.randrange(len(entries)), chance.randrange(len(entries))
    entries.insert(index, entries.pop(at))
    assert time_headings(entries, NOW, moved=index) == headings_of_each(entries)


def test_h25_rows_are_laid_out_at_a_cost_that_hardly_depends_on_how_many_there_are() -> None:
    made = []
    for count in (1_000, 16_000):
        listing = HistoryListing(directory="/shop")
        listing.put(
            HistoryEntry(f"c{number}", f"Title {number}", "", "", "codex", "/shop", at, at)
            for number in range(count)
            for at in [NOW - timedelta(minutes=number * 16_000 // count)]
        )
        matches = listing.match(HistoryQuery())
        with calls_counted() as calls:
            rows = RowOrder(Hits(), (), NOW, headed=True).rows(listing, matches)
            assert rows.headings and rows.tall == []
        made.append(calls.made)
    assert made[1] < 1.5 * made[0]


def test_h25_rows_with_a_hit_or_a_word_elsewhere_have_two_lines() -> None:
    listing = HistoryListing(directory="/shop")
    listing.put(
        HistoryEntry(f"c{number}", f"Title {number}", "", prompt, "codex", "/shop", NOW, NOW)
        for number, prompt in enumerate(["", "lamp", "lamp", "", "lamp", ""])
    )
    listing.put([HistoryEntry("named", "the lamp", "", "", "codex", "/shop", NOW, NOW)])
    hits = Hits(tuple(MessageHit(key, "m", Kind.AGENT, "lamp", (), NOW) for key in ("c0", "c4")))
    rows = RowOrder(hits, ("lamp",), NOW, headed=True).rows(
        listing, listing.match(HistoryQuery.parse("lamp", now=NOW))
    )
    assert [entry.key for entry in rows.entries] == ["named", "c4", "c2", "c1", "c0"]
    assert rows.tall == [range(1, 5)]
