"""Adopting another tool's session: a conversation of ours that holds its messages, and a link to that very session.

All of it is one transaction, so that a killed client leaves nothing that is half there. The route uses the link as any
other, once the agent has replayed what it should hold; what it does not hold is told.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from catena_acp.continuity.sessions.agent_pool import keep_tool
from catena_acp.conversation.adoption.catching_up import (
    SharedBeginning,
    add_rows,
    catch_up,
    shared_beginning,
    without_beginning,
)
from catena_acp.conversation.adoption.rows import AdoptedRows, adopted_rows
from catena_acp.conversation.titles import readable_title
from catena_acp.errors import NotAdopted
from catena_acp.transcripts.lines import UnreadableTranscript
from catena_acp.transcripts.session import ForeignSession, ForeignTranscript, Tool
from catena_acp.transcripts.sources import read_file
from catena_store.chains import links
from catena_store.conversations import conversations
from catena_store.database.database import Database, Writer
from catena_store.records import Cause, LinkState, NewLink

_LONGEST_ID = 200  # characters


@dataclass(frozen=True, slots=True)
class Adopter:
    """The agent under whose name a session is adopted; by default the tool's own."""

    agent: str = ""
    profile: str = ""


@dataclass(frozen=True, slots=True)
class Adopted:
    """The conversation that holds a session."""

    conversation_id: str
    new: bool  # False where one of ours held it before
    messages: int = 0  # prompts and answers that were added
    left_out: tuple[str, ...] = ()  # in words


async def adopt_file(
    db: Database, path: Path, *, new_id: Callable[[], str], adopter: Adopter | None = None
) -> Adopted:
    """The conversation of the session in a transcript, which may lie anywhere. Raises NotAdopted, StoreError."""
    return await adopt_transcript(db, await read(lambda: read_file(path)), new_id, adopter)


async def read(reading: Callable[[], ForeignTranscript]) -> ForeignTranscript:
    """A transcript that is read in a thread. Raises NotAdopted."""
    try:
        return await asyncio.to_thread(reading)
    except UnreadableTranscript as error:
        raise NotAdopted(str(error)) from error


async def adopt_transcript(
    db: Database, transcript: ForeignTranscript, new_id: Callable[[], str], adopter: Adopter | None = None
) -> Adopted:
    """The conversation of a transcript that was read. Raises NotAdopted, StoreError.

    One that holds its session gets what was said in that since, where nothing else happened.
    """
    if transcript.is_empty:
        raise NotAdopted("nothing was said in it")
    session = transcript.session
    if not session.session_id.isprintable() or not 0 < len(session.session_id) <= _LONGEST_ID:
        raise NotAdopted("its id is not one that an agent could be asked for")
    if held := await holder(db, session):
        added = await catch_up(db, held, transcript, new_id)
        return Adopted(await undeleted(db, held), new=False, messages=added)
    conversation_id, link_id = new_id(), new_id()
    words = f"imported from {_title(session.source)}"
    async with db.read() as reader:
        shared = await shared_beginning(reader, transcript)
    if shared:
        words += f", which goes on from “{shared.source.title}”" if shared.source.title else ", as a fork"
    rows = await asyncio.to_thread(
        adopted_rows,
        without_beginning(transcript, shared) if shared else transcript,
        conversation_id,
        link_id,
        new_id,
        imported=words,
        below=shared.last_id if shared else None,
    )
    async with db.write() as tx:
        # Another client may have adopted it while it was read.
        others = await links.conversations_of_sessions(tx, [session.session_id])
        if session.session_id in others:
            return Adopted(others[session.session_id], new=False)
        await _store(tx, session, adopter or Adopter(), conversation_id, link_id, rows, shared)
    spoken = sum(row.kind in ("user", "agent") for row in rows.rows)
    left_out = tuple(f"{each.count} × {each.reason}" for each in transcript.left_out)
    return Adopted(conversation_id, True, spoken, left_out)


async def holder(db: Database, session: ForeignSession) -> str | None:
    """The conversation that holds a session already."""
    async with db.read() as reader:
        held = await links.conversations_of_sessions(reader, [session.session_id])
    return held.get(session.session_id)


async def undeleted(db: Database, conversation_id: str) -> str:
    """The same conversation, in the lists again if the person had deleted it: they want it now."""
    async with db.write() as tx:
        if (await conversations.marks(tx, conversation_id)).deleted:
            await conversations.set_deleted(tx, conversation_id, False)
    return conversation_id


async def _store(
    tx: Writer,
    session: ForeignSession,
    adopter: Adopter,
    conversation_id: str,
    link_id: str,
    adopted: AdoptedRows,
    shared: SharedBeginning | None,
) -> None:
    agent, profile = adopter.agent or session.source, adopter.profile or session.profile
    cwd = session.cwd if Path(session.cwd).is_absolute() else str(Path.home())
    await conversations.create(
        tx,
        id=conversation_id,
        agent=agent,
        profile=profile,
        cwd=cwd,
        title=readable_title(_printable(session.title or "")),
        family=shared.source.family if shared else None,
        fork_point_id=shared.last_id if shared else None,
    )
    link = NewLink(
        id=link_id,
        conversation_id=conversation_id,
        agent=agent,
        profile=profile,
        session_id=session.session_id,
        cwd=cwd,
        cause=Cause.IMPORT,
        state=LinkState.LOST,  # until it points somewhere
    )
    await links.add(tx, link)
    await keep_tool(tx, agent, session.source)
    await add_rows(tx, adopted, link_id)
    await links.move(tx, link_id, state=adopted.state, ended=adopted.ended)
    await conversations.set_times(
        tx, conversation_id, session.created_at or session.updated_at, session.updated_at
    )


def _title(source: str) -> str:
    return Tool(source).full_name if source in Tool.__members__.values() else source


def _printable(title: str) -> str:
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", title)
