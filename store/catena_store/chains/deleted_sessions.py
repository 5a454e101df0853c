"""Sessions that stay hidden, though an agent may list them.

Those that a person had deleted at their agent, what we had made for ourselves in conversations that were pruned, and
those of chats in which nothing was said.
"""

from __future__ import annotations

from catena_store.database.database import Reader, Writer


async def add(tx: Writer, agent: str, profile: str, session_id: str) -> None:
    """Note that a session was deleted."""
    await tx.run(
        "INSERT INTO deleted_session (agent, profile, session_id, deleted_at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT DO NOTHING",
        (agent, profile, session_id, tx.now()),
    )


async def every(r: Reader) -> set[tuple[str, str, str]]:
    """The agent, profile and id of every deleted session."""
    return {
        (agent, profile, session_id)
        for agent, profile, session_id in await r.all(
            "SELECT agent, profile, session_id FROM deleted_session"
        )
    }
