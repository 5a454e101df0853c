"""Opening of sessions: by `session/load` with their history, and by a fork of another one.

A history may also come behind the answer. A message before the first prompt is a greeting, or part of a late history.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from catena_acp.continuity.services import ReplayWait, Services
from catena_acp.errors import AgentError, AgentRefused, ForkWrong
from catena_acp.port.abilities import Quirks
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
from catena_store import ancestry
from catena_store.chains import hidden_sessions, turns
from catena_store.conversations import messages
from catena_store.database.database import Reader
from catena_store.errors import StoreError
from catena_store.records import ConversationRecord, Kind, Message, MessageState, Turn

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


async def ask_for_fork(
    services: Services, agent: AgentPort, session_id: str, place: SessionSetup, at: str | None = None
) -> SessionOpened:
    """Fork a session, at its head or ``at`` a message. The new session is known as ours, whatever happens then.

    Raises any AgentError, and StoreError before anything is asked for.
    """
    async with services.db.write() as tx:
        intent = await hidden_sessions.intend_fork(
            tx, agent.spec.name, agent.spec.profile, session_id, place.cwd
        )
    try:
        opened = await agent.fork_session(session_id, place, at)
    except AgentRefused:
        with contextlib.suppress(StoreError):
            async with services.db.write() as tx:
                await hidden_sessions.drop_intent(tx, intent)
        raise
    if opened.session_id != session_id:
        with contextlib.suppress(StoreError):
            async with services.db.write() as tx:
                await hidden_sessions.answer_intent(tx, intent, opened.session_id)
    return opened


async def end_upstream(agent: AgentPort, session_id: str) -> bool:
    """Close a session, and delete it where the agent offers that; False if that is still to be done."""
    try:
        await agent.close_session(session_id)
        if agent.abilities.delete:
            await agent.delete_session(session_id)
    except AgentRefused:
        return True  # it stays in the agent's own list, and is used for nothing
    except AgentError:
        return False
    return True


async def fork_anchors(reader: Reader, of: Sequence[Turn], *, by_prompt: bool) -> dict[str, str]:
    """What a fork at the end of each of these turns has to name to the agent, by the turn; others cannot be forked at.

    It is the turn's last content row, if that is the agent's: behind a tool call nothing can be named that keeps its
    result. Notices, thoughts and plans may follow. ``by_prompt``: the agent wants the prompt's id, and keeps its turn.
    """
    ends = await turns.ends(reader, [turn.id for turn in of])
    named = {id: end.prompt if by_prompt else end.answer for id, end in ends.items() if end.answer}
    return {id: anchor for id, anchor in named.items() if anchor}


def id_said_back(events: Iterable[Event]) -> str | None:
    """The agent's own id of the prompt, where it says the prompt back."""
    said = (event for event in events if isinstance(event, TextChunk) and event.role == "user")
    return next((chunk.message_id for chunk in said if chunk.message_id), None)


async def is_part_of(reader: Reader, record: ConversationRecord, message_id: str) -> bool:
    """True for what was said in the conversation, and for what it has of the one that it was forked from."""
    message = await messages.get(reader, message_id)
    if message is None:
        return False
    return message.conversation_id == record.id or await ancestry.contains(
        reader, record.fork_point_id, message_id
    )


async def point_at(reader: Reader, message_id: str | None) -> str | None:
    """The row to go on below, where a person names this message; None for the beginning.

    The last answer of a clean turn stands for the end of that turn, so that a session which heard just that fits. A
    prompt that no agent accepted is not gone on from.
    """
    message = await messages.get(reader, message_id) if message_id else None
    if message is None:
        return None
    if message.state is MessageState.REFUSED:
        return message.parent_id
    return await _end_of_turn(reader, message) or message.id


async def settled_point(reader: Reader, leaf_id: str | None) -> str | None:
    """The row to go on below for a window's leaf: above a prompt that is not answered yet."""
    message = await messages.get(reader, leaf_id) if leaf_id else None
    turn = await turns.get(reader, message.turn_id) if message and message.turn_id else None
    if message and turn and turn.stop_reason is None:
        prompt = await messages.get(reader, turn.prompt_id)
        if prompt and not await _content_between(reader, prompt.id, message.id):
            return prompt.parent_id
    elif message and message.kind is Kind.USER and turn is None:
        return message.parent_id
    return await point_at(reader, leaf_id)


async def anchor_of(reader: Reader, turn: Turn, quirks: Quirks) -> str:
    """The agent's id of the message that a fork at a turn's end has to name. Raises ForkWrong."""
    anchors = await fork_anchors(reader, [turn], by_prompt=quirks.forks_by_prompt)
    if turn.id not in anchors:
        raise ForkWrong("the turn does not end with an answer that has an id")
    return anchors[turn.id]


async def _end_of_turn(reader: Reader, message: Message) -> str | None:
    """The turn's last row, if nothing of content lies between; None if it does, or the turn was cut."""
    turn = await turns.get(reader, message.turn_id) if message.turn_id else None
    if turn is None or not turn.clean:
        return None
    return turn.last_id if await _content_between(reader, message.id, turn.last_id) == 0 else None


async def _content_between(reader: Reader, above: str, leaf: str) -> int | None:
    """The content rows on (above, leaf]; None where the leaf's path does not hold the row above."""
    path = await ancestry.path(reader, leaf, [above])
    return path.content_after(above) if path.holds(above) else None
