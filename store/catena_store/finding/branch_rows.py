"""Rows of one branch that may have a text, looked for where they are stored."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

from catena_store import ancestry
from catena_store.database import rows
from catena_store.database.database import Reader
from catena_store.records import Message

_ESCAPE = "!"


# Rows of the branch whose ids follow one another are read together: a jump shows that there is no other row between.
_FOLLOWS = "a.id - a.jump_id = a.depth - j.depth"
_STRETCH = f"""
    a.id, CASE WHEN {_FOLLOWS} THEN max(a.jump_id + 1, a.id - a.depth + ?2) ELSE a.id END,
    CASE WHEN {_FOLLOWS} THEN a.jump_id ELSE a.parent_id END
"""


async def with_text(r: Reader, leaf: str, text: str, *, top: int, bottom: int) -> list[Message]:
    """The rows between two depths of a branch that may have a text in any case, oldest first.

    Every row that shows the text is among them, and some others may be: what is drawn of a notice, a seam, a plan or a
    tool call is made of several parts. Raises NotFound where the branch is not as long.
    """
    start = await ancestry.at_depth(r, leaf, bottom)
    found = await r.all(
        f"""
        WITH RECURSIVE stretch (last, first, next) AS (
            SELECT {_STRETCH} FROM message m CROSS JOIN ancestry a ON a.id = m.id
              LEFT JOIN ancestry j ON j.id = a.jump_id WHERE m.uid = ?1
            UNION ALL
            SELECT {_STRETCH} FROM stretch s CROSS JOIN ancestry a ON a.id = s.next
              LEFT JOIN ancestry j ON j.id = a.jump_id WHERE a.depth >= ?2
        )
        SELECT {rows.MESSAGE} FROM stretch s CROSS JOIN message m ON m.id BETWEEN s.first AND s.last
         WHERE CASE WHEN m.kind IN ('user', 'agent', 'thought') THEN m.text LIKE ?3 ESCAPE '{_ESCAPE}'
                    WHEN m.kind IN ('tool', 'plan') THEN m.text LIKE ?4 OR m.data LIKE ?4
                                                        OR instr(m.data, '\\u001b')
                    ELSE true END
        """,
        (start, top, _anywhere(text), f"%{_longest_word(text)}%"),
    )
    return await asyncio.to_thread(_in_order, found) if found else []


def _in_order(found: Sequence[rows.Row]) -> list[Message]:
    return sorted((rows.message(row) for row in found), key=lambda row: row.depth)


def _anywhere(text: str) -> str:
    """A pattern of LIKE, which knows the cases of ASCII letters alone: any other letter fits any character."""
    return f"%{''.join(_pattern_of(each) for each in text)}%"


def _pattern_of(character: str) -> str:
    if character in "%_!":
        return _ESCAPE + character
    return character if character.isascii() else "_"


def _longest_word(text: str) -> str:
    """The longest run of ASCII letters and digits; what stands between them may be written otherwise in the data."""
    return max(re.findall(r"[A-Za-z0-9]+", text), key=len, default="")
