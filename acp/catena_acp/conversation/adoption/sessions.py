"""The sessions of other tools, as a client works with them: listed by their agents, read, and adopted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from catena_acp.continuity.services import Services, SpecOf
from catena_acp.errors import NotAdopted
from catena_acp.port.port import AgentPort
from catena_store.conversations import conversations

if TYPE_CHECKING:  # no tab needs the readers of other tools' transcripts before it is on the screen
    from catena_acp.conversation.adoption.adoption import Adopted
    from catena_acp.transcripts.session import ForeignSession, ForeignTranscript


class ForeignSessions:
    """Sessions of other tools; ``running`` gives the agents that run here, one of each account."""

    def __init__(
        self, services: Services, spec_of: SpecOf, running: Callable[[], Sequence[AgentPort]]
    ) -> None:
        self._services = services
        self._spec_of = spec_of
        self._running = running

    async def adopt(self, session: ForeignSession) -> Adopted:
        """The conversation of a session, made where none of ours holds it yet.

        One that is open nowhere gets what was said in the session since. Opening it resumes that very session; a fork
        of it leaves the session as it is. Raises NotAdopted, AgentError, StoreError.
        """
        from catena_acp.conversation.adoption.adoption import Adopted, adopt_transcript, holder, undeleted

        if held := await holder(self._services.db, session):
            added = await self._catch_up(held, session)
            return Adopted(await undeleted(self._services.db, held), new=False, messages=added)
        return await adopt_transcript(self._services.db, await self.read(session), self._services.new_id)

    async def _catch_up(self, conversation_id: str, session: ForeignSession) -> int:
        """Add what a file has more than its conversation; how many messages that is."""
        from catena_acp.conversation.adoption.adoption import catch_up

        async with self._services.db.read() as reader:
            record = await conversations.get(reader, conversation_id)
        if session.path is None or record is None or session.updated_at <= record.updated_at:
            return 0
        try:
            return await catch_up(
                self._services.db, conversation_id, await self.read(session), self._services.new_id
            )
        except NotAdopted:
            return 0

    async def read(self, session: ForeignSession) -> ForeignTranscript:
        """All that was said in a session, from its file, else from what its agent replays.

        The agent is started for that, and ended. Raises NotAdopted, AgentError.
        """
        from catena_acp.conversation.adoption.adoption import read
        from catena_acp.conversation.adoption.agent_sessions import replayed_transcript
        from catena_acp.transcripts.sources import read_session

        if session.path is not None:
            return await read(lambda: read_session(session))
        spec = self._spec_of(session.source, session.profile)
        directory = await asyncio.to_thread(_directory, session.cwd)
        started = await self._services.start_agent(spec, directory, lambda _printed: None)
        try:
            cwd = await asyncio.to_thread(_directory, session.cwd)
            reading = replayed_transcript(started, session, cwd, self._services.replay_wait)
            return await self._services.opening_wait.bound(reading)
        finally:
            await started.stop()

    async def listed(self) -> list[ForeignSession]:
        """The sessions that the agents list themselves that run here."""
        from catena_acp.conversation.adoption.agent_sessions import listed_sessions

        return await listed_sessions(list(self._running()))


def _directory(cwd: str) -> str:
    """A directory that an agent can be started in: the session's, if it is there."""
    return cwd if Path(cwd).is_dir() else str(Path.home())
