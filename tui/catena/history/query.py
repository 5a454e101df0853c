"""Queries: what a person types into the history, as filters and words, and how well those match a text.

Nothing typed is an error: a word that is no filter is a word, and a filter whose value means nothing says so.

Case and accents are folded. A word is looked for as it stands; where it is nowhere, its letters may stand in their
order in the title.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from enum import Enum, IntEnum
from functools import cached_property

from catena.history.entries import EntryState, HistoryEntry
from catena_store.finding.newest_hits import folded

__all__ = [
    "LEAST_LETTERS",
    "HistoryQuery",
    "Quality",
    "QueryFacts",
    "Span",
    "completions",
    "folded",
    "folded_with_places",
    "letters_in_order",
    "spans",
]

LEAST_LETTERS = 3  # of a word whose letters are looked for apart
_WORD = re.compile(r"[^\W_]+")

Span = tuple[int, int]  # of characters of a text: its start, and its end


class Quality(IntEnum):
    """How well an entry matches, the best first."""

    TITLE_WORD = 0  # every word begins a word of the title
    TITLE = 1  # every word is in the title
    ELSEWHERE = 2  # every word is somewhere
    FUZZY = 3  # the letters of at least one word are in order
    NONE = 4


def folded_with_places(text: str) -> tuple[str, Sequence[int]]:
    """The folded text, and for each of its characters the place in the text that it came from."""
    if text.isascii():
        return text.lower(), range(len(text))
    characters: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        for each in folded(character):
            characters.append(each)
            places.append(place)
    return "".join(characters), places


def letters_in_order(text: str, word: str) -> tuple[int, ...] | None:
    """The positions of the letters of a folded word in a folded text, in order; None if they are not found.

    The first begins a word, and each further one is in the same word or begins a later one: `lgn` and `lof` are both in
    `login form`. Words of fewer than three letters are never found, since they would be nearly everywhere. Takes no
    longer for texts that were made to be hard.
    """
    if len(word) < LEAST_LETTERS or not word.isalnum() or not _in_order(text, word):
        return None
    # By the number of letters that are found: where they are.
    found: dict[int, tuple[int, ...]] = {0: ()}
    for each in _WORD.finditer(text):
        whole, start = each[0], each.start()
        for count in [count for count in found if word[count] == whole[0]]:
            at, places = 1, (*found[count], start)
            while found.setdefault(len(places), places) and len(places) < len(word):
                at = whole.find(word[len(places)], at) + 1
                if not at:
                    break
                places = (*places, start + at - 1)
            if len(places) == len(word):
                return places
    return None


def _in_order(text: str, word: str) -> bool:
    """True where the letters are in the text in this order, wherever they are."""
    at = 0
    for letter in word:
        at = text.find(letter, at) + 1
        if not at:
            return False
    return True


def spans(text: str, words: Sequence[str], *, fuzzy: bool = False) -> tuple[Span, ...]:
    """Where folded words stand in a text, in order and joined where they touch; letters alone only where ``fuzzy``."""
    if not words:
        return ()
    plain, places = folded_with_places(text)
    found: list[Span] = []
    for word in words:
        stands = list(_all(plain, word))
        if not stands and fuzzy:
            stands = [(at, at + 1) for at in letters_in_order(plain, word) or ()]
        found += stands
    return tuple(_joined((places[start], places[end - 1] + 1) for start, end in found))


def _all(text: str, word: str) -> Iterator[Span]:
    at = text.find(word)
    while at >= 0:
        yield at, at + len(word)
        at = text.find(word, at + len(word))


def _joined(found: Iterator[Span]) -> Iterator[Span]:
    last: Span | None = None
    for start, end in sorted(found):
        if last is not None and start <= last[1]:
            last = (last[0], max(last[1], end))
        else:
            if last is not None:
                yield last
            last = (start, end)
    if last is not None:
        yield last


class FilterKind(Enum):
    """What a filter asks of an entry."""

    AGENT = "agent"
    DIRECTORY = "dir"
    FILE = "file"
    BRANCH = "branch"
    SOURCE = "source"
    STATE = "is"
    BEFORE = "before"
    AFTER = "after"
    COST = "cost"
    TODO = "todo"
    PINNED = "pinned"
    ARCHIVED = "archived"


# What an outline does not know; of states, "failed".
_ASKED_OF_THE_STORE = (FilterKind.FILE, FilterKind.COST, FilterKind.TODO, FilterKind.BRANCH)
_ALONE = {"todo": FilterKind.TODO, "pinned": FilterKind.PINNED, "archived": FilterKind.ARCHIVED}
_WITH_VALUE = {kind.value: kind for kind in FilterKind if kind not in (*_ALONE.values(), FilterKind.COST)} | {
    "in": FilterKind.DIRECTORY,
    "cwd": FilterKind.DIRECTORY,
}
_STATES = {
    "running": (EntryState.WORKING, EntryState.ASKS),
    "working": (EntryState.WORKING, EntryState.ASKS),
    "asking": (EntryState.ASKS,),
    "asks": (EntryState.ASKS,),
    "failed": (EntryState.FAILED,),
    "unread": (EntryState.UNREAD,),
}
_FLAGS: Mapping[str, Callable[[HistoryEntry], bool]] = {
    "pinned": lambda entry: entry.pinned,
    "archived": lambda entry: entry.archived,
    "open": lambda entry: entry.opened,
    "waiting": lambda entry: entry.waits,
}
_TOKEN = re.compile(r'(?:"[^"]*"?|[^\s"])+')
_COST = re.compile(r"(?P<name>cost)(?P<sign>>=|<=|>|<|:|=)(?P<value>.*)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class QueryFilter:
    """One filter, as it was typed; ``problem`` says why it means nothing, and then it lets everything pass."""

    kind: FilterKind
    start: int  # of its text in the query
    end: int
    value: str = ""
    moment: datetime | None = None  # of BEFORE and AFTER
    sign: str = ""  # of COST
    amount: float = 0.0
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class QueryFacts:
    """The store's answers to filters that entries cannot decide: ids of the conversations that pass each filter."""

    passing: Mapping[QueryFilter, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class HistoryQuery:
    """The words and filters of a text. Times are the person's own: their days begin at their midnight."""

    text: str = ""
    words: tuple[str, ...] = ()  # without the quotes, as they were typed
    filters: tuple[QueryFilter, ...] = ()

    @classmethod
    def parse(cls, text: str, *, now: datetime) -> HistoryQuery:
        """The query that a text means; ``now`` is an aware time in the person's zone."""
        words: list[str] = []
        filters: list[QueryFilter] = []
        for token in _TOKEN.finditer(text):
            found = _filter(token[0], token.start(), token.end(), now)
            if found is not None:
                filters.append(found)
            elif word := token[0].replace('"', "").strip():
                words.append(word)
        return cls(text, tuple(words), tuple(filters))

    @cached_property
    def folded(self) -> tuple[str, ...]:
        """The words without case and accents."""
        return tuple(word for word in map(folded, self.words) if word)

    @property
    def problems(self) -> tuple[QueryFilter, ...]:
        """The filters that mean nothing as they stand."""
        return tuple(each for each in self.filters if each.problem)

    @property
    def unknown(self) -> tuple[QueryFilter, ...]:
        """The filters that entries alone cannot answer: see ``QueryFacts``."""
        return tuple(
            each
            for each in self.filters
            if not each.problem
            and (
                each.kind in _ASKED_OF_THE_STORE or (each.kind is FilterKind.STATE and each.value == "failed")
            )
        )

    def passes(self, entry: HistoryEntry, facts: QueryFacts | None = None) -> bool:
        """True where every filter lets the entry pass; words are not looked at."""
        return all(_passes(each, entry, facts) for each in self.filters if not each.problem)


def _filter(token: str, start: int, end: int, now: datetime) -> QueryFilter | None:
    if (alone := _ALONE.get(token.lower())) is not None:
        return QueryFilter(alone, start, end)
    if (cost := _COST.fullmatch(token)) is not None:
        return _cost(cost["sign"], cost["value"], start, end)
    name, colon, rest = token.partition(":")
    kind = _WITH_VALUE.get(name.lower()) if colon else None
    if kind is None or rest.startswith("//"):  # an address is a word
        return None
    value = rest.replace('"', "").strip()
    if kind in (FilterKind.DIRECTORY, FilterKind.FILE) and value.startswith("~"):
        value = os.path.expanduser(value)  # noqa: PTH111 - a text to compare with
    problem = None if value else f"{name.lower()}: what?"
    moment = None
    if value and kind in (FilterKind.BEFORE, FilterKind.AFTER):
        moment = _moment(value.lower(), now, end=kind is FilterKind.AFTER and not _is_relative(value))
        problem = None if moment else f"“{value}” is not a date: try 2026-10-01, may, yesterday, 3d"
    elif value and kind is FilterKind.STATE:
        value = value.lower()
        if value not in _STATES and value not in _FLAGS:
            problem = f"“{value}” is not a state: {', '.join(sorted({*_STATES, *_FLAGS}))}"
    return QueryFilter(kind, start, end, folded(value), moment, problem=problem)


def _cost(sign: str, value: str, start: int, end: int) -> QueryFilter:
    try:
        amount = float(value.strip('"').lstrip("$€£").replace(",", "."))
        problem = None if amount == amount and abs(amount) != float("inf") else f"“{value}” is not an amount"
    except ValueError:
        amount, problem = 0.0, f"“{value}” is not an amount" if value else f"cost{sign} how much?"
    return QueryFilter(
        FilterKind.COST,
        start,
        end,
        value,
        sign=">=" if sign in ":=" else sign,
        amount=amount,
        problem=problem,
    )


_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_AGO = re.compile(r"(\d{1,4})(h|d|w|m|y)")
_UNIT_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_SHORTEST = 3  # letters of a month or a day


def _is_relative(value: str) -> bool:
    return _AGO.fullmatch(value.lower()) is not None


def _moment(value: str, now: datetime, *, end: bool) -> datetime | None:
    """The beginning of a day, month or year that a word names, or its end; the newest one that is not to come."""
    try:
        if (ago := _AGO.fullmatch(value)) is not None:
            if ago[2] == "h":
                return now - timedelta(hours=int(ago[1]))
            return now - timedelta(days=int(ago[1]) * _UNIT_DAYS[ago[2]])
        first, after = _span(value, now.date()) or (None, None)
        day = after if end else first
        return None if day is None else datetime(day.year, day.month, day.day, tzinfo=now.tzinfo)
    except (ValueError, OverflowError):
        return None


def _span(value: str, today: date) -> tuple[date, date] | None:
    """The first day of what is named, and the day after its last one."""
    day = timedelta(days=1)
    if value in ("today", "now"):
        return today, today + day
    if value == "yesterday":
        return today - day, today
    if (dated := _DATE.fullmatch(value)) is not None:
        year, month, of_month = (int(part) if part else None for part in dated.groups())
        assert year is not None
        if month is None:
            return date(year, 1, 1), date(year + 1, 1, 1)
        if of_month is None:
            return date(year, month, 1), _next_month(date(year, month, 1))
        return date(year, month, of_month), date(year, month, of_month) + day
    if len(value) < _SHORTEST:
        return None
    for number, name in enumerate(_MONTHS, start=1):
        if name.startswith(value):
            first = date(today.year - (number > today.month), number, 1)
            return first, _next_month(first)
    for number, name in enumerate(_DAYS):
        if name.startswith(value):
            first = today - timedelta(days=(today.weekday() - number) % 7)
            return first, first + day
    return None


def _next_month(first: date) -> date:
    return date(first.year + first.month // 12, first.month % 12 + 1, 1)


def _passes(asked: QueryFilter, entry: HistoryEntry, facts: QueryFacts | None) -> bool:
    match asked.kind:
        case FilterKind.AGENT:
            return asked.value in folded(f"{entry.agent} {entry.profile}")
        case FilterKind.DIRECTORY:
            return asked.value in folded(entry.cwd)
        case FilterKind.BRANCH:
            return asked.value in folded(entry.git_branch or "") or _known_to_pass(asked, entry, facts)
        case FilterKind.SOURCE:
            return folded(entry.source).startswith(asked.value)
        case FilterKind.STATE:
            flag = _FLAGS.get(asked.value)
            if flag:
                return flag(entry)
            return entry.state in _STATES[asked.value] or _known_to_pass(asked, entry, facts)
        case FilterKind.BEFORE:
            return asked.moment is None or entry.created_at < asked.moment
        case FilterKind.AFTER:
            return asked.moment is None or entry.updated_at >= asked.moment
        case FilterKind.TODO:
            return entry.todos > 0 or _known_to_pass(asked, entry, facts)
        case FilterKind.PINNED:
            return entry.pinned
        case FilterKind.ARCHIVED:
            return entry.archived
        case FilterKind.FILE | FilterKind.COST:
            return facts is not None and entry.key in facts.passing.get(asked, frozenset())


def _known_to_pass(asked: QueryFilter, entry: HistoryEntry, facts: QueryFacts | None) -> bool:
    """True of an entry that was read in outline only, if the store says that it passes."""
    return entry.outlined and facts is not None and entry.key in facts.passing.get(asked, frozenset())


@dataclass(frozen=True, slots=True)
class QueryCompletion:
    """A word that may stand in the place of what was typed."""

    text: str  # of the whole word, quoted where it has spaces
    start: int  # in the query's text: what it replaces
    end: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Known:
    """What can be completed to, the most usual first."""

    agents: Sequence[str] = ()
    directories: Sequence[str] = ()
    files: Sequence[str] = ()
    branches: Sequence[str] = ()
    sources: Sequence[str] = ()


_NOTES = {
    "agent:": "conversations of an agent",
    "file:": "a file that was read or changed",
    "dir:": "a directory",
    "branch:": "a git branch",
    "before:": "begun before a date: 2026-10-01, may, yesterday",
    "after:": "used after a date: 2026-10-01, may, 3d",
    "is:": "running, asking, failed, unread, open",
    "cost>": "that cost more",
    "todo": "with open todos",
    "pinned": "pinned ones",
    "archived": "archived ones",
    "source:": "other tools' sessions",
}
_MOST_COMPLETIONS = 50


def completions(text: str, cursor: int, known: Known) -> list[QueryCompletion]:
    """The possible completions of the word at the cursor; empty if no word there can be completed."""
    token = next((each for each in _TOKEN.finditer(text) if each.start() < cursor <= each.end()), None)
    if token is None:
        return []
    typed, start, end = token[0], token.start(), token.end()
    name, colon, rest = typed.partition(":")
    if not colon:
        beginning = typed.lower()
        return [
            QueryCompletion(word, start, end, note)
            for word, note in _NOTES.items()
            if word.startswith(beginning) and word != beginning
        ]
    kind = _WITH_VALUE.get(name.lower())
    wanted = folded(rest.replace('"', ""))
    values = _values(kind, known)
    best = sorted(
        (each for each in dict.fromkeys(values) if wanted in folded(each)),
        key=lambda each: not folded(each.rpartition("/")[2]).startswith(wanted),
    )
    return [
        QueryCompletion(f"{name}:{_quoted(each)}", start, end)
        for each in best[:_MOST_COMPLETIONS]
        if each != rest
    ]


def _values(kind: FilterKind | None, known: Known) -> Iterable[str]:
    match kind:
        case FilterKind.AGENT:
            return known.agents
        case FilterKind.DIRECTORY:
            return known.directories
        case FilterKind.FILE:
            return known.files
        case FilterKind.BRANCH:
            return known.branches
        case FilterKind.SOURCE:
            return known.sources
        case FilterKind.STATE:
            return (*_STATES, *_FLAGS)
        case FilterKind.BEFORE | FilterKind.AFTER:
            return ("today", "yesterday", "7d", "30d", *_MONTHS)
        case _:
            return ()


def _quoted(value: str) -> str:
    return f'"{value}"' if any(map(str.isspace, value)) else value
