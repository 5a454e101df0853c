"""Opening of a session by `session/load`, with its history: also where that comes behind the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace

from catena_acp.continuity.services import ReplayWait
from catena_acp.continuity.sessions.greeting import is_prompt
from catena_acp.port.port import AgentPort, SessionSetup
from catena_acp.port.session_events import Event, SessionOpened, TextChunk, TranscriptEvent


@dataclass(frozen=True, slots=True)
class Loaded:
    """A session that was opened, with the history that was told of it."""

    opened: SessionOpened
    late: bool = False  # some of the history came behind the answer
    behind: tuple[Event, ...] = ()  # what else came there: the session's state, questions, a greeting


def tells(replay: Iterable[Event]) -> bool:
    """True if a replay tells anything that was said."""
    return any(isinstance(event, TextChunk) for event in replay)


async def load(
    agent: AgentPort, session_id: str, place: SessionSetup, wait: ReplayWait, *, expected: bool, late: bool
) -> Loaded:
    """Load a session, and wait for its history where it is ``expected`` and did not come before the answer.

    ``late``: this agent was seen to send it behind the answer, so that what comes before may not be all. Raises
    AgentError.
    """
    opened = await agent.load_session(session_id, place)
    if not late and (not expected or tells(opened.replay)):
        return Loaded(opened)
    behind = await _behind(agent, opened.session_id, wait)
    if not any(map(is_prompt, behind)):
        return Loaded(opened, behind=tuple(behind))
    history = tuple(event for event in behind if isinstance(event, TranscriptEvent))
    rest = tuple(event for event in behind if not isinstance(event, TranscriptEvent))
    return Loaded(replace(opened, replay=(*opened.replay, *history)), late=True, behind=rest)


async def _behind(agent: AgentPort, session_id: str, wait: ReplayWait) -> list[Event]:
    """What a session tells until it has been silent for a while."""
    events: list[Event] = []
    news = asyncio.Event()

    def take(event: Event) -> None:
        events.append(event)
        news.set()

    loop = asyncio.get_running_loop()
    end = loop.time() + wait.most
    unlisten = agent.listen(session_id, take)
    try:
        while (left := min(wait.silence, end - loop.time())) > 0:
            news.clear()
            async with asyncio.timeout(left):
                await news.wait()
    except TimeoutError:
        pass
    finally:
        unlisten()
    return events
