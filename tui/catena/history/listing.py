"""The listing: entries in memory, and what a query makes of them."""

from __future__ import annotations

import asyncio
import re
import time
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, zip_longest
from operator import attrgetter
from typing import TypeVar, overload

from catena.history.entries import EntryState, HistoryEntry, HistoryScope, Repositories
from catena.history.query import (
    LEAST_LETTERS,
    HistoryQuery,
    Known,
    Quality,
    QueryFacts,
    folded,
    letters_in_order,
)

_WORD = re.compile(r"[^\W_]")
_GROUPS = 4
_STEP = 500  # entries that are looked at in one step: two milliseconds, or three
_QUALITIES = tuple(Quality)
_TIME = attrgetter("pinned", "updated_at", "key")


@dataclass(frozen=True, slots=True)
class HistoryMatch:
    """An entry that a query finds."""

    entry: HistoryEntry
    quality: Quality
    words: tuple[str, ...] = ()  # folded

    @property
    def key(self) -> str:
        """The key of its entry."""
        return self.entry.key


@dataclass(frozen=True)
class Matches(Sequence[HistoryMatch]):
    """What a query finds in a scope, in the order of the rows, and how much there is in each scope."""

    entries: Sequence[HistoryEntry]
    qualities: Sequence[Quality]
    words: tuple[str, ...] = ()
    counts: Mapping[HistoryScope, int] = field(default_factory=dict)  # of those that match
    scope: HistoryScope = HistoryScope.EVERYWHERE

    @property
    def elsewhere(self) -> int:
        """How many match outside of the scope, in conversations of ours."""
        return max(0, self.counts.get(HistoryScope.EVERYWHERE, 0) - self.counts.get(self.scope, 0))

    def index(self, key: object, start: int = 0, stop: int | None = None) -> int:
        """The index of an entry's key. Raises ValueError."""
        for at, entry in enumerate(self.entries):
            if entry.key == key:
                return at
        raise ValueError(f"{key!r} is not among them")

    def __len__(self) -> int:
        return len(self.entries)

    @overload
    def __getitem__(self, at: int) -> HistoryMatch: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[HistoryMatch]: ...
    def __getitem__(self, at: int | slice) -> HistoryMatch | Sequence[HistoryMatch]:
        if isinstance(at, slice):
            return [self[each] for each in range(*at.indices(len(self)))]
        return HistoryMatch(self.entries[at], self.qualities[at], self.words)

    def __iter__(self) -> Iterator[HistoryMatch]:
        for entry, quality in zip(self.entries, self.qualities, strict=True):
            yield HistoryMatch(entry, quality, self.words)


@dataclass(frozen=True, slots=True)
class _Ordered:
    """All entries, the newest first, and what is looked at in each of them for every key.

    Lists side by side, and no object for each entry: Python would look for garbage among fifty thousand of them, while
    a key waits.
    """

    entries: list[HistoryEntry] = field(default_factory=list)
    names: list[str] = field(default_factory=list)  # folded
    texts: list[str] = field(default_factory=list)  # folded: name, directory and last prompt
    groups: list[int] = field(default_factory=list)
    scopes: list[HistoryScope] = field(default_factory=list)  # the narrowest that each is in


class HistoryListing:
    """The entries of the history that were read so far."""

    def __init__(self, *, directory: str, repositories: Repositories | None = None) -> None:
        """``directory`` is the one that Catena was started in."""
        self._directory = directory
        self._repositories = repositories or Repositories()
        self._entries: dict[str, HistoryEntry] = {}
        # Folded: the name; that, the directory and the last prompt.
        self._texts: dict[str, tuple[str, str]] = {}
        self._directories: Counter[tuple[str, bool]] = Counter()  # of what is listed, foreign ones apart
        self._ordered: _Ordered | None = None
        self._changes = 0  # of what the order is made of
        self._found: tuple[tuple[str, ...], list[int]] | None = None  # places in the order, by the last words
        self._opened: frozenset[str] = frozenset()
        # Of our conversations by directory, while not all of them are here.
        self._counts: Mapping[str, int] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: str) -> HistoryEntry | None:
        """The entry of a key, with all that was read of it."""
        return self._entries.get(key)

    @property
    def own_keys(self) -> list[str]:
        """The keys of the conversations of ours."""
        return [key for key, entry in self._entries.items() if not entry.foreign]

    def put(self, entries: Iterable[HistoryEntry]) -> None:
        """Add entries, or replace those with the same keys."""
        for entry in entries:
            if entry.opened != (entry.key in self._opened):
                entry = entry._replace(opened=not entry.opened)
            known = self._entries.get(entry.key)
            if entry != known and not (entry.outlined and known is not None and not known.outlined):
                self._entries[entry.key] = entry
                self._tally(known, -1)
                self._tally(entry, 1)
                if known is not None and known.outlined and _place_of(entry) == _place_of(known):
                    continue  # more of it is known, and it stands where it stood
                self._texts[entry.key] = _texts_of(entry)
                self._disorder()

    def remove(self, keys: Iterable[str]) -> None:
        """Remove entries; keys that are not there do not matter."""
        for key in keys:
            if (entry := self._entries.pop(key, None)) is not None:
                self._tally(entry, -1)
                del self._texts[key]
                self._disorder()

    def clear(self) -> None:
        """Forget all entries."""
        self._entries.clear()
        self._texts.clear()
        self._directories.clear()
        self._disorder()
        self._found = None

    def set_opened(self, keys: Collection[str]) -> None:
        """Say which conversations have a tab here."""
        opened = frozenset(keys)
        if opened == self._opened:
            return
        self._opened = opened
        self.put([each for each in self._entries.values() if each.opened != (each.key in self._opened)])

    def _tally(self, entry: HistoryEntry | None, step: int) -> None:
        """Count an entry in its directory."""
        if entry is not None:
            self._directories[entry.cwd, entry.foreign] += step

    @property
    def directory(self) -> str:
        """The directory that the narrowest scope means."""
        return self._directory

    async def learn_places(self) -> bool:
        """Look up the repositories of all directories; True where that may have changed what a scope holds."""
        learnt = await self._repositories.learn(
            [self._directory, *(cwd for cwd, _ in self._directories), *self._counts]
        )
        if learnt:
            self._disorder()
        return learnt

    @property
    def scopes(self) -> tuple[HistoryScope, ...]:
        """The scopes that differ: without a repository there is none of it."""
        here = self._repositories.of(self._directory)
        return tuple(
            scope for scope in HistoryScope if scope is not HistoryScope.REPOSITORY or here is not None
        )

    @property
    def known(self) -> Known:
        """The values that filters can be completed to, as far as entries know them."""
        entries = self._entries.values()
        return Known(
            agents=_distinct(entries, "agent"),
            directories=_distinct(entries, "cwd"),
            branches=_distinct(entries, "git_branch"),
            sources=_distinct(entries, "source"),
        )

    @property
    def narrowest_scope(self) -> HistoryScope:
        """The narrowest scope that contains any conversation; ``HERE`` if none does."""
        return next((scope for scope in self.scopes if self.count(scope)), HistoryScope.HERE)

    def count(self, scope: HistoryScope) -> int:
        """How many entries a scope holds; of those of ours that were not read yet by the counts that were given."""
        read = self._directories.items()
        foreign = (
            sum(count for (_, foreign), count in read if foreign) if scope > HistoryScope.EVERYWHERE else 0
        )
        own = self._counts or {cwd: count for (cwd, foreign), count in read if not foreign}
        return foreign + sum(count for cwd, count in own.items() if self._narrowest(cwd) <= scope)

    def set_counts(self, counts: Mapping[str, int]) -> None:
        """Say how many conversations of ours each directory has; nothing once all of them are entries."""
        self._counts = counts

    def match(
        self,
        query: HistoryQuery,
        scope: HistoryScope = HistoryScope.EVERYWHERE,
        *,
        facts: QueryFacts | None = None,
    ) -> Matches:
        """The entries that a query finds in a scope, in the order of the rows.

        First those that wait for the person, then those that run, then by how well they match, and the pinned ones and
        the newest first; letters alone come after all words, whatever the entry does. Archived ones are last.
        """
        return at_once(self.matching(query, scope, facts=facts))

    def matching(
        self,
        query: HistoryQuery,
        scope: HistoryScope = HistoryScope.EVERYWHERE,
        *,
        facts: QueryFacts | None = None,
    ) -> Generator[None, None, Matches]:
        """``match`` in steps of some milliseconds; entries that change between two of them may not be in it."""
        counted = [0] * len(HistoryScope)
        # Entries come in the order of time, so that each of these lists is in it, too.
        ranked: list[list[HistoryEntry]] = [[] for _ in range(2 * _GROUPS * len(_QUALITIES))]
        ordered = yield from self._ordering()
        found, how_well = yield from self._with_words(ordered, query.folded)
        for number, at in enumerate(found):
            if not number % _STEP:
                yield
            quality, narrowest, entry = how_well[number], ordered.scopes[at], ordered.entries[at]
            if query.filters and not query.passes(entry, facts):
                continue
            counted[narrowest] += 1
            if narrowest <= scope:
                letters = _GROUPS if quality is Quality.FUZZY else 0
                ranked[(letters + ordered.groups[at]) * len(_QUALITIES) + quality].append(entry)
        entries = [entry for rank in ranked for entry in rank]
        qualities: list[Quality] = []
        for at, rank in enumerate(ranked):
            qualities += [_QUALITIES[at % len(_QUALITIES)]] * len(rank)
        counts = dict(zip(HistoryScope, accumulate(counted), strict=True))
        return Matches(entries, qualities, query.folded, counts, scope)

    def _with_words(
        self, ordered: _Ordered, words: tuple[str, ...]
    ) -> Generator[None, None, tuple[Sequence[int], list[Quality]]]:
        """Where entries stand that have the words, and how well; a word that grew is looked for where it was before."""
        places: Sequence[int] = range(len(ordered.entries))
        if ordered is self._ordered and self._found is not None and _narrow(self._found[0], words):
            places = self._found[1]
        found, how_well = list[int](), list[Quality]()
        for number, at in enumerate(places):
            if not number % _STEP:
                yield
            quality = _quality(ordered.names[at], ordered.texts[at], words)
            if quality is not Quality.NONE:
                found.append(at)
                how_well.append(quality)
        if ordered is self._ordered:
            self._found = words, found
        return found, how_well

    def within(
        self, query: HistoryQuery, scope: HistoryScope, *, facts: QueryFacts | None = None
    ) -> Generator[None, None, frozenset[str] | None]:
        """Our conversations that are in the scope and pass the filters, whatever their words, in steps.

        None for all of them.
        """
        outside = (cwd for (cwd, foreign), count in self._directories.items() if count and not foreign)
        if not query.filters and all(self._narrowest(cwd) <= scope for cwd in outside):
            return None
        ordered, passing = (yield from self._ordering()), set[str]()
        for at, entry in enumerate(ordered.entries):
            if not at % _STEP:
                yield
            if ordered.scopes[at] <= scope and not entry.foreign and query.passes(entry, facts):
                passing.add(entry.key)
        return frozenset(passing)

    def _disorder(self) -> None:
        """Forget the order, since something that it is made of has changed."""
        self._ordered = None
        self._changes += 1

    def _ordering(self) -> Generator[None, None, _Ordered]:
        """The order, made in steps; what changes between two of them is in the next order."""
        if self._ordered is not None:
            return self._ordered
        changes, ordered = self._changes, _Ordered()
        narrowest = {cwd: self._narrowest(cwd) for cwd, _ in self._directories}
        entries = yield from _in_time(list(self._entries.values()))
        for at, each in enumerate(entries):
            if not at % _STEP:
                yield
            texts = self._texts.get(each.key)
            if texts is None:
                continue
            ordered.entries.append(each)
            ordered.names.append(texts[0])
            ordered.texts.append(texts[1])
            ordered.groups.append(_group(each))
            ordered.scopes.append(HistoryScope.ALL_SOURCES if each.foreign else narrowest[each.cwd])
        if changes == self._changes:
            self._ordered, self._found = ordered, None
        return ordered

    def _narrowest(self, cwd: str) -> HistoryScope:
        """The narrowest scope that a directory is in."""
        if cwd == self._directory:
            return HistoryScope.HERE
        repository = self._repositories.of(cwd)
        if repository is not None and repository == self._repositories.of(self._directory):
            return HistoryScope.REPOSITORY
        return HistoryScope.EVERYWHERE


def _in_time(entries: Sequence[HistoryEntry]) -> Generator[None, None, list[HistoryEntry]]:
    """The pinned ones and the newest first, in steps; it costs least where most of them come in this order."""
    runs = list[list[HistoryEntry]]()
    for start in range(0, len(entries), _STEP):
        yield
        runs.append(sorted(entries[start : start + _STEP], key=_TIME))
    while len(runs) > 1:
        merged = list[list[HistoryEntry]]()
        for first, second in zip_longest(runs[::2], runs[1::2], fillvalue=()):
            merged.append((yield from _merged(first, second)))
        runs = merged
    return runs[0][::-1] if runs else []


def _merged(
    first: Sequence[HistoryEntry], second: Sequence[HistoryEntry]
) -> Generator[None, None, list[HistoryEntry]]:
    """Two lists in the order of time as one."""
    merged, at, other = list[HistoryEntry](), 0, 0
    while at < len(first) and other < len(second):
        yield
        stop = bisect_left(second, _TIME(first[at]), other, key=_TIME)
        merged += second[other:stop]
        other = stop
        if other < len(second):
            stop = bisect_right(first, _TIME(second[other]), at, key=_TIME)
            merged += first[at:stop]
            at = stop
    return [*merged, *first[at:], *second[other:]]


def _group(entry: HistoryEntry) -> int:
    """What stands first whatever its time: what waits for the person, then what runs."""
    if entry.archived:
        return _GROUPS - 1
    if entry.waits:
        return 0
    return 1 if entry.state is EntryState.WORKING else 2


def _place_of(entry: HistoryEntry) -> tuple[object, ...]:
    """What a list puts an entry in its place by, and finds it by."""
    return (
        entry.name,
        entry.cwd,
        entry.last_prompt,
        entry.updated_at,
        entry.pinned,
        entry.opened,
        entry.archived,
        entry.waits,
        _group(entry),
    )


def _narrow(before: tuple[str, ...], words: tuple[str, ...]) -> bool:
    """True where whatever has these words has those from before, too; few letters are not looked for apart."""
    return len(before) <= len(words) and all(
        new == old or (new.startswith(old) and len(old) >= LEAST_LETTERS)
        for old, new in zip(before, words, strict=False)
    )


def _texts_of(entry: HistoryEntry) -> tuple[str, str]:
    name = folded(entry.name)
    return name, f"{name}\n{folded(entry.cwd)}\n{folded(entry.last_prompt)}"


def _quality(name: str, text: str, words: Sequence[str]) -> Quality:
    """How well an entry of that name and with all that text matches all of the words."""
    worst = Quality.TITLE_WORD
    for word in words:
        if word not in text:
            if letters_in_order(name, word) is None:
                return Quality.NONE
            worst = Quality.FUZZY
        elif worst < Quality.ELSEWHERE and not _begins_word(name, word):
            quality = Quality.TITLE if word in name else Quality.ELSEWHERE
            worst = max(worst, quality)
    return worst


def _begins_word(text: str, word: str) -> bool:
    """True where the text has the word at the beginning of one of its own."""
    if not _WORD.match(word):
        return False
    at = text.find(word)
    while at > 0 and _WORD.match(text[at - 1]):
        at = text.find(word, at + 1)
    return at >= 0


def _distinct(entries: Iterable[HistoryEntry], name: str) -> tuple[str, ...]:
    """The values of a field, those that most entries have first."""
    counted = Counter(map(attrgetter(name), entries))
    return tuple(value for value, _ in counted.most_common() if value)


T = TypeVar("T")

_AT_A_TIME = 0.004  # seconds of work,
_BREATH = 0.001  # and so much for all else


def at_once(steps: Generator[None, None, T]) -> T:
    """Make all steps at once, and return what comes of them."""
    try:
        while True:
            next(steps)
    except StopIteration as end:
        result: T = end.value
        return result


async def between_keys(steps: Generator[None, None, T]) -> T:
    """Make the steps while keys are heard, and return what comes of them."""
    until = time.monotonic() + _AT_A_TIME
    try:
        while True:
            next(steps)
            if time.monotonic() > until:
                await asyncio.sleep(_BREATH)
                until = time.monotonic() + _AT_A_TIME
    except StopIteration as end:
        result: T = end.value
        return result
