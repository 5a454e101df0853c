"""Leases: which client process may prompt in a conversation.

A lease changes hands only when its owner is dead. Each change counts its epoch up, so that an owner that was only
asleep notices before it writes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from catena_store.database import rows
from catena_store.database.database import Reader, Writer
from catena_store.errors import Fenced
from catena_store.records import AgentGroup, Lease, Owner


@dataclass(frozen=True, slots=True)
class OwnLease:
    """A lease that we have."""

    lease: Lease
    taken_from: Lease | None  # whose agents may still run; None where it was free or ours before


@dataclass(frozen=True, slots=True)
class ForeignLease:
    """A lease that another client has."""

    lease: Lease


async def acquire(
    tx: Writer, conversation_id: str, owner: Owner, *, is_dead: Callable[[Lease], bool]
) -> OwnLease | ForeignLease:
    """Take a lease that is free, ours or a dead owner's."""
    lease = await get(tx, conversation_id)
    if lease is not None and lease.owner.id != owner.id and not is_dead(lease):
        return ForeignLease(lease)
    return await _take(tx, conversation_id, owner, lease)


async def guard(tx: Writer, conversation_id: str, owner_id: str, epoch: int) -> None:
    """Raise Fenced, which rolls the transaction back, unless the lease is the owner's in this epoch."""
    held = await tx.one(
        "SELECT 1 FROM lease WHERE conversation_id = ? AND owner = ? AND epoch = ?",
        (conversation_id, owner_id, epoch),
    )
    if held is None:
        raise Fenced(conversation_id)


async def heartbeat(tx: Writer, owner_id: str) -> None:
    """Renew the heartbeat of the owner's leases and workspaces."""
    await tx.run("UPDATE lease SET heartbeat_at = ? WHERE owner = ?", (tx.now(), owner_id))
    await tx.run("UPDATE workspace SET heartbeat_at = ? WHERE owner = ?", (tx.now(), owner_id))


async def release(tx: Writer, conversation_id: str, owner_id: str) -> None:
    """Release a lease, if it is the owner's; its epoch stays."""
    await tx.run(
        "UPDATE lease SET owner = NULL, host = NULL, pid = NULL, started = NULL, agents = '[]'"
        " WHERE conversation_id = ? AND owner = ?",
        (conversation_id, owner_id),
    )


async def set_agents(tx: Writer, conversation_id: str, owner_id: str, agents: Sequence[AgentGroup]) -> None:
    """Set the agent processes of the owner, for whoever takes over. Raises Fenced."""
    groups = json.dumps([(agent.pid, agent.started) for agent in agents])
    if not await tx.run(
        "UPDATE lease SET agents = ? WHERE conversation_id = ? AND owner = ?",
        (groups, conversation_id, owner_id),
    ):
        raise Fenced(conversation_id)


async def get(r: Reader, conversation_id: str) -> Lease | None:
    """The lease of a conversation, None where it is free."""
    row = await r.one(
        f"SELECT {rows.LEASE} FROM lease WHERE conversation_id = ? AND owner IS NOT NULL", (conversation_id,)
    )
    return None if row is None else rows.lease(row)


async def every(r: Reader) -> list[Lease]:
    """The leases that somebody has, or had when they died."""
    return [rows.lease(row) for row in await r.all(f"SELECT {rows.LEASE} FROM lease WHERE owner IS NOT NULL")]


async def held_by(r: Reader, owner_id: str) -> set[str]:
    """The conversations whose leases the owner has."""
    return {id for (id,) in await r.all("SELECT conversation_id FROM lease WHERE owner = ?", (owner_id,))}


async def _take(tx: Writer, conversation_id: str, owner: Owner, before: Lease | None) -> OwnLease:
    """Set the owner; the agents of the one before stay recorded until they are ended, as we may die before that."""
    ours = before is not None and before.owner.id == owner.id
    if ours:
        await tx.run(
            "UPDATE lease SET heartbeat_at = ? WHERE conversation_id = ?", (tx.now(), conversation_id)
        )
    else:
        await tx.run(
            "INSERT INTO lease (conversation_id, owner, host, pid, started, epoch, heartbeat_at)"
            " VALUES (?, ?, ?, ?, ?, 1, ?)"
            " ON CONFLICT (conversation_id) DO UPDATE SET owner = excluded.owner, host = excluded.host,"
            " pid = excluded.pid, started = excluded.started, epoch = epoch + 1,"
            " heartbeat_at = excluded.heartbeat_at",
            (conversation_id, owner.id, owner.host, owner.pid, owner.started, tx.now()),
        )
    lease = await get(tx, conversation_id)
    assert lease is not None
    return OwnLease(lease, taken_from=None if ours else before)
