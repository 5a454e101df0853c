"""Full-text search over closed messages, rows of one branch that may have a text, and upkeep of the index."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from catena_store import ancestry
from catena_store.database import rows
from catena_store.database.database import Database, Reader
from catena_store.ids import from_milliseconds
from catena_store.records import Kind, Message, SearchHit

_SNIPPET_WORDS = 16
_MERGE_PAGES = 64


async def find(r: Reader, text: str, *, limit: int = 50, before: str | None = None) -> list[SearchHit]:
    """Messages in which every word of the text begins a word, newest first.

    ``before`` is the message id of the last hit on the page before.
    """
    query = fts_query(text.replace("\0", " ").split())
    if not query:
        return []
    found = await r.all(
        "SELECT m.uid, m.conversation_id, m.created_at,"
        f"      snippet(message_fts, 0, '', '', '…', {_SNIPPET_WORDS})"
        "  FROM message_fts CROSS JOIN message m ON m.id = message_fts.rowid"
        "  JOIN conversation c ON c.id = m.conversation_id"
        " WHERE message_fts MATCH ? AND c.deleted_at IS NULL"
        "   AND message_fts.rowid < coalesce((SELECT id FROM message WHERE uid = ?), ?)"
        " ORDER BY message_fts.rowid DESC LIMIT ?",
        (query, before, 2**62, limit),
    )
    return [
        SearchHit(uid, conversation, snippet, from_milliseconds(at))
        for uid, conversation, at, snippet in found
    ]


async def merge_index(db: Database, *, pages: int = _MERGE_PAGES) -> bool:
    """Merge parts of the index for a few milliseconds, in a transaction of its own; True where more may be left.

    Writes never merge, so that no answer waits for it.
    """
    async with db.write() as tx:
        before = await tx.one("SELECT total_changes()")
        await tx.run("INSERT INTO message_fts (message_fts, rank) VALUES ('merge', ?)", (pages,))
        after = await tx.one("SELECT total_changes()")
        assert before is not None and after is not None
        # The command itself counts as one change.
        return bool(after[0] - before[0] > 1)


def fts_query(words: Iterable[str], *, whole: Collection[str] = ()) -> str:
    """Words as an FTS5 query: each in quotes, within which only a quote has a meaning.

    Each is the beginning of a word, or one of those that are ``whole``; one with a space within, words in a row.
    """
    words = [word.replace("\0", " ") for word in words if any(map(str.isalnum, word))]
    return " ".join(_quoted(word) if word in whole else _prefix(word) for word in words)


def _prefix(word: str) -> str:
    # One letter begins half of all words; one ideograph is a word.
    return _quoted(word) if len(word) == 1 and word.isascii() else f"{_quoted(word)}*"


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'


_WORDS_BEFORE = 2  # of a snippet, before the first hit: a row on the screen is cut at its end
_HIT_MARK = "\x02"


@dataclass(frozen=True, slots=True)
class TreeHit:
    """The newest hit in a turn."""

    kind: Kind  # an answer, or the prompt itself
    snippet: str


@dataclass(frozen=True, slots=True)
class TreeHits:
    """The newest hit of each turn that has one."""

    by_prompt: Mapping[str, TreeHit] = field(default_factory=dict)
    cut: bool = False  # there are older hits


async def find_in_family(r: Reader, family: str, text: str, *, limit: int = 500) -> TreeHits:
    """The prompts of a family that, or whose answers, have a word beginning with each word of the text."""
    query = fts_query(text.replace("\0", " ").split())
    span = await r.one(
        "SELECT min(m.id), max(m.id) FROM conversation c CROSS JOIN message m ON m.conversation_id = c.id"
        " WHERE c.family = ?",
        (family,),
    )
    if not query or span is None or span[0] is None:
        return TreeHits()
    found = await r.all(
        f"SELECT m.uid, m.kind, snippet(message_fts, 0, char({ord(_HIT_MARK)}), '', '…', {_SNIPPET_WORDS})"
        "  FROM message_fts CROSS JOIN message m ON m.id = message_fts.rowid"
        "  JOIN conversation c ON c.id = m.conversation_id"
        " WHERE message_fts MATCH ? AND message_fts.rowid BETWEEN ? AND ?"
        "   AND c.family = ? AND m.kind IN ('agent', 'user')"
        " ORDER BY message_fts.rowid DESC LIMIT ?",
        (query, *span, family, limit + 1),
    )
    prompts = await prompts_of(r, [uid for uid, _, _ in found[:limit]])
    hits: dict[str, TreeHit] = {}
    for uid, kind, snippet in found[:limit]:
        if uid in prompts:
            hits.setdefault(prompts[uid], TreeHit(Kind(kind), _from_hit(snippet)))
    return TreeHits(hits, cut=len(found) > limit)


async def prompts_of(r: Reader, ids: Sequence[str]) -> dict[str, str]:
    """The prompt that each row is or belongs to, by row; a row above several of them is read once."""
    found = await r.all(
        f"""
        WITH RECURSIVE way (id, parent_id, uid, prompt) AS (
            SELECT m.id, m.parent_id, m.uid, {rows.IS_PROMPT}
              FROM json_each(?) CROSS JOIN message m ON m.uid = value
            UNION
            SELECT m.id, m.parent_id, m.uid, {rows.IS_PROMPT}
              FROM way w CROSS JOIN message m ON m.id = w.parent_id
             WHERE NOT w.prompt
        )
        SELECT id, parent_id, uid, prompt FROM way ORDER BY id
        """,
        (rows.as_list(ids),),
    )
    prompt_of: dict[int, str] = {}
    of_uid: dict[str, str] = {}
    for id, parent_id, uid, prompt in found:  # parents before their children
        at = uid if prompt else prompt_of.get(parent_id)
        if at is not None:
            prompt_of[id] = of_uid[uid] = at
    return of_uid


def _from_hit(snippet: str) -> str:
    before, _, after = snippet.partition(_HIT_MARK)
    words = before.split()
    if len(words) > _WORDS_BEFORE:
        before = f"…{' '.join(words[-_WORDS_BEFORE:])} "
    return f"{before}{after}".replace(_HIT_MARK, "")


_ESCAPE = "!"


# Rows of the branch whose ids follow one another are read together: a jump shows that there is no other row between.
_FOLLOWS = "a.id - a.jump_id = a.depth - j.depth"
_STRETCH = f"""
    a.id, CASE WHEN {_FOLLOWS} THEN max(a.jump_id + 1, a.id - a.depth + ?2) ELSE a.id END,
    CASE WHEN {_FOLLOWS} THEN a.jump_id ELSE a.parent_id END
"""


async def rows_with_text(r: Reader, leaf: str, text: str, *, top: int, bottom: int) -> list[Message]:
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
