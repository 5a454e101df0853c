"""Names: how one is made, how several are told apart, and how well one fits what is typed of it. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from enum import IntEnum
from itertools import count, takewhile

from catena.text.formats import cell_width, title_of, truncate

_FORK_MARKS = re.compile(r"(\s*\(fork(?: #?\d+)?\))(?:\s*\(fork(?: #?\d+)?\))+\Z")
_SHORT = 8  # characters of an id


def conversation_name(title: str | None, first_prompt: str | None, otherwise: str = "untitled") -> str:
    """The name of a conversation: its title, marked as a fork once at most, else its first prompt; unsafe."""
    return _FORK_MARKS.sub(r"\1", title or "") or title_of(first_prompt or "") or otherwise


def short_id(id: str) -> str:
    """The beginning of an id, as commands take it."""
    return id[:_SHORT]


def names_apart(named: Sequence[tuple[str, str]]) -> list[str]:
    """The names of tabs, no two alike: with the agent where tabs of one name have several, else with a number.

    ``named`` are names and agents; a tab without a name stays without one.
    """
    agents = Counter(name for name, _ in dict.fromkeys(named))
    names = [f"{name} · {agent}" if name and agents[name] > 1 else name for name, agent in named]
    apart: list[str] = []
    for name in names:
        free = (each for number in count(2) if (each := f"{name} {number}") not in (*names, *apart))
        apart.append(next(free) if name and name in apart else name)
    return apart


def numbered_again(names: Sequence[str]) -> list[str]:
    """The names of agents that are asked at once: behind one that stood before is its number, as in `claude (2)`."""
    counts: Counter[str] = Counter()
    numbered = []
    for name in names:
        counts[name] += 1
        numbered.append(f"{name} ({counts[name]})" if counts[name] > 1 else name)
    return numbered


def fitting_names(names: Sequence[str], width: int) -> list[str]:
    """Different names in at most so many cells each: of those that would look alike, the part that differs stays."""
    cut = {name: truncate(name, width) for name in names}
    seen = Counter(cut.values())
    fits = {
        name: short if seen[short] == 1 else _ending(name, width, [other for other in cut if other != name])
        for name, short in cut.items()
    }
    seen = Counter(fits.values())
    return [
        fits[name] if seen[fits[name]] == 1 else truncate(f"{number} {fits[name]}", width)
        for number, name in enumerate(names, 1)
    ]


def _ending(name: str, width: int, others: Sequence[str]) -> str:
    """A name from where it differs from all others, behind a little of its beginning."""
    alike = (takewhile(lambda pair: pair[0] == pair[1], zip(name, other, strict=False)) for other in others)
    differs = min(max(sum(1 for _ in pairs) for pairs in alike), len(name) - 1)
    word = name.rfind(" ", 0, differs + 1) + 1
    begin = word if cell_width(name[word:differs]) <= width // 3 else differs
    head = truncate(name[:begin], max(2, width - cell_width(name[begin:])))
    return truncate(f"{head.rstrip('…').rstrip()}…{name[begin:].lstrip('…')}", width)


class Fit(IntEnum):
    """How a name fits, the best first."""

    EXACT = 0
    WHOLE = 1  # but for capitals
    BEGINS = 2
    INSIDE = 3
    LETTERS = 4  # in their order
    NONE = 5


class Fits:
    """What names are compared with."""

    def __init__(self, typed: str) -> None:
        """``typed`` is not empty."""
        from textual.fuzzy import FuzzySearch  # after the first frame

        self._typed = typed
        self._low = typed.casefold()
        self._search = FuzzySearch()

    def __call__(self, name: str) -> tuple[Fit, float]:
        """How a name fits, and a number that is lower for the better one of two that fit alike."""
        if name == self._typed:
            return Fit.EXACT, 0.0
        low = name.casefold()
        if low == self._low:
            return Fit.WHOLE, 0.0
        if low.startswith(self._low):
            return Fit.BEGINS, float(len(name))
        points = self._search.match(self._typed, name)[0]
        if self._low in low:
            return Fit.INSIDE, -points
        return (Fit.LETTERS, -points) if points > 0 else (Fit.NONE, 0.0)
