"""Search over all messages: the newest hit of each conversation with the words around it, and whole turns of one.

However frequent the words are, and however few the conversations, a bounded number of rows is looked at.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from heapq import nlargest
from itertools import islice
from unicodedata import combining, normalize

from catena_store import ancestry
from catena_store.conversations import branches
from catena_store.database import rows
from catena_store.database.database import Reader
from catena_store.errors import NotFound
from catena_store.finding.search import fts_query
from catena_store.ids import from_milliseconds
from catena_store.records import Kind, Message

_LENGTH = 160  # characters of a snippet
_BEFORE = 40  # of them, before the first word that was found: a row on the screen is cut at its end
_MOST = 30_000  # characters that are folded one by one
_PLACES = 100  # of the words in a text that are looked at

Span = tuple[int, int]  # of characters: the start, and the end


@dataclass(frozen=True, slots=True)
class Snippet:
    """A piece of a text, in one line, and where in it the words are. As hostile as the text."""

    text: str
    spans: tuple[Span, ...] = ()


def snippet(text: str, words: Sequence[str]) -> Snippet:
    """The piece of a text around the first place that has most of the words, each of which begins a word there."""
    pattern = _pattern(tuple(words))
    found = _places(text, pattern) if pattern else []
    start, end = _piece(text, found)
    inside = [
        (max(place[0], start), min(place[1], end)) for place in found if start < place[1] and place[0] < end
    ]
    return _one_line(text, start, end, inside)


@lru_cache(maxsize=64)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str] | None:
    """Any of the words, as the index sees them: parts of letters and digits, with anything else between."""
    each = [re.findall(r"[^\W_]+", folded(word)) for word in words]
    either = sorted({r"[\W_]+".join(parts) for parts in each if parts}, key=len, reverse=True)
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(either)})[^\W_]*") if either else None


def _places(text: str, pattern: re.Pattern[str]) -> list[Span]:
    """The first places of the words."""
    found = [] if text.isascii() else _places_folded(text[:_MOST], pattern)
    plain = text.lower()
    if found or len(plain) != len(text):
        return found
    return [each.span() for each in islice(pattern.finditer(plain), _PLACES)]


def _places_folded(text: str, pattern: re.Pattern[str]) -> list[Span]:
    characters: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        for each in _folded_character(character):
            characters.append(each)
            places.append(place)
    matches = (each.span() for each in islice(pattern.finditer("".join(characters)), _PLACES))
    return [(places[start], places[end - 1] + 1) for start, end in matches]


@lru_cache(maxsize=4096)
def _folded_character(character: str) -> str:
    return folded(character)


def folded(text: str) -> str:
    """The text without case and accents."""
    if text.isascii():
        return text.lower()
    # Case is folded last, too: what a decomposed letter leaves may be a capital.
    bare = (each for each in normalize("NFKD", text.casefold()) if not combining(each))
    return "".join(bare).casefold()


def _piece(text: str, found: Sequence[Span]) -> Span:
    """The piece around the place from which most of what was found is near."""
    if not found:
        return 0, min(len(text), _LENGTH)
    best, most, last = 0, 0, 0
    for at, (start, _) in enumerate(found):
        while last < len(found) and found[last][1] <= start + _LENGTH - _BEFORE:
            last += 1
        different = len({text[a:b].lower() for a, b in found[at : min(last, at + 20)]})
        if different > most:
            best, most = at, different
    start = max(0, found[best][0] - _BEFORE)
    if start and (space := text.find(" ", start, found[best][0])) >= 0:
        start = space + 1  # not within a word
    return start, min(len(text), max(start + _LENGTH, found[best][1]))


def _one_line(text: str, start: int, end: int, inside: Sequence[Span]) -> Snippet:
    line = "…" if text[:start].strip() else ""
    spans: list[Span] = []
    at = start
    for begins, ends in [*inside, (end, end)]:
        line = _joined(line, text[at:begins])
        begun = len(line)
        line = _joined(line, text[begins:ends])
        if len(line) > begun:
            spans.append((begun, len(line)))
        at = ends
    return Snippet(line.rstrip() + ("…" if text[end:].strip() else ""), tuple(spans))


def _joined(line: str, more: str) -> str:
    """The line with more of the text, in which every run of white space is one space."""
    words = " ".join(more.split())
    if more[:1].isspace() and line and not line.endswith((" ", "…")):
        words = f" {words}"
    return f"{line}{words} " if more[-1:].isspace() and words.strip() else f"{line}{words}"


@dataclass(frozen=True, slots=True)
class NewestHit:
    """The newest message of a conversation that has the words."""

    conversation_id: str
    message_id: str
    kind: Kind
    snippet: Snippet
    created_at: datetime
    hits: int  # messages of the conversation that have them, as far as was looked
    more: bool  # there may be still more


@dataclass(frozen=True, slots=True)
class NewestHits:
    """The newest hit of each conversation, newest first."""

    found: Sequence[NewestHit] = ()
    cut: bool = False  # there may be older ones


@dataclass(frozen=True, slots=True)
class HitPlace:
    """Where in its conversation a message stands."""

    version: int  # of the last prompt above it that has several, from 1; the prompt itself included
    versions: int  # 1 where no prompt above it has several
    turns: int  # prompts above its own
    leaf_id: str  # the end of the newest branch that goes through it


async def newest_hits(
    r: Reader, text: str | Sequence[str], *, within: Collection[str] | None = None, limit: int = 50
) -> NewestHits:
    """The newest message of each conversation in which every word of the text begins a word, newest first.

    Given as words, one with a space within is words in a row. ``within``: only in these conversations.
    """
    words = text.split() if isinstance(text, str) else text
    if not fts_query(words) or (within is not None and not within):
        return NewestHits()
    scan = _Scan(r, await _query(r, words), within, limit)
    await scan.run()
    newest = sorted(scan.newest.items(), key=lambda item: -item[1])[:limit]
    found = await r.all(
        "SELECT m.id, m.uid, m.kind, m.text, m.created_at FROM message m"
        " WHERE m.id IN (SELECT value FROM json_each(?))",
        (json.dumps([id for _, id in newest]),),
    )
    # Texts may be long; the loop goes on meanwhile.
    snippets = await asyncio.to_thread(lambda: {id: snippet(said, words) for id, _, _, said, _ in found})
    by_id = {id: (uid, Kind(kind), snippets[id], from_milliseconds(at)) for id, uid, kind, _, at in found}
    hits = [
        NewestHit(conversation, *by_id[id], hits=scan.counted[conversation], more=not scan.exhausted)
        for conversation, id in newest
    ]
    return NewestHits(hits, cut=not scan.exhausted)


# A text that was steered into a turn counts as one: only its data would tell, and data is slow to read.
_PROMPTS_BEFORE = "SELECT count(*) FROM message WHERE conversation_id = ? AND kind = 'user' AND id <= ?"
_PROMPTS_ABOVE = """
    WITH RECURSIVE branch (id, parent_id, kind) AS (
        SELECT id, parent_id, kind FROM message WHERE conversation_id = ? AND id = ?
        UNION ALL
        SELECT m.id, m.parent_id, m.kind FROM branch b CROSS JOIN message m ON m.id = b.parent_id
    )
    SELECT count(*) FROM branch WHERE kind = 'user'
"""


async def place(r: Reader, id: str) -> HitPlace:
    """Where a message stands; a walk up its branch only where that has versions. Raises NotFound."""
    row = await r.one(
        "SELECT m.conversation_id, m.id, c.fork_point_id IS NULL AND"
        " (SELECT count(*) FROM (SELECT 1 FROM branch_end WHERE conversation_id = c.id LIMIT 2)) = 1"
        "  FROM message m JOIN conversation c ON c.id = m.conversation_id WHERE m.uid = ?",
        (id,),
    )
    if row is None:
        raise NotFound("message", id)
    conversation, number, single = row
    leaf = await ancestry.newest_below(r, id, conversation)
    prompts = await r.one(_PROMPTS_BEFORE if single else _PROMPTS_ABOVE, (conversation, number))
    turns = max(0, (prompts[0] if prompts else 0) - 1)
    if single:
        return HitPlace(1, 1, turns, leaf)
    parted = await branches.sibling_positions(r, await ancestry.partings(r, id, conversation), conversation)
    depths = await r.all(
        "SELECT uid FROM message WHERE uid IN (SELECT value FROM json_each(?)) ORDER BY id DESC LIMIT 1",
        (rows.as_list(parted),),
    )
    version, versions = parted[depths[0][0]] if depths else (1, 1)
    return HitPlace(version, versions, turns, leaf)


# Hits that one statement gives: few at first, for most words are rare, or in every conversation.
_CHUNKS = (2_000, 8_000, 16_000, 32_000)
_FEWER = 4  # times, where what lies between them is passed over: each may be far from the next
_FEW_ROWS = 20_000  # of conversations whose rows are looked for by their numbers


_NEWEST = 2**62
_SHORT = 3  # letters of the longest beginnings that the index has lists for
_GAP = 2_000  # rows; what is nearer is read in one go


@dataclass(frozen=True, slots=True)
class _Query:
    """Words as a query, and in how many stretches of rows it may be asked."""

    text: str  # in the index's language
    stretches: int


async def _query(r: Reader, words: Sequence[str]) -> _Query:
    """The query of words. Those that begin no longer one are asked for as they are.

    For the beginning of a word of four letters or more the index first collects all that it has of each word that
    begins so: for the most frequent words tens of milliseconds, at every question.
    """
    long = [word for word in dict.fromkeys(words) if len(word) > _SHORT]
    whole = {
        word for word in long if word.isascii() and word.isalnum() and not await _longer(r, word.lower())
    }
    return _Query(fts_query(words, whole=whole), stretches=32 if whole.issuperset(long) else 3)


async def _longer(r: Reader, word: str) -> bool:
    """True where a longer word in the index begins so."""
    await r.all(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.message_term USING fts5vocab ('main', 'message_fts', 'instance')"
    )
    # No letter or digit is before 0.
    return bool(
        await r.all(
            "SELECT 1 FROM temp.message_term WHERE term >= ?1 || '0' AND term < ?1 || char(1114111) LIMIT 1",
            (word,),
        )
    )


def _stretches(numbers: Sequence[int], most: int) -> list[Sequence[int]]:
    """Rows in at most so many pieces, the newest first, parted where they are farthest from each other."""
    gaps = [at for at in range(1, len(numbers)) if numbers[at] - numbers[at - 1] > _GAP]
    cuts = sorted(nlargest(most - 1, gaps, key=lambda at: numbers[at] - numbers[at - 1]))
    pieces = [numbers[start:end] for start, end in zip([0, *cuts], [*cuts, len(numbers)], strict=True)]
    return [piece for piece in reversed(pieces) if piece]


class _Scan:
    """One search: hits are read from the newest on, until there are enough conversations.

    What is between the conversations that are still wanted is left out: by the numbers of their rows where these are
    few, else from the newest of them on.
    """

    def __init__(self, r: Reader, query: _Query, within: Collection[str] | None, limit: int) -> None:
        self._r = r
        self._query = query
        self._within = None if within is None else set(within)
        self._limit = limit
        self._gone: set[str] = set()  # conversations that were deleted
        self.newest: dict[str, int] = {}  # by conversation
        self.counted: dict[str, int] = {}
        self.exhausted = False  # there is no older hit

    async def run(self) -> None:
        """Read hits until there are enough conversations, or no more hits."""
        below = _NEWEST
        for size in _CHUNKS:
            found, exhausted = await self._chunk(below, size)
            await self._take(found)
            if exhausted:
                self.exhausted = len(self.newest) <= self._limit
                return
            if len(self.newest) > self._limit:
                return
            if self._within is None:
                listed = await self._r.all("SELECT id FROM conversation WHERE deleted_at IS NULL")
                self._within = {id for (id,) in listed}
            below = found[-1][0] - 1

    async def _chunk(self, below: int, size: int) -> tuple[list[tuple[int, str]], bool]:
        """The newest hits, of conversations still wanted where that is known; True if there are no older ones."""
        if self._within is None:
            found = await self._between(0, below, size)
            return found, len(found) < size
        wanted = rows.as_list(self._within - self.newest.keys())
        numbers = await self._numbers(wanted)
        if numbers is None:
            found = await self._between(0, min(below, await self._highest(wanted)), size)
            return found, len(found) < size
        size //= _FEWER
        found = []
        for stretch in _stretches([each for each in numbers if each <= below], self._query.stretches):
            found += await self._between(stretch[0], stretch[-1], size - len(found), stretch)
            if len(found) == size:
                return found, False
        return found, True

    async def _between(
        self, low: int, high: int, size: int, numbers: Sequence[int] = ()
    ) -> list[tuple[int, str]]:
        """The newest hits between two rows, of these rows alone where they are given."""
        # A condition on the index itself would begin its search anew for each of the rows.
        some = 0 < len(numbers) <= high - low
        few = "AND +rowid IN (SELECT value FROM json_each(?4))" if some else ""
        return await self._r.all(
            "SELECT f.id, m.conversation_id FROM (SELECT rowid AS id FROM message_fts"
            f" WHERE message_fts MATCH ?1 AND rowid BETWEEN ?2 AND ?3 {few}"
            " ORDER BY rowid DESC LIMIT ?5) f CROSS JOIN message m ON m.id = f.id",
            (self._query.text, low, high, json.dumps(numbers) if some else None, size),
        )

    async def _numbers(self, wanted: str) -> list[int] | None:
        """The rows of conversations, oldest first; None where they are many."""
        found = await self._r.all(
            "SELECT m.id FROM json_each(?) CROSS JOIN message m ON m.conversation_id = value LIMIT ?",
            (wanted, _FEW_ROWS),
        )
        return None if len(found) == _FEW_ROWS else sorted(id for (id,) in found)

    async def _highest(self, wanted: str) -> int:
        """The newest row of all of these conversations."""
        row = await self._r.one(
            "SELECT max((SELECT max(message_id) FROM branch_end WHERE conversation_id = value)) FROM json_each(?)",
            (wanted,),
        )
        return -1 if row is None or row[0] is None else int(row[0])

    async def _take(self, found: Sequence[tuple[int, str]]) -> None:
        unknown = {conversation for _, conversation in found} - self.newest.keys() - self._gone
        if self._within is not None:
            unknown &= self._within
        listed = await self._r.all(
            "SELECT id FROM conversation WHERE id IN (SELECT value FROM json_each(?)) AND deleted_at IS NULL",
            (rows.as_list(unknown),),
        )
        known = {id for (id,) in listed}
        self._gone |= unknown - known
        for id, conversation in found:
            if conversation in known:
                self.newest.setdefault(conversation, id)
            if conversation in self.newest:
                self.counted[conversation] = self.counted.get(conversation, 0) + 1


async def conversations_with_directories(r: Reader) -> list[tuple[str, str]]:
    """The id and the directory of every conversation that lists show."""
    found = await r.all("SELECT id, cwd FROM conversation WHERE deleted_at IS NULL AND pruned_at IS NULL")
    return [(id, cwd) for id, cwd in found]


async def turn_rows(r: Reader, prompt_id: str, *, limit: int) -> list[Message]:
    """A prompt and what came of it, in any attempt at it, up to the next prompts; oldest first."""
    found = await r.all(
        f"""
        WITH RECURSIVE below (id) AS (
            SELECT id FROM message WHERE uid = ?1
            UNION
            SELECT m.id FROM below b CROSS JOIN message m ON m.parent_id = b.id WHERE NOT {rows.IS_PROMPT}
            ORDER BY 1 LIMIT ?2
        )
        SELECT {rows.MESSAGE} FROM below CROSS JOIN message m ON m.id = below.id ORDER BY m.id
        """,
        (prompt_id, limit),
    )
    return [rows.message(row) for row in found]
