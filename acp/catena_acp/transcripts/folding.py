"""Each conversation once: the sessions of other tools that our own conversations hold are left to those."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from catena_acp.transcripts.session import ForeignSession
from catena_store.chains import deleted_sessions, links
from catena_store.database.database import Reader


@dataclass(frozen=True, slots=True)
class Folded:
    """Foreign sessions that are no session of ours, and the conversations that hold the others."""

    foreign: Sequence[ForeignSession]
    held: Mapping[str, str]  # conversation ids, by session id


async def fold(reader: Reader, sessions: Sequence[ForeignSession]) -> Folded:
    """Leave out every session that any link of ours has, whatever it was made for and whether it is lost.

    So are those that a person had deleted at their agent: some agents list such a one again.
    """
    held = await links.conversations_of_sessions(reader, [session.session_id for session in sessions])
    deleted = {session_id for _, _, session_id in await deleted_sessions.every(reader)}
    foreign = [each for each in sessions if each.session_id not in held and each.session_id not in deleted]
    return Folded(foreign, held)


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
