"""Sessions of other tools as entries of the history: read in batches, previewed from their transcripts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import suppress

from catena.history.entries import HistoryEntry
from catena.history.listing import HistoryListing
from catena.history.preview import Preview, PreviewTurn, directory_is_gone
from catena_acp.conversation.adoption.rows import adoption_price
from catena_acp.transcripts.copies import Copies
from catena_acp.transcripts.folding import claim_forks, fold, merged
from catena_acp.transcripts.lines import UnreadableTranscript
from catena_acp.transcripts.session import ForeignSession, ForeignTranscript, ForeignTurn
from catena_acp.transcripts.sources import Scanner, Unread, read_session
from catena_store.database.database import Database
from catena_store.errors import StoreError
from catena_store.records import Kind

_MOST = 4_000  # characters of a text
_TODOS = 5


class ForeignReader:
    """Reads a listing's foreign entries. Keep the ``scanner``: what has not changed is not read again."""

    def __init__(self, db: Database, listing: HistoryListing, scanner: Scanner) -> None:
        self._db = db
        self._listing = listing
        self._scanner = scanner
        self._sessions: dict[str, ForeignSession] = {}  # by key
        self.unread: list[Unread] = []

    async def pages(self, listed: Iterable[ForeignSession] = ()) -> AsyncIterator[int]:
        """Read all sessions into the listing, newest first; yields how many each batch has.

        ``listed`` are those that agents list themselves; one that lies in a file too is one entry. What became a
        conversation of ours, or is gone, is taken out again.
        """
        before = set(self._sessions)
        found: dict[str, ForeignSession] = {}
        heads: list[ForeignSession] = []
        self.unread = []
        async for batch in self._scanner.scan():
            self.unread += batch.unread
            heads += batch.sessions
            yield await self._put(batch.sessions, found)
        with suppress(StoreError):
            await claim_forks(self._db, heads)
        files, put = list(found.values()), set(found)
        found.clear()
        yield await self._put(merged(files, list(listed)), found)
        self._listing.remove((before | put) - set(found))
        self._sessions = found

    async def _put(self, sessions: Sequence[ForeignSession], found: dict[str, ForeignSession]) -> int:
        async with self._db.read() as reader:
            foreign = (await fold(reader, sessions)).foreign
        entries = {key_of(session): session for session in foreign}
        found |= entries
        self._sessions |= entries
        self._listing.put([_entry(session) for session in foreign])
        await self._listing.learn_places()
        return len(entries)

    def session(self, key: str) -> ForeignSession | None:
        """The session of an entry, for adopting it."""
        return self._sessions.get(key)

    async def preview(self, key: str) -> Preview | None:
        """The preview of an entry; None for one whose session only its agent can open, or cannot be read."""
        session = self._sessions.get(key)
        if session is None or session.path is None:
            return None
        try:
            return await _preview(key, await asyncio.to_thread(read_session, session))
        except UnreadableTranscript:
            return None

    async def keep_copies(self, copies: Copies) -> int:
        """Copy what is new or has changed; return how many those were. Nothing where nothing can be written."""
        with suppress(OSError):
            return await asyncio.to_thread(copies.keep, list(self._sessions.values()))
        return 0


def key_of(session: ForeignSession) -> str:
    """The key of a session's entry."""
    return f"{session.source}:{session.session_id}"


def _entry(session: ForeignSession) -> HistoryEntry:
    return HistoryEntry(
        key=key_of(session),
        title=session.title,
        first_prompt=session.first_prompt,
        last_prompt=session.last_prompt,
        agent=session.source,
        cwd=session.cwd,
        created_at=session.created_at or session.updated_at,
        updated_at=session.updated_at,
        source=session.label,
        profile=session.profile,
        messages=session.messages or 0,
        size=session.size or None,
        session=session.session_id,
    )


async def _preview(key: str, transcript: ForeignTranscript) -> Preview:
    session = transcript.session
    asked = [turn for turn in transcript.turns if turn.prompt]
    price = await asyncio.to_thread(adoption_price, transcript)
    todos = _open_todos(transcript)
    return Preview(
        key,
        ((session.source, session.profile),),
        _exchange(asked[0], first=True) if asked else PreviewTurn(),
        _exchange(asked[-1]) if asked else PreviewTurn(),
        session.updated_at,
        None,
        todos[:_TODOS],
        max(0, len(todos) - _TODOS),
        1,
        price.words,
        await directory_is_gone(session.cwd),
        None,
    )


def _exchange(turn: ForeignTurn, *, first: bool = False) -> PreviewTurn:
    answers = [row.text for row in turn.rows if row.kind is Kind.AGENT]
    answer = (answers[0][:_MOST] if first else answers[-1][-_MOST:]) if answers else ""
    return PreviewTurn(turn.prompt.text[:_MOST] if turn.prompt else "", answer, turn.started_at)


def _open_todos(transcript: ForeignTranscript) -> tuple[str, ...]:
    plans = [row for turn in transcript.turns for row in turn.rows if row.kind is Kind.PLAN]
    entries = plans[-1].data["entries"] if plans else []
    return tuple(str(each.get("text", "")) for each in entries if each.get("status") != "completed")
