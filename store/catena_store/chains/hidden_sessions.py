"""Sessions that stay hidden, though an agent may list them: they are ours, or a person had them deleted.

Forks are kept before the request goes out, so that none of them is taken for someone else's; such an intent ends with
the link of its fork, or where the agent made none. Hidden by themselves are those that a person had deleted at their
agent, what we had made for ourselves in conversations that were pruned, and those of chats in which nothing was said.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from catena_store.database.database import Reader, Writer
from catena_store.ids import from_milliseconds


@dataclass(frozen=True, slots=True)
class ForkIntent:
    """A fork that was asked for and whose answer never came."""

    id: int
    agent: str
    profile: str
    session_id: str  # that was to be forked
    cwd: str
    asked_at: datetime


async def intend_fork(tx: Writer, agent: str, profile: str, session_id: str, cwd: str) -> int:
    """Note that a fork of a session is about to be asked for; returns the intent's id."""
    await tx.run(
        "INSERT INTO fork_intent (agent, profile, session_id, cwd, asked_at) VALUES (?, ?, ?, ?, ?)",
        (agent, profile, session_id, cwd, tx.now()),
    )
    row = await tx.one("SELECT last_insert_rowid()")
    assert row is not None
    return int(row[0])


async def answer_intent(tx: Writer, id: int, made: str) -> None:
    """Note the session that came of an intent: it is ours for ever, or until a link has it."""
    await tx.run("UPDATE fork_intent SET made = ? WHERE id = ?", (made, id))


async def drop_intent(tx: Writer, id: int) -> None:
    """Remove an intent of which nothing came."""
    await tx.run("DELETE FROM fork_intent WHERE id = ?", (id,))


async def forks_made(r: Reader) -> set[str]:
    """The ids of all sessions that came of intents and have no link."""
    return {id for (id,) in await r.all("SELECT made FROM fork_intent WHERE made IS NOT NULL")}


async def unanswered_intents(r: Reader) -> list[ForkIntent]:
    """The intents whose answer has not come, oldest first; some may be under way."""
    found = await r.all(
        "SELECT id, agent, profile, session_id, cwd, asked_at FROM fork_intent WHERE made IS NULL ORDER BY asked_at"
    )
    return [
        ForkIntent(id, agent, profile, session_id, cwd, from_milliseconds(asked_at))
        for id, agent, profile, session_id, cwd, asked_at in found
    ]


async def hide(tx: Writer, agent: str, profile: str, session_id: str) -> None:
    """Note that a session was deleted."""
    await tx.run(
        "INSERT INTO deleted_session (agent, profile, session_id, deleted_at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT DO NOTHING",
        (agent, profile, session_id, tx.now()),
    )


async def deleted(r: Reader) -> set[tuple[str, str, str]]:
    """The agent, profile and id of every deleted session."""
    return {
        (agent, profile, session_id)
        for agent, profile, session_id in await r.all(
            "SELECT agent, profile, session_id FROM deleted_session"
        )
    }
