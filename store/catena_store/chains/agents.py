"""Abilities of agent versions, learnt by trying, such as whether an agent honours a fork at a message."""

from __future__ import annotations

from datetime import datetime

from catena_store.database.database import Reader, Writer
from catena_store.ids import from_milliseconds


async def set_ability(tx: Writer, agent_name: str, agent_version: str, name: str, value: str) -> None:
    """Set an ability of an agent version, replacing an earlier value."""
    await tx.run(
        "INSERT INTO ability (agent_name, agent_version, name, value, learnt_at) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (agent_name, agent_version, name)"
        " DO UPDATE SET value = excluded.value, learnt_at = excluded.learnt_at",
        (agent_name, agent_version, name, value, tx.now()),
    )


async def abilities(r: Reader, agent_name: str, agent_version: str) -> dict[str, str]:
    """The known abilities of an agent version, by name."""
    return dict(
        await r.all(
            "SELECT name, value FROM ability WHERE agent_name = ? AND agent_version = ?",
            (agent_name, agent_version),
        )
    )


async def ability_by_agent(r: Reader, agent_version: str, name: str) -> dict[str, str]:
    """One ability of every agent, by the agents' names."""
    return dict(
        await r.all(
            "SELECT agent_name, value FROM ability WHERE agent_version = ? AND name = ?",
            (agent_version, name),
        )
    )


async def dated_ability_by_agent(r: Reader, agent_version: str, name: str) -> dict[str, tuple[str, datetime]]:
    """One ability of every agent, and when it was learnt, by the agents' names."""
    rows = await r.all(
        "SELECT agent_name, value, learnt_at FROM ability WHERE agent_version = ? AND name = ?",
        (agent_version, name),
    )
    return {agent: (value, from_milliseconds(learnt_at)) for agent, value, learnt_at in rows}
