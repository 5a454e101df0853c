"""Adopting another tool's session, and adding what was said in it since.

An adoption is one transaction, so that a killed client leaves nothing that is half there. The route uses the link as
any other, once the agent has replayed what it should hold; what it does not hold is told.

New messages are added only if nothing else happened: the conversation is open nowhere, its newest row is the ceiling of
the session's link, and every turn of it stands in the transcript as it does here. Else nothing is touched, and the next
prompt's replay tells that the session holds more.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from catena_acp.context_markers import readable_title
from catena_acp.continuity.routing.replay_check import bare
from catena_acp.continuity.sessions.agent_pool import keep_tool
from catena_acp.conversation.adoption.rows import AdoptedRows, adopted_rows
from catena_acp.errors import NotAdopted
from catena_acp.transcripts.lines import UnreadableTranscript
from catena_acp.transcripts.session import ForeignSession, ForeignTranscript, ForeignTurn, Tool
from catena_acp.transcripts.sources import read_file
from catena_store import places
from catena_store.chains import links, turns
from catena_store.clients import leases
from catena_store.conversations import conversations, messages
from catena_store.database.database import Database, Reader, Writer
from catena_store.records import Cause, ConversationRecord, Kind, Link, LinkState, Message, NewLink
from catena_store.windows import windows

_MOST_ROWS = 100_000

_Said = tuple[str, str]  # a prompt and what was answered, without white space

_PIECE = 500  # rows: the thread of the store goes back to its loop between them


async def catch_up(
    db: Database, conversation_id: str, transcript: ForeignTranscript, new_id: Callable[[], str]
) -> int:
    """Add the turns that the transcript has more; return how many messages those are. Raises StoreError."""
    if not transcript.complete:
        return 0
    async with db.write() as tx:
        link = await _link(tx, conversation_id, transcript.session.session_id)
        if link is None:
            return 0
        known = [said for said, _ in _turns_here(await messages.page(tx, link.reach, _MOST_ROWS))]
        told = [_said_there(turn) for turn in transcript.turns if turn.prompt]
        if len(told) <= len(known) or told[: len(known)] != known:
            return 0
        newer = [turn for turn in transcript.turns if turn.prompt][len(known) :]
        rows = adopted_rows(
            ForeignTranscript(transcript.session, newer), conversation_id, link.id, new_id, below=link.reach
        )
        await add_rows(tx, rows, link.id)
        for window in await windows.of_conversation(tx, conversation_id):
            if window.leaf_id == link.reach:
                await windows.advance(tx, window.id, rows.rows[-1].id)
        record = await conversations.get(tx, conversation_id)
        began = record.created_at if record else transcript.session.updated_at
        await conversations.set_times(tx, conversation_id, began, transcript.session.updated_at)
    return sum(row.kind in (Kind.USER, Kind.AGENT) for row in rows.rows)


@dataclass(frozen=True, slots=True)
class SharedBeginning:
    """What a fork has of a conversation that is here: so many turns, the last of which ends with a row."""

    source: ConversationRecord
    turns: int
    last_id: str


async def shared_beginning(reader: Reader, transcript: ForeignTranscript) -> SharedBeginning | None:
    """The turns that a forked session shares with a conversation of ours; None if it shares none."""
    source_id = transcript.session.forked_from
    if source_id is None or not transcript.complete:
        return None
    held = (await links.conversations_of_sessions(reader, [source_id])).get(source_id)
    source = await conversations.get(reader, held) if held else None
    if source is None:
        return None
    chain = await links.of_conversation(reader, source.id)
    link = next((each for each in chain if each.session_id == source_id and each.reach), None)
    rows = await messages.page(reader, link.reach, _MOST_ROWS) if link else []
    told = [turn for turn in transcript.turns if turn.prompt]
    shared, last_id = 0, None
    for (said, end), turn in zip(_turns_here(rows), told, strict=False):
        if said != _said_there(turn) or any(row.data.get("compacted") for row in turn.rows):
            break
        shared, last_id = shared + 1, end
    return SharedBeginning(source, shared, last_id) if last_id else None


def without_beginning(transcript: ForeignTranscript, shared: SharedBeginning) -> ForeignTranscript:
    """The turns of a fork that are its own."""
    told = [turn for turn in transcript.turns if turn.prompt]
    return replace(transcript, turns=told[shared.turns :])


async def _link(tx: Writer, conversation_id: str, session_id: str) -> Link | None:
    """The link of the session, if only that has anything to say."""
    if await leases.get(tx, conversation_id) is not None:
        return None
    held = [
        link for link in await links.of_conversation(tx, conversation_id) if link.session_id == session_id
    ]
    usable = [link for link in held if link.state is LinkState.OPEN and link.reach is not None]
    newest = await messages.newest(tx, conversation_id)
    return next((link for link in usable if link.reach == newest), None)


def _turns_here(rows: Sequence[Message]) -> list[tuple[_Said, str]]:
    """What was said in each turn of a branch, and the turn's last row."""
    said: list[tuple[str, list[str]]] = []
    ends: list[str] = []
    for row in rows:
        if row.is_prompt:
            said.append((bare(row.text), []))
            ends.append(row.id)
        elif said:
            ends[-1] = row.id
            if row.kind is Kind.AGENT:
                said[-1][1].append(bare(row.text))
    return [((prompt, "".join(answers)), end) for (prompt, answers), end in zip(said, ends, strict=True)]


def _said_there(turn: ForeignTurn) -> _Said:
    answers = "".join(bare(row.text) for row in turn.rows if row.kind is Kind.AGENT)
    return bare(turn.prompt.text) if turn.prompt else "", answers


async def add_rows(tx: Writer, adopted: AdoptedRows, link_id: str) -> None:
    """Add rows and turns, and move the pointers of their link with them."""
    for start in range(0, len(adopted.rows), _PIECE):
        await messages.insert_many(tx, adopted.rows[start : start + _PIECE])
    for turn in adopted.turns:
        await turns.insert(tx, turn)
    if adopted.rows:
        first, last = adopted.rows[0], adopted.rows[-1]
        await places.grow(tx, first.conversation_id, first.parent_id, last.id)
    since = adopted.unabridged_from
    await links.move(
        tx,
        link_id,
        knows=adopted.knows or links.UNSET,
        reach=adopted.reach or links.UNSET,
        unabridged_from=since or links.UNSET,
    )


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
