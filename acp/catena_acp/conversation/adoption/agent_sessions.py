"""Sessions that only their agents have: listed by them (`session/list`), and read from what they replay.

Both are in the form of those that lie in files.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from datetime import datetime

from catena_acp.context_markers import readable_title
from catena_acp.continuity.services import ReplayWait, agent_title
from catena_acp.continuity.sessions.opening import load
from catena_acp.continuity.turns.tool_data import changed_tool
from catena_acp.errors import AgentError, NotAdopted
from catena_acp.port.port import AgentPort, SessionSetup
from catena_acp.port.session_events import (
    ContextCompacted,
    Event,
    ListedSession,
    NoticeReported,
    OtherContent,
    PlanChanged,
    TextChunk,
    ToolCallChanged,
)
from catena_acp.transcripts.builder import TranscriptBuilder
from catena_acp.transcripts.session import ForeignSession, ForeignTranscript, modified, one_line, time_of

_MOST_PAGES = 50


async def replayed_transcript(
    agent: AgentPort, session: ForeignSession, cwd: str, wait: ReplayWait
) -> ForeignTranscript:
    """Load a session, also one whose history comes behind the answer, and close it again.

    Raises NotAdopted, AgentError.
    """
    abilities = agent.abilities
    if not abilities.load or abilities.quirks.load_destroys:
        raise NotAdopted(f"{agent_title(agent)} does not show what was said in a session")
    loaded = await load(agent, session.session_id, SessionSetup(cwd), wait, expected=True, late=False)
    opened = loaded.opened
    await agent.close_session(opened.session_id)
    if opened.session_id != session.session_id:
        raise NotAdopted(f"{agent_title(agent)} opened a different session than the one requested")
    transcript = transcript_of(opened.replay, session, abilities.quirks.replay_notes)
    if transcript.is_empty:
        raise NotAdopted(f"{agent_title(agent)} does not show what was said in a session")
    return transcript


def transcript_of(
    replay: Iterable[Event], session: ForeignSession, notes: Sequence[str] = ()
) -> ForeignTranscript:
    """What a replay tells; ``notes`` are patterns of the agent's own messages among the person's."""
    reading = _Replay(session.updated_at, notes)
    for event in replay:
        reading.take(event)
    reading.end_prompt()
    return reading.builder.transcript(session)


class _Replay:
    """Reader of a replay. A prompt comes in chunks, each message under an id of its own, where there are ids."""

    def __init__(self, at: datetime, notes: Sequence[str]) -> None:
        self.builder = TranscriptBuilder(joins=True)
        self._at = at  # replays tell no times
        self._notes = notes
        self._prompt: list[str] = []
        self._prompt_id: str | None = None
        self._attached: list[dict[str, str]] = []
        self._calls: dict[str, dict[str, object]] = {}

    def take(self, event: Event) -> None:
        match event:
            case TextChunk(role="user", text=text, message_id=message_id):
                self._begin_prompt(message_id)
                self._prompt.append(text)
                return
            case OtherContent(role="user", description=description, message_id=message_id):
                self._begin_prompt(message_id)
                self._attached.append({"name": description})
                return
        self.end_prompt()
        builder, at = self.builder, self._at
        match event:
            case TextChunk(subagent_of=str()) | OtherContent(subagent_of=str()):
                pass  # the call that started it has its report
            case TextChunk(role="thought", text=text):
                builder.think(text, at)
            case TextChunk(text=text, message_id=message_id):
                builder.say(text, at, message_id)
            case OtherContent(description=description, message_id=message_id):
                builder.say(f"[{description}]", at, message_id)
            case ToolCallChanged(tool_call_id=call_id):
                data = changed_tool(
                    self._calls.get(call_id, {}), event, at.isoformat(timespec="milliseconds")
                )
                self._calls[call_id] = data
                builder.show_call(call_id, data, at)
            case PlanChanged(entries=entries):
                told = [{"text": e.text, "status": e.status, "priority": e.priority} for e in entries]
                builder.plan(told, at)
            case ContextCompacted(text=summary):
                builder.compact(summary or "", at)
            case NoticeReported(text=text):
                builder.note(text, at)

    def _begin_prompt(self, message_id: str | None) -> None:
        if (self._prompt or self._attached) and message_id != self._prompt_id:
            self.end_prompt()
        self._prompt_id = message_id

    def end_prompt(self) -> None:
        """Add the prompt whose chunks have come, unless it is a note of the agent's own."""
        text, attached = "".join(self._prompt), self._attached
        self._prompt, self._attached = [], []
        own = any(re.fullmatch(note, text.strip(), re.DOTALL) for note in self._notes)
        if (text.strip() or attached) and not own:
            self.builder.prompt(text, self._at, self._prompt_id, attached)


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
