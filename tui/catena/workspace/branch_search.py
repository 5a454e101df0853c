"""The search of a branch for a text as it is shown: in the store row by row, and in threads of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from catena_store.database.database import Reader
from catena_store.finding import search
from catena_store.records import Message

MOST_HITS = 10_000
_FIRST_ROWS = 1_000  # looked through at first, for the first hit
_MOST_ROWS = 16_000  # looked through at once,
_MOST_FOUND = 500  # or fewer if many have the text: the search for the next letter waits for them

ReadBranch: TypeAlias = Callable[
    [Callable[[Reader, str | None], Awaitable[Sequence[Message]]]], Awaitable[Sequence[Message]]
]


@dataclass(frozen=True, slots=True)
class FoundRow:
    """A row of a branch, and how often the text is in it."""

    message: Message
    hits: int


async def search_branch(
    read: ReadBranch, text: str, depths: range, *, upwards: bool
) -> AsyncGenerator[list[FoundRow], None]:
    """The rows with a text between two depths of a branch, from one end to the other, some thousand at a time.

    ``read`` reads from the branch, in a snapshot. Each list is in the order of the search, ``upwards`` or down. The
    search ends behind the list with which there are more than 10,000 hits.
    """
    from catena.transcript.model.searchable import TextPattern, searchable_text

    pattern = TextPattern(text)

    def counted(rows: Sequence[Message]) -> list[FoundRow]:
        found = [FoundRow(row, pattern.count(searchable_text(row))) for row in rows]
        return [each for each in found if each.hits]

    hits, some, top, bottom = 0, _FIRST_ROWS, depths.start, depths.stop - 1
    while top <= bottom and hits <= MOST_HITS:
        first, last = (max(top, bottom - some + 1), bottom) if upwards else (top, min(bottom, top + some - 1))

        async def candidates(
            reader: Reader, leaf: str | None, first: int = first, last: int = last
        ) -> list[Message]:
            if leaf is None:
                return []
            return await search.with_text(reader, leaf, text, top=first, bottom=last)

        rows = await read(candidates)
        found = await asyncio.to_thread(counted, rows[::-1] if upwards else rows) if rows else []
        hits += sum(each.hits for each in found)
        yield found
        top, bottom = (top, first - 1) if upwards else (last + 1, bottom)
        some = min(4 * some, _MOST_ROWS) if len(rows) < _MOST_FOUND else max(some // 4, _FIRST_ROWS)
