"""The request for a fork, kept as an intent before it goes out."""

from __future__ import annotations

import contextlib

from catena_acp.continuity.services import Services
from catena_acp.errors import AgentRefused
from catena_acp.port.port import AgentPort, SessionSetup
from catena_acp.port.session_events import SessionOpened
from catena_store.chains import intents
from catena_store.errors import StoreError


async def ask_for_fork(
    services: Services, agent: AgentPort, session_id: str, place: SessionSetup, at: str | None = None
) -> SessionOpened:
    """Fork a session, at its head or ``at`` a message. What comes of it is known as ours, whatever happens then.

    Raises any AgentError, and StoreError before anything is asked for.
    """
    async with services.db.write() as tx:
        intent = await intents.add(tx, agent.spec.name, agent.spec.profile, session_id, place.cwd)
    try:
        opened = await agent.fork_session(session_id, place, at)
    except AgentRefused:
        with contextlib.suppress(StoreError):
            async with services.db.write() as tx:
                await intents.drop(tx, intent)
        raise
    if opened.session_id != session_id:
        with contextlib.suppress(StoreError):
            async with services.db.write() as tx:
                await intents.answer(tx, intent, opened.session_id)
    return opened
