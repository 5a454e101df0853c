"""Deleting the sessions of a conversation at their agents, which nobody can undo."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from catena_acp.continuity.services import Services, agent_title
from catena_acp.continuity.sessions.sessions import Sessions
from catena_acp.errors import AgentError, SessionGone
from catena_acp.port.port import AgentPort
from catena_store.chains import hidden_sessions, links
from catena_store.records import ConversationRecord, Link, LinkState

_CLOSING_SECONDS = 5.0
_WHY = "deleted at the agent"


@dataclass(frozen=True, slots=True)
class UpstreamDeletion:
    """How many sessions each agent deleted, and why others stay, by the agent's stored name."""

    deleted: Counter[str] = field(default_factory=Counter)
    refused: dict[str, str] = field(default_factory=dict)


StartAgentOf = Callable[[str, str, str], Awaitable[AgentPort]]  # by name and profile, in a directory


async def delete_sessions(
    services: Services,
    record: ConversationRecord,
    sessions: Sessions | None,
    start: StartAgentOf,
    done: UpstreamDeletion,
) -> None:
    """Delete the sessions of a conversation's links where their agents offer that, and lose the links.

    ``sessions`` are the live ones of the family. Whatever an agent refuses is noted in ``done``. Raises StoreError.
    """
    async with services.db.read() as reader:
        chain = await links.of_conversation(reader, record.id)
    by_agent: dict[tuple[str, str], list[Link]] = {}
    for link in chain:
        if link.state is not LinkState.LOST:
            by_agent.setdefault((link.agent, link.profile), []).append(link)
    for (name, profile), held in by_agent.items():
        try:
            agent = await start(name, profile, _directory(held[0].cwd))
            if not agent.abilities.delete:
                done.refused[name] = f"{agent_title(agent)} cannot delete sessions"
                continue
        except AgentError as error:
            done.refused[name] = str(error)
            continue
        for link in held:
            try:
                await _delete(agent, sessions, link)
            except SessionGone:
                pass  # as was wanted
            except AgentError as error:
                done.refused[name] = str(error)
                continue
            async with services.db.write() as tx:
                await hidden_sessions.hide(tx, name, profile, link.session_id)
                await links.move(tx, link.id, state=LinkState.LOST, ended=_WHY, event="deleted", detail=_WHY)
            done.deleted[name] += 1


async def _delete(agent: AgentPort, sessions: Sessions | None, link: Link) -> None:
    if sessions and (live := sessions.by_link(link.id)):
        await sessions.close(live)
    else:
        with contextlib.suppress(AgentError, TimeoutError):
            async with asyncio.timeout(_CLOSING_SECONDS):
                await agent.close_session(link.session_id)
    await agent.delete_session(link.session_id)


def _directory(cwd: str) -> str:
    """A directory that an agent can be started in: the session's, if it is still there."""
    return cwd if Path(cwd).is_dir() else str(Path.home())
