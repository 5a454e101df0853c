"""Sessions of other tools, as the history works with them: listed, read, adopted, and copied where that is wanted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from catena.history.listing import HistoryListing
from catena.history.preview import Preview
from catena_acp.errors import AgentError, NotAdopted
from catena_store.database.database import Database
from catena_store.ids import new_id
from catena_store.records import Message

if TYPE_CHECKING:  # what reads the transcripts is imported behind the first frame of a history
    from catena.history.foreign import ForeignReader
    from catena.settings.settings import Settings
    from catena_acp.conversation.adoption.sessions import ForeignSessions
    from catena_acp.transcripts.copies import Copies
    from catena_acp.transcripts.session import ForeignSession
    from catena_acp.transcripts.sources import Scanner

_AGENTS_SECONDS = 2.0  # in which running agents list their sessions


@dataclass(frozen=True, slots=True)
class _SessionFiles:
    """The files that other tools keep, and our copies of them."""

    scanner: Scanner
    copies: Copies


class OtherTools:
    """The sessions that other tools keep; what has not changed since it was listed before is not read again."""

    def __init__(self, db: Database, sessions: ForeignSessions, settings: Settings) -> None:
        self._db = db
        self._sessions = sessions
        self._settings = settings
        self._files: _SessionFiles | None = None
        self._reader: ForeignReader | None = None
        self.copied = settings.history.copies  # None while the person was not asked

    async def read_into(self, listing: HistoryListing) -> AsyncIterator[int]:
        """Put their entries into a listing; yields how many each batch has."""
        if self._files is None:
            self._files = await asyncio.to_thread(_session_files, self._settings)
        from catena.history.foreign import ForeignReader

        self._reader = reader = ForeignReader(self._db, listing, self._files.scanner)
        async for count in reader.pages(await self._listed_by_agents()):
            yield count
        await self._copy()

    async def _listed_by_agents(self) -> list[ForeignSession]:
        """The sessions that running agents list and in which something was said."""
        try:
            async with asyncio.timeout(_AGENTS_SECONDS):
                return [each for each in await self._sessions.listed() if each.title or each.first_prompt]
        except (AgentError, TimeoutError):
            return []

    async def keep_copies(self, keep: bool) -> None:
        """Copy the transcripts that are listed, from now on, or do not."""
        self.copied = keep
        await self._copy()

    async def _copy(self) -> None:
        if self.copied and self._reader is not None and self._files is not None:
            await self._reader.keep_copies(self._files.copies)

    async def preview(self, key: str) -> Preview | None:
        """The preview of a session, None where only its agent could tell."""
        return await self._reader.preview(key) if self._reader else None

    async def rows(self, key: str) -> list[Message]:
        """All that was said in a session. Raises AgentError."""
        from catena_acp.conversation.adoption.rows import preview

        transcript = await self._sessions.read(self._session(key))
        return await asyncio.to_thread(lambda: preview(transcript, new_id=new_id))

    async def adopt(self, key: str) -> str:
        """The id of the conversation of ours that holds a session from now on. Raises AgentError, StoreError."""
        return (await self._sessions.adopt(self._session(key))).conversation_id

    def _session(self, key: str) -> ForeignSession:
        session = self._reader.session(key) if self._reader else None
        if session is None:
            raise NotAdopted("The session is gone.")
        return session


def _session_files(settings: Settings) -> _SessionFiles:
    """Where other tools keep their sessions; called in a thread, since it imports what reads them."""
    from catena.settings.sources import known_places, own_copies, own_heads
    from catena_acp.transcripts.sources import Scanner

    copies = own_copies()
    return _SessionFiles(Scanner(known_places(settings), also=copies.files, kept=own_heads()), copies)
