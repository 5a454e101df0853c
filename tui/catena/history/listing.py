"""The listing: entries in memory, and what a query makes of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import attrgetter, itemgetter
from typing import NamedTuple, TypeVar, overload

from catena.history.entries import EntryState, HistoryEntry
from catena.history.query import HistoryQuery, Known, QueryFacts
from catena.history.ranking import (
    LEAST_LETTERS,
    Quality,
    Span,
    folded,
    letters_in_order,
    spans,
)
from catena.history.scopes import HistoryScope, Repositories

T = TypeVar("T")

_WORD = re.compile(r"[^\W_]")
_GROUPS = 4
_STEP = 500  # entries that are looked at in one step: two milliseconds, or three
_QUALITIES = tuple(Quality)


@dataclass(frozen=True, slots=True)
class Hold:
    """A row that must not move: the selected one, and the index that it stands at."""

    key: str
    index: int


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

    @property
    def name_spans(self) -> tuple[Span, ...]:
        """Where the words stand in the entry's name."""
        return spans(self.entry.name, self.words, fuzzy=self.quality is Quality.FUZZY)

    @property
    def cwd_spans(self) -> tuple[Span, ...]:
        """Where they stand in its directory."""
        return spans(self.entry.cwd, self.words)

    @property
    def prompt_spans(self) -> tuple[Span, ...]:
        """Where they stand in its last prompt."""
        return spans(self.entry.last_prompt, self.words)


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


class _Texts(NamedTuple):
    """What words are looked for in, folded once."""

    name: str
    everything: str  # name, directory and last prompt


_Row = tuple[HistoryEntry, _Texts, int, HistoryScope]  # with its group, and the narrowest scope that it is in


class HistoryListing:
    """The entries of the history that were read so far."""

    def __init__(self, *, directory: str, repositories: Repositories | None = None) -> None:
        """``directory`` is the one that Catena was started in."""
        self._directory = directory
        self._repositories = repositories or Repositories()
        self._entries: dict[str, HistoryEntry] = {}
        self._texts: dict[str, _Texts] = {}
        self._ordered: list[_Row] | None = None
        self._changes = 0  # of what the order is made of
        self._tally: Counter[HistoryScope] = Counter()  # of the ordered entries, by their narrowest scope
        self._found: tuple[tuple[str, ...], list[_Row]] | None = None  # by the last words
        self._opened: frozenset[str] = frozenset()
        self._own_sessions: frozenset[str] = frozenset()
        self._counts: Mapping[
            str, int
        ] = {}  # of our conversations by directory, while not all of them are here

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
                if known is not None and known.outlined and _place_of(entry) == _place_of(known):
                    continue  # more of it is known, and it stands where it stood
                self._texts[entry.key] = _texts_of(entry)
                self._disorder()

    def remove(self, keys: Iterable[str]) -> None:
        """Remove entries; keys that are not there do not matter."""
        for key in keys:
            if self._entries.pop(key, None) is not None:
                del self._texts[key]
                self._disorder()

    def set_opened(self, keys: Collection[str]) -> None:
        """Say which conversations have a tab here."""
        opened = frozenset(keys)
        if opened == self._opened:
            return
        self._opened = opened
        self.put([each for each in self._entries.values() if each.opened != (each.key in self._opened)])

    def set_own_sessions(self, sessions: Collection[str]) -> None:
        """Say which sessions are links of ours: a foreign entry of one of them is our conversation, and is left out."""
        self._own_sessions = frozenset(sessions)
        self._disorder()

    @property
    def directory(self) -> str:
        """The directory that the narrowest scope means."""
        return self._directory

    async def learn_places(self) -> bool:
        """Look up the repositories of all directories; True where that may have changed what a scope holds."""
        learnt = await self._repositories.learn(
            [self._directory, *_directories(self._entries.values()), *self._counts]
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
        """What the words of filters can be completed to, as far as entries know."""
        ordered = [entry for entry, *_ in self._in_order()]
        return Known(
            agents=_distinct(ordered, "agent"),
            directories=_distinct(ordered, "cwd"),
            branches=_distinct(ordered, "git_branch"),
            sources=_distinct(ordered, "source"),
        )

    @property
    def narrowest_scope(self) -> HistoryScope:
        """The narrowest scope with any conversation in it; here, where there is none at all."""
        return next((scope for scope in self.scopes if self.count(scope)), HistoryScope.HERE)

    def count(self, scope: HistoryScope) -> int:
        """How many entries a scope holds; of those of ours that were not read yet by the counts that were given."""
        if not self._counts:
            self._in_order()
            return sum(count for narrowest, count in self._tally.items() if narrowest <= scope)
        foreign = (
            sum(each.foreign for each in self._entries.values()) if scope > HistoryScope.EVERYWHERE else 0
        )
        return foreign + sum(count for cwd, count in self._counts.items() if self._narrowest(cwd) <= scope)

    def set_counts(self, counts: Mapping[str, int]) -> None:
        """Say how many conversations of ours each directory has; nothing once all of them are entries."""
        self._counts = counts

    def match(
        self,
        query: HistoryQuery,
        scope: HistoryScope = HistoryScope.EVERYWHERE,
        *,
        facts: QueryFacts | None = None,
        hold: Hold | None = None,
    ) -> Matches:
        """The entries that a query finds in a scope, in the order of the rows; ``hold`` keeps one at its index.

        First those that wait for the person, then those that run, then by how well they match, and the pinned ones and
        the newest first; letters alone come after all words, whatever the entry does. Archived ones are last.
        """
        return _result(self.matching(query, scope, facts=facts, hold=hold))

    def matching(
        self,
        query: HistoryQuery,
        scope: HistoryScope = HistoryScope.EVERYWHERE,
        *,
        facts: QueryFacts | None = None,
        hold: Hold | None = None,
    ) -> Generator[None, None, Matches]:
        """``match`` in steps of some milliseconds; entries that change between two of them may not be in it."""
        counted = [0] * len(HistoryScope)
        # Entries come in the order of time, so that each of these lists is in it, too.
        ranked: list[list[HistoryEntry]] = [[] for _ in range(2 * _GROUPS * len(_QUALITIES))]
        found, how_well = yield from self._with_words(query.folded)
        for at, (entry, _, group, narrowest) in enumerate(found):
            if not at % _STEP:
                yield
            quality = how_well[at]
            if query.filters and not query.passes(entry, facts):
                continue
            counted[narrowest] += 1
            if narrowest <= scope:
                letters = _GROUPS if quality is Quality.FUZZY else 0
                ranked[(letters + group) * len(_QUALITIES) + quality].append(entry)
        entries = [entry for rank in ranked for entry in rank]
        qualities: list[Quality] = []
        for at, rank in enumerate(ranked):
            qualities += [_QUALITIES[at % len(_QUALITIES)]] * len(rank)
        if hold is not None:
            _keep_at(entries, qualities, hold)
        counts = dict(zip(HistoryScope, accumulate(counted), strict=True))
        return Matches(entries, qualities, query.folded, counts, scope)

    def _with_words(self, words: tuple[str, ...]) -> Generator[None, None, tuple[list[_Row], list[Quality]]]:
        """The entries that have the words, and how well; a word that grew is only looked for where it was before."""
        ordered = yield from self._ordering()
        rows = ordered
        if ordered is self._ordered and self._found is not None and _narrow(self._found[0], words):
            rows = self._found[1]
        # Two lists: fifty thousand pairs would have Python look for garbage among all that there is.
        found, how_well = list[_Row](), list[Quality]()
        for at, row in enumerate(rows):
            if not at % _STEP:
                yield
            quality = _quality(row[1], words)
            if quality is not Quality.NONE:
                found.append(row)
                how_well.append(quality)
        if ordered is self._ordered:
            self._found = words, found
        return found, how_well

    def within(
        self, query: HistoryQuery, scope: HistoryScope, *, facts: QueryFacts | None = None
    ) -> frozenset[str] | None:
        """Our conversations that are in the scope and pass the filters, whatever their words; None for all of them."""
        if not query.filters and (
            scope >= HistoryScope.EVERYWHERE
            or all(
                narrowest <= scope
                for _, _, _, narrowest in self._in_order()
                if narrowest <= HistoryScope.EVERYWHERE
            )
        ):
            return None
        return frozenset(
            entry.key
            for entry, _, _, narrowest in self._in_order()
            if narrowest <= scope and not entry.foreign and query.passes(entry, facts)
        )

    def _in_order(self) -> list[_Row]:
        """All entries, the newest first, with what is looked at in each of them for every key."""
        return _result(self._ordering())

    def _disorder(self) -> None:
        """Forget the order, since something that it is made of has changed."""
        self._ordered = None
        self._changes += 1

    def _ordering(self) -> Generator[None, None, list[_Row]]:
        """``_in_order`` in steps; what changes between two of them is in the next order."""
        if self._ordered is None:
            changes = self._changes
            narrowest = {cwd: self._narrowest(cwd) for cwd in _directories(self._entries.values())}
            shown = [each for each in self._entries.values() if each.session not in self._own_sessions]
            yield
            shown.sort(key=attrgetter("key"))
            yield
            shown.sort(key=attrgetter("pinned", "updated_at"), reverse=True)
            ordered = list[_Row]()
            for at, each in enumerate(shown):
                if not at % _STEP:
                    yield
                if (texts := self._texts.get(each.key)) is not None:
                    scope = HistoryScope.ALL_SOURCES if each.foreign else narrowest[each.cwd]
                    ordered.append((each, texts, _group(each), scope))
            if changes != self._changes:
                return ordered
            self._ordered, self._found = ordered, None
            self._tally = Counter(map(itemgetter(3), ordered))
        return self._ordered

    def _narrowest(self, cwd: str) -> HistoryScope:
        """The narrowest scope that a directory is in."""
        if cwd == self._directory:
            return HistoryScope.HERE
        repository = self._repositories.of(cwd)
        if repository is not None and repository == self._repositories.of(self._directory):
            return HistoryScope.REPOSITORY
        return HistoryScope.EVERYWHERE


def _result(steps: Generator[None, None, T]) -> T:
    """What comes of steps, all made at once."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result


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


def _texts_of(entry: HistoryEntry) -> _Texts:
    name = folded(entry.name)
    everything = f"{name}\n{folded(entry.cwd)}\n{folded(entry.last_prompt)}"
    return _Texts(name, everything)


def _quality(texts: _Texts, words: Sequence[str]) -> Quality:
    """How well an entry matches all of the words."""
    worst = Quality.TITLE_WORD
    for word in words:
        if word not in texts.everything:
            if letters_in_order(texts.name, word) is None:
                return Quality.NONE
            worst = Quality.FUZZY
        elif worst < Quality.ELSEWHERE and not _begins_word(texts.name, word):
            quality = Quality.TITLE if word in texts.name else Quality.ELSEWHERE
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


def _keep_at(entries: list[HistoryEntry], qualities: list[Quality], hold: Hold) -> None:
    for at, entry in enumerate(entries):
        if entry.key == hold.key:
            index = min(hold.index, len(entries) - 1)
            entries.insert(index, entries.pop(at))
            qualities.insert(index, qualities.pop(at))
            return


def _directories(entries: Iterable[HistoryEntry]) -> dict[str, None]:
    return dict.fromkeys(map(attrgetter("cwd"), entries))


def _distinct(entries: Iterable[HistoryEntry], name: str) -> tuple[str, ...]:
    """The values of a field, those that most entries have first."""
    counted: dict[str, int] = {}
    for entry in entries:
        if value := getattr(entry, name):
            counted[value] = counted.get(value, 0) + 1
    return tuple(sorted(counted, key=lambda each: -counted[each]))
