"""The document: its head and its sections, in the order in which they are written and have to be read.

A section is an array of rows, each below what it refers to: a conversation before its messages, a message before those
that hang from it, and both before the links and turns that point at them. Pointers are ids, None is the root.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

from catena_store.errors import NotImportable
from catena_store.exchange import fields as f
from catena_store.exchange.fields import Field
from catena_store.records import Cause, ContextSource, Kind, LinkState, MessageState, StopReason

FORMAT: Final = 1  # raised when an older Catena could not read the document any more
CONTENTS: Final = "catena conversation"

HEAD: Mapping[str, Field] = {
    "contents": f.MAYBE_NAME,
    "exported_at": f.TIME,
    "conversation_id": f.ID,
    "leaf_id": f.MAYBE_ID,
    "tree": f.FLAG,
    "masked": f.FLAG,
}

CONVERSATIONS: Mapping[str, Field] = {
    "id": f.ID,
    "family": f.ID,
    "title": Field(f.MAYBE_TEXT.check, spoken=True),
    "agent": f.NAME,
    "profile": f.PROFILE,
    "cwd": f.PATH,
    "fork_point_id": f.MAYBE_ID,
    "leaf_id": f.MAYBE_ID,
    "pinned": f.FLAG,
    "archived": f.FLAG,
    "deleted": f.FLAG,  # it is there for what hangs from it
    "created_at": f.TIME,
    "updated_at": f.TIME,
}
MESSAGES: Mapping[str, Field] = {
    "id": f.ID,
    "conversation_id": f.ID,
    "parent_id": f.MAYBE_ID,
    "turn_id": f.MAYBE_ID,
    "kind": f.choice(Kind),
    "state": f.choice(MessageState),
    "link_id": f.MAYBE_ID,
    "agent_message_id": f.MAYBE_NAME,
    "barrier": f.FLAG,
    "created_at": f.TIME,
    "text": f.TEXT,
    "data": f.OBJECT,
}
LINKS: Mapping[str, Field] = {
    "id": f.ID,
    "conversation_id": f.ID,
    "agent": f.NAME,
    "profile": f.PROFILE,
    "session_id": f.NAME,
    "cwd": f.PATH,
    "cause": f.choice(Cause),
    "source_id": f.MAYBE_ID,
    "base": f.MAYBE_ID,
    "knows": f.MAYBE_ID,
    "reach": f.MAYBE_ID,
    "whole": f.MAYBE_ID,
    "state": f.choice(LinkState),
    "version": f.COUNT,
    "cost_total": f.MAYBE_NUMBER,
    "ended": f.MAYBE_TEXT,
    "created_at": f.TIME,
}
LINK_EVENTS: Mapping[str, Field] = {
    "link_id": f.ID,
    "event": f.NAME,
    "detail": f.MAYBE_TEXT,
    "at": f.TIME,
}
TURNS: Mapping[str, Field] = {
    "id": f.ID,
    "conversation_id": f.ID,
    "prompt_id": f.ID,
    "link_id": f.ID,
    "base_link_id": f.MAYBE_ID,
    "last_id": f.ID,
    "how": f.choice(ContextSource),
    "cause": f.MAYBE_TEXT,
    "told_from": f.MAYBE_ID,
    "told_to": f.MAYBE_ID,
    "told": f.COUNT,
    "told_total": f.COUNT,
    "tools_listed": f.COUNT,
    "tools_left_out": f.COUNT,
    "left_out": f.COUNT,
    "shortened": f.COUNT,
    "masked": f.COUNT,
    "whole_id": f.MAYBE_ID,
    "stop_reason": f.choice(StopReason, needed=False),
    "error": f.MAYBE_TEXT,
    "usage": f.MAYBE_OBJECT,
    "cost": f.MAYBE_NUMBER,
    "currency": f.MAYBE_NAME,
    "model": f.MAYBE_NAME,
    "mode": f.MAYBE_NAME,
    "started_at": f.TIME,
    "ended_at": f.MAYBE_TIME,
    "waited": f.COUNT,
    "prior_context": f.MAYBE_TEXT,
}
SURROUNDINGS: Mapping[str, Field] = {
    "turn_id": f.ID,
    "options": f.OPTIONS,
    "directories": f.PATHS,
    "git_branch": f.MAYBE_NAME,
    "git_worktree": f.MAYBE_PATH,
    "git_commit": f.MAYBE_NAME,
    "context_used": f.MAYBE_COUNT,
    "context_size": f.MAYBE_COUNT,
}
ATTACHMENTS: Mapping[str, Field] = {
    "message_id": f.ID,
    "position": f.COUNT,
    "sha256": f.NAME,
    "mime": f.NAME,
    "name": f.PATH,
    "path": f.MAYBE_PATH,
    "bytes": f.BYTES,
}
CHECKPOINTS: Mapping[str, Field] = {
    "id": f.ID,
    "conversation_id": f.ID,
    "message_id": f.MAYBE_ID,
    "link_id": f.MAYBE_ID,
    "label": f.MAYBE_TEXT,
    "automatic": f.FLAG,
    "data": f.OBJECT,
    "created_at": f.TIME,
}

SECTIONS: Mapping[str, Mapping[str, Field]] = {
    "conversations": CONVERSATIONS,
    "messages": MESSAGES,
    "links": LINKS,
    "link_events": LINK_EVENTS,
    "turns": TURNS,
    "surroundings": SURROUNDINGS,
    "attachments": ATTACHMENTS,
    "checkpoints": CHECKPOINTS,
}


class Rewriter(Protocol):
    """What rewrites the texts of people and agents on their way into a document, such as a mask of secrets."""

    def begin(self, where: str) -> None:
        """Say where the texts that follow stand."""
        ...

    def rewrite(self, text: str, name: str = "") -> str:
        """The text to write; ``name`` is the key that the text stands under, if any."""
        ...


def check_head(head: Mapping[str, Any]) -> dict[str, Any]:
    """The checked head of a document. Raises NotImportable."""
    form = head.get("format")
    if isinstance(form, bool) or not isinstance(form, int):
        raise NotImportable("it has no format number, so it is no export of Catena")
    if form > FORMAT:
        raise NotImportable(f"its format is {form}, and this Catena knows {FORMAT}: it needs a newer one")
    if form < 1 or head.get("contents") != CONTENTS:
        raise NotImportable("it is JSON of another kind, not what `catena export --format json` writes")
    return f.read_row(HEAD, "the document", head)
