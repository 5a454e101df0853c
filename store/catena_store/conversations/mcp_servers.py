"""MCP servers of a conversation, beside those that every session gets."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from catena_store.database import rows
from catena_store.database.database import Reader, Writer

Server = Mapping[str, object]  # as the protocol has it


async def add(tx: Writer, conversation_id: str, servers: Sequence[Server]) -> None:
    """Add servers behind those that the conversation has."""
    await tx.run_many(
        "INSERT INTO conversation_mcp_server (conversation_id, position, server)"
        " SELECT ?1, coalesce(max(position), 0) + 1, ?2 FROM conversation_mcp_server WHERE conversation_id = ?1",
        [(conversation_id, rows.as_json(server)) for server in servers],
    )


async def of_conversation(r: Reader, id: str) -> tuple[dict[str, object], ...]:
    """The conversation's servers, in the order in which they were added; an unreadable row is skipped."""
    found = await r.all(
        "SELECT server FROM conversation_mcp_server WHERE conversation_id = ? AND json_valid(server)"
        " ORDER BY position",
        (id,),
    )
    servers = [json.loads(server) for (server,) in found]
    return tuple(server for server in servers if isinstance(server, dict))
