"""Opening of a session by `session/load` with its history, and a session's messages before its first prompt.

A history may also come behind the answer. A message before the first prompt is a greeting, or part of a late history.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace

from catena_acp.continuity.services import ReplayWait
from catena_acp.port.port import AgentPort, SessionSetup
from catena_acp.port.session_events import (
    ContextCompacted,
    Event,
    NoticeReported,
    OtherContent,
    PlanChanged,
    SessionOpened,
    TextChunk,
    ToolCallChanged,
    TranscriptEvent,
    UnknownUpdate,
)

_LONGEST = 8_000  # characters of a greeting that are kept


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


def is_prompt(event: Event) -> bool:
    """True for words of the person, which a session that was just opened can only have from its history."""
    return isinstance(event, TextChunk | OtherContent) and event.role == "user"


def greeting_text(events: Iterable[TranscriptEvent]) -> str:
    """The words of a greeting, one paragraph for each message; whatever else it tells is named in a line."""
    paragraphs: list[tuple[object, str]] = []
    for event in events:
        match event:
            case TextChunk(role="user") | OtherContent(role="user") | ContextCompacted():
                continue
            case TextChunk(role=role, text=text, message_id=message_id):
                mark = (role, message_id)
                if paragraphs and paragraphs[-1][0] == mark:
                    text = paragraphs.pop()[1] + text
                paragraphs.append((mark, text))
            case _:
                paragraphs.append((None, _line(event)))
    return "\n\n".join(text.strip() for _, text in paragraphs if text.strip())[:_LONGEST]


def _line(event: TranscriptEvent) -> str:
    match event:
        case PlanChanged(entries):
            return "\n".join(f"- {entry.text}" for entry in entries)
        case ToolCallChanged(title=title, status=status):
            return " · ".join(word for word in (title, status) if word)
        case OtherContent(description=description):
            return f"[{description}]"
        case NoticeReported(text=text):
            return text
        case UnknownUpdate(kind=kind):
            return f"The agent sent an unknown update: “{kind}”."
        case TextChunk() | ContextCompacted():
            return ""
