"""What programs of the person's own are told: JSON in the shape that scripts for Claude Code read, with our fields.

It is made from the facts of a conversation and of the session behind it. A field that Catena does not know is null or
left out, never made up.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from catena_acp.continuity.conversation_events import SessionState
from catena_acp.continuity.sessions.session_state import option_of_category
from catena_acp.conversation.conversation import Conversation
from catena_store.chains import links
from catena_store.database.database import Database
from catena_store.errors import StoreError
from catena_store.records import ContextSource, ConversationRecord, Link

_LONGEST = 20_000  # characters of a text that is passed on
_SOURCES = {  # of a session's beginning, in the words of those scripts
    ContextSource.FRESH: "startup",
    ContextSource.TOLD: "startup",
}


def turn_end(facts: Facts, *, outcome: str, error: str | None, answer: str) -> dict[str, Any]:
    """The end of a turn; ``outcome`` is its stop reason, ``error`` what went wrong in words."""
    return {
        **_event(facts, "Stop", "turn_end"),
        "stop_hook_active": False,
        "last_assistant_message": answer[:_LONGEST],
        "outcome": outcome,
        "error": error,
    }


def permission(facts: Facts, *, message: str, tool: str | None, kind: str | None) -> dict[str, Any]:
    """A question of the agent; ``tool`` is the title of the call that it is about."""
    return {
        **_event(facts, "Notification", "permission"),
        "notification_type": "permission_prompt" if tool is not None else "elicitation_dialog",
        "title": "Permission needed" if tool is not None else "Input needed",
        "message": message[:_LONGEST],
        "tool": tool,
        "tool_kind": kind,
    }


def seam(facts: Facts, *, how: ContextSource | None, text: str) -> dict[str, Any]:
    """A seam; ``text`` is what it says."""
    source = "clear" if how is None else _SOURCES.get(how, "resume")
    return {
        **_event(facts, "SessionStart", "seam"),
        "source": source,
        "seam": text,
        "context": how.value if how else "cleared",
    }


def status(
    facts: Facts, *, directories: Sequence[str], project: str, version: str, seconds: float
) -> dict[str, Any]:
    """The state of a conversation; ``seconds`` is how long it is open here."""
    session, usage = facts.session, facts.session.usage
    model = option_of_category(session, "model")
    in_dollars = usage is not None and usage.cost is not None and usage.currency in (None, "USD")
    return {
        **_common(facts),
        "hook_event_name": "Status",
        "session_name": facts.record.title,
        "model": {
            "id": str(model.value) if model else session.model or "",
            "display_name": session.model or session.agent_title,
        },
        "workspace": {
            "current_dir": facts.record.cwd,
            "project_dir": project,
            "added_dirs": list(directories),
        },
        "version": version,
        "cost": {
            "total_cost_usd": usage.cost if usage and in_dollars else 0,
            "total_duration_ms": int(seconds * 1000),
        },
        "context_window": _context(facts),
        "exceeds_200k_tokens": usage is not None and usage.used > 200_000,
    }


def _context(facts: Facts) -> dict[str, Any]:
    usage = facts.session.usage
    if usage is None or not usage.size:
        return {"context_window_size": None, "used_percentage": None, "current_usage": None}
    used = min(100, round(100 * usage.used / usage.size))
    return {
        "context_window_size": usage.size,
        "total_input_tokens": usage.used,
        "total_output_tokens": 0,
        "used_percentage": used,
        "remaining_percentage": 100 - used,
        "current_usage": {
            "input_tokens": usage.used,
            "output_tokens": 0,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        },
    }


def _event(facts: Facts, name: str, ours: str) -> dict[str, Any]:
    return {**_common(facts), "hook_event_name": name, "event": ours}


def _common(facts: Facts) -> dict[str, Any]:
    return {
        "session_id": facts.session_id or facts.record.id,
        "transcript_path": facts.transcript_path,
        "cwd": facts.record.cwd,
        "permission_mode": facts.session.mode or "default",
        "conversation": facts.record.id,
        "title": facts.record.title,
        "agent": facts.session.agent_title,
        "agent_model": facts.session.model,
    }


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts about a conversation and its session that programs are given."""

    record: ConversationRecord
    session: SessionState
    session_id: str | None = None
    transcript_path: str | None = None


async def facts_of(
    db: Database, conversation: Conversation, window_id: str, link: Link | None = None
) -> Facts:
    """Facts about a window's conversation and a link's session; by default, of the link that carries the window."""
    session = conversation.session(window_id)
    path = None
    with contextlib.suppress(StoreError):
        if link is None and session.link_id:
            async with db.read() as reader:
                link = await links.get(reader, session.link_id)
        path = await conversation.transcript_of(link) if link else None
    return Facts(conversation.record, session, link.session_id if link else None, path)
