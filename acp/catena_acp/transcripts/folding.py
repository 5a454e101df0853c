"""Each conversation once: the sessions of other tools that our own conversations hold are left to those.

What we made for ourselves is nobody's conversation, either: forks that agents were asked for and that no link has.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from catena_acp.transcripts.lines import UnreadableTranscript
from catena_acp.transcripts.session import ForeignSession, modified
from catena_acp.transcripts.sources import read_session
from catena_store.chains import hidden_sessions, links
from catena_store.chains.hidden_sessions import ForkIntent
from catena_store.database.database import Database, Reader
from catena_store.records import SPOKEN_KINDS

_CLOCKS_DIFFER = timedelta(seconds=2)
_LONGEST_ANSWER = timedelta(minutes=10)  # to the request for a fork


@dataclass(frozen=True, slots=True)
class Folded:
    """Foreign sessions that are no session of ours, and the conversations that hold the others."""

    foreign: Sequence[ForeignSession]
    held: Mapping[str, str]  # conversation ids, by session id


async def fold(reader: Reader, sessions: Sequence[ForeignSession]) -> Folded:
    """Leave out every session that any link of ours has, for whatever purpose it was made, and even if it is lost.

    So are those that a person had deleted at their agent (some agents list such a session again), those that came of a
    fork that we asked for, and forks of ours without any message since.
    """
    sources = {session.forked_from for session in sessions if session.forked_from and session.only_copied}
    named = [*(session.session_id for session in sessions), *sources]
    known = await links.conversations_of_sessions(reader, named)
    hidden = {session_id for _, _, session_id in await hidden_sessions.deleted(reader)}
    hidden |= await hidden_sessions.forks_made(reader)
    ours = hidden | known.keys()
    foreign = [
        each
        for each in sessions
        if each.session_id not in ours and not (each.only_copied and each.forked_from in ours)
    ]
    ids = {session.session_id for session in sessions}
    return Folded(foreign, {id: held for id, held in known.items() if id in ids})


async def claim_forks(db: Database, sessions: Sequence[ForeignSession]) -> None:
    """Know those of the sessions as ours that came of forks which we asked for and whose answers we never heard.

    That is a session which stands there since the fork was asked for, in its directory, and holds what its source
    holds, and nothing else. Their transcripts are read in a thread. Raises StoreError.
    """
    async with db.read() as reader:
        asked = await hidden_sessions.unanswered_intents(reader)
        if not asked:
            return
        foreign = (await fold(reader, sessions)).foreign
    by_id = {session.session_id: session for session in sessions}
    for intent in asked:
        if (source := by_id.get(intent.session_id)) is None:
            continue
        made = await asyncio.to_thread(_copy_of, source, intent, foreign)
        if made:
            async with db.write() as tx:
                await hidden_sessions.answer_intent(tx, intent.id, made.session_id)


def _copy_of(
    source: ForeignSession, intent: ForkIntent, among: Sequence[ForeignSession]
) -> ForeignSession | None:
    since = [
        each
        for each in among
        if (each.source, each.profile, each.cwd) == (source.source, source.profile, intent.cwd)
        and intent.asked_at - _CLOCKS_DIFFER <= _last_changed(each) <= intent.asked_at + _LONGEST_ANSWER
    ]
    held = _said_in(source) if since else []
    return next((each for each in since if (said := _said_in(each)) and said == held[: len(said)]), None)


def _last_changed(session: ForeignSession) -> datetime:
    """When a session was last written; a copy has the times of what it copied."""
    if session.path is None or session.path.suffix == ".db":
        return session.updated_at
    try:
        return max(session.updated_at, modified(session.path.stat().st_mtime))
    except OSError:
        return session.updated_at


def _said_in(session: ForeignSession) -> list[str]:
    """The prompts and answers of a session; none where it cannot be read."""
    try:
        turns = read_session(session).turns
    except UnreadableTranscript:
        return []
    rows = (row for turn in turns for row in (turn.prompt, *turn.rows) if row)
    return [row.text for row in rows if row.kind in SPOKEN_KINDS]


def merged(files: Sequence[ForeignSession], listed: Sequence[ForeignSession]) -> list[ForeignSession]:
    """The sessions that lie in files and those that agents list, each once, newest first.

    A file says more of a session; its title, where it has none, is the agent's.
    """
    by_id = {session.session_id: session for session in listed}
    found = []
    for session in files:
        told = by_id.pop(session.session_id, None)
        title = session.title or (told.title if told else None)
        found.append(replace(session, title=title) if told else session)
    found += by_id.values()
    return sorted(found, key=lambda session: session.updated_at, reverse=True)
