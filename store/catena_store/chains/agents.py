"""What was learnt of an agent version by trying, such as whether it honours a fork at a message."""

from __future__ import annotations

from catena_store.database.database import Reader, Writer


async def set_ability(tx: Writer, agent_name: str, agent_version: str, name: str, value: str) -> None:
    """Keep an answer, over one that was there."""
    await tx.run(
        "INSERT INTO ability (agent_name, agent_version, name, value, learnt_at) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (agent_name, agent_version, name)"
        " DO UPDATE SET value = excluded.value, learnt_at = excluded.learnt_at",
        (agent_name, agent_version, name, value, tx.now()),
    )


async def abilities(r: Reader, agent_name: str, agent_version: str) -> dict[str, str]:
    """What is known of this version of the agent."""
    return dict(
        await r.all(
            "SELECT name, value FROM ability WHERE agent_name = ? AND agent_version = ?",
            (agent_name, agent_version),
        )
    )


async def ability_of_all(r: Reader, agent_version: str, name: str) -> dict[str, str]:
    """What is known under one name of every agent, by the agents' names."""
    return dict(
        await r.all(
            "SELECT agent_name, value FROM ability WHERE agent_version = ? AND name = ?",
            (agent_version, name),
        )
    )
