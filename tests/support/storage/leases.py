"""Leases that change hands although their owner lives: what a person forces, or another machine does."""

from __future__ import annotations

from catena_store.clients import leases
from catena_store.clients.leases import OwnLease
from catena_store.database.database import Writer
from catena_store.records import Owner


async def seize_lease(tx: Writer, conversation_id: str, owner: Owner) -> OwnLease:
    """Take the lease, whoever has it."""
    taken = await leases.acquire(tx, conversation_id, owner, is_dead=lambda _: True)
    assert isinstance(taken, OwnLease)
    return taken
