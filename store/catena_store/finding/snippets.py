"""Snippets: the words around what a search found in a text. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from unicodedata import combining, normalize

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
