"""Full-text search in the tree of a family: by which prompt something was said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from catena_store import rows
from catena_store.database import Reader
from catena_store.records import Kind
from catena_store.search import as_query

_SNIPPET_WORDS = 16
_WORDS_BEFORE = 2  # of the snippet that stand before the word that was found: rows are cut at their end
_FOUND = "\x02"


@dataclass(frozen=True, slots=True)
class TreeHit:
    """What was found of a turn."""

    kind: Kind  # an answer, or the prompt itself
    snippet: str


@dataclass(frozen=True, slots=True)
class TreeHits:
    """The newest hit of every turn that has one."""

    by_prompt: Mapping[str, TreeHit] = field(default_factory=dict)
    cut: bool = False  # there are older ones, too


async def hits_in_tree(r: Reader, family: str, text: str, *, limit: int = 500) -> TreeHits:
    """The prompts of a family in which, or in whose answers, every word of the text begins a word."""
    query = as_query(text)
    span = await r.one(
        "SELECT min(m.id), max(m.id) FROM conversation c CROSS JOIN message m ON m.conversation_id = c.id"
        " WHERE c.family = ?",
        (family,),
    )
    if not query or span is None or span[0] is None:
        return TreeHits()
    found = await r.all(
        f"SELECT m.uid, m.kind, snippet(message_fts, 0, char({ord(_FOUND)}), '', '…', {_SNIPPET_WORDS})"
        "  FROM message_fts CROSS JOIN message m ON m.id = message_fts.rowid"
        "  JOIN conversation c ON c.id = m.conversation_id"
        " WHERE message_fts MATCH ? AND message_fts.rowid BETWEEN ? AND ?"
        "   AND c.family = ? AND m.kind IN ('agent', 'user')"
        " ORDER BY message_fts.rowid DESC LIMIT ?",
        (query, *span, family, limit + 1),
    )
    prompts = await _prompts_of(r, [uid for uid, _, _ in found[:limit]])
    hits: dict[str, TreeHit] = {}
    for uid, kind, snippet in found[:limit]:
        if uid in prompts:
            hits.setdefault(prompts[uid], TreeHit(Kind(kind), _from_the_hit(snippet)))
    return TreeHits(hits, cut=len(found) > limit)


async def _prompts_of(r: Reader, ids: Sequence[str]) -> dict[str, str]:
    """For each row the prompt that it is, or is below; rows above several of them are gone through once."""
    found = await r.all(
        """
        WITH RECURSIVE way (id, parent_id, uid, prompt) AS (
            SELECT m.id, m.parent_id, m.uid,
                   m.kind = 'user' AND NOT coalesce(json_extract(m.data, '$.steered'), 0)
              FROM json_each(?) CROSS JOIN message m ON m.uid = value
            UNION
            SELECT m.id, m.parent_id, m.uid,
                   m.kind = 'user' AND NOT coalesce(json_extract(m.data, '$.steered'), 0)
              FROM way w CROSS JOIN message m ON m.id = w.parent_id
             WHERE NOT w.prompt
        )
        SELECT id, parent_id, uid, prompt FROM way ORDER BY id
        """,
        (rows.as_list(ids),),
    )
    prompt_of: dict[int, str] = {}
    of_uid: dict[str, str] = {}
    for id, parent_id, uid, prompt in found:  # parents before what is below them
        at = uid if prompt else prompt_of.get(parent_id)
        if at is not None:
            prompt_of[id] = of_uid[uid] = at
    return of_uid


def _from_the_hit(snippet: str) -> str:
    before, _, after = snippet.partition(_FOUND)
    words = before.split()
    if len(words) > _WORDS_BEFORE:
        before = f"…{' '.join(words[-_WORDS_BEFORE:])} "
    return f"{before}{after}".replace(_FOUND, "")
