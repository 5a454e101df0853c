"""The sessions that agents list themselves (`session/list`), in the form of those that lie in files."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from catena_acp.conversation.titles import readable_title
from catena_acp.errors import AgentError
from catena_acp.port.port import AgentPort
from catena_acp.port.session_events import ListedSession
from catena_acp.transcripts.session import ForeignSession, modified, one_line, time_of

_MOST_PAGES = 50


async def listed_sessions(agents: Iterable[AgentPort]) -> list[ForeignSession]:
    """The sessions of the agents that offer a list; an agent that fails at it has none."""
    offering = [agent for agent in agents if agent.alive and agent.abilities.list]
    found = await asyncio.gather(*(_of_agent(agent) for agent in offering))
    return [session for sessions in found for session in sessions]


async def _of_agent(agent: AgentPort) -> list[ForeignSession]:
    found: dict[str, ForeignSession] = {}
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        try:
            page = await agent.list_sessions(None, cursor)
        except AgentError:
            break
        before = len(found)
        for listed in page.sessions:
            found.setdefault(listed.session_id, _head(agent, listed))
        cursor = page.next
        if cursor is None or len(found) == before:  # some begin again where they do not know a cursor
            break
    return list(found.values())


def _head(agent: AgentPort, listed: ListedSession) -> ForeignSession:
    title = readable_title(listed.title or "")
    return ForeignSession(
        source=agent.spec.name,
        session_id=listed.session_id,
        path=None,
        cwd=listed.cwd,
        title=title,
        first_prompt=one_line(title or ""),
        last_prompt="",
        created_at=None,
        updated_at=time_of(listed.updated_at) or modified(0),
        profile=agent.spec.profile,
    )
