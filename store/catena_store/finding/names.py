"""What names a conversation or a message, for completion in a shell; read without opening the store as a client."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

_MOST = 60
_WAIT_S = 0.05  # on somebody who writes
_PREVIEW = 80  # characters

_TEXT = """(SELECT substr(m.text, 1, :preview) FROM message m
             WHERE m.conversation_id = c.id AND m.kind = 'user' ORDER BY m.id LIMIT 1)"""
_CONVERSATIONS = f"""
SELECT c.id, c.title, coalesce({_TEXT}, '') FROM conversation c
WHERE c.deleted_at IS NULL AND c.pruned_at IS NULL
  AND (substr(c.id, 1, length(:start)) = :start OR substr(lower(c.title), 1, length(:start)) = lower(:start))
  AND EXISTS (SELECT 1 FROM message m WHERE m.conversation_id = c.id)
ORDER BY c.updated_at DESC, c.id DESC LIMIT :most"""

_CONVERSATION = """
SELECT id FROM conversation WHERE deleted_at IS NULL AND pruned_at IS NULL
  AND (id = :named OR substr(id, 1, length(:named)) = :named OR title = :named)
ORDER BY id = :named DESC, title = :named DESC, updated_at DESC LIMIT 1"""
_NEWEST = """
SELECT id FROM conversation WHERE deleted_at IS NULL AND pruned_at IS NULL AND cwd = :cwd
ORDER BY updated_at DESC, id DESC LIMIT 1"""
_LABELLED = """
SELECT m.uid, p.label FROM checkpoint p JOIN message m ON m.id = p.message_id
WHERE p.conversation_id = :id AND p.label IS NOT NULL AND substr(m.uid, 1, length(:start)) = :start
ORDER BY p.created_at DESC LIMIT :most"""
_MESSAGES = """
SELECT uid, kind, substr(text, 1, :preview) FROM message
WHERE conversation_id = :id AND kind IN ('user', 'agent') AND substr(uid, 1, length(:start)) = :start
ORDER BY message.id DESC LIMIT :most"""


@dataclass(frozen=True, slots=True)
class ConversationName:
    """A conversation as a person may name it."""

    id: str
    title: str | None
    preview: str  # the beginning of its first prompt


@dataclass(frozen=True, slots=True)
class MessageName:
    """A message as a person may name it, with a checkpoint's label where one stands there."""

    id: str
    kind: str  # user or agent
    preview: str
    label: str | None = None


def conversation_names(store: Path, start: str) -> list[ConversationName]:
    """Conversations whose id or title begins so, newest first; none where the store cannot be read now."""
    with _reading(store) as db:
        values = {"start": start, "preview": _PREVIEW, "most": _MOST}
        return [ConversationName(*row) for row in db.execute(_CONVERSATIONS, values)] if db else []
    return []


def message_names(store: Path, conversation: str | None, start: str, *, cwd: str) -> list[MessageName]:
    """Messages whose id begins so: those with labelled checkpoints first, then newest first.

    ``conversation`` is an id, the start of one or a title; None is the newest one of the directory.
    """
    with _reading(store) as db:
        if db is None:
            return []
        named = (
            db.execute(_NEWEST, {"cwd": cwd})
            if conversation is None
            else (db.execute(_CONVERSATION, {"named": conversation}))
        )
        found = named.fetchone()
        if found is None:
            return []
        values = {"id": found[0], "start": start, "preview": _PREVIEW, "most": _MOST}
        labels = dict(db.execute(_LABELLED, values).fetchall())
        rows = db.execute(_MESSAGES, values).fetchall()
        others = [MessageName(*row) for row in rows if row[0] not in labels]
        return [*(MessageName(id, "", "", label) for id, label in labels.items()), *others]
    return []


@contextmanager
def _reading(store: Path) -> Iterator[sqlite3.Connection | None]:
    """A connection that only reads; None without a file. What SQLite refuses ends the block without a result."""
    if not store.exists():
        yield None
        return
    try:
        with closing(sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True, timeout=_WAIT_S)) as db:
            yield db
    except sqlite3.Error:
        return
