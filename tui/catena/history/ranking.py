"""Ranking: how well words match the texts of an entry, and where.

Case and accents are folded. A word is looked for as it stands; where it is nowhere, its letters may stand in their
order in the title.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import IntEnum

from catena_store.finding.newest_hits import folded

__all__ = ["LEAST_LETTERS", "Quality", "Span", "folded", "folded_with_places", "letters_in_order", "spans"]

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
