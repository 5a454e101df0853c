"""Turns as a person knows them: by their prompt, their agent and their conversation."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from catena_store.database import rows
from catena_store.database.database import Reader
from catena_store.ids import from_milliseconds

_PREVIEW = 400  # characters of a prompt


@dataclass(frozen=True, slots=True)
class TurnPrompt:
    """A turn, with the prompt that began it."""

    turn_id: str
    conversation_id: str
    title: str | None  # of the conversation
    opening: str  # the beginning of its first prompt, which stands for a title
    prompt_id: str
    preview: str  # the beginning of its text
    deleted: bool  # the conversation was
    agent: str
    profile: str
    began_at: datetime


async def of_turns(r: Reader, turn_ids: Collection[str]) -> dict[str, TurnPrompt]:
    """The prompts of turns, by turn."""
    found = await r.all(
        f"""
        SELECT t.id, t.conversation_id, c.title,
               (SELECT substr(f.text, 1, {_PREVIEW}) FROM message f
                 WHERE f.conversation_id = c.id AND f.kind = 'user' ORDER BY f.id LIMIT 1),
               p.uid, substr(p.text, 1, {_PREVIEW}),
               c.deleted_at IS NOT NULL, l.agent, l.profile, t.started_at
          FROM json_each(?) CROSS JOIN turn t ON t.id = value
         CROSS JOIN conversation c ON c.id = t.conversation_id
         CROSS JOIN message p ON p.id = t.prompt_id CROSS JOIN link l ON l.id = t.link_id
        """,
        (rows.as_list(list(turn_ids)),),
    )
    return {
        id: TurnPrompt(
            id,
            conversation,
            title,
            opening or "",
            prompt,
            text,
            bool(deleted),
            agent,
            profile,
            from_milliseconds(at),
        )
        for id, conversation, title, opening, prompt, text, deleted, agent, profile, at in found
    }
