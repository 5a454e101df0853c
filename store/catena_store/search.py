"""Full-text search over every message that was ever closed."""

from __future__ import annotations

from catena_store.database import Database, Reader
from catena_store.ids import from_milliseconds
from catena_store.records import Hit

_SNIPPET_WORDS = 16
_MERGE_PAGES = 64


async def search(r: Reader, text: str, *, limit: int = 50, before: str | None = None) -> list[Hit]:
    """Messages in which every word of the text begins a word, newest first.

    ``before`` is the message id of the last hit of the page before.
    """
    query = as_query(text)
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
        Hit(uid, conversation, snippet, from_milliseconds(at)) for uid, conversation, at, snippet in found
    ]


async def merge(db: Database, *, pages: int = _MERGE_PAGES) -> bool:
    """Tidy the index a little while nobody waits: a few milliseconds, in a transaction of its own.

    True where there may be more to do. Writing never tidies by itself, so that no answer waits for it.
    """
    async with db.write() as tx:
        before = await tx.one("SELECT total_changes()")
        await tx.run("INSERT INTO message_fts (message_fts, rank) VALUES ('merge', ?)", (pages,))
        after = await tx.one("SELECT total_changes()")
        assert before is not None and after is not None
        # The command itself counts as one change.
        return bool(after[0] - before[0] > 1)


def as_query(text: str) -> str:
    """The words of the text as an FTS5 query: each in quotes, where nothing but a quote means anything."""
    return " ".join(_prefix(word) for word in text.replace("\0", " ").split() if any(map(str.isalnum, word)))


def _prefix(word: str) -> str:
    quoted = '"' + word.replace('"', '""') + '"'
    # One letter begins half of all words; one ideograph is a word.
    return quoted if len(word) == 1 and word.isascii() else f"{quoted}*"
